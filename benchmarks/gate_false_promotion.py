"""How often a lineage of 20 generations promotes anything although the mean never improves, beside two rules in use.

Every rule sees the same draws: the gate's sequential judgement under the lineage's error budget; "the mean is higher";
and "p < 0.05 each time" (a paired t test over tasks, two-sided, and the mean is higher).
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
LINEAGES = {"quick": 40, "full": 2000}
CHUNKS = 40


def lineages(tau: float, each: int, chunk: int) -> list[tuple[bool, bool, bool]]:
    """Whether the gate, the higher mean, and the repeated test promote anything, for `each` lineages."""
    rng = np.random.default_rng([7, round(tau * 100), chunk])
    simulation = Simulation(contract(), World(base_rates(), tau=tau))
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
    for tau in TAUS:
        rows: Sequence[tuple[bool, bool, bool]] = shared(functools.partial(lineages, tau, each), CHUNKS)
        for i, rule in enumerate(("the gate", "mean is higher", "p < 0.05 each time")):
            made.append(share(f"{rule}, tau {tau:g}", sum(row[i] for row in rows), len(rows)))
    return made


def main() -> int:
    found = figures(LINEAGES["quick" if quick(__doc__ or "") else "full"])
    return finish("gate_false_promotion", found, [Goal(f"the gate, tau {tau:g}", at_most=0.05) for tau in TAUS])


if __name__ == "__main__":
    sys.exit(main())
