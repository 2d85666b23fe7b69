"""Episodes a second, three commands each: plain subprocesses against bubblewrap, and whatever executor is handed in.

Rounds are interleaved and paired: in each round every arm runs once, in an order that rotates, so that a machine that
slows down slows all of them.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from benchmarks.plain_sandbox import PlainProvider
from benchmarks.report import Goal, finish, mean, quick, ratio
from rsi.ports import Executor, SandboxProvider
from rsi.sandbox.probe import probe
from rsi.types import Job, Termination

COMMANDS = ("printf '3\\n1\\n2\\n' > numbers", "sort -n numbers > sorted", "tail -n 1 sorted")
CONCURRENCY = 8
PLAIN, CONFINED = "plain", "bubblewrap"
ROUNDS = {"quick": (4, 32), "full": (12, 96)}  # rounds, episodes a round and arm


@dataclass(frozen=True)
class Arm:
    """Something that plays `n` episodes and returns when the last has ended. It raises where one goes wrong."""

    name: str
    play: Callable[[int], Awaitable[None]]


def provider_arm(name: str, provider: SandboxProvider) -> Arm:
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

    return Arm(name, play)


def executor_arm(name: str, executor: Executor, make_jobs: Callable[[int], Sequence[Job]]) -> Arm:
    """Whole attempts through an executor. `make_jobs(n)` gives n jobs of three commands each, new ones at each call."""

    async def play(n: int) -> None:
        ended = [attempt.termination async for attempt in executor.run(make_jobs(n))]
        if len(ended) != n or Termination.INFRASTRUCTURE in ended:
            raise RuntimeError(
                f"{name}: {len(ended)} of {n} attempts, {ended.count(Termination.INFRASTRUCTURE)} failed"
            )

    return Arm(name, play)


async def rates(arms: Sequence[Arm], rounds: int, episodes: int) -> dict[str, list[float]]:
    """Episodes a second by arm, one value a round. A first round warms up and is dropped."""
    found: dict[str, list[float]] = {arm.name: [] for arm in arms}
    for turn in range(-1, rounds):
        shift = turn % len(arms)
        for arm in (*arms[shift:], *arms[:shift]):
            begun = time.perf_counter()
            await arm.play(episodes)
            if turn >= 0:
                found[arm.name].append(episodes / (time.perf_counter() - begun))
    return found


async def measure(arms: Sequence[Arm], short: bool) -> int:
    """Run the arms and report: a rate an arm, and each arm's ratio to the plain one."""
    rounds, episodes = ROUNDS["quick" if short else "full"]
    found = await rates(arms, rounds, episodes)
    figures = [mean(name, "episodes/s", values) for name, values in found.items()]
    figures += [ratio(f"{name} / {PLAIN}", values, found[PLAIN]) for name, values in found.items() if name != PLAIN]
    return finish("rollout_throughput", figures, [Goal(f"{CONFINED} / {PLAIN}", at_least=0.3)])


async def main() -> int:
    short = quick(__doc__)
    arms = [provider_arm(PLAIN, PlainProvider())]
    provider, reasons = await probe("bubblewrap")
    if provider is None:
        print(*reasons, sep="\n")
    else:
        arms.append(provider_arm(CONFINED, provider))
    return await measure(arms, short)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
