"""Attempts: one episode of one pair on one task under one seed."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from rsi.types.harness import HarnessConfig, Visibility
from rsi.types.helpers import StagedTool
from rsi.types.model import Completion
from rsi.types.record import Record
from rsi.types.tasks import Split, Task, TaskKey


class Termination(StrEnum):
    ANSWERED = "answered"  # an answer tag, or the last action was taken
    NO_ACTION = "no_action"  # the model's text held no action
    TURNS = "turns"
    TOKENS = "tokens"
    SECONDS = "seconds"
    CONTEXT = "context"
    REFUSED = "refused"  # the server would not answer this conversation, though it answered others; scored as it stands
    INFRASTRUCTURE = "infrastructure"  # never scored


class Turn(Record):
    """One model turn and what came of it. `observation` is the bounded text that the next prompt shows."""

    completion: Completion
    action: str | None = None  # the command or tool call taken, or None
    observation: str | None = None
    exit_code: int | None = None
    segment: int = 0  # counts rewritten histories: only turns of one segment continue each other's tokens


class Score(Record):
    """`reward` is the outcome in [0, 1]; `form` is 1.0 where a well-formed action or answer was given."""

    reward: float = Field(ge=0, le=1)
    passed: bool
    form: float = Field(0.0, ge=0, le=1)
    flags: tuple[str, ...] = ()  # tampering seen; a flagged attempt earns nothing
    parts: tuple[float, ...] = ()  # of a conversation, one a user message
    detail: str = ""  # for people; may name expectations, so it never enters a prompt


class Cost(Record):
    turns: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_seconds: float = 0.0
    sandbox_seconds: float = 0.0
    seconds: float = 0.0


class AttemptSpec(Record):
    """What identifies an attempt. `purpose` names stage and slice ("gen1/discovery/screen"), `draw` counts repeats."""

    task_id: str
    pair: str  # pair digest
    purpose: str
    draw: int
    sandbox: str  # sandbox identity
    seed: int

    @property
    def name(self) -> str:
        """The draw as people and looks name it; sandbox and seed follow from where and what it is."""
        return f"{self.purpose}/{self.pair}/{self.task_id}/{self.draw}"


class Job(Record):
    """A picklable unit of work for an executor. The key goes to the verifier only, after the episode has ended."""

    spec: AttemptSpec
    task: Task
    key: TaskKey
    harness: HarnessConfig
    adapter: str | None = None


class CollectedOutput(Record):
    """What became of an output that the document declares. `files`: SHA-256 by path of what was kept; none of one for
    the verifier alone, which has the whole workspace anyway."""

    name: str
    required: bool
    visibility: Visibility
    status: Literal["collected", "missing", "refused"]
    why: str = ""
    files: dict[str, str] = Field(default_factory=dict)


class Attempt(Record):
    """One episode of one pair on one task under one seed. `score` is None where it was not scored (infrastructure)."""

    id: str  # digest of spec
    spec: AttemptSpec
    family: str
    split: Split
    held_out: bool
    termination: Termination
    turns: tuple[Turn, ...]
    output: str = ""
    score: Score | None = None
    cost: Cost = Cost()
    error: str = ""
    staged: tuple[StagedTool, ...] = Field((), exclude_if=lambda value: not value)  # functions that the agent saved
    hook_failures: tuple[str, ...] = Field((), exclude_if=lambda value: not value)  # hooks that gave no answer, and why
    outputs: tuple[CollectedOutput, ...] = Field((), exclude_if=lambda value: not value)
    code_version: str = ""

    @property
    def passed(self) -> bool:
        return self.score is not None and self.score.passed
