"""The conformance suite on Docker, and what is its own: leases, and that nothing is left behind."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sandbox_checking import opened
from sandbox_conformance import CHECKS

from rsi.errors import InfrastructureError, UserError
from rsi.sandbox.docker import Docker, lease, pipes

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


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
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


def test_only_pipes_of_dead_owners_are_swept():
    folder = Path(tempfile.gettempdir())
    mine, left = lease.mine(), f"{lease.mine().rpartition(':')[0]}:1"  # another process that had this id
    kept, swept = (folder / f"rsi-docker-{owner.replace(':', '_')}_x_y" for owner in (mine, left))
    odd = folder / "rsi-docker-odd"
    for made in (kept, swept, odd):
        (made / "pipes").mkdir(parents=True)
    try:
        pipes.sweep()
        assert (kept.exists(), swept.exists(), odd.exists()) == (True, False, True)
    finally:
        for made in (kept, swept, odd):
            shutil.rmtree(made, ignore_errors=True)


def test_an_owner_in_another_container_is_never_taken_for_dead():
    boot, _, rest = lease.mine().partition(".")
    namespace, _, process = rest.partition(":")
    assert namespace.isdigit() and not lease.dead(lease.mine())
    assert not lease.dead(f"{boot}.1:{process}:1") and lease.dead(f"another boot.1:{process}")
    assert lease.dead(f"{boot}.{namespace}:{process.partition(':')[0]}:1")


def test_the_runtime_is_runc_unless_another_is_asked_for(provider, monkeypatch):
    assert "/runc/" in provider.identity
    monkeypatch.setenv("RSI_SANDBOX_RUNTIME", "nothing-such")
    with pytest.raises(UserError, match="RSI_SANDBOX_RUNTIME"):
        Docker()


def test_episodes_leave_nothing(provider):
    own = provider._client.info()["DockerRootDir"]

    def mounts() -> list[str]:
        return [line for line in Path("/proc/mounts").read_text().splitlines() if own in line]

    stood, folders = mounts(), set(Path("/tmp").glob("rsi-docker-*"))
    before = {c.id for c in containers(provider)}

    async def play():
        for _ in range(10):
            async with opened(provider) as sandbox:
                await sandbox.exec("setsid sleep 100 & echo x > f", 10)
                assert (await sandbox.get())["f"] == b"x\n"

    asyncio.run(play())
    assert {c.id for c in containers(provider)} == before
    assert mounts() == stood
    assert set(Path("/tmp").glob("rsi-docker-*")) == folders
