"""Whether the reported gain of promoted candidates is true: its bias, and how often its interval covers the truth, both
given promotion. Beside it the difference on all tasks, which is what a rule that reports its own evidence would say.
"""

import functools
import sys

import numpy as np

from benchmarks.gate_worlds import base_rates, contract, shared
from benchmarks.report import Figure, Goal, finish, mean, quick, share
from rsi.gate.budget import spends
from rsi.gate.simulate import Simulation, World

EFFECTS = (0.0, 0.05, 0.1, 0.2)
TAU, CHUNKS = 0.05, 40
VERDICTS = {"quick": {0.05: 800, 0.1: 240, 0.2: 240}, "full": {0.0: 20_000, 0.05: 8000, 0.1: 3000, 0.2: 3000}}


def promoted(gain: float, each: int, chunk: int) -> list[tuple[float, bool, float]]:
    """(reported gain, whether its interval holds the truth, difference on all tasks) of each promoted candidate."""
    rng = np.random.default_rng([13, round(gain * 1000), chunk])
    simulation, found = Simulation(contract(), World(base_rates(), gain=gain, tau=TAU)), []
    for _ in range(each):
        outcome = simulation.verdict(spends(contract().error, 1), rng)
        if outcome.decision == "promote" and (shown := outcome.gain) is not None:
            found.append((shown.value, shown.low <= gain <= shown.high, float(outcome.all_tasks.mean())))
    return found


def main() -> int:
    plan = VERDICTS["quick" if quick(__doc__ or "") else "full"]
    found, goals = list[Figure](), list[Goal]()
    for gain, count in plan.items():
        rows = shared(functools.partial(promoted, gain, max(1, count // CHUNKS)), CHUNKS)
        if not rows:  # none was promoted; a goal without its figure is missed
            goals += [Goal(f"coverage, gain {gain:+g}", at_least=0.93)] if gain > 0 else []
            continue
        bias = mean(f"bias, gain {gain:+g}", "points", [100 * (value - gain) for value, _, _ in rows])
        naive = mean(f"bias on all tasks, gain {gain:+g}", "points", [100 * (seen - gain) for _, _, seen in rows])
        covers = share(f"coverage, gain {gain:+g}", sum(held for _, held, _ in rows), len(rows))
        found += [bias, covers, naive]
        if gain > 0:  # of equal candidates hardly any is promoted: reported, too few for a goal
            goals += [Goal(bias.name, at_least=-1.5, at_most=1.5), Goal(covers.name, at_least=0.93)]
    return finish("gate_honesty", found, goals)


if __name__ == "__main__":
    sys.exit(main())
