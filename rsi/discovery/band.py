"""Where a measured pass rate stands against the target band, and which difficulty follows. Pure; sees counts only."""

from collections.abc import Mapping, Sequence
from typing import Literal

from rsi.types import Discovery, FamilyRate, Recipe, Task

RELIABLE_RATE, RELIABLE_DRAWS = 0.9, 8  # "reliably solves": at least 0.9 of k >= 8 draws

Place = Literal["below", "band", "above"]


def place(passes: int, n: int, band: tuple[float, float]) -> Place:
    """Where `passes` of `n` > 0 draws stand; the band's ends belong to it."""
    rate = passes / n
    return "below" if rate < band[0] else "above" if rate > band[1] else "band"


def reliable(passes: int, n: int) -> bool:
    return n >= RELIABLE_DRAWS and passes >= RELIABLE_RATE * n


def next_level(level: int, passes: int, n: int, band: tuple[float, float]) -> int:
    """One harder above the band, one easier below it; within 1..5. The bank may not be able to make it."""
    step = {"above": 1, "band": 0, "below": -1}[place(passes, n, band)]
    return min(5, max(1, level + step))


def rates_of(tasks: Sequence[Task], passes: Mapping[str, int], draws: int) -> dict[Recipe, FamilyRate]:
    """Pooled rate of each recipe over the screened `tasks` (those with an entry in `passes`), `draws` draws each."""
    rates: dict[Recipe, FamilyRate] = {}
    for task in tasks:
        if task.id in passes:
            old = rates.get(task.recipe, FamilyRate(recipe=task.recipe, passes=0, n=0))
            rates[task.recipe] = FamilyRate(recipe=task.recipe, passes=old.passes + passes[task.id], n=old.n + draws)
    return rates


def shifted(rates: Mapping[Recipe, FamilyRate], band: tuple[float, float]) -> dict[str, int]:
    """The level each measured family should be tried at next, from its hardest measured recipe."""
    levels: dict[str, int] = {}
    for recipe in sorted(rates, key=lambda r: (r.family, r.difficulty)):
        levels[recipe.family] = next_level(recipe.difficulty, rates[recipe].passes, rates[recipe].n, band)
    return levels


def levels_from(history: Sequence[Discovery], band: tuple[float, float]) -> dict[str, int]:
    """Levels to start from, by the latest earlier generation (oldest first in `history`) that measured each family."""
    levels: dict[str, int] = {}
    for discovery in history:
        levels |= shifted(rates_of(discovery.tasks, discovery.passes, discovery.draws), band)
    return levels
