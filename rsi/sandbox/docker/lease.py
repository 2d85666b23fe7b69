"""Who owns a container, and removing those whose owner is dead. It must not know what a container is for."""

import os
from pathlib import Path
from typing import Any

LABEL = "rsi.sandbox.lease"


def mine() -> str:
    """The lease of this process: boot and pid namespace, pid, and its start in clock ticks, so that a pid used again is
    another lease."""
    pid = os.getpid()
    return f"{_boot()}.{_namespace()}:{pid}:{_begun(pid)}"


def dead(lease: str) -> bool:
    """Whether the owner is surely gone. A lease that cannot be read, or is of another container's processes, is left
    alone until the machine has been started anew."""
    place, _, rest = lease.partition(":")
    boot, _, namespace = place.partition(".")
    pid, _, begun = rest.partition(":")
    if not pid.isdigit() or not begun.isdigit():
        return False
    return boot != _boot() or (namespace == _namespace() and _begun(int(pid)) != begun)


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
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _namespace() -> str:
    """The number of the namespace in which process ids are counted, so that they mean the same."""
    return str(Path("/proc/self/ns/pid").readlink()).partition("[")[2].rstrip("]")


def _begun(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
