"""Estimates with intervals for paired comparisons over tasks that come in families. Pure: numbers in, Rates out.

The estimand is the mean over the population that the sealed tasks are drawn from: families, tasks within families,
attempts within tasks. Families, not tasks, are taken as independent: intervals are cluster-robust, so differences
between tasks and families are noise that they allow for. 95% unless another level is given. Knows no contracts.
"""

from collections.abc import Sequence
from math import ceil, floor, isclose, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rsi.figures import wilson
from rsi.types import Rate

LEVEL = 0.025  # error on either side of an interval, unless another is asked for
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


def mean_difference(
    differences: Sequence[float] | NDArray[np.float64],
    families: Sequence[str] | NDArray[np.str_],
    span: float = 1.0,
    level: float = LEVEL,
) -> Rate:
    """The mean of per-task differences (each within +-`span`), n = tasks, one family label a task.

    Interval: Student's t with G-1 degrees of freedom on the cluster-robust (CR1) standard error over G families, with
    an error of `level` on either side; assumes independent families and a near-normal mean, which few families strain
    (the note then says so). Where that error is zero (all alike), it says nothing about families not seen, so the exact
    bound for "no other outcome in G families" is used instead: a share of at most 1 - level^(1/G) of families might
    differ, by as much as the span allows. Fewer than two families: the whole range.
    """
    values, groups = np.asarray(differences, dtype=float), len(np.unique(np.asarray(families)))
    n, note = len(values), _note(groups)
    mean = float(values.mean()) if n else 0.0
    if groups < 2:
        return Rate(value=mean, n=n, low=-span, high=span, note=note)
    error = standard_error(values, families)
    if error == 0:
        share = 1 - level ** (1 / groups)
        return Rate(value=mean, n=n, low=mean - share * (span + mean), high=mean + share * (span - mean), note=note)
    half = float(stdtrit(groups - 1, 1 - level)) * error
    return Rate(value=mean, n=n, low=max(-span, mean - half), high=min(span, mean + half), note=note)


def standard_error(values: NDArray[np.float64], families: Sequence[str] | NDArray[np.str_]) -> float:
    """Of the mean of per-task values, cluster-robust (CR1). 0 where all are alike."""
    if np.ptp(values) < 1e-12:
        return 0.0
    return _error(values - values.mean(), families, float(len(values)))


def ratio(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], families: NDArray[np.str_]
) -> Rate | None:
    """The ratio of two paired means, n = tasks; None where the denominator is not above zero or families are below two.

    Interval: the linearised ratio (residuals numerator - ratio * denominator) with the same cluster-robust t interval;
    assumes that the denominator's mean is well away from zero.
    """
    above, below = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    groups = len(set(families))
    if groups < 2 or below.sum() <= 0:
        return None
    value = float(above.sum() / below.sum())
    error = _error(above - value * below, families, float(below.sum()))
    half = float(stdtrit(groups - 1, 1 - LEVEL)) * error
    return Rate(value=value, n=len(below), low=max(0.0, value - half), high=value + half, note=_note(groups))


def _error(residuals: NDArray[np.float64], families: Sequence[str] | NDArray[np.str_], total: float) -> float:
    """The standard error of a sum of residuals over `total`: summed within families (CR1).

    Where residuals cancel within families the clustered error would fall below that of independent tasks, even to
    zero; the larger of the two is taken."""
    _, index = np.unique(np.asarray(families), return_inverse=True)
    sums = np.bincount(index, weights=residuals)
    groups, n = len(sums), len(residuals)
    clustered = groups / (groups - 1) * float(np.square(sums).sum())
    independent = n / (n - 1) * float(np.square(residuals).sum())
    return sqrt(max(clustered, independent)) / total


def _note(groups: int) -> str:
    if groups < 2:
        return "one family: no interval can be given" if groups else "no tasks"
    return f"{groups} families" + (", few: a rough interval" if groups < FEW else "")
