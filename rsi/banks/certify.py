"""A task's proof of itself, without a model: its reference passes every time, and idleness, the request said back and
hacks earn nothing."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rsi.banks.probes import PROBES, Probe
from rsi.errors import InfrastructureError, SetupError, TamperError, UserError
from rsi.harness.furnish import furnish
from rsi.ports import Deeds, SandboxProvider, Verifier, Workspace
from rsi.text import escape_line
from rsi.turns import judge
from rsi.types import Certificate, Task, TaskKey

REPEATS = 5
REFERENCE_SECONDS = 10.0
PLAIN = 0o644  # what files have that no set-up has touched


async def certify(
    task: Task,
    key: TaskKey,
    verifier: Verifier,
    provider: SandboxProvider | None,
    repeats: int = REPEATS,
    probes: Sequence[Probe] = PROBES,
) -> Certificate:
    """Each run starts from a furnished workspace. Raises InfrastructureError, never blames the task for it."""
    if task.needs_sandbox and provider is None:
        raise InfrastructureError(f"task {task.id} needs a sandbox to be certified and none is configured")
    begun, work = time.monotonic(), _Work(task, key, verifier, provider)
    sandbox = provider.identity if task.needs_sandbox and provider is not None else "none"
    if key.problem:
        return unfit(task, sandbox, key.problem)
    try:
        passes = [await work.does(key.reference) for _ in range(repeats)]
        seconds = (time.monotonic() - begun) / repeats
        idle, echo = await work.does_nothing()
        earned = [probe.name for probe in probes if await work.is_hacked(probe)]
    except (SetupError, TamperError, _Unfit):
        return unfit(task, sandbox, "its workspace cannot be set up")
    except (InfrastructureError, UserError):
        raise  # this machine's fault
    except Exception as error:  # noqa: BLE001 - what people wrote breaks it: this task alone is none
        return unfit(task, sandbox, f"it cannot be judged ({type(error).__name__}: {escape_line(str(error))})")
    reasons = {
        "its reference does not pass": not all(passes) and not work.flags,
        f"its reference is flagged ({', '.join(sorted(work.flags))})": bool(work.flags),
        f"{repeats} repeats disagree": len(set(passes)) > 1,
        "doing nothing passes": idle,
        "answering with the request passes": echo,
        f"a hack passes: {', '.join(earned)}": bool(earned),
    }
    return Certificate(
        task_id=task.id,
        passed=not any(reasons.values()),
        reference_passes=all(passes),
        nothing_fails=not idle,
        instruction_fails=not echo,
        probes_fail=not earned,
        repeats=len(passes),
        repeats_agree=len(set(passes)) < 2,
        seconds=round(seconds, 4),
        sandbox=sandbox,
        reason="; ".join(text for text, holds in reasons.items() if holds),
    )


def unfit(task: Task, sandbox: str, reason: str) -> Certificate:
    """Of a task that cannot be played: it is none, its workspace cannot be set up, or comes out as none may even where
    nothing was done. What else was seen of it does not count."""
    return Certificate(
        task_id=task.id,
        passed=False,
        reference_passes=False,
        nothing_fails=True,
        repeats=0,
        repeats_agree=True,
        sandbox=sandbox,
        reason=reason,
    )


def _answers(reference: str) -> list[str]:
    """A conversation's answers; empty for what is none, which no check then holds of."""
    try:
        answers = json.loads(reference)
    except ValueError:
        return []
    return [str(answer) for answer in answers] if isinstance(answers, list) else []


class _Unfit(Exception):
    """The task's files cannot be put into a workspace."""


@dataclass(frozen=True)
class _Work:
    task: Task
    key: TaskKey
    verifier: Verifier
    provider: SandboxProvider | None
    flags: set[str] = field(default_factory=set)  # signs of tampering in what the reference does

    async def does(self, command: str) -> bool:
        """Whether the workspace and output that `command` leaves pass; without a sandbox it is itself the output.
        The reference of a conversation is a JSON list of its answers."""
        if self.task.user_turns:
            return await self._judged(_answers(command), self._files())
        if not self.task.needs_sandbox:
            return await self._passes(command, self._files())
        try:
            output, files = await self._run(command)
        except TamperError:
            return False
        flags = self.verifier.flags(self.task, self.key, Deeds((command,), output, files, files.outlived))
        self.flags.update(flags)
        return not flags and await self._passes(output, files)

    async def does_nothing(self) -> tuple[bool, bool]:
        """Whether silence passes, and whether what the user says, said back, does."""
        if self.task.user_turns:
            echo = (self.task.request, *self.task.user_turns)
            return (await self.leaves(""))[0], await self._judged(echo, self._files())
        idle, echoed = await self.leaves("", self.task.request)
        return idle, echoed

    async def is_hacked(self, probe: Probe) -> bool:
        """A hack that breaks the sandbox earns nothing: such an attempt is not scored. One that prints a digit or two
        has not hacked a task whose answer happens to be that."""
        if not self.task.needs_sandbox:
            return await self._passes(probe.command, self._files())
        try:
            output, files = await self._run(probe.command)
            guessed = len(output.strip()) < 3 and (await self.leaves(output))[0]
            return not guessed and await self._passes(output, files)
        except TamperError:
            return False
        except SetupError:
            raise
        except InfrastructureError:
            return False

    async def leaves(self, *outputs: str) -> list[bool]:
        """Whether each output passes over a workspace in which nothing was done."""
        files = (await self._run(""))[1] if self.task.setup and self.task.needs_sandbox else self._files()
        return [await self._passes(output, files) for output in outputs]

    async def _run(self, command: str) -> tuple[str, Workspace]:
        assert self.provider is not None
        sandbox = await self.provider.open()
        try:
            try:
                await furnish(self.task, sandbox)
            except (UserError, TamperError) as error:
                raise _Unfit(str(error)) from None
            output = (await sandbox.exec(command, REFERENCE_SECONDS)).stdout if command else ""
            return output, await sandbox.get()
        finally:
            await sandbox.close()

    async def _passes(self, output: str, files: Workspace) -> bool:
        return await self._judged([output] * (1 + len(self.task.user_turns)), files)

    async def _judged(self, outputs: Sequence[str], files: Workspace) -> bool:
        return (await judge(self.verifier, self.task, self.key, outputs, files)).passed

    def _files(self) -> Workspace:
        return Workspace({path: text.encode() for path, text in self.task.files.items()}, self._modes())

    def _modes(self) -> dict[str, int]:
        return dict.fromkeys(self.task.files, PLAIN)
