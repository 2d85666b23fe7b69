"""Estimates with 95% intervals for paired comparisons over tasks that come in families. Pure: numbers in, Rates out.

Tasks of one family are alike, so families, not tasks, are taken as independent: intervals are cluster-robust. Knows no
contracts, attempts or thresholds.
"""

from collections.abc import Mapping, Sequence
from math import ceil, floor, isclose, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rsi.figures import wilson
from rsi.types import Rate

FEW = 10  # with fewer clusters the t interval leans on its normality assumption; notes say so

ARMS = (
    "old weights, old harness",
    "old weights, new harness",
    "new weights, old harness",
    "new weights, new harness",
)


def rate(values: Sequence[float], note: str = "") -> Rate:
    """The mean of per-task pass rates (each in [0, 1]) with a Wilson interval whose sample size is the tasks.

    With one draw a task this is the Wilson interval of a binomial rate. With several, draws of one task are not
    independent, so they do not add to n; the interval is taken around the counts just below and above: conservative.
    """
    total, n = sum(values), len(values)
    if n == 0:
        return wilson(0, 0, note)
    near = round(total) if isclose(total, round(total), abs_tol=1e-9) else None
    low, high = (near, near) if near is not None else (floor(total), ceil(total))
    return Rate(value=total / n, n=n, low=wilson(low, n).low, high=wilson(high, n).high, note=note)


def mean_difference(differences: Sequence[float], families: Sequence[str], span: float = 1.0) -> Rate:
    """The mean of per-task differences (each within +-`span`), n = tasks, one family label a task.

    Interval: Student's t with G-1 degrees of freedom on the cluster-robust (CR1) standard error over G families;
    assumes independent families and a near-normal mean, which few families strain (the note then says so). Where that
    error is zero (all alike), it says nothing about families not seen, so the exact bound for "no other outcome in G
    families" is used instead: a share of at most 1 - 0.025^(1/G) of families might differ, by as much as the span
    allows. Fewer than two families: the whole range.
    """
    n, groups = len(differences), len(set(families))
    note = _note(groups)
    if n == 0:
        return Rate(value=0.0, n=0, low=-span, high=span, note=note)
    values = np.asarray(differences, dtype=float)
    mean = float(values.mean())
    if groups < 2:
        return Rate(value=mean, n=n, low=-span, high=span, note=note)
    if np.ptp(values) < 1e-12:
        share = 1 - 0.025 ** (1 / groups)
        return Rate(value=mean, n=n, low=mean - share * (span + mean), high=mean + share * (span - mean), note=note)
    half = _half_width(values - mean, families, float(n))
    return Rate(value=mean, n=n, low=max(-span, mean - half), high=min(span, mean + half), note=note)


def ratio(numerators: Sequence[float], denominators: Sequence[float], families: Sequence[str]) -> Rate | None:
    """The ratio of two paired means, n = tasks; None where the denominator is not above zero or families are below two.

    Interval: the linearised ratio (residuals numerator - ratio * denominator) with the same cluster-robust t interval;
    assumes that the denominator's mean is well away from zero.
    """
    above, below = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    groups = len(set(families))
    if groups < 2 or below.sum() <= 0:
        return None
    value = float(above.sum() / below.sum())
    half = _half_width(above - value * below, families, float(below.sum()))
    return Rate(value=value, n=len(below), low=max(0.0, value - half), high=value + half, note=_note(groups))


def effects(arms: Mapping[str, Sequence[float]], families: Sequence[str]) -> dict[str, Rate]:
    """Main effects and interaction of a 2x2 of weights and harness, from per-task values of the four `ARMS`.

    weights (harness): the mean, over both harnesses (weights), of new minus old, in [-1, 1]; interaction: the weights'
    effect under the new harness minus that under the old, in [-2, 2]. Each is a mean of per-task contrasts with
    `mean_difference`'s interval; the values of one task must come from the same seeds.
    """
    oo, on, no, nn = (np.asarray(arms[name], dtype=float) for name in ARMS)
    return {
        "weights": mean_difference((((no - oo) + (nn - on)) / 2).tolist(), families),
        "harness": mean_difference((((on - oo) + (nn - no)) / 2).tolist(), families),
        "interaction": mean_difference((nn - on - no + oo).tolist(), families, span=2.0),
    }


def _half_width(residuals: NDArray[np.float64], families: Sequence[str], total: float) -> float:
    """Half the width of the t interval: residuals summed within families (CR1), over `total`.

    Where residuals cancel within families the clustered error would fall below that of independent tasks, even to
    zero; the larger of the two is taken."""
    _, index = np.unique(np.asarray(families), return_inverse=True)
    sums = np.bincount(index, weights=residuals)
    groups, n = len(sums), len(residuals)
    clustered = groups / (groups - 1) * float(np.square(sums).sum())
    independent = n / (n - 1) * float(np.square(residuals).sum())
    return float(stdtrit(groups - 1, 0.975)) * sqrt(max(clustered, independent)) / total


def _note(groups: int) -> str:
    if groups < 2:
        return "one family: no interval can be given" if groups else "no tasks"
    return f"{groups} families" + (", few: a rough interval" if groups < FEW else "")
