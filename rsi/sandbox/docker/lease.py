"""Who owns a container, and removing those whose owner is dead. It must not know what a container is for."""

import os
from pathlib import Path
from typing import Any

import psutil

LABEL = "rsi.sandbox.lease"
_PROC = Path("/proc")


def mine() -> str:
    """The lease of this process: boot and pid namespace, pid, and its start in clock ticks, so that a pid used again is
    another lease."""
    pid = os.getpid()
    return f"{_boot()}.{_namespace()}:{pid}:{_begun(pid)}"


def dead(lease: str) -> bool:
    """Whether the owner is surely gone. A lease that cannot be read, or is of another container's processes, is left
    alone until the machine has been started anew; where /proc does not name this start, none is judged."""
    place, _, rest = lease.partition(":")
    boot, _, namespace = place.partition(".")
    pid, _, begun = rest.partition(":")
    now = _boot()
    if not (boot and now and pid.isdigit() and begun.isdigit()):
        return False
    if boot != now or namespace != _namespace():
        return boot != now
    # A process whose /proc entry is hidden from this user lives for all we know.
    return not psutil.pid_exists(int(pid)) or _begun(int(pid)) not in (begun, "")


def sweep(client: Any) -> int:
    """Remove the containers of dead owners; how many. Others' containers have no such label and are never looked at."""
    from docker.errors import APIError, NotFound

    count = 0
    for container in client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
        if dead(container.labels.get(LABEL, "")):
            try:
                container.remove(force=True, v=True)
                count += 1
            except (NotFound, APIError):  # another sweep was faster
                continue
    return count


def _boot() -> str:
    return _read(_PROC / "sys/kernel/random/boot_id").strip()


def _namespace() -> str:
    """The number of the namespace in which process ids are counted, so that they mean the same."""
    try:
        return str((_PROC / "self/ns/pid").readlink()).partition("[")[2].rstrip("]")
    except OSError:
        return ""


def _begun(pid: int) -> str:
    fields = _read(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    return fields[19] if fields else ""


def _read(file: Path) -> str:
    """ "" where this kernel, or this view of /proc, has no such file."""
    try:
        return file.read_text()
    except OSError:
        return ""
