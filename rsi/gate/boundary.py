"""Group-sequential boundaries: how much evidence each look within a verdict needs, so that looking often costs nothing.

Error is spent as alpha * t^2 of the information fraction t (Lan and DeMets, Biometrika 1983; Kim and DeMets, Biometrika
1987). The levels come from the joint normal law of the statistics, integrated look by look (Armitage, McPherson and
Rowe, JRSS A 1969). Assumes: increments independent and near-normal, fractions fixed before the data. Stopping for
futility or harm only lowers the error (non-binding). Pure numbers; knows no tasks and no contracts.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

SPEND = 2.0  # the exponent: later looks get more of the error, the first of four a sixteenth
NODES = 160  # of the quadrature over one look's statistic
REACH = 9.0  # standard deviations below zero that are integrated over


@lru_cache(maxsize=4096)
def nominal_levels(alpha: float, fractions: tuple[float, ...]) -> tuple[float, ...]:
    """The one-sided level of each look. A null statistic falls below its level at any of them with probability `alpha`.

    `fractions`: increasing, the last is 1. ValueError for anything else, or an alpha outside (0, 0.5)."""
    if not 0 < alpha < 0.5 or not fractions or fractions[-1] != 1 or any(np.diff((0.0, *fractions)) <= 0):
        raise ValueError(f"no boundary for error {alpha} at fractions {fractions}")
    spent = [alpha * t**SPEND for t in fractions]
    levels = [spent[0]]
    points, mass = _region(float(ndtri(1 - spent[0])), fractions[0])
    mass = mass * _density(points / np.sqrt(fractions[0])) / np.sqrt(fractions[0])
    for k in range(1, len(fractions)):
        step, root = fractions[k] - fractions[k - 1], np.sqrt(fractions[k])
        owed = spent[k] - spent[k - 1]
        crossing = _Crossing(points, mass, step, root, owed)
        bound = float(brentq(crossing, 0.0, REACH, xtol=1e-10))
        levels.append(float(ndtr(-bound)))
        fresh, weights = _region(bound, fractions[k])
        kernel = _density((fresh[:, None] - points[None, :]) / np.sqrt(step)) / np.sqrt(step)
        points, mass = fresh, weights * (kernel @ mass)
    return tuple(levels)


class _Crossing:
    """The log of the probability to cross `bound` (in standard deviations) at this look first, less that of `owed`."""

    def __init__(
        self, points: NDArray[np.float64], mass: NDArray[np.float64], step: float, root: float, owed: float
    ) -> None:
        self.points, self.mass, self.step, self.root, self.owed = points, mass, np.sqrt(step), root, np.log(owed)

    def __call__(self, bound: float) -> float:
        tails = log_ndtr((self.points - bound * self.root) / self.step)
        return float(np.log(np.sum(self.mass * np.exp(tails)) + 1e-300) - self.owed)


def _region(bound: float, fraction: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quadrature points and weights for the score below the bound, on the scale of a variance of `fraction`."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    low, high = -REACH * np.sqrt(fraction), bound * np.sqrt(fraction)
    half = (high - low) / 2
    return low + half * (nodes + 1), half * weights


def _density(z: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.exp(-z * z / 2) / np.sqrt(2 * np.pi))


def conditional_power(z: float, fraction: float, drift: float, final: float) -> float:
    """The probability to end above `final` (in standard deviations) where the statistic is `z` at information
    `fraction` and its expectation at the end is `drift`. At the end it is 0 or 1."""
    if fraction >= 1:
        return float(z > final)
    rest = 1 - fraction
    return float(ndtr((z * np.sqrt(fraction) + drift * rest - final) / np.sqrt(rest)))
