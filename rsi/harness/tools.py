"""The tools: shell commands and files of the workspace, all of it inside the sandbox. Bad use is data, not an error."""

import base64
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath

from rsi.harness.protocol import Action
from rsi.ports import ExecResult, Sandbox
from rsi.text import clean

MAX_OUTPUT = 100_000  # characters of stdout kept as the episode's output


@dataclass(frozen=True)
class Outcome:
    """`observation` is bounded and may enter a prompt; `stdout` is what the command printed. Both can be stored."""

    observation: str
    stdout: str
    exit_code: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "observation", clean(self.observation))
        object.__setattr__(self, "stdout", clean(self.stdout))


async def use(action: Action, sandbox: Sandbox, timeout: float, limit: int) -> Outcome:
    """Take one action, for at most `timeout` seconds; show at most `limit` characters of what came of it (and a note
    of what was cut). Raises InfrastructureError only."""
    if action.kind != "shell" and not _inside(action.path):
        return Outcome(f"{action.kind}: the path must be relative, without '..'", "", 2)
    result = await sandbox.exec(_command(action), timeout, MAX_OUTPUT)
    return Outcome(observe(result, timeout, limit), result.stdout, result.exit_code)


def _command(action: Action) -> str:
    path = shlex.quote("./" + action.path)
    if action.kind == "read":
        return f"cat -- {path}"
    if action.kind == "write":
        data = base64.b64encode(action.body.encode(errors="replace")).decode()
        # By the shell, so that a full disk or a folder in the way is the agent's failure, not the machine's.
        return f"mkdir -p -- \"$(dirname -- {path})\" && printf %s '{data}' | base64 -d > {path}"
    return action.body


def _inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return bool(parts.parts) and not parts.is_absolute() and ".." not in parts.parts and "\0" not in path


def observe(result: ExecResult, timeout: float, limit: int) -> str:
    """Output, then what a person would want to know of how it ended."""
    text = result.stdout
    if result.stderr:
        text += ("\n" if text and not text.endswith("\n") else "") + result.stderr
    text = bounded(text.rstrip("\n"), limit)
    notes = [f"[cut at {MAX_OUTPUT} characters by the sandbox]"] if result.truncated else []
    if result.timed_out:
        notes.append(f"[stopped after {timeout:.0f} s]")
    elif result.exit_code:
        notes.append(f"[exit code {result.exit_code}]")
    return "\n".join(part for part in (text, *notes) if part) or "[no output]"


def bounded(text: str, limit: int) -> str:
    """Head and tail of a text longer than `limit` characters, with a note of how much is missing between them."""
    if len(text) <= limit:
        return text
    head = limit - limit // 2
    return f"{text[:head]}\n[{len(text) - limit} characters cut]\n{text[len(text) - limit // 2 :]}"
