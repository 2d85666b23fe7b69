"""Families that the champion solved and the candidate lost, beyond noise: an exact test within tasks. Pure.

Where nothing changed, a task's passes fall on the two arms as if dealt by chance, whatever its difficulty; so given the
tasks' totals, the candidate's passes are a sum of hypergeometric draws. No model of tasks or families is needed.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from rsi.gate.contract import Clause
from rsi.gate.evidence import Case, Evidence, Table
from rsi.types import Rate


def losses(clause: Clause, evidence: Evidence, chosen: NDArray[np.intp], level: float, case: Case) -> Rate | None:
    """How many families of the slice are lost, of n that the champion solved; their names in the note, the p-value of
    each. The families share `level` (Bonferroni). None where no attempt finished."""
    old, new = evidence.champion.figures[clause.metric][chosen], evidence.candidate.figures[clause.metric][chosen]
    if case != "finished":
        worst = case == "worst"
        old, new = np.where(np.isnan(old), float(worst), old), np.where(np.isnan(new), float(not worst), new)
    if np.isnan(old).all() or np.isnan(new).all():
        return None
    labels = evidence.labels[chosen]
    names, family = np.unique(labels, return_inverse=True)
    passes = np.bincount(family, np.nansum(old, axis=1))
    draws = np.bincount(family, (~np.isnan(old)).sum(axis=1))
    solved = np.flatnonzero(passes >= np.maximum(clause.solved * draws, 1e-9))
    values = {str(names[f]): chance(old[family == f], new[family == f]) for f in solved}
    lost = {f: p for f, p in values.items() if p <= level / len(solved)}
    named = ", ".join(f"{family} (p = {p:.2g})" for family, p in sorted(lost.items()))
    note = f"{len(solved)} families were solved, " + (f"lost: {named}" if lost else "none is lost beyond noise")
    return Rate(value=float(len(lost)), n=len(solved), low=float(len(lost)), high=float(len(lost)), note=note)


def chance(old: Table, new: Table) -> float:
    """The chance that so few passes (0 or 1, NaN where missing; tasks x draws) are the candidate's, or fewer, if the
    task's passes fall on either arm alike. Rows without a finished draw in either arm say nothing."""
    total, seen = np.ones(1), 0
    for before, after in zip(old, new, strict=True):
        a, b = before[~np.isnan(before)], after[~np.isnan(after)]
        passes = int(a.sum() + b.sum())
        seen += int(b.sum())
        total = np.convolve(total, _law(len(a), len(b), passes))
    return float(min(1.0, total[: seen + 1].sum()))


@lru_cache(maxsize=4096)
def _law(old: int, new: int, passes: int) -> NDArray[np.float64]:
    """The law of the candidate's passes, from 0 to `new`."""
    return np.asarray(hypergeom(old + new, passes, new).pmf(np.arange(new + 1)))
