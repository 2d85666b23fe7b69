"""The lease of a lineage: one run at a time, with a fencing token that only ever grows.

A holder whose process has died on this machine is replaced at once; one elsewhere, when its lease has run out. A holder
that was replaced finds its token outdated in the very transaction that would have promoted.
"""

import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import DBAPIError

from rsi.errors import LeaseHeld, RsiError
from rsi.registry.engine import Database
from rsi.registry.models import leases, ledger

SECONDS = 90.0  # how long a lease outlives its last heartbeat


class Lease:
    """A held lease. As a context manager it beats in a thread and is given back at the end."""

    def __init__(self, database: Database, lineage: str, token: int, seconds: float) -> None:
        self.lineage, self.token = lineage, token
        self._database, self._seconds = database, seconds
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def check(self, connection: Connection, lineage: str) -> int:
        """The token. Raise LeaseHeld unless it is the newest of `lineage`, by the lease's row and by the ledger, and
        held by this process; the row stays locked until the transaction ends, so what the transaction writes is written
        by the holder."""
        if lineage != self.lineage:
            raise LeaseHeld(f"lineage '{lineage}': this run holds the lease of '{self.lineage}'; take the right one")
        row = connection.execute(select(leases).where(leases.c.lineage == self.lineage).with_for_update()).one_or_none()
        if row is None or row.token != self.token or row.pid is None or _fence(connection, lineage) > self.token:
            now = row.holder if row is not None else "nobody"
            raise LeaseHeld(f"lineage '{self.lineage}': this run has lost its lease to {now}; start it again")
        if row.pid != os.getpid():
            raise LeaseHeld(
                f"lineage '{self.lineage}': its lease is held by {row.holder}, not by this process; take it"
            )
        return self.token

    def renew(self) -> None:
        """A heartbeat. Raises LeaseHeld where the lease was lost."""
        self._set(expires_at=time.time() + self._seconds)

    def release(self) -> None:
        """Free the lineage. Does nothing where the lease was lost."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        try:
            self._set(pid=None, expires_at=0.0)
        except LeaseHeld:
            return

    def _set(self, **columns: Any) -> None:
        def work(connection: Connection) -> None:
            self.check(connection, self.lineage)
            connection.execute(update(leases).where(leases.c.lineage == self.lineage).values(**columns))

        self._database.write(work)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._beat, name=f"lease {self.lineage}", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _beat(self) -> None:
        while not self._done.wait(self._seconds / 3):
            try:
                self.renew()
            except LeaseHeld:
                return  # the fence tells the run itself, at its next write
            except (RsiError, DBAPIError):
                continue  # a busy store: the next beat comes before the lease runs out


def acquire(database: Database, lineage: str, holder: str = "rsi run", seconds: float = SECONDS) -> Lease:
    """Take the lease of a lineage. Raises LeaseHeld, saying who holds it, where a living process does."""
    pid = os.getpid()
    mine = {
        "holder": f"{holder} (process {pid} on {os.uname().nodename}, since {time.strftime('%Y-%m-%d %H:%M:%S')})",
        "machine": machine(),
        "pid": pid,
        "started": started(pid) or "",
    }

    def work(connection: Connection) -> int:
        row = connection.execute(select(leases).where(leases.c.lineage == lineage).with_for_update()).one_or_none()
        expires = time.time() + seconds
        if row is None:
            fresh = _fence(connection, lineage) + 1
            connection.execute(insert(leases).values(lineage=lineage, token=fresh, expires_at=expires, **mine))
            return fresh
        if row.pid is not None and row.expires_at > time.time() and not _dead(row):
            raise LeaseHeld(f"lineage '{lineage}' is in use by {row.holder}; wait for it, or choose another lineage")
        fresh = max(int(row.token), _fence(connection, lineage)) + 1
        where = leases.c.lineage == lineage
        connection.execute(update(leases).where(where).values(token=fresh, expires_at=expires, **mine))
        return fresh

    return Lease(database, lineage, database.write(work), seconds)


def fence(connection: Connection, lease: Lease | None, lineage: str) -> int:
    """The token under which a transaction writes. Raises LeaseHeld without the lineage's newest lease."""
    if lease is None:
        raise LeaseHeld(f"lineage '{lineage}' is written only under its lease; take it first")
    return lease.check(connection, lineage)


def _fence(connection: Connection, lineage: str) -> int:
    """The newest token that the ledger knows; 0 for a lineage without entries. A lease's row that was set back or
    removed brings no older holder back."""
    query = select(ledger.c.fence).where(ledger.c.lineage == lineage).order_by(ledger.c.seq.desc()).limit(1)
    return int(connection.scalar(query) or 0)


def _dead(row: Any) -> bool:
    """Whether the holder is known to have died: a process of this machine and boot that is gone or was replaced."""
    return bool(row.machine == machine()) and started(row.pid) != row.started


def machine() -> str:
    """Where process ids mean the same: this boot of this machine and, in containers, this process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:  # not Linux
        return f"{os.uname().nodename}/{psutil.boot_time():.0f}"


def started(pid: int) -> str | None:
    """When a living process began, in a form that does not move with the clock; None where there is none."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        if (stat := Path(f"/proc/{pid}/stat")).exists():
            return stat.read_text().rpartition(")")[2].split()[19]  # ticks since boot
        return f"{process.create_time():.0f}"
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        return None
