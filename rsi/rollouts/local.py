"""The plainest executor: many episodes at once in this process's event loop."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from itertools import islice

from rsi.rollouts.episode import Parts, play
from rsi.types import Attempt, Job


class LocalExecutor:
    """At most `concurrency` episodes in flight. The model stays its owner's to close."""

    def __init__(self, parts: Parts, concurrency: int, retries: int) -> None:
        self._parts, self._concurrency, self._retries = parts, concurrency, retries

    def run(self, jobs: Sequence[Job]) -> AsyncIterator[Attempt]:
        return stream(jobs, lambda job: play(job, self._parts, self._retries), self._concurrency)

    async def close(self) -> None:
        await self._parts.close()


async def stream(
    jobs: Sequence[Job], one: Callable[[Job], Awaitable[Attempt]], concurrency: int
) -> AsyncGenerator[Attempt, None]:
    """`one(job)` for each job, `concurrency` at a time, in completion order. An error of `one` or the end of the
    reader's interest cancels what is in flight and waits for its teardown."""
    waiting, running = iter(jobs), set[asyncio.Future[Attempt]]()
    try:
        while True:
            running.update(asyncio.ensure_future(one(job)) for job in islice(waiting, concurrency - len(running)))
            if not running:
                return
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for future in done:
                running.discard(future)
                yield future.result()
    finally:
        for future in running:
            future.cancel()
        await asyncio.gather(*running, return_exceptions=True)
