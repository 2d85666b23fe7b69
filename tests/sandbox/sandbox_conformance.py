"""What every sandbox must do, as checks that take a provider. Run on each implementation; each check attacks or uses
a sandbox for real."""

import asyncio
import os
import shlex
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rsi.errors import InfrastructureError, TamperError, UserError
from rsi.ports import ExecResult, Sandbox, SandboxProvider

Check = Callable[[SandboxProvider], Awaitable[None]]
CHECKS: list[Check] = []


def check(function: Check) -> Check:
    CHECKS.append(function)
    return function


@asynccontextmanager
async def opened(provider: SandboxProvider) -> AsyncIterator[Sandbox]:
    sandbox = await provider.open()
    try:
        yield sandbox
    finally:
        await sandbox.close()


async def run(provider: SandboxProvider, command: str, timeout: float = 10) -> ExecResult:
    async with opened(provider) as sandbox:
        return await sandbox.exec(command, timeout)


async def python(provider: SandboxProvider, code: str, timeout: float = 20) -> ExecResult:
    """Run Python inside; skips where the sandbox has none."""
    async with opened(provider) as sandbox:
        if (await sandbox.exec("command -v python3", 10)).exit_code:
            pytest.skip("no python3 in the sandbox to attack with")
        await sandbox.put({"attack.py": code.encode()})
        return await sandbox.exec("python3 attack.py", timeout)


def alive(marker: str) -> list[int]:
    """Processes of this machine whose command line holds `marker`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


async def gone(marker: str, seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while alive(marker):
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.02)
    return True


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)


def sleeper() -> tuple[str, str]:
    """A marker and a command that sleeps under it."""
    marker = f"marker-{uuid.uuid4().hex}"
    return marker, f"exec -a {marker} sleep 100"


# --- commands ---------------------------------------------------------------------------------------------------------
@check
async def output_and_error_are_separate(provider):
    result = await run(provider, "echo out; echo err >&2")
    assert result == ExecResult(0, "out\n", "err\n")


@check
async def exit_codes_come_back(provider):
    async with opened(provider) as sandbox:
        codes = [(await sandbox.exec(c, 10)).exit_code for c in ("true", "exit 3", "nothing-such", "kill -9 $$", "(")]
    assert codes == [0, 3, 127, 137, 2]


@check
async def a_command_killed_or_exiting_124_is_not_a_timeout(provider):
    async with opened(provider) as sandbox:
        for command in ("exit 124", "kill -9 $$", "exit 125"):
            assert not (await sandbox.exec(command, 10)).timed_out


@check
async def commands_start_in_task_and_share_only_files(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec("echo kept > f; export LOST=1; mkdir d; cd d; umask 0", 10)
        result = await sandbox.exec("pwd; cat f; echo ${LOST-unset}", 10)
    assert result.stdout == "/task\nkept\nunset\n"


@check
async def standard_input_is_empty(provider):
    async with opened(provider) as sandbox:
        assert (await sandbox.exec("cat; read x; echo $?", 5)).stdout == "1\n"
        assert (await sandbox.exec("echo next", 5)).stdout == "next\n"


@check
async def any_text_is_a_command(provider):
    hostile = [
        "echo 'a\n$(b)' \"`echo c`\" # \\",
        "",
        "\0",
        "echo \0",
        "x" * 200_000,
        "echo \ud800",
        "-c",
        "exit 0\n\n",
    ]
    async with opened(provider) as sandbox:
        results = [await sandbox.exec(command, 10) for command in hostile]
        assert (await sandbox.exec("echo fine", 10)).stdout == "fine\n"
    assert results[0].stdout == "a\n$(b) c\n"
    assert [r.exit_code for r in results[1:5]] == [0, 126, 126, 126]


@check
async def a_long_command_runs(provider):
    result = await run(provider, f"echo {'x' * 100_000} | wc -c")
    assert result.stdout == "100001\n"


@check
async def output_that_is_not_utf8_is_replaced(provider):
    assert (await run(provider, r"printf 'a\xff\xfeb'")).stdout == "a\ufffd\ufffdb"


@check
async def a_flood_is_cut(provider):
    begun = time.monotonic()
    async with opened(provider) as sandbox:
        result = await sandbox.exec("yes | head -c 500000000; echo end >&2", 30, limit=100_000)
        quiet = await sandbox.exec("echo quiet", 10)
    assert (len(result.stdout), result.stderr, result.truncated, result.exit_code) == (100_000, "end\n", True, 0)
    assert (quiet.stdout, quiet.truncated) == ("quiet\n", False)
    assert time.monotonic() - begun < 15


# --- time -------------------------------------------------------------------------------------------------------------
@check
async def a_timeout_exits_124_and_the_sandbox_stays(provider):
    async with opened(provider) as sandbox:
        begun = time.monotonic()
        result = await sandbox.exec("echo before; sleep 100", 0.3)
        assert 0.3 <= time.monotonic() - begun < 2.3
        assert (result.exit_code, result.timed_out, result.stdout) == (124, True, "before\n")
        assert (await sandbox.exec("echo after", 10)).stdout == "after\n"


@check
async def a_timeout_ends_even_what_left_the_process_group(provider):
    marker, command = sleeper()
    async with opened(provider) as sandbox:
        result = await sandbox.exec(f"setsid bash -c '{command}' & sleep 100", 0.2)
        assert result.timed_out
        assert await gone(marker)


@check
async def a_command_that_ignores_the_signal_ends(provider):
    async with opened(provider) as sandbox:
        begun = time.monotonic()
        assert (await sandbox.exec("trap '' TERM; while :; do sleep 1; done", 0.2)).timed_out
        assert time.monotonic() - begun < 2.2
        assert (await sandbox.exec("echo after", 10)).stdout == "after\n"


@check
async def a_background_child_that_holds_the_output_does_not_hang(provider):
    marker, command = sleeper()
    async with opened(provider) as sandbox:
        begun = time.monotonic()
        result = await sandbox.exec(f"({command}) & echo done", 10)
        assert (result.stdout, result.exit_code) == ("done\n", 0)
        assert time.monotonic() - begun < 5
        assert alive(marker)
    assert await gone(marker)


@check
async def a_command_that_stops_its_timer_ends_the_sandbox_as_its_own_doing(provider):
    marker, command = sleeper()
    async with opened(provider) as sandbox:
        begun = time.monotonic()
        result = await sandbox.exec(f"echo x > f; kill -STOP $PPID; {command}", 0.1)
        assert time.monotonic() - begun < 2.1 + 0.5  # and what a loaded machine adds
        assert (result.exit_code, result.timed_out) == (124, True)
        assert await gone(marker)
        assert (await sandbox.exec("echo on", 10)).exit_code == 137
        assert await sandbox.get() == {"f": b"x\n"}


# --- walls ------------------------------------------------------------------------------------------------------------
@check
async def there_is_no_network(provider):
    result = await run(
        provider,
        "for t in 1.1.1.1/53 127.0.0.1/22 169.254.169.254/80; do echo > /dev/tcp/$t && echo open; done;"
        " tail -n +3 /proc/net/dev | grep -v ' lo:'; tail -n +2 /proc/net/route",
    )
    assert result.stdout == ""


@check
async def host_files_are_absent(provider):
    """Neither those of the checkout, home and temporary folder, nor what would open the host: its engine's socket."""
    name = f"canary-{uuid.uuid4().hex}"
    places = [folder / name for folder in {Path.cwd(), Path.home(), Path(tempfile.gettempdir())} if writable(folder)]
    assert places
    for place in places:
        place.write_text("of the host")
    try:
        result = await run(
            provider,
            f"cat {' '.join(map(shlex.quote, map(str, places)))}; find / -xdev -name {name};"
            f" ls -d .{Path.cwd()} /run/docker.sock /var/run/docker.sock /sys/fs/cgroup/*/rsi-*;"
            " cat /etc/shadow /proc/kcore",
            20,
        )
    finally:
        for place in places:
            place.unlink()
    assert result.stdout == ""


@check
async def the_system_cannot_be_written(provider):
    result = await run(
        provider,
        "for d in / /usr /usr/bin /usr/local /etc /dev /proc /proc/sys/kernel /bin /sys /pipes; do"
        " touch $d/x && echo wrote $d; done; echo x > /usr/bin/bash && echo wrote bash; rm -f /supervisor;"
        " ls /supervisor",
    )
    assert result.stdout == "/supervisor\n"


@check
async def kernel_settings_cannot_be_written(provider):
    result = await run(
        provider,
        "for f in kernel/core_pattern kernel/hostname vm/drop_caches fs/suid_dumpable user/max_user_namespaces; do"
        " [ -e /proc/sys/$f ] || continue; cat /proc/sys/$f > /tmp/old; cat /tmp/old > /proc/sys/$f && echo wrote $f;"
        " done; echo h > /proc/sysrq-trigger && echo wrote sysrq",
    )
    assert result.stdout == ""


@check
async def no_secret_of_the_host_is_in_an_environment(provider):
    os.environ["RSI_CANARY_SECRET"] = secret = uuid.uuid4().hex
    try:
        async with opened(provider) as sandbox:
            result = await sandbox.exec("env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'", 10)
    finally:
        del os.environ["RSI_CANARY_SECRET"]
    assert "PATH=/usr/bin:/bin" in result.stdout
    assert secret not in result.stdout
    assert "RSI_CANARY_SECRET" not in result.stdout


@check
async def no_descriptor_of_the_host_is_inherited(provider):
    result = await run(provider, "for f in /proc/$PPID/fd/*; do echo ${f##*/} $(readlink $f); done")
    names = dict(line.split(" ", 1) for line in result.stdout.splitlines())
    assert set(names) == {"0", "1", "2"}
    assert names["0"] == "/dev/null"


@check
async def a_fork_bomb_is_contained(provider):
    async with opened(provider) as sandbox:
        begun = time.monotonic()
        await sandbox.exec("f() { f | f & }; f; sleep 100", 0.5)
        await sandbox.exec("echo on", 3)
        assert time.monotonic() - begun < 8
        assert (await sandbox.exec("echo after", 5)).stdout == "after\n"


@check
async def a_fork_bomb_in_the_background_cannot_take_the_sandbox_down(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec("f() { f | f & }; f", 1)
        for _ in range(4):
            last = await sandbox.exec("echo on", 1)
        assert last.stdout == "on\n"


@check
async def processes_are_counted(provider):
    """The bound of a sandbox's own, below that of any control group."""
    code = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except BlockingIOError:
    print(made)
"""
    result = await python(provider, code)
    assert 20 < int(result.stdout) <= 64


@check
async def three_gigabytes_are_refused(provider):
    result = await run(provider, "dd if=/dev/zero of=/dev/null bs=3G count=1; echo $?; head -c 9 /dev/zero | wc -c", 20)
    assert "memory exhausted" in result.stderr
    assert result.stdout == "1\n9\n"


@check
async def temporary_file_systems_are_bounded(provider):
    for folder in ("/task", "/tmp", "/dev/shm"):
        async with opened(provider) as sandbox:
            command = f"for i in 1 2 3 4 5; do head -c 50000000 /dev/zero > {folder}/$i || exit 9; done"
            result = await sandbox.exec(command, 20)
            assert result.exit_code == 9, folder
            assert "No space left" in result.stderr


@check
async def one_file_is_bounded(provider):
    result = await run(provider, "truncate -s 1T /tmp/sparse; stat -c %s /tmp/sparse")
    assert int(result.stdout) < 1 << 30


@check
async def mounts_devices_and_namespaces_are_refused(provider):
    result = await run(
        provider,
        "mkdir m; mount -t tmpfs x m && echo mount; mount --bind /usr m && echo bind; mknod d c 1 3 && echo mknod;"
        "umount /usr/local && echo umount; mount -o remount,rw / && echo remount;"
        "unshare -Ur true && echo userns; unshare -m true && echo mountns; chroot m true && echo chroot;"
        "nsenter -t 1 -m true && echo nsenter; true",
    )
    assert result.stdout == ""
    assert result.exit_code == 0


@check
async def there_are_no_capabilities_and_none_can_be_had(provider):
    result = await run(provider, "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; id -u")
    fields = dict(line.split(":\t") for line in result.stdout.splitlines() if ":" in line)
    assert {int(value, 16) for name, value in fields.items() if name.startswith("Cap")} == {0}
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    assert result.stdout.splitlines()[-1] != "0"


@check
async def kernel_surface_is_closed(provider):
    result = await python(
        provider,
        """
import ctypes, errno, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
for family in (40, 16, 17, 38, 44):  # vsock, netlink, packet, alg, xdp
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind)
            print("open family", family)
        except OSError as error:
            if error.errno != errno.EAFNOSUPPORT:
                print("family", family, error)
if libc.syscall(41, ctypes.c_ulong(1 << 32 | 40), 1, 0) >= 0 and platform.machine() == "x86_64":
    print("open family behind high bits")
both = {"io_uring_setup": 425, "open_tree": 428, "fsopen": 430, "pidfd_getfd": 438}
x86 = {"add_key": 248, "request_key": 249, "keyctl": 250, "ptrace": 101, "bpf": 321, "perf_event_open": 298,
       "userfaultfd": 323, "process_vm_writev": 311, "setns": 308, "open_by_handle_at": 304, "kcmp": 312}
for name, number in (both | x86 if platform.machine() == "x86_64" else both).items():
    ctypes.set_errno(0)
    if libc.syscall(number, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() != errno.EPERM:
        print("open", name, errno.errorcode.get(ctypes.get_errno()))
socket.socketpair(); socket.socket(socket.AF_INET); socket.socket(socket.AF_INET6)
print("done")
""",
    )
    assert result.stdout == "done\n", result


@check
async def the_supervisor_can_be_neither_ended_nor_read(provider):
    async with opened(provider) as sandbox:
        attack = (
            "prlimit --pid 1 --cpu=0 && echo limit; ls /proc/1/fd && echo listed; echo 0 >/proc/1/fd/3 && echo forged;"
            "for f in environ maps mem; do head -c 9 /proc/1/$f && echo read $f; done; echo >/proc/1/mem && echo mem;"
            "kill -STOP 1; kill -TERM 1; kill -9 1; echo end; kill -9 -1"
        )
        result = await sandbox.exec(attack, 10)
        assert result.stdout == "end\n"
        assert (await sandbox.exec("echo after", 10)).stdout == "after\n"


# --- files ------------------------------------------------------------------------------------------------------------
@check
async def files_go_in_and_come_out(provider):
    files = {"a": b"", "b/c/d.bin": bytes(range(256)) * 400, "b/\u00e9 x\n": b"name", "-rf": b"dash"}
    async with opened(provider) as sandbox:
        await sandbox.put(files)
        assert (await sandbox.exec("md5sum < b/c/d.bin; cat ./-rf", 10)).stdout.endswith("dash")
        assert await sandbox.get() == files


@check
async def files_belong_to_the_agent_and_can_be_replaced(provider):
    async with opened(provider) as sandbox:
        await sandbox.put({"d/f": b"one"})
        changed = "echo -n 2 >> d/f; chmod 400 d/f; touch d/g; mv d/g d/h; ln d/f hard"
        assert (await sandbox.exec(changed, 10)).exit_code == 0
        await sandbox.put({"d/f": b"three"})
        assert await sandbox.get() == {"d/f": b"three", "d/h": b"", "hard": b"one2"}


@check
async def hostile_names_are_refused_before_anything_is_written(provider):
    async with opened(provider) as sandbox:
        for name in ("../x", "/etc/x", "/task/x", "a/../../x", "..", ".", "", "a\0b", "x/" * 100 + "x"):
            with pytest.raises(TamperError):
                await sandbox.put({"good": b"", name: b"bad"})
        assert await sandbox.get() == {}


@check
async def put_follows_no_link(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec("ln -s /tmp out; ln -s /tmp/target file; mkfifo pipe; mkdir folder", 10)
        with pytest.raises(TamperError):
            await sandbox.put({"out/x": b"escaped"})
        await sandbox.put({"file": b"mine", "pipe": b"plain"})
        with pytest.raises(UserError):
            await sandbox.put({"folder": b"x"})
        assert (await sandbox.exec("ls /tmp; rm out; cat file pipe", 10)).stdout == "mineplain"


@check
async def put_into_a_full_workspace_is_a_user_error(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec("for i in 1 2 3; do head -c 50000000 /dev/zero > $i; done", 20)
        with pytest.raises(UserError, match="No space left"):
            await sandbox.put({"f": b"x" * 100_000})


@check
async def links_that_leave_are_refused(provider):
    for link in (
        "ln -s /etc/passwd x",
        "ln -s ../etc/passwd x",
        "ln -s / x",
        "mkdir a; ln -s ../../usr a/x",
        "mkdir -p a/b; ln -s a/b y; ln -s y/../../../usr x",
        "ln -s /task/../usr x",
        "ln -s /taskmaster x",
    ):
        async with opened(provider) as sandbox:
            await sandbox.exec(link, 10)
            with pytest.raises(TamperError, match="leaves"):
                await sandbox.get()


@check
async def links_that_stay_read_as_their_file(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec(
            "mkdir -p d/e; echo -n v > d/e/f; ln -s d/e/f rel; ln -s /task/d/e/f abs; ln -s d/e dir;"
            "ln -s dir/../e/f via; ln -s rel chain; ln -s nowhere dangling; ln -s loop loop; ln -s d folder",
            10,
        )
        assert await sandbox.get() == dict.fromkeys(("abs", "chain", "d/e/f", "rel", "via"), b"v")


@check
async def devices_sockets_and_pipes_are_refused(provider):
    for make in ("mkfifo x", "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"x\")'"):
        async with opened(provider) as sandbox:
            if (await sandbox.exec(make, 10)).exit_code == 127:
                continue
            with pytest.raises(TamperError, match="socket or pipe"):
                await sandbox.get()


@check
async def too_much_is_refused(provider):
    for make in (
        "truncate -s 60M sparse",
        "head -c 600000 /dev/zero > a; cp a b",
        "head -c 600000 /dev/zero > a; ln -s a b",
        "for i in {1..10100}; do : > $i; done",
        "for i in {1..80}; do mkdir d; cd d; done",
    ):
        async with opened(provider) as sandbox:
            await sandbox.exec(make, 20)
            with pytest.raises(TamperError):
                await sandbox.get(limit=1_000_000)


@check
async def names_that_are_not_utf8_are_refused(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec(r"touch $'a\xff'", 10)
        with pytest.raises(TamperError, match="UTF-8"):
            await sandbox.get()


@check
async def what_the_agent_made_unreadable_is_read(provider):
    async with opened(provider) as sandbox:
        await sandbox.exec("mkdir d; echo -n x > d/f; chmod 0 d/f d", 10)
        assert await sandbox.get() == {"d/f": b"x"}


@check
async def modes_are_taken_out_and_put_back(provider):
    async with opened(provider) as sandbox:
        await sandbox.put({"run": b"echo ran", "d/secret": b"s", "plain": b"p"})
        await sandbox.exec("chmod 755 run; chmod 4600 d/secret; ln -s run link", 10)
        taken = await sandbox.get()
    assert taken.modes["plain"] == 0o644
    assert taken.modes["run"] == 0o755
    assert taken.modes["d/secret"] & 0o777 == 0o600
    async with opened(provider) as sandbox:
        await sandbox.put(taken)
        result = await sandbox.exec("./run; stat -c '%a %n' run d/secret plain", 10)
        again = await sandbox.get()
    assert result.stdout == "ran\n755 run\n600 d/secret\n644 plain\n"  # a set-uid bit is not put back
    assert again.modes == {**taken.modes, "d/secret": 0o600, "link": again.modes["link"]}


@check
async def get_ends_every_process_first(provider):
    marker, command = sleeper()
    async with opened(provider) as sandbox:
        await sandbox.exec(f"({command}) & (while :; do date +%N > f; done) &", 10)
        first = await sandbox.get()
        assert not alive(marker)
        await asyncio.sleep(0.05)
        assert await sandbox.get() == first
        assert (await sandbox.exec("echo on", 10)).exit_code == 137


# --- life -------------------------------------------------------------------------------------------------------------
@check
async def closing_twice_is_fine_and_ends_everything(provider):
    marker, command = sleeper()
    sandbox = await provider.open()
    await sandbox.exec(f"setsid bash -c '{command}' &", 10)
    await sandbox.close()
    assert not alive(marker)
    await sandbox.close()
    for call in (sandbox.exec("true", 1), sandbox.put({"a": b""}), sandbox.get()):
        with pytest.raises(InfrastructureError):
            await call


@check
async def closing_ends_a_running_command(provider):
    marker, command = sleeper()
    sandbox = await provider.open()
    running = asyncio.create_task(sandbox.exec(command, 30))
    while not alive(marker):
        await asyncio.sleep(0.01)
    await asyncio.wait_for(sandbox.close(), 5)
    with pytest.raises(InfrastructureError):
        await running
    assert not alive(marker)


@check
async def a_cancelled_command_leaves_no_process_and_no_half_answer(provider):
    marker, command = sleeper()
    sandbox = await provider.open()
    running = asyncio.create_task(sandbox.exec(f"echo stale; {command}", 30))
    while not alive(marker):
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await gone(marker)
    with pytest.raises(InfrastructureError):
        await sandbox.exec("echo fresh", 5)
    await sandbox.close()


@check
async def eight_at_once_do_not_meet(provider):
    async def one(number: int) -> None:
        async with opened(provider) as sandbox:
            await sandbox.put({"own": b"%d" % number})
            for _ in range(3):
                assert (await sandbox.exec("cat own; ls; ls /tmp; touch /tmp/seen", 20)).stdout.startswith(
                    f"{number}own\n"
                )
            assert (await sandbox.exec("ls /proc | grep -c '^[0-9]'", 20)).exit_code == 0
            assert await sandbox.get() == {"own": b"%d" % number}

    before = descriptors()
    await asyncio.gather(*(one(number) for number in range(8)))
    assert descriptors() <= before


@check
async def concurrent_calls_on_one_sandbox_take_turns(provider):
    async with opened(provider) as sandbox:
        results = await asyncio.gather(*(sandbox.exec(f"sleep 0.02; echo {n}", 10) for n in range(5)))
        assert [result.stdout for result in results] == [f"{n}\n" for n in range(5)]
