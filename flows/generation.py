"""One flow, each stage a task: what `rsi run` does, with Prefect's record of it. Decides nothing.

Retries, caching and results stay off: a stage is idempotent and the store alone knows what is owed.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol

import httpx
from prefect import Flow, State, flow, task
from prefect.cache_policies import NO_CACHE
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogHandler
from prefect.runtime import task_run
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Completed

from flows.server import on_loopback, prefect_api
from rsi.config import RunSettings
from rsi.errors import ReviewPending
from rsi.results import STAGES

Say = Callable[[str], None]
SETTLE_SECONDS = 15.0
PLAIN: dict[str, Any] = {"retries": 0, "persist_result": False}


class Stages(Protocol):
    """What a flow needs of `rsi.generation.Cycle`."""

    def owed(self, generations: int) -> Iterable[int]: ...

    def next_owed(self) -> int: ...

    async def stage(self, name: str, generation: int) -> None: ...


Opener = Callable[[RunSettings, Say], AbstractAsyncContextManager[Stages]]


def run_generations(settings: RunSettings, count: int, say: Say, opener: Opener | None = None) -> None:
    """Run what generations 1..`count` still owe, as one Prefect flow run. Call from the main thread, outside any loop.

    A failing stage fails its task and the flow, and its own exception comes out here; where people must decide first,
    both end as WaitsForReview, and ReviewPending comes out. `opener`: `wiring.run.open_run`.
    """
    for name in ("prefect.flow_runs", "prefect.task_runs"):  # their tracebacks go to Prefect's page, not the terminal
        logging.getLogger(name).propagate = False
    started: list[str] = []
    with prefect_api() as url, temporary_settings({PREFECT_API_URL: url}):
        try:
            waits = asyncio.run(generation_flow(say, opener or production(), started)(settings, count))
        finally:
            _settle(url, started)
    if waits:
        raise ReviewPending(waits)


def generation_flow(
    say: Say, opener: Opener, started: list[str]
) -> Flow[[RunSettings, int], Coroutine[Any, Any, str | None]]:
    """The flow `generations(settings, count)`, which adds the ids of its task runs to `started`.

    What Prefect must not look into (the open run) is closed over."""

    @flow(name="generations", flow_run_name="{settings.lineage} to generation {count}", **PLAIN)
    async def generations(settings: RunSettings, count: int) -> State[str] | None:
        async with opener(settings, say) as run:
            waits = await stages_as_tasks(run, run.owed(count), started)
        return waits_for_review(waits) if waits else None

    return generations


async def stages_as_tasks(run: Stages, numbers: Iterable[int], started: list[str]) -> str | None:
    """Inside a flow: every stage of the given generations in order, each as a task named after it. Ends at a stage that
    waits for people, with the words that say so."""
    for number in numbers:
        for name in STAGES:
            if waits := await _as_task(run, name, started)(number):
                return waits.message  # a task hands a state on as it is, a flow its data
    return None


def waits_for_review(words: str) -> State[str]:
    """How a run ends that waits for people. A Prefect run that suspends itself would have to be resumed on the server
    that it began on, and such a server may be gone; the store knows what is owed, so that any later run goes on."""
    return Completed(name="WaitsForReview", message=words, data=words)


def _as_task(run: Stages, name: str, started: list[str]) -> Callable[[int], Coroutine[Any, Any, State[str] | None]]:
    @task(name=name, task_run_name=f"{name} of generation {{generation}}", cache_policy=NO_CACHE, **PLAIN)
    async def stage(generation: int) -> State[str] | None:
        started.append(str(task_run.id))
        try:
            await run.stage(name, generation)
        except ReviewPending as pending:
            return waits_for_review(str(pending))
        return None

    return stage


def _settle(url: str, started: Sequence[str]) -> None:
    """Wait, within bounds, for what Prefect reports in the background: a server ended sooner loses tasks."""
    APILogHandler().flush()
    EventsWorker.drain_all(timeout=SETTLE_SECONDS, at_exit=False)
    deadline = time.monotonic() + SETTLE_SECONDS
    ended = {"type": {"any_": ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]}}
    query = {"task_runs": {"id": {"any_": list(started)}, "state": ended}}
    with suppress(httpx.HTTPError, ImportError, ValueError):  # the record for people never decides how a run ends
        while started and time.monotonic() < deadline:
            answer = httpx.post(f"{url}/task_runs/count", json=query, timeout=5.0, trust_env=not on_loopback(url))
            if answer.json() == len(started):
                return
            time.sleep(0.2)


def production() -> Opener:
    from rsi.wiring.run import open_run

    return open_run
