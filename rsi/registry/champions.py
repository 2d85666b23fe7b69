"""Pairs, and which of them is champion: an append-only ledger, changed only under the lineage's lease."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, insert, select

from rsi.errors import IntegrityError, LeaseHeld, UserError
from rsi.registry import ledger
from rsi.registry.engine import Database
from rsi.registry.lease import Lease
from rsi.registry.models import looks, pairs, promotions, verdicts
from rsi.registry.store import body
from rsi.types import PairRecord, Record

T = TypeVar("T")


class Promotion(Record):
    """One step of a lineage's champion. `look` is given where a verdict promoted; `at`: seconds since the epoch."""

    seq: int
    lineage: str
    pair: str
    previous: str | None
    kind: Literal["start", "promotion", "rollback"]
    look: str | None
    reason: str
    at: float


class Champions:
    """ports.Registry over a database. `start`, `promote` and `rollback` need the lease of their lineage and check it in
    the transaction that writes, which also writes the ledger, signed with `key`; reading and publishing need none."""

    def __init__(self, database: Database, lease: Lease | None = None, key: bytes | None = None) -> None:
        self._database, self._lease, self._key = database, lease, key

    def publish(self, record: PairRecord) -> None:
        """Register a pair. The same record again changes nothing; one with more evidence becomes the pair's record."""
        self._database.write(lambda connection: _publish(connection, record))

    def start(self, record: PairRecord) -> bool:
        """Make the first champion of a lineage. False where it has one already."""

        def work(connection: Connection) -> bool:
            self._fence(record.lineage, connection)
            if _champion(connection, record.lineage) is not None:
                return False
            _publish(connection, record)
            self._append(connection, record.lineage, record.pair.digest, kind="start", reason="the first champion")
            return True

        return self._anchored(record.lineage, work)

    def promote(self, lineage: str, pair: str, look: str) -> bool:
        """Make `pair` champion because the verdict on `look` says promote. False where that look has promoted already.

        Raises IntegrityError where there is no such verdict, it says otherwise or concerns another candidate, the
        champion that it was measured against is champion no more, the pair is not published, or the ledger has a fault
        or would have one with this promotion in it.
        LeaseHeld without the newest lease."""

        def work(connection: Connection) -> bool:
            self._fence(lineage, connection)
            if connection.scalar(select(promotions.c.seq).where(promotions.c.look == look)) is not None:
                return False
            query = select(looks, verdicts.c.decision).join_from(looks, verdicts, verdicts.c.look == looks.c.digest)
            found = connection.execute(query.where(looks.c.digest == look, looks.c.lineage == lineage)).one_or_none()
            current = _champion(connection, lineage)
            if found is None or found.decision != "promote" or found.candidate != pair:
                raise IntegrityError(f"lineage '{lineage}': no verdict on look '{look}' promotes pair {pair[:12]}")
            if current != found.champion:
                raise IntegrityError(
                    f"lineage '{lineage}': the verdict compared {pair[:12]} with {found.champion[:12]}, but the "
                    f"champion is now {str(current)[:12]}; judge it again"
                )
            if _record(connection, lineage, pair) is None:
                raise IntegrityError(f"lineage '{lineage}': pair {pair[:12]} is not published")
            self._append(connection, lineage, pair, kind="promotion", look=look, reason="the verdict on this look")
            if wrong := ledger.found(connection, self._database.anchors, lineage, self._key):
                raise IntegrityError(
                    f"lineage '{lineage}': its ledger cannot be believed, so nothing is promoted: {wrong[0]}; "
                    "`rsi ledger verify` names all"
                )
            return True

        return self._anchored(lineage, work)

    def rollback(self, lineage: str, to: str, reason: str = "") -> PairRecord:
        """Make an earlier champion (its digest or a unique beginning of it) champion again: one more row, none removed.

        Raises UserError where `to` was never champion of the lineage, is ambiguous, or is champion now."""

        def work(connection: Connection) -> PairRecord:
            self._fence(lineage, connection)
            query = select(promotions.c.pair).where(promotions.c.lineage == lineage).distinct()
            past = [pair for pair in connection.scalars(query) if to and pair.startswith(to)]
            current = _champion(connection, lineage)
            if len(past) != 1:
                names = ", ".join(pair[:12] for pair in past) or "none"
                raise UserError(
                    f"rollback of '{lineage}' to '{to}': one earlier champion must match, these do: {names}"
                )
            if past[0] == current:
                raise UserError(f"rollback of '{lineage}' to '{to}': this pair is champion already")
            self._append(connection, lineage, past[0], kind="rollback", reason=reason or "asked for by a person")
            record = _record(connection, lineage, past[0])
            if record is None:
                raise IntegrityError(f"lineage '{lineage}': champion {past[0][:12]} has no record")
            return record

        return self._anchored(lineage, work)

    def current(self, lineage: str) -> PairRecord | None:
        """The champion's record, or None for a lineage that has not started."""

        def work(connection: Connection) -> PairRecord | None:
            champion = _champion(connection, lineage)
            return _record(connection, lineage, champion) if champion is not None else None

        return self._database.read(work)

    def lineage(self, lineage: str) -> Sequence[PairRecord]:
        """The newest record of every pair published, candidates that were refused included, oldest pair first."""
        query = select(pairs.c.pair, pairs.c.body).where(pairs.c.lineage == lineage).order_by(pairs.c.seq)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        newest: dict[str, str] = {row.pair: row.body for row in rows}
        return [PairRecord.model_validate_json(item) for item in newest.values()]

    def history(self, lineage: str) -> Sequence[Promotion]:
        """Every step of the lineage's champion, oldest first."""
        query = select(promotions).where(promotions.c.lineage == lineage).order_by(promotions.c.seq)
        rows = self._database.read(lambda connection: connection.execute(query).mappings().all())
        return [Promotion.model_validate(dict(row)) for row in rows]

    def _fence(self, lineage: str, connection: Connection) -> None:
        if self._lease is None:
            raise LeaseHeld(f"lineage '{lineage}': its champion may be changed only under its lease; take it first")
        self._lease.check(connection, lineage)

    def _anchored(self, lineage: str, work: Callable[[Connection], T]) -> T:
        found = self._database.write(work)
        ledger.anchor(self._database, lineage)
        return found

    def _append(self, connection: Connection, lineage: str, pair: str, **columns: Any) -> None:
        columns |= {"lineage": lineage, "pair": pair, "previous": _champion(connection, lineage), "at": time.time()}
        row = connection.execute(insert(promotions).values(columns).returning(*promotions.c)).one()
        ledger.write(connection, lineage, "promotion", Promotion.model_validate(dict(row._mapping)), self._key)


def _publish(connection: Connection, record: PairRecord) -> None:
    name = record.digest
    same = (pairs.c.lineage == record.lineage, pairs.c.body_digest == name)
    if connection.scalar(select(pairs.c.seq).where(*same)) is None:
        row = {"lineage": record.lineage, "pair": record.pair.digest, "generation": record.generation}
        connection.execute(insert(pairs).values(**row, body_digest=name, published_at=time.time(), body=body(record)))


def _champion(connection: Connection, lineage: str) -> str | None:
    query = select(promotions.c.pair).where(promotions.c.lineage == lineage)
    return connection.scalar(query.order_by(promotions.c.seq.desc()).limit(1))


def _record(connection: Connection, lineage: str, pair: str) -> PairRecord | None:
    query = select(pairs.c.body).where(pairs.c.lineage == lineage, pairs.c.pair == pair)
    found = connection.scalar(query.order_by(pairs.c.seq.desc()).limit(1))
    return PairRecord.model_validate_json(found) if found is not None else None
