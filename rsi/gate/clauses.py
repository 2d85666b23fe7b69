"""One clause of a contract against the evidence: held, not held, or undecided. Pure.

What is decided on the finished attempts must also hold whichever way the missing ones had come out; else it is not
decided.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rsi.figures import exact
from rsi.gate.contract import COUNTS, ENOUGH_FAMILIES, FACTS, GAINS, PARITIES, Clause
from rsi.gate.evidence import SHOWN, Case, Evidence
from rsi.gate.statistics import LEVEL, mean_difference, rate, ratio
from rsi.gate.veto import losses
from rsi.types import ClauseResult, Rate


@dataclass(frozen=True)
class Levels:
    """The one-sided errors of this judgement: of each clause of a kind, and of all vetoes of a clause together."""

    superiority: float = LEVEL
    non_inferiority: float = LEVEL
    veto: float = LEVEL

    def of(self, clause: Clause) -> float:
        return self.superiority if clause.kind == "superiority" else self.non_inferiority


def binds(clause: Clause, evidence: Evidence) -> bool:
    """Whether the clause decides anything: unseen families do so only where there are enough of them."""
    if clause.needs_families:
        return clause.binding and len(set(evidence.labels[evidence.pick(clause.slice)])) >= ENOUGH_FAMILIES
    return clause.binding


def decide(clause: Clause, evidence: Evidence, levels: Levels) -> ClauseResult:
    """Judge one clause; `held` is None where it cannot be decided. Missing evidence fails."""
    chosen = evidence.pick(clause.slice)
    families = len(set(evidence.labels[chosen]))
    estimate, held = _judge(clause, evidence, levels, "finished")
    verdict: bool | None = held
    if clause.kind in ("zero", "parity"):
        reason = _count(clause, estimate)
    elif not len(chosen):
        verdict, reason = False, "no evidence: no task of this slice was drawn, and missing evidence fails"
    elif clause.kind == "veto":
        reason = estimate.note if estimate is not None else "no evidence, and missing evidence fails"
    elif len(chosen) < clause.min_tasks or families < clause.min_families:
        wanted = f"{clause.min_tasks} of {clause.min_families} are needed"
        verdict, reason = None, f"too little to decide: {len(chosen)} tasks of {families} families, {wanted}"
    elif estimate is None:
        reason = f"no evidence: {clause.metric} cannot be measured here, and missing evidence fails"
    else:
        reason = _explain(clause, estimate, held, levels)
    if verdict is not None and evidence.lost and _turned(clause, evidence, levels, held):
        verdict = None
        reason += f"; but {evidence.lost} attempts lost to infrastructure could have turned this"
    if not binds(clause, evidence):
        few = clause.binding and f"fewer than {ENOUGH_FAMILIES} unseen families"
        reason += f" (reported only{f': {few}' if few else ''})"
    where = "" if clause.metric in FACTS else f"{SHOWN.get(clause.slice, clause.slice)}: "
    return ClauseResult(
        name=clause.name,
        kind=clause.kind,
        slice=clause.slice,
        binding=binds(clause, evidence),
        held=verdict,
        estimate=estimate,
        reason=where + reason,
    )


def _turned(clause: Clause, evidence: Evidence, levels: Levels, held: bool) -> bool:
    cases: tuple[Case, Case] = ("worst", "best")
    return any(_judge(clause, evidence, levels, case)[1] != held for case in cases)


def _judge(clause: Clause, evidence: Evidence, levels: Levels, case: Case) -> tuple[Rate | None, bool]:
    estimate = _measure(clause, evidence, levels, case)
    if estimate is None:
        return None, False
    limit, margin = clause.limit or 0.0, clause.margin or 0.0
    held = {
        "superiority": estimate.low > margin,
        "non_inferiority": estimate.low > -margin,
        "veto": estimate.value == 0,
        "floor": estimate.value >= limit,
        "ceiling": estimate.value <= limit,
        "parity": abs(estimate.value) <= limit,
        "zero": estimate.value == 0,
    }
    return estimate, held[clause.kind]


def _measure(clause: Clause, evidence: Evidence, levels: Levels, case: Case) -> Rate | None:
    """The clause's figure on tasks where both arms have a value; None where it has none."""
    chosen = evidence.pick(clause.slice)
    if clause.metric in COUNTS or clause.metric in PARITIES:
        return _fact(clause, evidence, chosen)
    if clause.kind == "veto":
        return losses(clause, evidence, chosen, levels.veto, case)
    old, new = (column[chosen] for column in evidence.values(clause.metric, case))
    known = ~(np.isnan(old) | np.isnan(new))
    old, new, families = old[known], new[known], evidence.labels[chosen][known]
    if not len(old):
        return None
    span = max(evidence.champion.most[clause.metric], evidence.candidate.most[clause.metric])
    if clause.kind in ("superiority", "non_inferiority"):
        return mean_difference(new - old, families, span, levels.of(clause))
    if clause.of == "ratio":
        return ratio(new, old, families)
    if clause.of == "difference":
        return mean_difference(new - old, families, span)
    if clause.metric in GAINS:
        return rate(new.tolist(), note=SHOWN.get(clause.slice, clause.slice))
    return mean_difference(new, families, span)


def _fact(clause: Clause, evidence: Evidence, chosen: NDArray[np.intp]) -> Rate | None:
    """A count or gap: of the candidate's finished attempts, or a fact that came with the evidence."""
    if clause.metric in FACTS:
        return evidence.facts.get(clause.metric)
    table = evidence.candidate.figures["flags"][chosen]
    n = int((~np.isnan(table)).sum())
    return exact(float(np.nansum(table)), n, "attempts") if n else None


def _count(clause: Clause, estimate: Rate | None) -> str:
    if estimate is None or not np.isfinite(estimate.value):
        return f"no evidence: {clause.metric} was not measured, and missing evidence fails"
    if clause.kind == "parity":
        seen = f"{clause.metric} is {estimate.value:.3g}, at most {clause.limit:g} is asked"
    else:
        seen = "none seen" if estimate.value == 0 else f"{estimate.value:.3g} seen, none is allowed"
    return f"{seen}, n={estimate.n} {estimate.note}"


def _explain(clause: Clause, r: Rate, held: bool, levels: Levels) -> str:
    interval = f"[{r.low:+.3g}, {r.high:+.3g}], n={r.n} tasks of {r.note}"
    if clause.kind in ("superiority", "non_inferiority"):
        bound = clause.margin or 0.0 if clause.kind == "superiority" else -(clause.margin or 0.0)
        words = "lies above" if held else "does not lie above"
        level = f"interval at error {levels.of(clause):.2g} a side"
        return f"{clause.metric} differs by {r.value:+.3g}, {level} {interval}, which {words} {bound:g}"
    figure = {"candidate": "", "difference": "difference of ", "ratio": "ratio of "}[clause.of]
    side = "at least" if clause.kind == "floor" else "at most"
    verb = "is" if held else "is not"
    return f"{figure}{clause.metric} {r.value:.3g} {verb} {side} {clause.limit:g} (95% interval {interval})"
