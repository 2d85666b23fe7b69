"""What discovery, expansion and update hand on."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from rsi.types.edits import Edit
from rsi.types.record import Record
from rsi.types.tasks import OpenTask, Recipe
from rsi.types.training import AdapterRevision


class Rate(Record):
    """A rate with its sample size and 95% interval. `note` labels what it is ("adaptive", "unseen families")."""

    value: float
    n: int
    low: float
    high: float
    note: str = ""


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


class HelperProof(Record):
    """What was found of a function that attempt `source` saved: whether held-out references prove it, or, of a helper
    that the champion has, whether it does no harm. `reason` is one line for a person and names no expected value."""

    name: str
    source: str
    proven: bool
    reason: str


class CoveragePoint(Record):
    attempts: int
    passes: int  # pooled
    covered: int  # unique tasks passed at least once: adaptive, a ceiling


class Expansion(Record):
    """`document` is the text of the composed HCP document (the champion's own where nothing was accepted)."""

    document: str
    trials: tuple[EditTrial, ...]
    composed: tuple[Edit, ...] = ()  # the edits that make it of the champion's, in order
    waiting: tuple[Edit, ...] = ()  # edits that a person must approve first
    attributions: tuple[Attribution, ...] = ()
    coverage: tuple[CoveragePoint, ...] = ()
    retry: tuple[CoveragePoint, ...] = ()  # the champion alone, the same tasks, equal budget
    tasks: int = 0  # tasks that coverage counts
    selection_before: Rate | None = None
    selection_after: Rate | None = None
    helpers: tuple[HelperProof, ...] = Field((), exclude_if=lambda value: not value)


class Update(Record):
    """`adapter` is None where nothing was trained; `reason` says why."""

    adapter: AdapterRevision | None
    reason: str = ""
    groups: Mapping[str, int] = Field(default_factory=dict)  # submitted = accepted + filtered + failed
