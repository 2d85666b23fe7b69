"""What the gate finds and what it costs: power at generations 1 and 20, attempts against the fixed design of equal
power, and how long one judgement takes.

The fixed design draws all its tasks, judges once at the same error, and holds nothing back; how many tasks it needs for
the sequential rule's power at a gain of 10 points is read off its own
simulated power curve. Intervals of the ratios take that number as known.
"""

import functools
import sys
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.gate_worlds import base_rates, contract, shared
from benchmarks.report import Figure, Goal, finish, mean, quick, share
from rsi.gate.budget import spends
from rsi.gate.contract import Contract
from rsi.gate.judgement import Plan, weigh
from rsi.gate.simulate import Outcome, Simulation, World

EFFECTS = (-0.1, 0.0, 0.05, 0.1, 0.2)
SIZES = (80, 120, 160, 200)  # tasks of the fixed design
TAU, CHUNKS = 0.05, 20
VERDICTS = {"quick": 100, "full": 2000}
PLAN = ((0.05, 0.1, 0.15, 0.2), (80, 200, 400), (1, 4))  # of the curve: gains, tasks, attempts a task and arm


def fixed() -> Contract:
    once = contract().evaluation.model_copy(update={"batches": 1, "held_back": 0.0})
    return contract().model_copy(update={"evaluation": once})


def verdicts(chosen: Contract, world: World, generation: int, each: int, chunk: int) -> list[tuple[bool, int]]:
    """(promoted, attempts) of `each` verdicts."""
    rng = np.random.default_rng([11, generation, chunk])
    simulation = Simulation(chosen, world)
    outcomes: list[Outcome] = [simulation.verdict(spends(chosen.error, generation), rng) for _ in range(each)]
    return [(outcome.decision == "promote", outcome.attempts) for outcome in outcomes]


def drawn(chosen: Contract, count: int, generation: int = 1, **of: float) -> Sequence[tuple[bool, int]]:
    world = World(base_rates(), tau=TAU, **of)  # type: ignore[arg-type]
    return shared(functools.partial(verdicts, chosen, world, generation, max(1, count // CHUNKS)), CHUNKS)


def power(name: str, rows: Sequence[tuple[bool, int]]) -> Figure:
    return share(name, sum(promoted for promoted, _ in rows), len(rows))


def cost(count: int, rows: dict[float, Sequence[tuple[bool, int]]]) -> list[Figure]:
    curve = [power("", drawn(fixed(), count, gain=0.1, tasks=tasks)).value for tasks in SIZES]
    reached = power("", rows[0.1])
    fewest, tasks, most = (float(np.interp(p, curve, SIZES)) for p in (reached.low, reached.value, reached.high))
    attempts = tasks * 2 * World(()).draws
    each = [mean(f"attempts / fixed, gain {g:+g}", "x", [a / attempts for _, a in rows[g]]) for g in EFFECTS]
    overall = np.mean([figure.value for figure in each])
    spread = 1.96 * np.sqrt(sum(((figure.high - figure.low) / 3.92) ** 2 for figure in each)) / len(each)
    low, high = float(overall - spread), float(overall + spread)
    n = sum(figure.n for figure in each)
    return [
        Figure("tasks of the fixed design", tasks, "tasks", count, fewest, most),
        *each,
        Figure("attempts / fixed, mean of the effects", float(overall), "x", n, low, high),
    ]


def judging_time() -> Figure:
    """Milliseconds of one judgement over 200 tasks x 8 attempts an arm."""
    rng, world = np.random.default_rng(3), World(base_rates(), draws=8)
    simulation, times = Simulation(contract(), world), list[float]()
    old, new = simulation.passes(rng)
    for _ in range(31):
        begun = time.perf_counter()
        weigh(contract(), simulation.evidence(old, new, range(200)), Plan(0.0025, (100, 200)), 2)
        times.append((time.perf_counter() - begun) * 1e3)
    return mean("one judgement, 200 tasks x 8", "ms", times[1:])


def main() -> int:
    short = quick(__doc__ or "")
    count = VERDICTS["quick" if short else "full"]
    rows = {gain: drawn(contract(), count, gain=gain) for gain in EFFECTS}
    found = [
        power("power, generation 1, gain +0.1", rows[0.1]),
        power("power, generation 20, gain +0.1", drawn(contract(), count, 20, gain=0.1)),
        *cost(count, rows),
        judging_time(),
    ]
    if not short:
        gains, sizes, draws = PLAN
        found += [
            power(
                f"power, gain {g:+g}, {n} tasks x {k}",
                drawn(contract(), 400, gain=g, tasks=n, draws=k),
            )
            for n in sizes
            for k in draws
            for g in gains
        ]
    goals = [
        Goal("power, generation 1, gain +0.1", at_least=0.8),
        Goal("power, generation 20, gain +0.1", at_least=0.8),
        Goal("attempts / fixed, mean of the effects", at_most=0.7),
        Goal("one judgement, 200 tasks x 8", at_most=50),
    ]
    return finish("gate_power", found, goals)


if __name__ == "__main__":
    sys.exit(main())
