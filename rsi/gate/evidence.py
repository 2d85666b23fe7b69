"""Recorded attempts as tables of figures, one row a task: what judging works on. Pure.

An attempt lost to infrastructure is missing (NaN), never a failure.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rsi.gate.contract import GAINS
from rsi.gate.statistics import rate
from rsi.types import Attempt, Budgets, Rate, Task

Table = NDArray[np.float64]  # tasks x draws
Case = Literal["finished", "worst", "best"]  # missing attempts left out, or counted against or for the candidate
SHOWN = {"all": "all sealed tasks", "unseen_instances": "unseen instances", "unseen_families": "unseen families"}


@dataclass(frozen=True)
class Arm:
    """The figures of one arm: metric -> tasks x draws, NaN where missing. `most`: what a metric can be at most."""

    figures: Mapping[str, Table]
    most: Mapping[str, float]

    @property
    def missing(self) -> int:
        return int(np.isnan(self.figures["pass_rate"]).sum())

    def per_task(self, metric: str, fill: float | None = None) -> Table:
        """The mean of a metric for each task. A missing attempt counts as `fill`, or not at all; NaN where none
        counts."""
        table = self.figures[metric]
        if fill is not None:
            return np.asarray(np.where(np.isnan(table), fill, table).mean(axis=1))
        counted = (~np.isnan(table)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.nansum(table, axis=1) / counted)


@dataclass(frozen=True)
class Evidence:
    """The tasks in the order of the arms' rows. `facts`: figures that no attempt holds (canary_passes, ...)."""

    families: Sequence[str]
    held_out: Sequence[bool]
    champion: Arm
    candidate: Arm
    tags: Sequence[frozenset[str]] = ()
    specialist: str = ""
    facts: Mapping[str, Rate] = field(default_factory=dict)

    @cached_property
    def labels(self) -> NDArray[np.str_]:
        return np.asarray(self.families, dtype=str)

    @cached_property
    def _unseen(self) -> NDArray[np.bool_]:
        return np.asarray(self.held_out, dtype=bool)

    @property
    def lost(self) -> int:
        return self.champion.missing + self.candidate.missing

    @property
    def finished(self) -> float:
        """The share of both arms' attempts that infrastructure did not take."""
        return 1 - self.lost / max(1, 2 * self.champion.figures["pass_rate"].size)

    def pick(self, where: str) -> NDArray[np.intp]:
        """Indices of the tasks of a slice."""
        kind, _, name = where.partition(":")
        match kind:
            case "all":
                chosen = np.ones(len(self.labels), dtype=bool)
            case "unseen_families":
                chosen = self._unseen
            case "unseen_instances":
                chosen = ~self._unseen
            case "family":
                chosen = self.labels == name
            case "specialist":
                chosen = np.full(len(self.labels), self.specialist == name)
            case _:
                chosen = np.asarray([name in tags for tags in self.tags] or np.zeros(len(self.labels)), dtype=bool)
        return np.flatnonzero(chosen)

    def values(self, metric: str, case: Case) -> tuple[Table, Table]:
        """Per-task figures of champion and candidate, missing attempts counted as `case` says: of gains the least is 0,
        of costs the most is the budget."""
        if case == "finished" or not self.lost:
            return self.champion.per_task(metric), self.candidate.per_task(metric)
        gain, worst = metric in GAINS, case == "worst"
        old = self.champion.most[metric] if gain == worst else 0.0
        new = 0.0 if gain == worst else self.candidate.most[metric]
        return self.champion.per_task(metric, old), self.candidate.per_task(metric, new)

    def rates(self, remark: str = "") -> dict[str, Rate]:
        """Pass rates of the finished attempts: "champion/all", "candidate/unseen families" and so on. `remark` is added
        to their notes."""
        found = {}
        for name, arm in (("champion", self.champion), ("candidate", self.candidate)):
            values = arm.per_task("pass_rate")
            for where, label in SHOWN.items():
                chosen = values[self.pick(where)]
                known = chosen[~np.isnan(chosen)].tolist()
                found[f"{name}/{'all' if where == 'all' else label}"] = rate(known, note=label + remark)
        return found

    def regressions(self) -> Counter[str]:
        """Tasks that the champion always passed and the candidate never did, counted by family."""
        old, new = self.champion.per_task("pass_rate"), self.candidate.per_task("pass_rate")
        return Counter(self.labels[(old == 1) & (new == 0)].tolist())


def tabled(attempts: Sequence[Sequence[Attempt]], budgets: Budgets) -> Arm:
    """The figures of recorded attempts, grouped by task."""
    figures = {
        "pass_rate": _table(attempts, lambda a: float(a.passed)),
        "reward": _table(attempts, lambda a: a.score.reward if a.score else 0.0),
        "completion_tokens": _table(attempts, lambda a: float(a.cost.completion_tokens)),
        "prompt_tokens": _table(attempts, lambda a: float(a.cost.prompt_tokens)),
        "turns": _table(attempts, lambda a: float(a.cost.turns)),
        "seconds": _table(attempts, lambda a: a.cost.seconds),
        "flags": _table(attempts, lambda a: float(len(a.score.flags)) if a.score else 0.0),
    }
    tokens = float(budgets.tokens)
    most = {"completion_tokens": tokens, "prompt_tokens": tokens * budgets.turns, "turns": float(budgets.turns)}
    return Arm(figures, {"pass_rate": 1.0, "reward": 1.0, "seconds": float(budgets.seconds), "flags": 0.0, **most})


def _table(attempts: Sequence[Sequence[Attempt]], figure: Callable[[Attempt], float]) -> Table:
    return np.asarray([[float("nan") if a.score is None else figure(a) for a in group] for group in attempts])


def gather(
    tasks: Sequence[Task], champion: Arm, candidate: Arm, specialist: str = "", facts: Mapping[str, Rate] | None = None
) -> Evidence:
    """Evidence over recorded tasks. Their difficulty is their tag: `tag:difficulty-2`."""
    return Evidence(
        families=[task.recipe.family for task in tasks],
        held_out=[task.held_out for task in tasks],
        champion=champion,
        candidate=candidate,
        tags=[frozenset({f"difficulty-{task.recipe.difficulty}"}) for task in tasks],
        specialist=specialist,
        facts=facts or {},
    )
