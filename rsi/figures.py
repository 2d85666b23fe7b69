"""Rates with their intervals. Pure arithmetic on counts; knows nothing of tasks, stages or stores."""

from math import sqrt

from rsi.types import Rate

Z95 = 1.959963984540054  # two-sided 95% quantile of the normal distribution


def exact(value: float, n: int, note: str) -> Rate:
    """What was counted or measured on all `n` that there are: nothing is inferred, so it is its own interval."""
    return Rate(value=value, n=n, low=value, high=value, note=note)


def wilson(passes: int, n: int, note: str = "") -> Rate:
    """`passes` of `n` draws as a rate with its 95% Wilson interval; n = 0 knows nothing: value 0 in [0, 1].

    Raises ValueError where the counts cannot be (negative, or more passes than draws).
    """
    if not 0 <= passes <= n:
        raise ValueError(f"{passes} passes of {n} draws cannot be")
    if n == 0:
        return Rate(value=0.0, n=0, low=0.0, high=1.0, note=note)
    share, z2 = passes / n, Z95 * Z95
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low = 0.0 if passes == 0 else max(0.0, middle - half)
    high = 1.0 if passes == n else min(1.0, middle + half)
    return Rate(value=share, n=n, low=low, high=high, note=note)
