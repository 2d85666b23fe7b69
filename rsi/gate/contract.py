"""Promotion contracts: what a successor must show. TOML written by people, identified by the digest of its content.

Knows no attempts and no statistics: only what is asked for.
"""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from rsi.config import Version, validate
from rsi.files import load_toml
from rsi.gate.review import Review
from rsi.types import Record

Kind = Literal["superiority", "non_inferiority", "veto", "floor", "ceiling", "zero", "parity"]
GAINS = ("pass_rate", "reward")  # in [0, 1], more is better
COSTS = ("completion_tokens", "prompt_tokens", "turns", "seconds")  # of an attempt, less is better
COUNTS = ("flags", "canary_passes", "sealed_leaks")  # of cheating
PARITIES = ("replay_gap", "sampler_learner_gap")  # how far two ways to the same figure are apart
FACTS = ("canary_passes", "sealed_leaks", *PARITIES)  # no sealed attempt holds them, so no slice divides them
Metric = Literal[
    "pass_rate",
    "reward",
    "completion_tokens",
    "prompt_tokens",
    "turns",
    "seconds",
    "flags",
    "canary_passes",
    "sealed_leaks",
    "replay_gap",
    "sampler_learner_gap",
]
_METRICS = {
    "superiority": GAINS,
    "non_inferiority": GAINS,
    "veto": ("pass_rate",),
    "floor": GAINS,
    "ceiling": COSTS,
    "zero": COUNTS,
    "parity": PARITIES,
}
ENOUGH_FAMILIES = 25  # unseen families are reported, and become a clause from so many on


def _slice(name: str) -> str:
    if not re.fullmatch(r"all|unseen_instances|unseen_families|(family|specialist|tag):[\w.-]+", name):
        raise ValueError("a slice is all, unseen_instances, unseen_families, family:NAME, specialist:NAME or tag:NAME")
    return name


def _name(text: str) -> str:
    if not text.isprintable() or text != text.strip() or not 1 <= len(text) <= 80:
        raise ValueError("a name is 1 to 80 printable characters, without spaces around")
    return text


Slice = Annotated[str, AfterValidator(_slice)]
Name = Annotated[str, AfterValidator(_name)]


class Clause(Record):
    """One demand on the candidate, measured on a slice of the sealed split.

    Evidence, judged at the error that the look may spend, which clauses of one kind share, on candidate minus champion,
    paired by task:
      superiority: the difference is above `margin` (0 unless stated); non_inferiority: it is above -`margin`.
    veto: no family of the slice that the champion solved (at least `solved` of its draws) is lost beyond noise.
    Guard rails, judged by the measured value alone (`of`: the candidate's own, its difference from the champion's, or
    its ratio to it):
      floor: at least `limit`; ceiling: at most `limit`; parity: the gap is at most `limit`; zero: none is seen.
    Fewer than `min_tasks` tasks or `min_families` families cannot decide it; none at all fail it. A clause that is not
    `binding`, or is about fewer than ENOUGH_FAMILIES unseen families, is reported and decides nothing.
    """

    name: Name
    kind: Kind
    metric: Metric = "pass_rate"
    slice: Slice = "all"
    of: Literal["candidate", "difference", "ratio"] = "candidate"
    margin: float | None = Field(None, ge=0, le=1)
    limit: float | None = Field(None, allow_inf_nan=False)
    solved: float = Field(0.9, gt=0, le=1)
    min_tasks: int = Field(8, ge=1, le=100_000)
    min_families: int = Field(3, ge=2, le=10_000)
    binding: bool = True

    @property
    def needs_families(self) -> bool:
        """Whether it binds only where there are ENOUGH_FAMILIES unseen ones."""
        return self.slice == "unseen_families" and self.kind not in ("zero", "parity")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.kind in ("ceiling", "floor", "parity")) != (self.limit is not None):
            raise ValueError(f"clause '{self.name}': 'limit' belongs to ceiling, floor and parity, and these need it")
        if self.margin is not None and self.kind not in ("superiority", "non_inferiority"):
            raise ValueError(f"clause '{self.name}': 'margin' belongs to superiority and non_inferiority")
        if self.kind == "non_inferiority" and not self.margin:
            raise ValueError(f"clause '{self.name}': non_inferiority needs a 'margin' above 0")
        if self.metric not in _METRICS[self.kind]:
            raise ValueError(f"clause '{self.name}': {self.kind} takes the metrics {', '.join(_METRICS[self.kind])}")
        if self.of != "candidate" and self.kind not in ("ceiling", "floor"):
            raise ValueError(f"clause '{self.name}': 'of' belongs to ceiling and floor")
        if self.slice.startswith("family:") and self.kind not in ("veto", "zero", "parity"):
            raise ValueError(f"clause '{self.name}': {self.kind} compares families, so one family cannot show it")
        low, high = self._room
        if self.limit is not None and not low <= self.limit <= high:
            raise ValueError(f"clause '{self.name}': 'limit' {self.limit:g} divides nothing: take {low:g} to {high:g}")
        return self

    @property
    def _room(self) -> tuple[float, float]:
        """The limits that some candidates keep to and others do not."""
        if self.kind == "floor" and self.of != "ratio":
            return (0, 1) if self.of == "candidate" else (-1, 1)
        return (-1e12 if self.of == "difference" else 0, 1e12)


class Judge(Record):
    """A model that scores. One of the policy's own family favours it, so the contract must say why it is used."""

    family: str = Field(min_length=1)
    because: str = ""


class Evaluation(Record):
    """How the candidate is to be evaluated, whatever its own settings say.

    `bank`, `salt` bind the contract to a bank by name and to a home's sealed tasks by the digest of its salt; `draws`
    is the least number of attempts a task and arm; `seed` and `temperature` (of the candidate's document) bind where
    they are given. The sealed tasks come in `batches`, each followed by a judgement, and a share of `held_back` is
    left: on it alone the gain of a promoted candidate is measured. `worth`: a gain that people would not want to miss;
    drawing stops when it is out of reach. `min_completion_rate`: the share of attempts that must not have been lost to
    infrastructure. `shard_looks`: after so many a sealed shard is retired.
    """

    bank: str | None = None
    salt: str | None = None
    draws: int = Field(1, ge=1, le=1000)
    batches: int = Field(8, ge=1, le=20)
    held_back: float = Field(0.15, ge=0, le=0.5)
    worth: float = Field(0.1, gt=0, le=1)
    min_completion_rate: float = Field(0.95, gt=0, le=1)
    shard_looks: int = Field(1, ge=1)
    verifier_isolation: Literal["own"] = "own"  # verifiers run in a fresh sandbox of their own
    seed: int | None = None
    temperature: float | None = Field(None, ge=0, le=5)
    judge: Judge | None = None


class Error(Record):
    """`lineage`: the chance that the lineage ever promotes a pair that is no better, over all generations; each look
    spends 1/`horizon` of what is left. `veto`: the chance that a look vetoes a candidate that lost nothing. `futility`:
    drawing stops where the chance to still show a gain of `worth` falls below it."""

    lineage: float = Field(0.05, ge=1e-4, lt=0.5)
    horizon: int = Field(20, ge=1, le=10_000)
    veto: float = Field(0.05, ge=1e-4, lt=0.5)
    futility: float = Field(0.25, ge=0, lt=0.5)


class Contract(Record):
    version: Version
    name: Name
    evaluation: Evaluation = Evaluation()
    review: Review = Review()
    error: Error = Error()
    clause: tuple[Clause, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _demands_something(self) -> Self:
        names = [clause.name for clause in self.clause]
        if len(set(names)) < len(names):
            raise ValueError("two clauses have the same name")
        if not any(c.binding and c.kind == "superiority" and c.slice != "unseen_families" for c in self.clause):
            raise ValueError("no binding clause of kind superiority: such a contract would promote without a gain")
        for clause in self.clause:
            if clause.binding and clause.kind == "superiority" and (clause.margin or 0) >= self.evaluation.worth:
                raise ValueError(
                    f"clause '{clause.name}': its 'margin' {clause.margin:g} is not below 'evaluation.worth' "
                    f"{self.evaluation.worth:g}, the gain that drawing goes on for"
                )
        return self

    def asks(self, metric: Metric) -> bool:
        """Whether any clause is about `metric`."""
        return any(clause.metric == metric for clause in self.clause)


def load_contract(path: Path) -> Contract:
    """Parse a contract. UserError names the file and the offending key or clause."""
    return validate(Contract, load_toml(path, "contract"), str(path))
