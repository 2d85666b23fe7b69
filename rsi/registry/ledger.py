"""The ledger as it is stored: table `ledger`, written in the transactions of what it records, its head anchored in a
file outside the store after each commit."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, insert, select

from rsi.errors import IntegrityError
from rsi.gate.lawful import breaches
from rsi.gate.ledger import Anchor, Entry, anchored, append, faults
from rsi.registry import anchors
from rsi.registry.bound import body, unvouched
from rsi.registry.crossed import disagreements
from rsi.registry.engine import Database
from rsi.registry.lease import Lease, fence
from rsi.registry.models import leases, ledger
from rsi.types import Record


class Ledger:
    """A lineage's chain. Entries are written under its lease alone; with a key, signed."""

    def __init__(self, database: Database, lease: Lease | None = None, key: bytes | None = None) -> None:
        self._database, self._lease, self._key = database, lease, key

    def append(self, lineage: str, kind: str, record: Record) -> Entry:
        """Record something of which the ledger alone is the store: a request, a canary, a certificate. Raises
        LeaseHeld without the newest lease, IntegrityError where the chain is signed and there is no key, or the other
        way round."""

        def work(connection: Connection) -> Entry:
            token = fence(connection, self._lease, lineage)
            return write(connection, lineage, kind, record, self._key, token)

        entry = self._database.write(work)
        anchor(self._database, lineage)
        return entry

    def once(self, lineage: str, kind: str, record: Record) -> None:
        """Append, unless an entry of this kind and content is there: what a killed run recorded is not repeated."""
        if not any(entry.body == body(record) for entry in self.entries(lineage, kind)):
            self.append(lineage, kind, record)

    def entries(self, lineage: str, kind: str | None = None) -> Sequence[Entry]:
        """The entries of a lineage (of one kind), oldest first. IntegrityError where one cannot be read as such."""
        found = self._database.read(lambda connection: chain(connection, lineage))
        return [entry for entry in found if kind in (None, entry.kind)]

    def verify(self, lineage: str, elsewhere: Anchor | None = None, rows: bool = True) -> list[str]:
        """What is wrong with the chain, its history, its anchors, or the rows that it vouches for, one plain line each.
        `elsewhere`: an anchor that is kept in another place than the store's own folder. Without `rows`, attempts and
        stages are left to those who read them."""
        place = self._database.anchors
        return self._database.read(lambda connection: found(connection, place, lineage, self._key, elsewhere, rows))

    def head(self, lineage: str) -> Anchor | None:
        """The newest entry's place and hash; None for a lineage that has no entry."""
        last = self._database.read(lambda connection: newest(connection, lineage))
        return Anchor(lineage=lineage, seq=last.seq, hash=last.hash) if last is not None else None


def write(
    connection: Connection, lineage: str, kind: str, record: Record, key: bytes | None, token: int | None
) -> Entry:
    """Append to the lineage's chain within a transaction; call `anchor` when it is committed. `token`: what `fence`
    gave; None for what people write beside a run. See `gate.ledger.append` for what raises."""
    _alone(connection, lineage)
    entry = append(newest(connection, lineage), lineage, kind, body(record), time.time(), key, token)
    connection.execute(insert(ledger).values(**entry.model_dump()))
    return entry


def anchor(database: Database, lineage: str) -> None:
    """Move the lineage's anchor to the head of what is committed. Within a transaction that writes nothing, so that of
    two processes none puts an older head over a newer one."""

    def work(connection: Connection) -> None:
        _alone(connection, lineage)
        if (last := newest(connection, lineage)) is not None:
            anchors.advance(database.anchors, Anchor(lineage=lineage, seq=last.seq, hash=last.hash))

    database.write(work)


def found(
    connection: Connection,
    folder: Path,
    lineage: str,
    key: bytes | None,
    elsewhere: Anchor | None = None,
    rows: bool = True,
) -> list[str]:
    """`Ledger.verify` within a transaction. The anchor is read first, so that it is never ahead of an honest chain."""
    try:
        kept = anchors.read(folder, lineage)
        entries = chain(connection, lineage)
    except IntegrityError as error:
        return [str(error)]
    lines = faults(lineage, entries, kept, key, now=time.time())
    if kept is None and len(entries) > 2:  # the first commit writes two: the pair, and the start
        lines.append(f"the anchor {anchors.anchor_file(folder, lineage)} is gone")
    if elsewhere is not None:
        lines += anchored(lineage, entries, elsewhere)
    lines += [*breaches(entries), *disagreements(connection, lineage, entries)]
    return [*lines, *unvouched(connection, lineage, entries)] if rows else lines


def chain(connection: Connection, lineage: str) -> list[Entry]:
    query = select(ledger).where(ledger.c.lineage == lineage).order_by(ledger.c.seq)
    return [_entry(row) for row in connection.execute(query)]


def newest(connection: Connection, lineage: str) -> Entry | None:
    query = select(ledger).where(ledger.c.lineage == lineage).order_by(ledger.c.seq.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    return _entry(row) if row is not None else None


def _alone(connection: Connection, lineage: str) -> None:
    """SQLite's writers are alone anyway; elsewhere the lease's row is what writers of one chain wait for."""
    connection.execute(select(leases.c.token).where(leases.c.lineage == lineage).with_for_update())


def _entry(row: Any) -> Entry:
    try:
        return Entry.model_validate(dict(row._mapping))
    except ValidationError:
        raise IntegrityError(f"ledger of '{row.lineage}': entry {row.seq} is damaged") from None
