"""A sandbox that isolates nothing: commands run as plain subprocesses in a temporary folder.

The floor that sandboxes are measured against, and a stand-in for tests of what drives a sandbox. Never for a model.
"""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rsi.errors import InfrastructureError
from rsi.ports import ExecResult, Workspace
from rsi.sandbox.host import PATH


class PlainSandbox:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.closed = False

    async def exec(self, command: str, timeout: float, limit: int = 100_000) -> ExecResult:
        if self.closed:
            raise InfrastructureError("the sandbox is closed")
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", command),
            cwd=self.folder,
            env={**os.environ, "PATH": PATH},  # a real one's: a version manager's python3 takes 0.1 s to start
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout)
        except TimeoutError:
            return ExecResult(124, "", "", timed_out=True)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        texts = [data[:limit].decode(errors="replace") for data in (out, err)]
        return ExecResult(process.returncode or 0, *texts, truncated=max(len(out), len(err)) > limit)

    async def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    async def get(self, limit: int = 16_000_000) -> Workspace:
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return Workspace({str(path.relative_to(self.folder)): path.read_bytes() for path in files}, {})

    async def close(self) -> None:
        self.closed = True
        shutil.rmtree(self.folder, ignore_errors=True)


class PlainProvider:
    """Opens plain sandboxes."""

    identity = "plain"
    limits: Mapping[str, str] = {}

    async def open(self) -> PlainSandbox:
        return PlainSandbox(Path(tempfile.mkdtemp(prefix="plain-")))
