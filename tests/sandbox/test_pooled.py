"""A pool of sandboxes: what it opened it ends, whatever happens; and many episodes leave nothing on the machine."""

import asyncio
import contextlib
import gc
import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from sandbox_checking import alive, descriptors, gone, sleeper

from benchmarks.plain_sandbox import PlainProvider
from rsi.errors import InfrastructureError
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.sandbox.pooled import Pooled


class Slow(PlainProvider):
    """Takes a moment to open, and knows what it opened. Its first `broken` openings fail."""

    def __init__(self, broken: int = 0) -> None:
        self.opened, self.broken = [], broken

    async def open(self):
        await asyncio.sleep(0.02)
        if self.broken:
            self.broken -= 1
            raise InfrastructureError("no room for a sandbox")
        self.opened.append(await super().open())
        return self.opened[-1]

    def standing(self) -> int:
        return sum(Path(one.folder).exists() for one in self.opened)


async def test_spares_stand_ready_and_each_is_used_once():
    provider = Slow()
    async with Pooled(provider, 2) as pool:
        first, second = await pool.open(), await pool.open()
        assert first.inner is not second.inner
        await first.put({"f": b"x"})
        assert await first.get() == {"f": b"x"}
        await first.close()
        await asyncio.sleep(0.1)
        assert provider.standing() == 3  # the second and two spares
        assert (pool.identity, pool.limits) == (provider.identity, provider.limits)
    assert provider.standing() == 0  # the one in use as well
    with pytest.raises(InfrastructureError, match="closed"):
        await pool.open()


async def test_a_start_that_fails_is_told_to_one_and_replaced():
    provider = Slow(broken=1)
    async with Pooled(provider, 1) as pool:
        with pytest.raises(InfrastructureError, match="no room"):
            await pool.open()
        assert (await (await pool.open()).exec("echo on", 10)).stdout == "on\n"
    assert provider.standing() == 0


async def test_cancelled_openings_and_a_cancelled_close_leave_nothing():
    provider = Slow()
    pool = Pooled(provider, 2)
    waiting = [asyncio.create_task(pool.open()) for _ in range(5)]
    await asyncio.sleep(0.01)
    for one in waiting[:3]:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    closing = asyncio.create_task(pool.close())
    for _ in range(3):
        await asyncio.sleep(0)
        closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert provider.opened
    assert provider.standing() == 0


def mounts() -> set[str]:
    return set(Path("/proc/self/mounts").read_text().splitlines())


def of_an_engine(mount: str) -> bool:
    """Other processes' containers, which come and go meanwhile."""
    return any(word in mount for word in ("overlay", "/containers/", "nsfs"))


def files() -> set[Path]:
    return {path for path in Path(tempfile.gettempdir()).glob("rsi-*") if str(os.getpid()) in path.name}


def groups() -> list[str]:
    """Names of all control groups; others' come and go meanwhile, which a walk takes and a glob does not."""
    return [name for _, folders, _ in os.walk("/sys/fs/cgroup") for name in folders]


def children() -> set[str]:
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def kinds() -> list[str]:
    """What each descriptor of this process is: "pipe", "socket", "/dev/null"."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the one that lists them
            found.append(str(entry.readlink()).partition(":")[0])
    return sorted(found)


async def episodes(provider, n: int, at_once: int) -> tuple[str, list]:
    """`n` episodes, every tenth cancelled on its way; the marker of the processes that they left behind running."""
    marker, command = sleeper()
    gate, seen = asyncio.Semaphore(at_once), []

    async def one(number: int, pool: Pooled) -> None:
        async with gate:
            sandbox = await pool.open()
            seen.append(sandbox.inner)
            try:
                await sandbox.exec(f"(setsid bash -c '{command}') & echo {number} > f", 30)
                if number % 10 == 0:
                    await asyncio.wait_for(sandbox.exec("sleep 100", 200), 0.05)
                assert await sandbox.get() == {"f": b"%d\n" % number}
            except TimeoutError:
                assert number % 10 == 0
            finally:
                await sandbox.close()

    async with Pooled(provider, 4) as pool:
        await asyncio.gather(*(one(number, pool) for number in range(n)))
    return marker, seen


@pytest.mark.slow
async def test_a_thousand_bubblewrap_episodes_leave_nothing():
    try:
        provider = Bubblewrap()
        await episodes(provider, 16, 16)  # threads and their stacks are kept
    except InfrastructureError as error:
        pytest.skip(str(error))
    gc.collect()  # what earlier tests left to be let go would go in between
    stood, before = mounts(), (files(), children(), descriptors())
    marker, seen = await episodes(provider, 1000, 16)
    assert len(seen) == 1000
    assert await gone(marker)
    assert (files(), children(), descriptors()) == before
    assert not [mount for mount in mounts() - stood if not of_an_engine(mount)]
    assert not [name for name in groups() if name.startswith(f"rsi-{os.getpid()}-")]


@pytest.mark.docker
@pytest.mark.slow
async def test_sixty_docker_episodes_leave_nothing():
    from rsi.sandbox.docker import Docker, lease

    try:
        provider = Docker()
        await episodes(provider, 8, 8)  # docker-py keeps connections
    except InfrastructureError as error:
        pytest.skip(str(error))
    client = provider._client

    def state():
        mine = client.containers.list(all=True, filters={"label": f"{lease.LABEL}={lease.mine()}"}, ignore_removed=True)
        return [c.id for c in mine], {n.id for n in client.networks.list()}, {v.id for v in client.volumes.list()}

    gc.collect()
    before = state(), files(), children()
    held = kinds()
    marker, seen = await episodes(provider, 60, 6)
    ids = {sandbox.container_id for sandbox in seen}
    assert len(ids) == 60
    assert not alive(marker)
    assert (state(), files(), children()) == before
    gained = Counter(kinds()) - Counter(held)  # what earlier tests held may be gone by now
    connections = sum(count for kind, count in gained.items() if "socket" in kind)
    assert connections <= 10 and gained.total() == connections  # docker-py's, which it keeps
    assert not [line for line in mounts() if any(one in line for one in ids)]
    assert not [name for name in groups() if name in ids]
