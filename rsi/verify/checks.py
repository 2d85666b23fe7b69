"""The verifier of outcome checks: what the episode left behind is judged, never how it was done."""

import shlex
from collections.abc import Mapping
from typing import Protocol

from rsi.errors import InfrastructureError, IntegrityError, UserError
from rsi.ports import Deeds, ExecResult, SandboxProvider, Workspace
from rsi.types import CallsCheck, Check, FileCheck, OutputCheck, ProgramCheck, Score, Task, TaskKey, UiCheck
from rsi.verify import calls, tamper
from rsi.verify.compare import normal, same

PROGRAM_SECONDS = 10.0
# What the agent left is data to a check: nothing of it is read because of its name or place alone. The home folder is
# not the workspace, python takes no module of a user's, and a repository's own settings start no program.
_GIT = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.pager": "cat",
    "log.showSignature": "false",
}
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": str(len(_GIT)),
    **{f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(_GIT)},
    **{f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(_GIT.values())},
}
_CLEAN = "export " + shlex.join(f"{name}={value}" for name, value in _ENVIRONMENT.items()) + "\n"


class UiProblem(Protocol):
    """Judges component code; see rsi.verify.ui.verifier. Raises UserError where the machine lacks what that takes."""

    async def problem(self, check: UiCheck, output: str) -> str: ...


class CheckVerifier:
    """Reward 1.0 where every check of the key passes, else 0.0.

    `provider` opens the own sandbox of a ProgramCheck, `ui` judges UiChecks; without what a check needs it raises
    InfrastructureError, and so does a sandbox that breaks. A program that hangs or fails is the workspace's fault and
    scores 0.
    """

    def __init__(self, provider: SandboxProvider | None, ui: UiProblem | None = None) -> None:
        self._provider, self._ui = provider, ui

    async def verify(self, task: Task, key: TaskKey, output: str, files: Mapping[str, bytes]) -> Score:
        """`files` is the workspace as it was taken out: relative path -> bytes."""
        if key.task_id != task.id:
            raise IntegrityError(f"the key of task {key.task_id} was used on task {task.id}")
        if not key.checks:
            raise IntegrityError(f"task {task.id} has no checks: nothing could fail it")
        for check in key.checks:
            problem = await self._problem(check, output, files)
            if problem:
                return Score(reward=0.0, passed=False, detail=problem)
        return Score(reward=1.0, passed=True)

    def flags(self, task: Task, key: TaskKey, deeds: Deeds) -> tuple[str, ...]:
        """See rsi.ports.Verifier and rsi.verify.tamper."""
        return tamper.flags(task, key, deeds)

    async def _problem(self, check: Check, output: str, files: Mapping[str, bytes]) -> str:
        """Why the check fails, in one line; empty where it passes."""
        if isinstance(check, OutputCheck):
            if same(output, check.expected, check.mode):
                return ""
            return f"output {output[:80]!r} is not {check.expected[:80]!r} ({check.mode})"
        if isinstance(check, FileCheck):
            return _file_problem(check, files)
        if isinstance(check, CallsCheck):
            return await self._calls_problem(check, files)
        if isinstance(check, UiCheck):
            if self._ui is None:
                raise InfrastructureError("a check of a component needs a judge and none is configured")
            return await self._ui.problem(check, output)
        return await self._program_problem(check, files)

    async def _program_problem(self, check: ProgramCheck, files: Mapping[str, bytes]) -> str:
        result = await self._run(check.command, files)
        if result.timed_out:
            return f"`{check.command}` did not end in {PROGRAM_SECONDS:.0f} seconds"
        if result.exit_code != 0:
            return f"`{check.command}` exited with {result.exit_code} ({result.stderr.strip()[-80:]!r})"
        if not same(result.stdout, check.expected, "exact"):  # exit 0 alone would reward an early exit
            return f"`{check.command}` printed {result.stdout[:80]!r}, not {check.expected[:80]!r}"
        return ""

    async def _calls_problem(self, check: CallsCheck, files: Mapping[str, bytes]) -> str:
        if check.module not in files:
            return f"{check.module} is missing"
        command, nonce = calls.command(check)
        return calls.problem(check, nonce, await self._run(command, files))

    async def _run(self, command: str, files: Mapping[str, bytes]) -> ExecResult:
        """In a sandbox of its own, over a copy of the workspace."""
        if self._provider is None:
            raise InfrastructureError("a program check needs a sandbox and none is configured")
        sandbox = await self._provider.open()
        try:
            await sandbox.put(_without_bytecode(files))
            return await sandbox.exec(_CLEAN + command, PROGRAM_SECONDS)
        except UserError as error:  # too much for a sandbox like the agent's own
            return ExecResult(126, "", f"the workspace cannot be copied: {error}")
        finally:
            await sandbox.close()


def _without_bytecode(files: Mapping[str, bytes]) -> Workspace:
    """Compiled modules may hold another program than their source, which is what was asked for."""
    kept = {path: data for path, data in files.items() if "__pycache__" not in path.split("/")}
    return Workspace(kept, files.modes if isinstance(files, Workspace) else {})


def _file_problem(check: FileCheck, files: Mapping[str, bytes]) -> str:
    found = files.get(check.path)
    if found is None:
        return "" if check.content is None else f"{check.path} is missing"
    if check.content is None:
        return f"{check.path} still exists"
    mode = files.modes.get(check.path) if isinstance(files, Workspace) else None
    if check.mode is not None and mode != check.mode:
        return f"{check.path} has permissions {mode if mode is None else oct(mode)}, not {oct(check.mode)}"
    if normal(found.decode(errors="replace")) != normal(check.content):
        return f"{check.path} holds {found[:80]!r}, not {check.content[:80]!r}"
    return ""
