"""Every seam of the system. An adapter room implements these; the pure rooms know nothing else of the world.

Errors that a seam may raise are named in its docstring; what is a score and what is an error is decided here:
a model's or an agent's bad work is a score, a broken machine is an `InfrastructureError`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rsi.types import (
    AdapterRevision,
    Attempt,
    Certificate,
    Completion,
    Docket,
    FamilyRate,
    HarnessConfig,
    Job,
    Look,
    ModelRequest,
    OpenTask,
    Pair,
    PairRecord,
    Recipe,
    Refusal,
    ReviewRequest,
    Score,
    Split,
    Task,
    TaskKey,
    TrainDraw,
    TrainSpec,
    Verdict,
)


@runtime_checkable
class ModelBackend(Protocol):
    """Samples one turn. Safe to call concurrently. Raises ContextOverflow, RequestRefusedError (this
    conversation alone is not answered), InfrastructureError, UserError (unknown adapter or missing credentials)."""

    async def generate(self, request: ModelRequest) -> Completion: ...

    async def close(self) -> None: ...


@dataclass(frozen=True)
class ExecResult:
    """`stdout` and `stderr` are decoded with replacement and cut at the caller's limit; `truncated` says so."""

    exit_code: int
    stdout: str
    stderr: str
    timed_out: bool = False
    truncated: bool = False


class Workspace(dict[str, bytes]):
    """Files of a workspace by relative path. `modes` holds permission bits (0o644) where a sandbox has told them;
    `outlived` counts processes that commands had left running, where a sandbox can tell."""

    def __init__(self, files: Mapping[str, bytes], modes: Mapping[str, int], outlived: int = 0) -> None:
        super().__init__(files)
        self.modes = dict(modes)
        self.outlived = outlived


@dataclass(frozen=True)
class Deeds:
    """What an episode did and left: `actions` that were run or written, its output, its workspace as it was taken out.
    `outlived`: processes that the agent's commands left running. `own`: paths that the harness put there."""

    actions: Sequence[str]
    output: str
    files: Mapping[str, bytes]
    outlived: int = 0
    own: frozenset[str] = frozenset()


class Sandbox(Protocol):
    """One isolated workspace at /task. All methods raise InfrastructureError when the sandbox itself is gone."""

    async def exec(self, command: str, timeout: float, limit: int = 100_000) -> ExecResult:
        """Run `command` by `bash -c` in /task. At `timeout` seconds it is killed and exits 124 a moment later. What
        does not die within seconds ends the sandbox with it, 15 seconds after its time at the latest."""

    async def put(self, files: Mapping[str, bytes]) -> None:
        """Write files (paths relative to /task, no `..`), replacing; parents are made. A Workspace keeps its modes."""

    async def get(self, limit: int = 16_000_000) -> Workspace:
        """End every process of the sandbox, then read all regular files of /task. Nothing can run after it.

        Raises TamperError for links that leave /task, devices, sockets, or more than `limit` bytes in all."""

    async def close(self) -> None:
        """End all processes, free everything. Never raises; may be called twice."""


class SandboxProvider(Protocol):
    """Opens sandboxes. `identity` names kind and tool versions and is part of every attempt's key."""

    @property
    def identity(self) -> str: ...

    @property
    def limits(self) -> Mapping[str, str]:
        """Which limits hold on this machine and how ("memory": "rlimit per process"), for the run's record."""

    async def open(self) -> Sandbox: ...


class TaskBank(Protocol):
    """Tasks with their keys. Deterministic: the same digest and salt give the same tasks."""

    @property
    def digest(self) -> str: ...

    def tasks(self, split: Split, shard: int = 0) -> Sequence[Task]:
        """All tasks of a split. Sealed ones come from the home's secret salt; each shard is fresh."""

    def key(self, task: Task) -> TaskKey:
        """Raises UserError for a task that is not of this bank."""

    def make(self, recipe: Recipe, seed: int, split: Split) -> OpenTask:
        """A new open task. UserError for an unknown or held-out family, a difficulty out of range, or split sealed."""


class Verifier(Protocol):
    """Scores an ended episode. Raises InfrastructureError; never scores 0 for its own failure."""

    async def verify(self, task: Task, key: TaskKey, output: str, files: Mapping[str, bytes]) -> Score: ...

    def flags(self, task: Task, key: TaskKey, deeds: Deeds) -> tuple[str, ...]:
        """Signs of tampering. A flagged attempt earns nothing, whatever `verify` says."""


class Executor(Protocol):
    """Runs jobs and yields attempts in completion order, one a job. Infrastructure failures are retried within its
    bound, then yielded with termination `infrastructure` and no score. It never raises for a bad rollout."""

    def run(self, jobs: Sequence[Job]) -> AsyncIterator[Attempt]: ...

    async def close(self) -> None: ...


class Draw(Protocol):
    """What a stage uses to get attempts: `k` recorded draws of each task under one pair and harness.

    Returns them grouped by task in the order of `tasks`; what is recorded already is not run again; every attempt is
    recorded before it is returned. Draws of different `purpose` are independent (fresh). Raises OutageError where so
    many were lost to infrastructure that nothing can be decided over them; those stay owed."""

    async def __call__(
        self, tasks: Sequence[Task], pair: Pair, harness: HarnessConfig, k: int, purpose: str
    ) -> Sequence[Sequence[Attempt]]: ...


# Runs a Python program in a sandbox of its own: what it printed, "" where it failed. Raises InfrastructureError.
Prove = Callable[[str], Awaitable[str]]


@dataclass(frozen=True)
class Scene:
    """What a stage works on: the place in the lineage, the champion, its bank, and how to draw. `say` prints one plain
    line for a person."""

    lineage: str
    generation: int
    seed: int
    champion: Pair
    document: str  # the champion's HCP document
    harness: HarnessConfig
    bank: TaskBank
    draw: Draw
    say: Callable[[str], None]
    prove: Prove | None = None  # None where no sandbox can be had


class Proposer(Protocol):
    """Proposes recipes. Sees rates of open families only. Returns at most `n` recipes, and refusals with reasons."""

    async def propose(
        self, rates: Sequence[FamilyRate], n: int, seed: int
    ) -> tuple[Sequence[Recipe], Sequence[Refusal]]: ...


class Certifier(Protocol):
    """Proves a task without a model: reference passes, doing nothing fails, repeats agree."""

    async def __call__(self, task: Task, key: TaskKey) -> Certificate: ...


class Rollout(Protocol):
    """Picklable. Plays training draws through the production harness on `model`; order kept; attempts are complete
    (score None where infrastructure failed)."""

    async def __call__(self, draws: Sequence[TrainDraw], model: ModelBackend) -> Sequence[Attempt]: ...

    def ids(self, draws: Sequence[TrainDraw]) -> Sequence[str]:
        """The ids of the attempts that these draws make, order kept: known before they are played."""


class RolloutFactory(Protocol):
    """Makes the rollout of one training run: `pair` is what the attempts are drawn under (old adapters, new harness),
    `purpose` names the run; with a draw's task, policy version and number it decides the attempt's spec."""

    def __call__(self, pair: Pair, harness: HarnessConfig, tasks: Sequence[OpenTask], purpose: str) -> Rollout: ...


class Trainer(Protocol):
    """Trains one specialist and exports an adapter revision: files first, metadata last, named by content.

    Attempts go to `store` before they count; draws that `store` holds already are not played again. Raises
    TrainingError where sampler and learner disagree before the first step, or no adapter effect is seen after it."""

    async def train(
        self, spec: TrainSpec, rollout: Rollout, store: "Store", progress: Callable[[str, int, int], None]
    ) -> AdapterRevision: ...


class Store(Protocol):
    """The truth about attempts and stages. Only the driver writes. Methods are atomic and durable when they return."""

    def record(self, attempt: Attempt) -> None:
        """Insert once; the same id again is an IntegrityError unless the recorded one was an infrastructure failure."""

    def get(self, ids: Sequence[str]) -> Mapping[str, Attempt]:
        """The scored or finished attempts among `ids`; infrastructure failures are not among them (still owed)."""

    def stage(self, lineage: str, generation: int, name: str) -> str | None:
        """The committed JSON output of a stage, or None."""

    def commit_stage(self, lineage: str, generation: int, name: str, output: str) -> None:
        """Commit a stage's output; a second commit with other content is an IntegrityError."""


class Registry(Protocol):
    """Pairs and which of them is champion. Promotion is atomic and happens once for a look."""

    def publish(self, record: PairRecord) -> None: ...

    def promote(self, lineage: str, pair: str, look: str) -> bool:
        """Make `pair` champion because of the verdict on `look`. False where that look has promoted already."""

    def current(self, lineage: str) -> PairRecord | None: ...

    def lineage(self, lineage: str) -> Sequence[PairRecord]: ...


class LookBook(Protocol):
    """Looks at the sealed split and their verdicts, durable when a method returns. Both are idempotent for equal
    content and an error otherwise: no shard is looked at twice, no look is judged twice."""

    def open(self, look: Look) -> Verdict | None:
        """Returns the verdict that the look has already, else None. Raises UserError for a second look."""

    def close(self, verdict: Verdict) -> None: ...

    def of(self, lineage: str) -> Sequence[Look]:
        """The looks of a lineage, oldest first: what they may spend is spent."""


class ReviewBook(Protocol):
    """What people are asked and what they decided, kept in the lineage's ledger."""

    def ask(self, request: ReviewRequest) -> None:
        """Record a request durably, once."""

    def docket(self, lineage: str) -> Docket:
        """All requests and decisions. Raises IntegrityError where the ledger does not verify: nothing in it counts."""


class Tracker(Protocol):
    """A mirror for people (MLflow). Never decides anything; its failures are reported, not raised."""

    def log(self, name: str, metrics: Mapping[str, float], step: int) -> None: ...

    def close(self) -> None: ...
