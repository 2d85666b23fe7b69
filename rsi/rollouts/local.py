"""The plainest executor: many episodes at once in this process's event loop."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence

from rsi.errors import IntegrityError, UserError
from rsi.rollouts.episode import Parts, play, unscored
from rsi.types import Attempt, Job

PATIENCE = 8  # jobs that must fail as of a wrong set-up before it is called one (at least as many as run at once)


class LocalExecutor:
    """At most `concurrency` episodes in flight. The model stays its owner's to close."""

    def __init__(self, parts: Parts, concurrency: int, retries: int) -> None:
        self._parts = parts
        self._player = Player(lambda job: play(job, parts, retries), concurrency)

    def run(self, jobs: Sequence[Job]) -> AsyncIterator[Attempt]:
        return self._player.play(jobs)

    async def close(self) -> None:
        await self._parts.close()


class Player:
    """Plays many jobs by `one`, `concurrency` at a time, and keeps the trouble of one from the others.

    What looks like a wrong set-up (UserError, IntegrityError) is one while nothing has been scored yet: it is raised
    once all jobs, or as many as run at once, have ended so. After the first score it is one job's own trouble: the job
    ends unscored, and those that were held back meanwhile are played again. Any other error is one job's alone."""

    def __init__(self, one: Callable[[Job], Awaitable[Attempt]], concurrency: int) -> None:
        self._one, self._concurrency = one, concurrency
        self._worked = False

    async def play(self, jobs: Sequence[Job]) -> AsyncGenerator[Attempt, None]:
        """Attempts in completion order. An error, or the end of the reader's interest, cancels what is in flight and
        waits for its teardown."""
        waiting, running = deque(jobs), dict[asyncio.Future[Attempt], Job]()
        doubtful: list[tuple[Job, UserError | IntegrityError]] = []
        try:
            while waiting or running:
                while waiting and len(running) < self._concurrency:
                    job = waiting.popleft()
                    running[asyncio.ensure_future(self._one(job))] = job
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for future in done:
                    job = running.pop(future)
                    attempt = self._attempt(job, future)
                    if not isinstance(attempt, Attempt):
                        doubtful.append((job, attempt))
                        continue
                    if attempt.score is not None and not self._worked:
                        self._worked = True
                        waiting.extend(held for held, _ in doubtful)
                        doubtful.clear()
                    yield attempt
                if len(doubtful) >= max(PATIENCE, self._concurrency):
                    break
            if doubtful:
                raise doubtful[0][1]
        finally:
            for future in running:
                future.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _attempt(self, job: Job, future: asyncio.Future[Attempt]) -> Attempt | UserError | IntegrityError:
        """What became of a job; an error where it may be one of the set-up."""
        try:
            return future.result()
        except (UserError, IntegrityError) as error:
            return unscored(job, error) if self._worked else error
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 also what a library cancels or panics with
            return unscored(job, error)
