"""Limits on a whole process tree, on machines where a control group may be made (version 1 or 2).

Where none is delegated the sandbox has its per-process limits only; `delegated` says which. It must not know what the
processes are.
"""

import contextlib
import functools
import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_CHARGED_AHEAD = 1 << 20  # bytes: the kernel charges in batches, so the last one may not fit although little is left


@dataclass(frozen=True)
class Parents:
    """The folders under which a group for each controller may be made; one folder serves both in version 2."""

    version: int
    memory: Path | None = None
    pids: Path | None = None

    @property
    def folders(self) -> list[Path]:
        return list(dict.fromkeys(folder for folder in (self.memory, self.pids) if folder))


class Group:
    """One control group (a folder a controller). Every method is best effort but `add`, which raises OSError."""

    def __init__(self, parents: Parents, memory: int, pids: int) -> None:
        """`memory` in bytes (tmpfs contents count), `pids` processes and threads. Raises OSError."""
        name = f"rsi-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self.folders = [folder / name for folder in parents.folders]
        settings = {"memory.max": memory, "memory.swap.max": 0, "pids.max": pids}
        if parents.version == 1:
            settings = {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory, "pids.max": pids}
        try:
            for folder in self.folders:
                folder.mkdir()
                for key, value in settings.items():
                    if (folder / key).exists():
                        (folder / key).write_text(str(value))
        except OSError:
            self.remove()
            raise

    def add(self, pid: int) -> None:
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def ran_out(self) -> str:
        """Whose memory was used up where the kernel has killed a process of the group for it: "its" own, or "this
        machine's", which is nobody's fault in here. Empty where it has killed none."""
        for folder in self.folders[:1]:  # the one of memory, where there is one
            if _count(folder / "memory.events", "oom_kill"):
                return "its" if _count(folder / "memory.events", "oom") else "this machine's"
            if _count(folder / "memory.oom_control", "oom_kill"):
                most, limit = (_count(folder / f"memory.{name}_in_bytes") for name in ("max_usage", "limit"))
                return "its" if most + _CHARGED_AHEAD >= limit else "this machine's"
        return ""

    def remove(self) -> None:
        """Only an empty group can be removed; one that is still emptying is left to `sweep`."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _count(file: Path, key: str = "") -> int:
    """The number in the line of `file` that begins with `key`; 0 where there is none."""
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            *name, number = line.split()
            if name == ([key] if key else []):
                return int(number)
    return 0


@functools.cache
def delegated() -> Parents:
    """Where groups can be made, found by making one and moving a process into it."""
    return next((candidate for candidate in _candidates() if _works(candidate)), Parents(0))


def _works(parents: Parents) -> bool:
    for folder in parents.folders:
        _sweep(folder)
    try:
        group = Group(parents, 1 << 30, 64)
    except OSError:
        return False
    mover = subprocess.Popen(["/bin/sleep", "10"], stdin=subprocess.DEVNULL, env={})
    try:
        group.add(mover.pid)
        return True
    except OSError:
        return False
    finally:
        mover.kill()
        mover.wait()
        group.remove()


def _candidates() -> Iterator[Parents]:
    try:
        lines = _OWN.read_text().splitlines()
    except OSError:  # a kernel without control groups
        return
    own = dict(line.split(":", 2)[1:] for line in lines if line)
    if "memory" in own or "pids" in own:
        found = {name: _ROOT / name / own[name].lstrip("/") for name in ("memory", "pids") if name in own}
        usable = {name: folder for name, folder in found.items() if os.access(folder, os.W_OK)}
        for names in (("memory", "pids"), ("memory",), ("pids",)):
            if all(name in usable for name in names):
                yield Parents(1, **{name: usable[name] for name in names})
    if "" in own:
        here = _ROOT / own[""].lstrip("/")
        for folder in (here, *here.parents):
            if not folder.is_relative_to(_ROOT):
                return
            with contextlib.suppress(OSError):
                if {"memory", "pids"} <= set((folder / "cgroup.subtree_control").read_text().split()):
                    yield Parents(2, folder, folder)


def _sweep(folder: Path) -> None:
    """Remove the empty groups of processes that have died without closing."""
    for left in folder.glob("rsi-*"):
        owner = left.name.split("-")[1]
        if owner.isdigit() and not Path("/proc", owner).exists():
            with contextlib.suppress(OSError):
                left.rmdir()
