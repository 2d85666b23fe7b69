"""Looks at the sealed split, and verdicts."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from rsi.types.record import Record
from rsi.types.stages import Rate

Decision = Literal["promote", "reject", "indecisive"]


class Look(Record):
    """(candidate, sealed shard, seeds), recorded before anything is scored, with the error that it may spend."""

    lineage: str
    generation: int
    champion: str
    candidate: str
    contract: str
    sealed: str  # digest of the sealed shard
    attempts: tuple[str, ...]  # owed at most: "run seed/purpose/pair/task/draw", which decides the seeds
    # Left out where they have their defaults, so that the looks of older records keep their digests.
    alpha: float = Field(0.0, exclude_if=lambda v: v == 0)  # the chance of a false promotion that it may spend
    spent: float = Field(0.0, exclude_if=lambda v: v == 0)  # by the lineage's earlier looks
    budget: float = Field(0.0, exclude_if=lambda v: v == 0)  # of the lineage, for good
    shard_looks: int = Field(1, exclude_if=lambda v: v == 1)  # at one sealed shard, as the contract allows


class ClauseResult(Record):
    name: str
    kind: str
    slice: str
    binding: bool  # whether it decides; else it is only reported
    held: bool | None  # None: it could not be decided
    estimate: Rate | None
    reason: str


class Verdict(Record):
    """Only `decision` may reach the loop; the rest is for people and reports."""

    decision: Decision
    look: str
    clauses: tuple[ClauseResult, ...]
    rates: Mapping[str, Rate]  # "champion/unseen instances" -> rate
    two_by_two: Mapping[str, Rate]  # "old weights, new harness" -> rate, on the tasks held back
    effects: Mapping[str, Rate] = Field(default_factory=dict)  # weights, harness, interaction, on the tasks held back
    reasons: tuple[str, ...] = ()
    stopped: Literal["success", "harm", "futility", "end"] = "end"
    batches: tuple[int, int] = (1, 1)  # drawn, of at most
    gain: Rate | None = None  # of a promoted candidate, on tasks held back from the decision: stopping biases nothing
    digests: Mapping[str, str] = Field(default_factory=dict)  # contract, pairs, sealed tasks, attempts, sandbox, code
