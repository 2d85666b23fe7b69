"""Whether fresh draws speak for an edit. Pure. A screen with tiny samples: the gate decides, so it is a lax one."""

from math import comb

SCREEN = 0.25  # one-sided; 2 of 8 against 0 of 8 passes the screen, 1 of 8 does not


def tail(more: int, fewer: int, n: int) -> float:
    """Fisher's exact one-sided p: chance of at least `more` of the pooled passes in one of two arms of `n` draws, if
    the arms do not differ."""
    total = more + fewer
    ways = sum(comb(n, i) * comb(n, total - i) for i in range(more, min(n, total) + 1))
    return ways / comb(2 * n, total)


def gains(without: int, passes: int, n: int) -> bool:
    """Passes rise, and by more than the screen puts down to chance."""
    return passes > without and tail(passes, without, n) <= SCREEN


def loses(without: int, passes: int, n: int) -> bool:
    """Passes fall beyond noise."""
    return gains(passes, without, n)
