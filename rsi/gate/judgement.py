"""The judgement over the evidence so far: promote, reject, or draw another batch. Pure; the whole of what decides.

All binding clauses must hold after one batch. The levels come from the group-sequential boundary, so the chance
that a pair whose mean is no better is promoted at any of them is at most the look's alpha (see boundary.py for what
this assumes).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from scipy.special import ndtri, stdtr

from rsi.gate.boundary import conditional_power, nominal_levels
from rsi.gate.clauses import Levels, binds, decide
from rsi.gate.contract import Clause, Contract, Evaluation
from rsi.gate.evidence import Evidence
from rsi.gate.statistics import mean_difference, standard_error
from rsi.ids import seed_of
from rsi.types import ClauseResult, Decision

SMALLEST = 12  # tasks a batch: fewer tasks are judged in fewer batches
Stopped = Literal["success", "harm", "futility", "end"]


@dataclass(frozen=True)
class Plan:
    """What a verdict may use: its error, and the sealed tasks that each batch ends at."""

    alpha: float
    ends: tuple[int, ...]

    @classmethod
    def over(cls, alpha: float, parts: Sequence[Sequence[int]]) -> Self:
        return cls(alpha, tuple(itertools.accumulate(map(len, parts))))

    @property
    def fractions(self) -> tuple[float, ...]:
        return tuple(end / self.ends[-1] for end in self.ends)


@dataclass(frozen=True)
class Weighed:
    """`decision` is None where another batch is to be drawn."""

    decision: Decision | None
    stopped: Stopped
    clauses: tuple[ClauseResult, ...]
    why: str = ""


def weigh(contract: Contract, evidence: Evidence, plan: Plan, batch: int) -> Weighed:
    """Judge after batch `batch` (from 1) of the plan; `evidence` holds the tasks of all batches so far."""
    nominal = nominal_levels(plan.alpha, plan.fractions)
    levels = _levels(contract, evidence, nominal[batch - 1], len(plan.ends))
    clauses = tuple(decide(clause, evidence, levels) for clause in contract.clause)
    binding = [(c, r) for c, r in zip(contract.clause, clauses, strict=True) if binds(c, evidence)]
    held = [result.held for _, result in binding]
    last, enough = batch == len(plan.ends), evidence.finished >= contract.evaluation.min_completion_rate
    lost = f"only {evidence.finished:.0%} of the attempts finished, infrastructure took the rest"
    if last and not enough:
        return Weighed("indecisive", "end", clauses, lost)
    if enough and held and all(held):
        return Weighed("promote", "end" if last else "success", clauses)
    if any(r.held is False and c.kind in ("zero", "veto") for c, r in binding):
        return Weighed("reject", "end" if last else "harm", clauses)
    if last:
        return Weighed("reject" if False in held else "indecisive", "end", clauses)
    for clause in [c for c, result in binding if c.kind == "superiority" and result.held is False]:
        if (stopped := _hopeless(clause, evidence, contract, plan, batch, nominal[-1])) is not None:
            return Weighed("reject", stopped, clauses, _SAYS[stopped])
    return Weighed(None, "end", clauses)


def cheating(contract: Contract, evidence: Evidence) -> str:
    """Why a clause that allows none of something fails on these tasks, where it is about any; empty where none does."""
    about = [c for c in contract.clause if c.kind == "zero" and c.binding and len(evidence.pick(c.slice))]
    found = [decide(clause, evidence, Levels()) for clause in about]
    return "; ".join(f"{result.name}: {result.reason}" for result in found if result.held is False)


_SAYS: dict[Stopped, str] = {
    "harm": "drawing stopped early: the candidate does harm",
    "futility": "drawing stopped early: a gain worth having is out of reach",
}


def _levels(contract: Contract, evidence: Evidence, nominal: float, looks: int) -> Levels:
    """Clauses of one kind share the error of the look; vetoes share theirs over the looks as well."""

    def share(kind: str) -> int:
        return max(1, sum(c.kind == kind and binds(c, evidence) for c in contract.clause))

    return Levels(
        superiority=nominal / share("superiority"),
        non_inferiority=nominal / share("non_inferiority"),
        veto=contract.error.veto / share("veto") / looks,
    )


def _hopeless(
    clause: Clause, evidence: Evidence, contract: Contract, plan: Plan, batch: int, final: float
) -> Stopped | None:
    """Whether harm is shown (one-sided, at LEVEL), or a gain of `worth` would too seldom still be shown by the end.

    Neither can raise the chance of a promotion, so neither needs a share of the error. Missing attempts count for the
    candidate here: what infrastructure took must not end a verdict."""
    chosen = evidence.pick(clause.slice)
    old, new = (column[chosen] for column in evidence.values(clause.metric, "best"))
    difference, labels = new - old - (clause.margin or 0.0), evidence.labels[chosen]
    families = len(set(labels))
    if len(difference) < clause.min_tasks or families < clause.min_families:
        return None
    if mean_difference(difference, labels, span=2.0).high < 0:
        return "harm"
    error = standard_error(difference, labels)
    if error == 0:
        return None
    fraction, t = plan.fractions[batch - 1], float(difference.mean()) / error
    drift = (contract.evaluation.worth - (clause.margin or 0.0)) / (error * np.sqrt(fraction))
    z = float(ndtri(np.clip(stdtr(families - 1, t), 1e-12, 1 - 1e-12)))
    chance = conditional_power(z, fraction, drift, float(-ndtri(final)))
    return "futility" if chance < contract.error.futility else None


def batches(families: Sequence[str], ids: Sequence[str], asked: Evaluation) -> tuple[list[list[int]], list[int]]:
    """The tasks' indices batch by batch, near equal in size and none below SMALLEST where there are more than one; and
    those of the share that is held back. Each family is spread evenly over all of them.

    Systematic sampling: a family's tasks lie at equal distances on [0, 1), from an offset that its name decides."""
    place = dict[int, float]()
    for family in sorted(set(families)):
        members = sorted((i for i, name in enumerate(families) if name == family), key=lambda i: ids[i])
        offset = seed_of(family) % 10_000 / 10_000
        place |= {i: (k + offset) / len(members) for k, i in enumerate(members)}
    order = sorted(place, key=lambda i: (place[i], ids[i]))
    used = len(order) - int(len(order) * asked.held_back)
    count = max(1, min(asked.batches, int(len(order) * (1 - asked.held_back)) // SMALLEST))
    cuts = [-(-used * k // count) for k in range(count + 1)]
    return [order[a:b] for a, b in itertools.pairwise(cuts)], order[used:]
