"""Episodes a second, three commands each: plain subprocesses against bubblewrap, Docker where an engine
answers, and whatever executor is handed in.

Rounds are interleaved and paired: in each round every arm runs once, in an order that rotates, so that a machine that
slows down slows all of them.
"""

import asyncio
import functools
import itertools
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from benchmarks import rollout_arms
from benchmarks.plain_sandbox import PlainProvider
from benchmarks.report import Goal, finish, mean, quick, ratio
from rsi.ports import Executor, SandboxProvider
from rsi.rollouts import LocalExecutor
from rsi.rollouts.ray import RayExecutor
from rsi.sandbox.probe import probe
from rsi.types import Job

COMMANDS = ("printf '3\\n1\\n2\\n' > numbers", "sort -n numbers > sorted", "tail -n 1 sorted")
CONCURRENCY, WORKERS = 8, 2
PLAIN, CONFINED, DOCKER = "plain", "bubblewrap", "docker"
ROUNDS = {"quick": (3, 32), "full": (12, 96)}  # rounds, episodes a round and arm
CONTAINERS = 8  # episodes a round in Docker, which takes as long for one as bubblewrap for 20
# Those whose sandbox this machine has not are left out.
GOALS = (
    Goal(f"{CONFINED} / {PLAIN}", at_least=0.3),
    Goal(f"{CONFINED}, Ray executor", at_least=60),
    Goal(DOCKER, at_least=2.5),
)


@dataclass(frozen=True)
class Arm:
    """Something that plays `n` episodes and returns when the last has ended. It raises where one goes wrong."""

    name: str
    play: Callable[[int], Awaitable[None]]
    most: int = sys.maxsize  # episodes a round


def provider_arm(name: str, provider: SandboxProvider, most: int = sys.maxsize) -> Arm:
    """Episodes driven straight on a provider: open, three commands, take the workspace out, close."""

    async def play(n: int) -> None:
        slots = asyncio.Semaphore(CONCURRENCY)

        async def one() -> None:
            async with slots:
                sandbox = await provider.open()
                try:
                    results = [await sandbox.exec(command, timeout=30) for command in COMMANDS]
                    files = await sandbox.get()
                finally:
                    await sandbox.close()
                if results[-1].stdout != "3\n" or set(files) != {"numbers", "sorted"}:
                    raise RuntimeError(f"{name}: a wrong episode: {results[-1]}")

        await asyncio.gather(*(one() for _ in range(n)))

    return Arm(name, play, most)


def executor_arm(name: str, executor: Executor, make_jobs: Callable[[int], Sequence[Job]]) -> Arm:
    """Whole attempts through an executor. `make_jobs(n)` gives n jobs of three commands each, new ones at each call."""

    async def play(n: int) -> None:
        attempts = [attempt async for attempt in executor.run(make_jobs(n))]
        wrong = [attempt for attempt in attempts if not attempt.passed or attempt.cost.turns != len(COMMANDS)]
        if len(attempts) != n or wrong:
            why = wrong[0].error or wrong[0].score if wrong else ""
            raise RuntimeError(f"{name}: {len(attempts)} of {n} attempts, {len(wrong)} of them wrong: {why}")

    return Arm(name, play)


async def rates(arms: Sequence[Arm], rounds: int, episodes: int) -> dict[str, list[float]]:
    """Episodes a second by arm, one value a round. A first round warms up and is dropped."""
    found: dict[str, list[float]] = {arm.name: [] for arm in arms}
    for turn in range(-1, rounds):
        shift = turn % len(arms)
        for arm in (*arms[shift:], *arms[:shift]):
            begun, n = time.perf_counter(), min(episodes, arm.most)
            await arm.play(n)
            if turn >= 0:
                found[arm.name].append(n / (time.perf_counter() - begun))
    return found


async def measure(arms: Sequence[Arm], short: bool) -> int:
    """Run the arms and report: a rate an arm, and each arm's ratio to the plain one."""
    rounds, episodes = ROUNDS["quick" if short else "full"]
    found = await rates(arms, rounds, episodes)
    figures = [mean(name, "episodes/s", values) for name, values in found.items()]
    others = [name for name in found if name not in (PLAIN, DOCKER)]
    figures += [ratio(f"{name} / {PLAIN}", found[name], found[PLAIN]) for name in others]
    return finish("rollout_throughput", figures, [goal for goal in GOALS if goal.figure in {f.name for f in figures}])


def executors_by_name(confined: bool) -> dict[str, Executor]:
    """Local and Ray executors over plain and, where it works, bubblewrap sandboxes."""
    found: dict[str, Executor] = {}
    for sandbox in (PLAIN, CONFINED) if confined else (PLAIN,):
        factory = rollout_arms.factory(sandbox == CONFINED, COMMANDS)
        found[f"{sandbox}, local executor"] = LocalExecutor(factory(), CONCURRENCY, retries=0)
        found[f"{sandbox}, Ray executor"] = RayExecutor(factory, WORKERS, CONCURRENCY, retries=0)
    return found


async def main() -> int:
    short = quick(__doc__)
    arms = [provider_arm(PLAIN, PlainProvider())]
    confined, reasons = await probe("bubblewrap")
    docker, more = await probe("docker")
    print(*reasons, *more, sep="\n")
    arms += [provider_arm(CONFINED, confined)] if confined else []
    arms += [provider_arm(DOCKER, docker, CONTAINERS)] if docker else []
    executors, numbers = executors_by_name(confined is not None), itertools.count()
    for name, one in executors.items():
        identity = confined.identity if confined and name.startswith(CONFINED) else PlainProvider.identity
        arms.append(executor_arm(name, one, functools.partial(rollout_arms.make_jobs, numbers, identity)))
    try:
        return await measure(arms, short)
    finally:
        for one in executors.values():
            await one.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
