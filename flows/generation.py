"""One flow, each stage a task: what `rsi run` does, with Prefect's record of it. Decides nothing.

Retries, caching and results stay off: a stage is idempotent and the store alone knows what is owed.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from prefect import Flow, flow, task
from prefect.cache_policies import NO_CACHE
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.server import prefect_api
from rsi.config import RunSettings
from rsi.generation import STAGES

Say = Callable[[str], None]
PLAIN: dict[str, Any] = {"retries": 0, "persist_result": False}


class Stages(Protocol):
    """What a flow needs of `rsi.generation.Cycle`."""

    def owed(self, generations: int) -> Iterable[int]: ...

    async def stage(self, name: str, generation: int) -> None: ...


Opener = Callable[[RunSettings, Say], AbstractAsyncContextManager[Stages]]


def run_generations(settings: RunSettings, count: int, say: Say, opener: Opener | None = None) -> None:
    """Run what generations 1..`count` still owe, as one Prefect flow run. Call from the main thread, outside any loop.

    A failing stage fails its task and the flow, and its own exception comes out here. `opener`: `rsi.wiring.open_run`.
    """
    for name in ("prefect.flow_runs", "prefect.task_runs"):  # their tracebacks go to Prefect's page, not the terminal
        logging.getLogger(name).propagate = False
    with prefect_api() as url, temporary_settings({PREFECT_API_URL: url}):
        asyncio.run(generation_flow(say, opener or production())(settings, count))


def generation_flow(say: Say, opener: Opener) -> Flow[[RunSettings, int], Coroutine[Any, Any, None]]:
    """The flow `generations(settings, count)`. What Prefect must not look into (the open run) is closed over."""

    @flow(name="generations", flow_run_name="{settings.lineage} to generation {count}", **PLAIN)
    async def generations(settings: RunSettings, count: int) -> None:
        async with opener(settings, say) as run:
            await stages_as_tasks(run, run.owed(count))

    return generations


async def stages_as_tasks(run: Stages, numbers: Iterable[int]) -> None:
    """Inside a flow: every stage of the given generations in order, each as a task named after it."""
    for number in numbers:
        for name in STAGES:
            await _as_task(run, name)(number)


def _as_task(run: Stages, name: str) -> Callable[[int], Coroutine[Any, Any, None]]:
    @task(name=name, task_run_name=f"{name} of generation {{generation}}", cache_policy=NO_CACHE, **PLAIN)
    async def stage(generation: int) -> None:
        await run.stage(name, generation)

    return stage


def production() -> Opener:
    from rsi.wiring import open_run

    return open_run
