"""Looks at the sealed split, and verdicts."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from rsi.types.record import Record
from rsi.types.stages import Rate


class Look(Record):
    """(candidate, sealed shard, seeds), recorded before anything is scored."""

    lineage: str
    generation: int
    champion: str
    candidate: str
    contract: str
    shard_looks: int = 1  # at one sealed shard, as the contract allows
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
