"""How much of a gain is weights, how much harness, how much needs both: the 2x2 of old and new. Pure."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rsi.gate.statistics import ARMS, mean_difference, rate
from rsi.types import Rate

Column = NDArray[np.float64]  # a value a task, NaN where none


def two_by_two(
    arms: Mapping[str, Column], families: Sequence[str], changed: Collection[str]
) -> tuple[dict[str, Rate], dict[str, Rate]]:
    """Pass rates of the four `ARMS`, and effects on tasks that all arms finished. Only what `changed` ("weights",
    "harness") has an effect; both together have an interaction."""
    rates = {name: rate(column[~np.isnan(column)].tolist(), "tasks held back") for name, column in arms.items()}
    whole = ~np.isnan(np.asarray([arms[name] for name in ARMS])).any(axis=0)
    found = effects({name: arms[name][whole] for name in ARMS}, np.asarray(families)[whole])
    return rates, {name: found[name] for name in (*changed, *(("interaction",) if len(changed) == 2 else ()))}


def effects(arms: Mapping[str, Column], families: NDArray[np.str_]) -> dict[str, Rate]:
    """Main effects and interaction of a 2x2 of weights and harness, from per-task values of the four `ARMS`.

    weights (harness): the mean, over both harnesses (weights), of new minus old, in [-1, 1]; interaction: the weights'
    effect under the new harness minus that under the old, in [-2, 2]. Each is a mean of per-task contrasts with
    `mean_difference`'s interval; the values of one task must come from the same seeds.
    """
    oo, on, no, nn = (arms[name] for name in ARMS)
    return {
        "weights": mean_difference(((no - oo) + (nn - on)) / 2, families),
        "harness": mean_difference(((on - oo) + (nn - no)) / 2, families),
        "interaction": mean_difference(nn - on - no + oo, families, span=2.0),
    }
