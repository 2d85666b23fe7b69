"""Rollouts on Ray: actors hold the sandboxes and run many episodes each; specs travel, clients never.

The only file that knows Ray. A dead worker is replaced and its unfinished jobs are played again, so none is lost; an
attempt is yielded once, when its job's call has returned, so none is doubled.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from rsi.errors import InfrastructureError, UserError
from rsi.rollouts.episode import Parts, play, unscored
from rsi.rollouts.local import Player
from rsi.types import Attempt, Job

Factory = Callable[[], Parts]  # picklable: a module-level function, or functools.partial of one

CLOSING = 30.0  # seconds; two dozen containers take ten
CONNECT_SECONDS = 15.0
OBJECT_STORE_BYTES = 80_000_000  # attempts are small and travel inside replies


class _Worker:
    """The actor: one set of parts a process, made on first use so that a wrong set-up is told as its own error."""

    def __init__(self, factory: Factory, retries: int) -> None:
        self._factory, self._retries = factory, retries
        self._parts: Parts | None = None
        self._playing: set[asyncio.Task[Any] | None] = set()

    async def pid(self) -> int:
        return os.getpid()

    async def play(self, job: Job) -> Attempt:
        if self._parts is None:
            self._parts = self._factory()
        own = asyncio.current_task()
        self._playing.add(own)
        try:
            return await play(job, self._parts, self._retries)
        finally:
            self._playing.discard(own)

    async def close(self) -> None:
        """End what still plays, each with its sandbox, then the parts."""
        left = [task for task in self._playing if task is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        if self._parts is not None:
            await self._parts.close()
            await self._parts.model.close()


@dataclass
class _Slot:
    """One place for a worker; `actor` changes when a dead one is replaced."""

    actor: Any
    jobs: int = 0


class RayExecutor:
    """`workers` actors with `concurrency` episodes in flight over all of them.

    A job is played again up to `retries` times after infrastructure failures in its worker, and as often (at least
    once) after its worker's death. Uses the Ray that this process is connected to, else RAY_ADDRESS, else one of its
    own on this machine, which the last executor of this process stops on close."""

    _started_here, _open = False, 0  # of this process

    def __init__(self, factory: Factory, workers: int, concurrency: int, retries: int) -> None:
        self._factory, self._concurrency, self._retries = factory, concurrency, retries
        self._ray, started = _connect(workers)
        RayExecutor._started_here, RayExecutor._open = started or self._started_here, self._open + 1
        self._slots = [_Slot(self._actor(-(-concurrency // workers))) for _ in range(workers)]
        self._player = Player(self._play, concurrency)
        self._started = False

    def _actor(self, concurrency: int) -> Any:
        options = {"num_cpus": 0, "max_concurrency": concurrency + 2, "scheduling_strategy": "SPREAD"}
        return self._ray.remote(_Worker).options(**options).remote(self._factory, self._retries)

    async def run(self, jobs: Sequence[Job]) -> AsyncIterator[Attempt]:
        if self._started:
            await self._revive()
        await self.pids()
        self._started = True
        async with aclosing(self._player.play(jobs)) as attempts:
            async for attempt in attempts:
                yield attempt

    async def pids(self) -> list[int]:
        """Process ids of the workers, once all have started. UserError where one cannot (its code is not found)."""
        try:
            return list(await asyncio.gather(*(slot.actor.pid.remote() for slot in self._slots)))
        except self._ray.exceptions.RayError as error:
            why = str(error).strip().splitlines()[-1]
            raise UserError(f"a rollout worker cannot start: {why}; is `rsi` installed on every machine?") from None

    async def _revive(self) -> None:
        """Replace the workers that have died since the last jobs."""
        calls = [slot.actor.pid.remote() for slot in self._slots]
        for slot, told in zip(self._slots, await asyncio.gather(*calls, return_exceptions=True), strict=True):
            if isinstance(told, self._ray.exceptions.RayError):
                self._replace(slot, slot.actor)

    async def close(self) -> None:
        """End the workers, and Ray with the last of them where it was started here. May be called twice."""
        if not self._slots:
            return
        await asyncio.gather(*(self._end(slot.actor) for slot in self._slots))
        self._slots = []
        RayExecutor._open -= 1
        if self._started_here and not self._open:
            RayExecutor._started_here = False
            self._ray.shutdown()

    async def _end(self, actor: Any) -> None:
        try:
            await asyncio.wait_for(actor.close.remote(), CLOSING)
        except Exception as error:  # noqa: BLE001 teardown: a worker that cannot say goodbye is ended all the same
            print(f"rollout worker did not close: {error}", file=sys.stderr)
        self._ray.kill(actor)

    async def _play(self, job: Job) -> Attempt:
        for _ in range(max(self._retries, 1) + 1):
            slot = min(self._slots, key=lambda slot: slot.jobs)
            slot.jobs += 1
            actor = slot.actor
            try:
                return await self._call(actor, job)
            except InfrastructureError as error:
                last = error
                self._replace(slot, actor)
            finally:
                slot.jobs -= 1
        return unscored(job, last)

    async def _call(self, actor: Any, job: Job) -> Attempt:
        """Play on one actor; InfrastructureError where the worker died, the worker's own error otherwise."""
        reference = actor.play.remote(job)
        try:
            attempt: Attempt = await reference
            return attempt
        except asyncio.CancelledError:
            self._ray.cancel(reference)
            raise
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise InfrastructureError(
                f"a rollout worker died: {(str(error) or 'no word why').splitlines()[0]}"
            ) from None

    def _replace(self, slot: _Slot, dead: Any) -> None:
        if slot.actor is dead:  # the first of its jobs to notice replaces it
            self._ray.kill(dead)
            slot.actor = self._actor(-(-self._concurrency // len(self._slots)))


def _connect(workers: int) -> tuple[Any, bool]:
    """Ray, and whether it was started here. Its settings that are read at import are set before it. UserError where Ray
    is missing, or the cluster that RAY_ADDRESS names does not answer."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # else Ray listens on the public address
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    try:
        import ray
    except ImportError:
        raise UserError("rollouts.executor: Ray is not installed; pip install 'rsi[ray]', or use 'local'") from None
    if ray.is_initialized():
        return ray, False
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address := os.environ.get("RAY_ADDRESS"):
        _check_answers(address)
        try:
            ray.init(**quiet)
        except (OSError, ValueError, RuntimeError) as error:  # nobody answers, or a cluster of another version
            why = (str(error).strip() or "no reason given").splitlines()[0]
            raise UserError(f"RAY_ADDRESS: no Ray cluster to use there ({why}); start it, or unset it") from None
    else:
        memory = OBJECT_STORE_BYTES
        try:
            ray.init(address="local", num_cpus=workers, include_dashboard=False, object_store_memory=memory, **quiet)
        except (OSError, ValueError, RuntimeError) as error:
            folder = os.environ.get("RAY_TMPDIR") or os.path.join(tempfile.gettempdir(), "ray")  # noqa: PTH118
            why = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise UserError(
                f"rollouts.executor: Ray does not start in {folder} ({why}); set RAY_TMPDIR to a short path that can "
                "be written, or use the executor 'local'"
            ) from None
    return ray, True


def _check_answers(address: str) -> None:
    """UserError where nothing at host:port takes gRPC in time: Ray itself would try for minutes. A name such as `auto`
    is looked up by Ray at once, and what is behind TLS is for Ray to judge."""
    import grpc  # of ray[default]

    place = address.removeprefix("ray://")
    if ":" not in place or os.environ.get("RAY_USE_TLS") == "1":
        return
    channel = grpc.insecure_channel(place, options=[("grpc.enable_http_proxy", 0)])
    try:
        grpc.channel_ready_future(channel).result(timeout=CONNECT_SECONDS)
    except grpc.FutureTimeoutError:
        raise UserError(
            f"RAY_ADDRESS: nothing at {place} answered as Ray does within {CONNECT_SECONDS:.0f} seconds; start the "
            "cluster, or unset it"
        ) from None
    finally:
        channel.close()
