"""How often a lineage of 20 generations promotes anything although the mean never improves, beside two rules in use.

Every rule sees the same draws: the gate's sequential judgement under the lineage's error budget; "the mean is higher";
and "p < 0.05 each time" (a paired t test over tasks, two-sided, and the mean is higher).

The last world is reported without a goal: a tenth of the families are lost altogether and the others gain a little, so
that the mean stays. No sample of 40 families can rule that out; docs/gate.md says what follows.
"""

import functools
import sys
from collections.abc import Sequence

import numpy as np
from scipy.stats import ttest_1samp

from benchmarks.gate_worlds import base_rates, contract, shared
from benchmarks.report import Figure, Goal, finish, quick, share
from rsi.gate.budget import spends
from rsi.gate.simulate import Simulation, World

GENERATIONS, TAUS = 20, (0.0, 0.05, 0.1)
WORLDS = {
    **{f"tau {tau:g}": World(base_rates(), tau=tau) for tau in TAUS},
    "a tenth lost": World(base_rates(), lost=0.1),
}
LINEAGES = {"quick": 40, "full": 2000}
CHUNKS = 40


def lineages(name: str, each: int, chunk: int) -> list[tuple[bool, bool, bool]]:
    """Whether the gate, the higher mean, and the repeated test promote anything, for `each` lineages."""
    rng = np.random.default_rng([7, list(WORLDS).index(name), chunk])
    simulation = Simulation(contract(), WORLDS[name])
    found = []
    for _ in range(each):
        any_of = [False, False, False]
        for generation in range(1, GENERATIONS + 1):
            outcome = simulation.verdict(spends(contract().error, generation), rng)
            mean = outcome.all_tasks.mean()
            significant = mean > 0 and ttest_1samp(outcome.all_tasks, 0).pvalue < 0.05
            for i, promoted in enumerate((outcome.decision == "promote", mean > 0, significant)):
                any_of[i] |= bool(promoted)
        found.append((any_of[0], any_of[1], any_of[2]))
    return found


def figures(count: int) -> list[Figure]:
    made, each = list[Figure](), max(1, count // CHUNKS)
    for name in WORLDS:
        rows: Sequence[tuple[bool, bool, bool]] = shared(functools.partial(lineages, name, each), CHUNKS)
        for i, rule in enumerate(("the gate", "mean is higher", "p < 0.05 each time")):
            made.append(share(f"{rule}, {name}", sum(row[i] for row in rows), len(rows)))
    return made


def main() -> int:
    found = figures(LINEAGES["quick" if quick(__doc__ or "") else "full"])
    return finish("gate_false_promotion", found, [Goal(f"the gate, tau {tau:g}", at_most=0.05) for tau in TAUS])


if __name__ == "__main__":
    sys.exit(main())
