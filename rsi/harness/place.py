"""Put the files of a document into the sandbox: the agent's into its workspace, the runtime's beside it."""

import base64
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from rsi.errors import SetupError
from rsi.ports import Sandbox, Workspace
from rsi.types import PlacedFile

RUNTIME = "/tmp/hcp"  # outside the workspace: not scored, not taken out
_CHUNK = 90_000  # characters of base64 in one command
_SECONDS = 20.0


async def place(files: Sequence[PlacedFile], sandbox: Sandbox) -> None:
    """SetupError where a file cannot be put; TamperError for a path that leaves the workspace."""
    own = [file for file in files if file.place == "agent"]
    if own:
        data = {file.path: _data(file) for file in own}
        await sandbox.put(Workspace(data, {file.path: file.mode for file in own}))
    for file in files:
        if file.place == "runtime":
            await _beside(file, sandbox)


async def _beside(file: PlacedFile, sandbox: Sandbox) -> None:
    """By the shell: `put` knows the workspace alone."""
    path = shlex.quote(f"{RUNTIME}/{file.path}")
    encoded = base64.b64encode(_data(file)).decode()
    folder = shlex.quote(str(PurePosixPath(RUNTIME, file.path).parent))
    commands = [f"mkdir -p -- {folder} && : > {path}"]
    for begin in range(0, len(encoded), _CHUNK):
        commands.append(f"printf %s '{encoded[begin : begin + _CHUNK]}' | base64 -d >> {path}")
    commands.append(f"chmod {file.mode:o} -- {path}")
    for command in commands if len(encoded) > _CHUNK else [" && ".join(commands)]:
        result = await sandbox.exec(command, _SECONDS, 1000)
        if result.exit_code:
            raise SetupError(f"{file.path}: cannot be put into the sandbox: {' '.join(result.stderr.split())[:200]}")


def _data(file: PlacedFile) -> bytes:
    return base64.b64decode(file.content) if file.encoding == "base64" else file.content.encode(errors="replace")
