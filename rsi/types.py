"""Frozen records: everything that travels between rooms, processes and the store. Behaviour lives elsewhere."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from rsi.ids import digest


class Record(BaseModel):
    """A frozen value. Unknown keys are errors; two records with equal content have equal digests."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @cached_property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json"))

    def __copy__(self) -> Self:
        copied = super().__copy__()
        copied.__dict__.pop("digest", None)  # model_copy(update=...) has other content, hence another digest
        return copied


# --- model ------------------------------------------------------------------------------------------------------------
class Message(Record):
    role: Literal["system", "user", "assistant"]
    content: str


class Sampling(Record):
    """How one model turn is sampled. `temperature` 0 is greedy; `top_p` 1 keeps the whole distribution."""

    temperature: float = Field(1.0, ge=0, le=5)
    top_p: float = Field(1.0, gt=0, le=1)
    max_new_tokens: int = Field(64, ge=1, le=8192)


class ModelRequest(Record):
    """One model turn.

    `prefix_ids` are the token ids of this conversation so far (last prompt + last completion, as sampled); the backend
    must answer with `prompt_ids` that begin with them, or raise. `stop` strings end the turn and are kept in the text.
    `choices`, where given, constrains the whole text to exactly one of them. `adapter` is an adapter revision's content
    name, or None for the base. `seed` alone decides the random draws of this turn.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    seed: int
    adapter: str | None = None
    prefix_ids: tuple[int, ...] = ()
    stop: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


class Completion(Record):
    """What was sampled: `token_ids` as drawn, one natural-log probability a token under the sampling temperature
    (before top-p), and the policy version (base digest, or adapter revision) that drew them."""

    text: str
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    policy_version: str
    finish: Literal["stop", "length"]


# --- tasks ------------------------------------------------------------------------------------------------------------
Split = Literal["train", "selection", "sealed"]


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
    files: Mapping[str, str] = Field(default_factory=dict)  # relative path -> text
    needs_sandbox: bool = True


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
    """A workspace file must hold `content` (trailing space ignored); None means that it must not exist."""

    kind: Literal["file"] = "file"
    path: str
    content: str | None


class ProgramCheck(Record):
    """`command` runs in a fresh sandbox over a copy of the workspace and must exit 0 and print `expected`."""

    kind: Literal["program"] = "program"
    command: str
    expected: str


Check = OutputCheck | FileCheck | ProgramCheck


class TaskKey(Record):
    """The secret half of a task: never near a proposer, an agent, a memory or a training set."""

    task_id: str
    reference: str  # a shell command, or the answer itself where the task needs no sandbox
    checks: tuple[Check, ...]


class Certificate(Record):
    """A task's proof of itself, without a model. `reason` is empty exactly where `passed`."""

    task_id: str
    passed: bool
    reference_passes: bool
    nothing_fails: bool
    repeats: int
    repeats_agree: bool
    reason: str = ""


# --- harness ----------------------------------------------------------------------------------------------------------
class Exemplar(Record):
    request: str
    response: str


class Skill(Record):
    """Text shown when one of `triggers` (words) stands in the request."""

    name: str
    triggers: tuple[str, ...]
    text: str


class StopHook(Record):
    """May block the end of an episode `max_blocks` times, saying `message`. `command` runs in the sandbox (exit 0 lets
    the episode end); `builtin` is one of the harness's own conditions. Exactly one of both; none sees the verifier."""

    name: str
    message: str
    builtin: Literal["no_action", "empty_output", "error_exit"] | None = None
    command: str | None = None
    timeout: float = Field(5.0, gt=0, le=60)
    max_blocks: int = Field(1, ge=1, le=5)
    fail: Literal["open", "closed"] = "open"


class Budgets(Record):
    """Limits of one episode; tokens are sampled tokens, `seconds` wall time inside the sandbox and model together."""

    turns: int = Field(1, ge=1, le=50)
    tokens: int = Field(128, ge=1, le=32768)
    seconds: float = Field(120.0, gt=0, le=3600)
    output_chars: int = Field(2000, ge=100, le=100_000)  # of tool output shown to the model, per command


class HarnessConfig(Record):
    """A parsed HCP document: all that the episode loop reads. `document_digest` identifies the whole document."""

    document_digest: str
    system: str
    answer_format: str = ""
    protocol: Literal["text"] = "text"
    tools: tuple[str, ...] = ("shell",)  # of: shell, read, write; empty for banks without a sandbox
    exemplars: tuple[Exemplar, ...] = ()
    shots: int = Field(0, ge=0, le=8)  # how many exemplars a request is shown
    skills: tuple[Skill, ...] = ()
    stop_hooks: tuple[StopHook, ...] = ()
    sampling: Sampling = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=64)
    budgets: Budgets = Budgets()
    list_files: bool = False  # whether the request is followed by the names of the workspace's files


class SetInstruction(Record):
    kind: Literal["instruction"] = "instruction"
    text: str


class SetAnswerFormat(Record):
    kind: Literal["answer_format"] = "answer_format"
    text: str


class AddExemplars(Record):
    """Adds to the pool from which the harness chooses by the request alone, and shows at least `shots` of them."""

    kind: Literal["exemplars"] = "exemplars"
    exemplars: tuple[Exemplar, ...]
    shots: int = Field(1, ge=1, le=8)


class AddSkill(Record):
    kind: Literal["skill"] = "skill"
    skill: Skill


class SetSampling(Record):
    kind: Literal["sampling"] = "sampling"
    sampling: Sampling


class AddStopHook(Record):
    kind: Literal["stop_hook"] = "stop_hook"
    hook: StopHook


class SetBudgets(Record):
    kind: Literal["budgets"] = "budgets"
    budgets: Budgets


Change = Annotated[
    SetInstruction | SetAnswerFormat | AddExemplars | AddSkill | SetSampling | AddStopHook | SetBudgets,
    Field(discriminator="kind"),
]


class Edit(Record):
    """A typed change of an HCP document, from a catalogue. `families`: the open ones it is meant for (none: all)."""

    name: str = Field(max_length=60)
    families: tuple[str, ...] = ()
    change: Change


class Pair(Record):
    """Base digest, adapter revision of each specialist, HCP digest. Its digest is its name."""

    base: str
    adapters: Mapping[str, str] = Field(default_factory=dict)  # specialist -> adapter revision
    hcp: str

    @property
    def name(self) -> str:
        return self.digest[:12]


# --- attempts ---------------------------------------------------------------------------------------------------------
class Termination(StrEnum):
    ANSWERED = "answered"  # an answer tag, or the last action was taken
    NO_ACTION = "no_action"  # the model's text held no action
    TURNS = "turns"
    TOKENS = "tokens"
    SECONDS = "seconds"
    CONTEXT = "context"
    INFRASTRUCTURE = "infrastructure"  # never scored


class Turn(Record):
    """One model turn and what came of it. `observation` is the bounded text that the next prompt shows."""

    completion: Completion
    action: str | None = None  # the command or tool call taken, or None
    observation: str | None = None
    exit_code: int | None = None


class Score(Record):
    """`reward` is the outcome in [0, 1]; `form` is 1.0 where a well-formed action or answer was given."""

    reward: float = Field(ge=0, le=1)
    passed: bool
    form: float = Field(0.0, ge=0, le=1)
    flags: tuple[str, ...] = ()  # tampering seen; a flagged attempt earns nothing
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


class Job(Record):
    """A picklable unit of work for an executor. The key goes to the verifier only, after the episode has ended."""

    spec: AttemptSpec
    task: Task
    key: TaskKey
    harness: HarnessConfig
    adapter: str | None = None


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
    code_version: str = ""

    @property
    def passed(self) -> bool:
        return self.score is not None and self.score.passed


# --- training ---------------------------------------------------------------------------------------------------------
class TrainSettings(Record):
    steps: int = Field(8, ge=0)
    prompts_per_step: int = Field(4, ge=1)
    group_size: int = Field(8, ge=2)
    learning_rate: float = Field(2e-4, gt=0)
    rank: int = Field(16, ge=1)
    alpha: int = Field(32, ge=1)
    form_weight: float = Field(0.1, ge=0, le=1)  # training reward = outcome + form_weight * form
    backfill: int = Field(4, ge=0)  # extra groups a step may draw to replace uninformative ones
    max_logprob_gap: float = Field(0.15, gt=0)  # mean |sampler - learner| before the first step, in nats
    seed: int = 0


class TrainSpec(Record):
    """Picklable. Paths are strings. `parent` is the adapter folder that training continues, or None for a fresh one."""

    run: str  # digest of everything that decides the result
    base: str  # model folder
    base_digest: str
    parent: str | None
    parent_revision: str | None
    pair: str  # digest of the pair that attempts are drawn under: any other attempt is refused
    tasks: tuple[str, ...]  # ids of train tasks, best first
    canary: tuple[Message, ...]  # a request whose log-probabilities must move
    settings: TrainSettings
    temperature: float = Field(1.0, gt=0)  # at which the rollout samples, and the learner scores
    workdir: str  # checkpoints
    out: str  # folder that receives the adapter revision, under its content name
    dtype: str = "bfloat16"
    device: str = "auto"
    threads: int = 2


class TrainDraw(Record):
    """One training attempt owed: task, step, draw within the run."""

    task_id: str
    step: int
    draw: int
    policy_version: str


class AdapterRevision(Record):
    """An immutable LoRA export. `name` is the digest of its files; `metrics` one mapping a step."""

    name: str
    path: str
    parent: str | None
    steps: int
    metrics: tuple[Mapping[str, float], ...] = ()


# --- figures ---------------------------------------------------------------------------------------------------------
class Rate(Record):
    """A rate with its sample size and 95% interval. `note` labels what it is ("adaptive", "unseen families")."""

    value: float
    n: int
    low: float
    high: float
    note: str = ""


# --- discovery and expansion ------------------------------------------------------------------------------------------
class FamilyRate(Record):
    """What a proposer is told of a recipe: passes of n draws under the current pair. Held-out families never appear."""

    recipe: Recipe
    passes: int
    n: int


class Refusal(Record):
    recipe: Recipe | None
    text: str
    reason: str


class Locus(StrEnum):
    MODEL = "model"
    TASK = "task"
    CONFIGURATION = "configuration"
    INFRASTRUCTURE = "infrastructure"


class Attribution(Record):
    task_id: str
    locus: Locus
    status: Literal["suspected", "confirmed"]
    evidence: str


class Discovery(Record):
    """Tasks a little beyond the pair. `passes[task id]` of `draws` under the champion, an entry a screened task."""

    tasks: tuple[OpenTask, ...]  # all screened tasks, new variants included
    draws: int
    passes: Mapping[str, int]
    fails: tuple[str, ...]  # ids: 0 of k
    band: tuple[str, ...]  # ids: pass rate in the target band
    solved: tuple[str, ...]  # ids: above the band; they serve as control slice
    proposed: int  # recipes accepted of those the model wrote
    refusals: tuple[Refusal, ...] = ()


class EditTrial(Record):
    """One edit on fresh draws: passes of n on its affected slice and on the control slice, without and with it."""

    edit: Edit
    affected: tuple[int, int, int]  # passes without, passes with, n of each arm
    control: tuple[int, int, int]
    accepted: bool
    reason: str


class CoveragePoint(Record):
    attempts: int
    passes: int  # pooled
    covered: int  # unique tasks passed at least once: adaptive, a ceiling


class Expansion(Record):
    """`document` is the text of the composed HCP document (the champion's own where nothing was accepted)."""

    document: str
    trials: tuple[EditTrial, ...]
    waiting: tuple[Edit, ...] = ()  # edits that a person must approve first
    attributions: tuple[Attribution, ...] = ()
    coverage: tuple[CoveragePoint, ...] = ()
    retry: tuple[CoveragePoint, ...] = ()  # the champion alone, the same tasks, equal budget
    tasks: int = 0  # tasks that coverage counts
    selection_before: Rate | None = None
    selection_after: Rate | None = None


class Update(Record):
    """`adapter` is None where nothing was trained; `reason` says why."""

    adapter: AdapterRevision | None
    reason: str = ""
    groups: Mapping[str, int] = Field(default_factory=dict)  # submitted = accepted + filtered + failed


# --- gate -------------------------------------------------------------------------------------------------------------
class Look(Record):
    """(candidate, sealed shard, seeds), recorded before anything is scored."""

    lineage: str
    generation: int
    champion: str
    candidate: str
    contract: str
    sealed: str  # digest of the sealed shard
    attempts: tuple[str, ...]  # owed: "run seed/purpose/pair/task/draw"; with the lineage these decide the seeds


class ClauseResult(Record):
    name: str
    kind: str
    slice: str
    held: bool | None  # None: it could not be decided
    estimate: Rate | None
    reason: str


class Verdict(Record):
    """Only `decision` may reach the loop; the rest is for people and reports."""

    decision: Literal["promote", "reject", "indecisive"]
    look: str
    clauses: tuple[ClauseResult, ...]
    rates: Mapping[str, Rate]  # "champion/unseen instances" -> rate
    two_by_two: Mapping[str, Rate]  # "old weights, new harness" -> rate
    effects: Mapping[str, Rate] = Field(default_factory=dict)  # weights, harness, interaction
    reasons: tuple[str, ...] = ()


# --- registry ---------------------------------------------------------------------------------------------------------
class PairRecord(Record):
    """A pair as registered: enough to run it again, and where it came from."""

    pair: Pair
    lineage: str
    generation: int
    parent: str | None  # pair digest
    document: str  # the HCP document's text
    adapter_paths: Mapping[str, str] = Field(default_factory=dict)
    evidence: Mapping[str, JsonValue] = Field(default_factory=dict)
