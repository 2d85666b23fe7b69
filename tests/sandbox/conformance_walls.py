"""What a hostile command cannot see, reach or change.

Every coroutine function here is a check of sandbox_conformance."""

import os
import shlex
import tempfile
import uuid
from pathlib import Path

from sandbox_checking import opened, python, run, writable


async def there_is_no_network(provider):
    result = await run(
        provider,
        "for t in 1.1.1.1/53 127.0.0.1/22 169.254.169.254/80; do echo > /dev/tcp/$t && echo open; done;"
        " tail -n +3 /proc/net/dev | grep -v ' lo:'; tail -n +2 /proc/net/route",
    )
    assert result.stdout == ""


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


async def the_system_cannot_be_written(provider):
    result = await run(
        provider,
        "for d in / /usr /usr/bin /usr/local /etc /dev /proc /proc/sys/kernel /bin /sys /pipes; do"
        " touch $d/x && echo wrote $d; done; echo x > /usr/bin/bash && echo wrote bash; rm -f /supervisor;"
        " ls /supervisor",
    )
    assert result.stdout == "/supervisor\n"


async def kernel_settings_cannot_be_written(provider):
    result = await run(
        provider,
        "for f in kernel/core_pattern kernel/hostname vm/drop_caches fs/suid_dumpable user/max_user_namespaces; do"
        " [ -e /proc/sys/$f ] || continue; cat /proc/sys/$f > /tmp/old; cat /tmp/old > /proc/sys/$f && echo wrote $f;"
        " done; echo h > /proc/sysrq-trigger && echo wrote sysrq",
    )
    assert result.stdout == ""


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


async def no_descriptor_of_the_host_is_inherited(provider):
    result = await run(provider, "sleep 9 & for f in /proc/$!/fd/*; do echo ${f##*/} $(readlink $f); done")
    names = dict(line.split(" ", 1) for line in result.stdout.splitlines())
    assert set(names) == {"0", "1", "2"}
    assert names["0"] == "/dev/null"


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


async def there_are_no_capabilities_and_none_can_be_had(provider):
    result = await run(provider, "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; id -u")
    fields = dict(line.split(":\t") for line in result.stdout.splitlines() if ":" in line)
    assert {int(value, 16) for name, value in fields.items() if name.startswith("Cap")} == {0}
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    assert result.stdout.splitlines()[-1] != "0"


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
