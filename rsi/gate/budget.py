"""One error budget a lineage: what a look may spend follows from the looks that the lineage has had, and from nothing
else. No generation, restart, rollback or new contract gives any of it back.
"""

from collections.abc import Sequence
from math import fsum

from rsi.gate.contract import Error
from rsi.types import Look

LEAST = 1e-12  # an error that a look can be judged at


def allot(earlier: Sequence[Look], budget: float, horizon: int) -> tuple[float, float, float]:
    """(alpha, spent, budget) of the next look. Each look may spend 1/`horizon` of what is left, so the whole is never
    spent: after n looks a share of (1 - 1/horizon)^n is left.

    The smallest budget that any look of the lineage was opened under holds for good: later contracts may tighten it."""
    budget = min([budget, *(look.budget for look in earlier if look.budget)])  # 0: from before there were budgets
    spent = fsum(look.alpha for look in earlier)
    return max(0.0, budget - spent) / horizon, spent, budget


def spends(error: Error, generation: int) -> float:
    """The error of the n-th generation's look, in a lineage that has had a look in each before."""
    return error.lineage / error.horizon * (1 - 1 / error.horizon) ** (generation - 1)
