"""From recorded attempts to clause results. Pure; knows the contract's words and the statistics, no draws and no store.

An attempt lost to infrastructure is missing, never a failure. What is decided on the finished attempts must also hold
whichever way the missing ones had come out; else it is not decided.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rsi.gate.contract import GAINS, Clause, Slice
from rsi.gate.statistics import mean_difference, rate, ratio
from rsi.types import Attempt, Budgets, ClauseResult, Rate, Task

Case = Literal["finished", "worst", "best"]  # missing attempts left out, or counted against or for the candidate
SLICES: dict[Slice, str] = {
    "all": "all sealed tasks",
    "unseen_instances": "unseen instances",
    "unseen_families": "unseen families",
}


@dataclass(frozen=True)
class Arm:
    """The attempts of one arm, grouped by task in the order of the evidence's tasks, and its harness's budgets."""

    attempts: Sequence[Sequence[Attempt]]
    budgets: Budgets

    @property
    def missing(self) -> int:
        return sum(attempt.score is None for group in self.attempts for attempt in group)


@dataclass(frozen=True)
class Evidence:
    tasks: Sequence[Task]
    champion: Arm
    candidate: Arm

    def pick(self, where: Slice) -> list[int]:
        """Indices of the tasks of a slice."""
        return [
            i for i, task in enumerate(self.tasks) if where == "all" or task.held_out == (where == "unseen_families")
        ]

    def rates(self) -> dict[str, Rate]:
        """Pass rates of the finished attempts: "champion/all", "candidate/unseen families" and so on."""
        found = {}
        for name, arm in (("champion", self.champion), ("candidate", self.candidate)):
            values = per_task(arm, "pass_rate", None)
            for where, label in SLICES.items():
                known = [v for i in self.pick(where) if (v := values[i]) is not None]
                found[f"{name}/{'all' if where == 'all' else label}"] = rate(known, note=label)
        return found

    def regressions(self) -> Counter[str]:
        """Tasks that the champion always passed and the candidate never did, counted by family."""
        old, new = per_task(self.champion, "pass_rate", None), per_task(self.candidate, "pass_rate", None)
        return Counter(t.recipe.family for t, a, b in zip(self.tasks, old, new, strict=True) if a == 1 and b == 0)


def per_task(arm: Arm, metric: str, fill: float | None) -> list[float | None]:
    """The mean of a metric for each task. A missing attempt counts as `fill`, or not at all; None where none counts."""
    means: list[float | None] = []
    for group in arm.attempts:
        values = [v for a in group if (v := fill if a.score is None else _value(a, metric)) is not None]
        means.append(sum(values) / len(values) if values else None)
    return means


def decide(clause: Clause, evidence: Evidence) -> ClauseResult:
    """Judge one clause; `held` is None where it cannot be decided."""
    chosen = evidence.pick(clause.slice)
    families = {evidence.tasks[i].recipe.family for i in chosen}
    held: bool | None
    estimate, held = _judge(clause, evidence, "finished")
    if not chosen:
        held, reason = False, "no evidence: no task of this slice was drawn, and missing evidence fails"
    elif clause.kind == "zero":
        count = estimate.value if estimate else 0.0
        reason = "none seen" if held else f"{count:g} seen; none is allowed"
    elif len(chosen) < clause.min_tasks or len(families) < clause.min_families:
        held, reason = (
            None,
            (
                f"too little to decide: {len(chosen)} tasks of {len(families)} families, "
                f"{clause.min_tasks} of {clause.min_families} are needed"
            ),
        )
    elif estimate is None:
        reason = f"no evidence: {clause.metric} cannot be measured here, and missing evidence fails"
    else:
        reason = _explain(clause, estimate, bool(held))
    if held is not None and {_judge(clause, evidence, case)[1] for case in ("worst", "best")} != {held}:
        held = None
        reason += f"; but {_lost(evidence)} attempts lost to infrastructure could have turned this"
    label = f"{SLICES[clause.slice]}: {reason}" + ("" if clause.binding else " (reported only)")
    return ClauseResult(
        name=clause.name, kind=clause.kind, slice=clause.slice, held=held, estimate=estimate, reason=label
    )


def _judge(clause: Clause, evidence: Evidence, case: Case) -> tuple[Rate | None, bool]:
    estimate = _measure(clause, evidence, case)
    if estimate is None:
        return None, False
    match clause.kind:
        case "superiority":
            return estimate, estimate.low > (clause.margin or 0.0)
        case "non_inferiority":
            return estimate, estimate.low > -(clause.margin or 0.0)
        case "floor":
            return estimate, estimate.value >= (clause.limit or 0.0)
        case "ceiling":
            return estimate, estimate.value <= (clause.limit or 0.0)
        case "zero":
            return estimate, estimate.value == 0


def _measure(clause: Clause, evidence: Evidence, case: Case) -> Rate | None:
    """The clause's figure on tasks where both arms have a value; None where it has none."""
    olds = per_task(evidence.champion, clause.metric, _fill(clause.metric, evidence.champion, case, champion=True))
    news = per_task(evidence.candidate, clause.metric, _fill(clause.metric, evidence.candidate, case, champion=False))
    chosen = evidence.pick(clause.slice)
    if clause.kind == "zero":
        attempts = [a for i in chosen for a in evidence.candidate.attempts[i] if a.score is not None]
        count = sum(_value(a, clause.metric) for a in attempts)
        return (
            Rate(value=count, n=len(attempts), low=count, high=count, note="count over attempts") if attempts else None
        )
    known = [(o, v, i) for i in chosen if (o := olds[i]) is not None and (v := news[i]) is not None]
    if not known:
        return None
    old, new = [o for o, _, _ in known], [v for _, v, _ in known]
    families = [evidence.tasks[i].recipe.family for _, _, i in known]
    if clause.of == "ratio":
        return ratio(new, old, families)
    differences = [v - o for o, v, _ in known]
    if clause.of == "difference" or clause.kind in ("superiority", "non_inferiority"):
        return mean_difference(differences, families, span=_span(clause.metric, evidence))
    if clause.metric in GAINS:
        return rate(new, note=SLICES[clause.slice])
    return mean_difference(new, families, span=_span(clause.metric, evidence))


def _value(attempt: Attempt, metric: str) -> float:
    assert attempt.score is not None, "missing attempts have no value"
    match metric:
        case "pass_rate":
            return float(attempt.score.passed)
        case "reward":
            return attempt.score.reward
        case "completion_tokens":
            return float(attempt.cost.completion_tokens)
        case "turns":
            return float(attempt.cost.turns)
        case "flags":
            return float(len(attempt.score.flags))
        case _:
            raise ValueError(f"no such metric: {metric}")


def _fill(metric: str, arm: Arm, case: Case, champion: bool) -> float | None:
    """What a missing attempt counts as. Of gains the least is 0 and the most 1, of costs the most is the budget. One
    that never ended shows no flag: it already counts as a failure."""
    if case == "finished":
        return None
    most = {"completion_tokens": float(arm.budgets.tokens), "turns": float(arm.budgets.turns), "flags": 0.0}.get(
        metric, 1.0
    )
    low_is_bad = metric in GAINS
    against = (case == "worst") != champion  # is this arm's figure to be made as bad as can be?
    return 0.0 if against == low_is_bad else most


def _span(metric: str, evidence: Evidence) -> float:
    budgets = [arm.budgets for arm in (evidence.champion, evidence.candidate)]
    spans = {"completion_tokens": max(b.tokens for b in budgets), "turns": max(b.turns for b in budgets)}
    return float(spans.get(metric, 1))


def _lost(evidence: Evidence) -> int:
    return evidence.champion.missing + evidence.candidate.missing


def _explain(clause: Clause, r: Rate, held: bool) -> str:
    interval = f"[{r.low:+.3g}, {r.high:+.3g}], n={r.n} tasks of {r.note}"
    match clause.kind:
        case "superiority" | "non_inferiority":
            bound = clause.margin or 0.0 if clause.kind == "superiority" else -(clause.margin or 0.0)
            words = "lies above" if held else "does not lie above"
            return f"{clause.metric} differs by {r.value:+.3g}, 95% interval {interval}, which {words} {bound:g}"
        case _:
            figure = {"candidate": "", "difference": "difference of ", "ratio": "ratio of "}[clause.of]
            side = "at least" if clause.kind == "floor" else "at most"
            verb = "is" if held else "is not"
            return f"{figure}{clause.metric} {r.value:.3g} {verb} {side} {clause.limit:g} (95% interval {interval})"
