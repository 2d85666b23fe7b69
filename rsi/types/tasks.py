"""Tasks, their secret keys, and the proof that a task holds."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from rsi.types.record import Record
from rsi.types.ui import UiCheck

Split = Literal["train", "selection", "sealed"]


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or any(ord(c) < 32 for c in path):
        raise ValueError("a file's path must be relative and stay in the workspace")
    return path


FilePath = Annotated[str, AfterValidator(_inside)]  # relative to the workspace


class Recipe(Record):
    """What a generator makes an instance from, besides its seed. `difficulty` counts from 1."""

    family: str
    difficulty: int = Field(1, ge=1, le=5)


class Task(Record):
    """What an agent may see of a task, and nothing more: no reference, no check."""

    id: str
    bank: str
    recipe: Recipe
    split: Split
    instance: int  # the generator's seed; for sealed tasks derived from the home's secret salt
    held_out: bool = False  # an unseen family
    request: str
    files: Mapping[FilePath, str] = Field(default_factory=dict)  # path -> text
    setup: str = ""  # a shell command that finishes the workspace before the agent sees it: archives, modes, histories
    needs_sandbox: bool = True
    user_turns: tuple[str, ...] = ()  # of a conversation: what the user says after the first request, one after another

    @property
    def asked(self) -> str:
        """All that the user says: the request, and what follows it in a conversation, one a line."""
        return "\n".join((self.request, *self.user_turns))


class OpenTask(Task):
    """A task that a proposer or a training set may hold: the type itself cannot hold a sealed one."""

    split: Literal["train", "selection"]
    held_out: Literal[False] = False


class OutputCheck(Record):
    """The episode's output (answer tag, else last command's stdout) must equal `expected`.

    exact: after stripping trailing space of lines and ends. numeric: as numbers. lines: as a multiset of lines.
    """

    kind: Literal["output"] = "output"
    expected: str
    mode: Literal["exact", "numeric", "lines"] = "exact"


class FileCheck(Record):
    """A workspace file must hold `content` (trailing space ignored); None means that it must not exist. `mode`, where
    given, is what its permission bits must be."""

    kind: Literal["file"] = "file"
    path: FilePath
    content: str | None
    mode: int | None = None


class ProgramCheck(Record):
    """`command` runs in a fresh sandbox over a copy of the workspace and must exit 0 and print `expected`."""

    kind: Literal["program"] = "program"
    command: str
    expected: str


class CallsCheck(Record):
    """Python expressions over the names of `module`, evaluated in a fresh sandbox over a copy of the workspace, must
    give `expected`: for each call JSON of {"value": V} or {"raises": "ValueError"}. Tuples count as lists."""

    kind: Literal["calls"] = "calls"
    module: FilePath = "solution.py"
    calls: tuple[str, ...] = Field(min_length=1)
    expected: tuple[str, ...]

    @model_validator(mode="after")
    def _paired(self) -> "CallsCheck":
        if len(self.calls) != len(self.expected):
            raise ValueError("each call needs one expected result")
        return self


Check = OutputCheck | FileCheck | ProgramCheck | CallsCheck | UiCheck


class TaskKey(Record):
    """The secret half of a task: never near a proposer, an agent, a memory or a training set."""

    task_id: str
    reference: (
        str  # a shell command, or the answer itself where the task needs no sandbox; of a conversation a JSON list
    )
    checks: tuple[Check, ...]
    turn_checks: tuple[tuple[Check, ...], ...] = ()  # of a conversation, one a user message; `checks` is empty then
    pass_share: float = Field(1.0, gt=0, le=1)  # of a conversation: the share of its user messages that must be met
    problem: str = Field("", exclude_if=lambda value: not value)  # why the task is none: its certificate says it

    @property
    def every_check(self) -> tuple[Check, ...]:
        return (*self.checks, *(check for turn in self.turn_checks for check in turn))


class Certificate(Record):
    """A task's proof of itself, without a model. `reason` is empty exactly where `passed`; it quotes nothing."""

    task_id: str
    passed: bool
    reference_passes: bool
    nothing_fails: bool
    instruction_fails: bool = True  # the request said back as the answer
    probes_fail: bool = True  # ways to a reward without doing the task
    far_from_sealed: bool = True  # an open task only; not looked at for a sealed one
    repeats: int  # runs of the reference
    repeats_agree: bool
    seconds: float = 0.0  # a run of the reference, its sandbox and verifier included
    sandbox: str = "none"  # the identity of the one it was proved in
    reason: str = ""
