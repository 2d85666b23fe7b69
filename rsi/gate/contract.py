"""Promotion contracts: what a successor must show. TOML written by people, identified by the digest of its content.

Knows no attempts and no statistics: only what is asked for.
"""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from rsi.config import load_toml, validate
from rsi.gate.review import Review
from rsi.types import Record

Kind = Literal["superiority", "non_inferiority", "ceiling", "floor", "zero"]
Metric = Literal["pass_rate", "reward", "completion_tokens", "turns", "flags"]
Slice = Literal["all", "unseen_instances", "unseen_families"]
GAINS = ("pass_rate", "reward")  # in [0, 1], more is better; of the other metrics less is better


class Clause(Record):
    """One demand on the candidate, measured on a slice of the sealed split.

    Evidence, judged by the 95% interval of candidate minus champion, paired by task:
      superiority: the interval lies above `margin` (0 unless stated); non_inferiority: it lies above -`margin`.
    Guard rails, judged by the measured value alone (`of`: the candidate's own, its difference from the champion's, or
    its ratio to it):
      floor: at least `limit`; ceiling: at most `limit`; zero: the candidate's attempts show none of `metric`.
    Fewer than `min_tasks` tasks or `min_families` families cannot decide it; none at all fail it. A clause that is not
    `binding` is reported and decides nothing.
    """

    name: str = Field(min_length=1)
    kind: Kind
    metric: Metric = "pass_rate"
    slice: Slice = "all"
    of: Literal["candidate", "difference", "ratio"] = "candidate"
    margin: float | None = Field(None, ge=0)
    limit: float | None = None
    min_tasks: int = Field(8, ge=1)
    min_families: int = Field(3, ge=2)
    binding: bool = True

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        evidence = self.kind in ("superiority", "non_inferiority")
        if (self.kind in ("ceiling", "floor")) != (self.limit is not None):
            raise ValueError(f"clause '{self.name}': 'limit' belongs to ceiling and floor, and these need it")
        if self.margin is not None and not evidence:
            raise ValueError(f"clause '{self.name}': 'margin' belongs to superiority and non_inferiority")
        if self.kind == "non_inferiority" and not self.margin:
            raise ValueError(f"clause '{self.name}': non_inferiority needs a 'margin' above 0")
        if (evidence or self.kind == "floor") and self.metric not in GAINS:
            raise ValueError(f"clause '{self.name}': {self.kind} takes the metrics {', '.join(GAINS)}")
        if self.kind in ("ceiling", "zero") and self.metric in GAINS:
            raise ValueError(f"clause '{self.name}': {self.kind} takes metrics of which less is better")
        if self.of != "candidate" and self.kind not in ("ceiling", "floor"):
            raise ValueError(f"clause '{self.name}': 'of' belongs to ceiling and floor")
        return self


class Evaluation(Record):
    """How the candidate is to be evaluated, whatever its own settings say.

    `bank` binds the contract to one bank by name; `draws` is the least number of attempts a task and arm;
    `min_completion_rate` the share of owed attempts that must not have been lost to infrastructure.
    `verifier_isolation` has one value as yet: verifiers run in a fresh sandbox of their own.
    """

    bank: str | None = None
    draws: int = Field(1, ge=1)
    min_completion_rate: float = Field(0.95, gt=0, le=1)
    verifier_isolation: Literal["own"] = "own"


class Contract(Record):
    version: Literal[1]
    name: str = Field(min_length=1)
    evaluation: Evaluation = Evaluation()
    review: Review = Review()
    clause: tuple[Clause, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _demands_something(self) -> Self:
        names = [clause.name for clause in self.clause]
        if len(set(names)) < len(names):
            raise ValueError("two clauses have the same name")
        if not any(clause.binding and clause.kind == "superiority" for clause in self.clause):
            raise ValueError("no binding clause of kind superiority: such a contract would promote without a gain")
        return self


def load_contract(path: Path) -> Contract:
    """Parse a contract. UserError names the file and the offending key or clause."""
    return validate(Contract, load_toml(path), str(path))
