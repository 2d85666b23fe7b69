"""What training is told, and the adapter revision that it exports."""

from collections.abc import Mapping

from pydantic import Field

from rsi.types.model import Message
from rsi.types.record import Record


class TrainSettings(Record):
    steps: int = Field(8, ge=0, le=100_000)
    prompts_per_step: int = Field(4, ge=1, le=1024)
    group_size: int = Field(8, ge=2, le=1024)
    learning_rate: float = Field(2e-4, gt=0, le=1)
    rank: int = Field(16, ge=1, le=1024)
    alpha: int = Field(32, ge=1, le=65_536)
    form_weight: float = Field(0.1, ge=0, le=1)  # training reward = outcome + form_weight * form
    backfill: int = Field(4, ge=0, le=1024)  # extra groups a step may draw to replace uninformative ones
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
