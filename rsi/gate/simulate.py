"""Verdicts on worlds whose truth is known, by the very function that judges: power, cost and error of a contract.

The worlds: families with base rates, tasks within families, attempts within tasks. A candidate's true gain on a task is
`gain` plus a difference of standard deviation `tau` (less where a rate near 0 or 1 leaves no room), half of whose
variance is shared by the family; it is symmetric about `gain`, so the population's mean gain is `gain` exactly. Where
`lost` is given, it alone counts: each family is failed altogether with that chance, and the others gain, in proportion
to what room they have, what makes up for it in the mean of the population. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rsi.errors import UserError
from rsi.figures import exact, wilson
from rsi.gate.budget import LEAST, spends
from rsi.gate.contract import FACTS, Contract
from rsi.gate.evidence import Arm, Evidence, Table
from rsi.gate.judgement import Plan, batches, weigh
from rsi.gate.statistics import mean_difference
from rsi.types import Decision, Rate, Record

TOKENS = 20.0  # of every attempt: costs do not differ in these worlds


@dataclass(frozen=True)
class World:
    """`rates`: base pass rates that families are drawn from. `draws`: attempts a task and arm."""

    rates: Sequence[float]
    families: int = 40
    tasks: int = 200
    draws: int = 4
    gain: float = 0.0
    tau: float = 0.0
    lost: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """`attempts`: of champion and candidate together, held-back tasks included. `all_tasks`: per-task differences on
    every task, as a design that draws them all would see them."""

    decision: Decision
    batches: int
    attempts: int
    gain: Rate | None
    all_tasks: NDArray[np.float64]


class Simulation:
    """One contract in one world; each `verdict` is a fresh world of the kind."""

    def __init__(self, contract: Contract, world: World) -> None:
        self.contract, self.world = contract, world
        self._labels = [f"f{i % world.families:03}" for i in range(world.tasks)]
        names = [f"{i:05}" for i in range(world.tasks)]
        self._parts, self._held_back = batches(self._labels, names, contract.evaluation)

    def verdict(self, alpha: float, rng: np.random.Generator) -> Outcome:
        """Judge a candidate with an error of `alpha`."""
        old, new = self.passes(rng)
        plan, used = Plan.over(alpha, self._parts), list[int]()
        for batch, part in enumerate(self._parts, 1):
            used += part
            found = weigh(self.contract, self.evidence(old, new, used), plan, batch)
            if found.decision is not None:
                break
        gain = None
        differences = new.mean(axis=1) - old.mean(axis=1)
        if found.decision == "promote" and self._held_back:
            used += self._held_back
            labels = [self._labels[i] for i in self._held_back]
            gain = mean_difference(differences[self._held_back], labels)
        attempts = 2 * self.world.draws * len(used)
        return Outcome(found.decision or "indecisive", batch, attempts, gain, differences)

    def passes(self, rng: np.random.Generator) -> tuple[Table, Table]:
        """Passes of champion and candidate: tasks x draws of 0 and 1."""
        w = self.world
        family = np.arange(w.tasks) % w.families
        base = rng.choice(np.asarray(w.rates), w.families)[family]
        if w.lost:
            return self._uneven(base, rng.random(w.families)[family] < w.lost, rng)
        base = np.clip(base, abs(w.gain) / 2, 1 - abs(w.gain) / 2)
        shared, own = rng.standard_normal(w.families)[family], rng.standard_normal(w.tasks)
        room = 2 * np.minimum(base, 1 - base) - abs(w.gain)
        difference = w.gain + np.clip(w.tau * (shared + own) / np.sqrt(2), -room, room)
        shape = (w.tasks, w.draws)
        old = rng.random(shape) < (base - difference / 2)[:, None]
        new = rng.random(shape) < (base + difference / 2)[:, None]
        return old.astype(float), new.astype(float)

    def _uneven(self, base: Table, fails: NDArray[np.bool_], rng: np.random.Generator) -> tuple[Table, Table]:
        """Passes where the candidate fails some families and is a little better on the others: no gain in the mean."""
        w, mean = self.world, float(np.mean(self.world.rates))
        share = w.lost / (1 - w.lost) * mean / (1 - mean)
        if share > 1:
            raise ValueError(f"families that are not lost have no room to make up for {w.lost:.0%} that are")
        better = base + (1 - base) * share
        shape = (w.tasks, w.draws)
        old, new = (rng.random(shape) < rate[:, None] for rate in (base, np.where(fails, 0.0, better)))
        return old.astype(float), new.astype(float)

    def evidence(self, old: Table, new: Table, used: Sequence[int]) -> Evidence:
        """What a judgement sees of the tasks `used`."""
        facts = {metric: exact(0, 1, "a simulation") for metric in FACTS}
        labels = [self._labels[i] for i in used]
        champion, candidate = (_arm(table[used]) for table in (old, new))
        return Evidence(labels, [False] * len(used), champion, candidate, facts=facts)


def _arm(passes: Table) -> Arm:
    like = {name: np.full_like(passes, TOKENS) for name in ("completion_tokens", "prompt_tokens", "turns", "seconds")}
    figures = {"pass_rate": passes, "reward": passes, "flags": np.zeros_like(passes), **like}
    return Arm(figures, {"pass_rate": 1.0, "reward": 1.0, "flags": 0.0, **dict.fromkeys(like, 100.0)})


class Simulated(Record):
    """Of verdicts on candidates of one true gain. `attempts`: of a verdict, on average; `gain`: the mean gain reported
    of the promoted, None where there are none."""

    promoted: Rate
    attempts: Rate
    gain: Rate | None


def simulated(contract: Contract, world: World, generation: int, verdicts: int, seed: int = 0) -> Simulated:
    """Judge `verdicts` candidates at a generation's error. UserError where nothing of it is left by then."""
    if (alpha := spends(contract.error, generation)) < LEAST:
        raise UserError(f"generation {generation}: the lineage's error is spent by then; simulate an earlier one")
    rng, simulation = np.random.default_rng(seed), Simulation(contract, world)
    found = [simulation.verdict(alpha, rng) for _ in range(verdicts)]
    gains = [outcome.gain.value for outcome in found if outcome.gain is not None]
    attempts = [float(outcome.attempts) for outcome in found]
    return Simulated(
        promoted=wilson(sum(outcome.decision == "promote" for outcome in found), verdicts),
        attempts=_mean(attempts, 0.0, 2.0 * world.tasks * world.draws),
        gain=_mean(gains, -1.0, 1.0) if gains else None,
    )


def _mean(values: Sequence[float], least: float, most: float) -> Rate:
    """Over verdicts, each a world of its own."""
    middle = (least + most) / 2
    found = mean_difference([v - middle for v in values], [str(i) for i in range(len(values))], most - middle)
    moved = {name: getattr(found, name) + middle for name in ("value", "low", "high")}
    return found.model_copy(update=moved)
