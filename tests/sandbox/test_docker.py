"""The conformance suite on Docker, and what is its own: leases, and that nothing is left behind."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_conformance import CHECKS, opened

from rsi.errors import InfrastructureError
from rsi.sandbox.docker import Docker, lease

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def provider():
    try:
        found = Docker()
    except InfrastructureError as error:
        pytest.skip(str(error))

    async def warm() -> None:  # docker-py keeps connections, which are no leak
        for sandbox in await asyncio.gather(*(found.open() for _ in range(8))):
            await sandbox.close()

    asyncio.run(warm())
    return found


def containers(provider) -> list:
    return provider._client.containers.list(all=True, filters={"label": lease.LABEL}, ignore_removed=True)


# What holds of bubblewrap's view of the host's /usr only: an image brings its own /etc and /usr/local, and the pipes'
# names read "(deleted)".
NOT_HERE = {"host_files_are_absent", "the_system_cannot_be_written", "no_descriptor_of_the_host_is_inherited"}


@pytest.mark.parametrize("check", [c for c in CHECKS if c.__name__ not in NOT_HERE], ids=lambda c: c.__name__)
def test_conformance(provider, check):
    asyncio.run(check(provider))


def test_the_pipes_cannot_be_opened_by_the_agent(provider):
    async def play():
        async with opened(provider) as sandbox:
            return await sandbox.exec("ls -A /pipes; cat /proc/1/fd/9; ls /proc/1/fd", 10)

    result = asyncio.run(play())
    assert result.stdout == "" and "denied" in result.stderr


def test_only_containers_of_dead_owners_are_swept(provider):
    code = (
        "import asyncio, os; from rsi.sandbox.docker import Docker; s = asyncio.run(Docker().open()); "
        "s.container.pause(); print(s.container.id, flush=True); os._exit(9)"
    )
    left = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stdout.strip()

    async def play():
        async with opened(provider) as mine:
            lease.sweep(provider._client)
            ids = {c.id for c in containers(provider)}
            return mine.container.id in ids, left in ids

    assert left and asyncio.run(play()) == (True, False)


def test_episodes_leave_nothing(provider):
    own = provider._client.info()["DockerRootDir"]

    def mounts() -> list[str]:
        return [line for line in Path("/proc/mounts").read_text().splitlines() if own in line]

    stood, pipes = mounts(), set(Path("/tmp").glob("rsi-docker-*"))
    before = {c.id for c in containers(provider)}

    async def play():
        for _ in range(10):
            async with opened(provider) as sandbox:
                await sandbox.exec("setsid sleep 100 & echo x > f", 10)
                assert (await sandbox.get())["f"] == b"x\n"

    asyncio.run(play())
    assert {c.id for c in containers(provider)} == before
    assert mounts() == stood
    assert set(Path("/tmp").glob("rsi-docker-*")) == pipes
