"""Pairs, and which of them is champion: an append-only ledger, changed only under the lineage's lease."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, insert, select

from rsi.errors import IntegrityError, UserError
from rsi.registry import ledger
from rsi.registry.bound import body, checked, vouch, with_entry
from rsi.registry.engine import Database
from rsi.registry.lease import Lease, fence
from rsi.registry.models import looks, pairs, promotions, verdicts
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
    """ports.Registry over a database. What writes needs the lease of its lineage and checks it in the transaction that
    writes, which also writes the ledger, signed with `key`; reading needs none."""

    def __init__(self, database: Database, lease: Lease | None = None, key: bytes | None = None) -> None:
        self._database, self._lease, self._key = database, lease, key

    def publish(self, record: PairRecord) -> None:
        """Register a pair. The same record again changes nothing; one with more evidence becomes the pair's record."""
        self._anchored(record.lineage, lambda connection: self._publish(connection, record))

    def start(self, record: PairRecord) -> bool:
        """Make the first champion of a lineage. False where it has one already."""

        def work(connection: Connection) -> bool:
            fence(connection, self._lease, record.lineage)
            if _champion(connection, record.lineage) is not None:
                return False
            self._publish(connection, record)
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
            fence(connection, self._lease, lineage)
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
            if self._record(connection, lineage, pair) is None:
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
            fence(connection, self._lease, lineage)
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
            record = self._record(connection, lineage, past[0])
            if record is None:
                raise IntegrityError(f"lineage '{lineage}': champion {past[0][:12]} has no record")
            return record

        return self._anchored(lineage, work)

    def current(self, lineage: str) -> PairRecord | None:
        """The champion's record, or None for a lineage that has not started."""

        def work(connection: Connection) -> PairRecord | None:
            champion = _champion(connection, lineage)
            return self._record(connection, lineage, champion) if champion is not None else None

        return self._database.read(work)

    def lineage(self, lineage: str) -> Sequence[PairRecord]:
        """The newest record of every pair published, candidates that were refused included, oldest pair first."""
        query = with_entry("pair").where(pairs.c.lineage == lineage).order_by(pairs.c.entry)

        def work(connection: Connection) -> dict[str, str]:
            rows = connection.execute(query).mappings()
            return {row["pair"]: checked("pair", row, self._key)["body"] for row in rows}

        newest = self._database.read(work)
        return [PairRecord.model_validate_json(item) for item in newest.values()]

    def history(self, lineage: str) -> Sequence[Promotion]:
        """Every step of the lineage's champion, oldest first."""
        query = select(promotions).where(promotions.c.lineage == lineage).order_by(promotions.c.seq)
        rows = self._database.read(lambda connection: connection.execute(query).mappings().all())
        return [Promotion.model_validate(dict(row)) for row in rows]

    def _anchored(self, lineage: str, work: Callable[[Connection], T]) -> T:
        found = self._database.write(work)
        ledger.anchor(self._database, lineage)
        return found

    def _append(self, connection: Connection, lineage: str, pair: str, **columns: Any) -> None:
        columns |= {"lineage": lineage, "pair": pair, "previous": _champion(connection, lineage), "at": time.time()}
        row = connection.execute(insert(promotions).values(columns).returning(*promotions.c)).one()
        token = fence(connection, self._lease, lineage)
        ledger.write(connection, lineage, "promotion", Promotion.model_validate(dict(row._mapping)), self._key, token)

    def _publish(self, connection: Connection, record: PairRecord) -> None:
        token, name = fence(connection, self._lease, record.lineage), record.digest
        same = (pairs.c.lineage == record.lineage, pairs.c.body_digest == name)
        if connection.scalar(select(pairs.c.entry).where(*same)) is None:
            row = {"lineage": record.lineage, "pair": record.pair.digest, "generation": record.generation}
            row |= {"body_digest": name, "published_at": time.time(), "body": body(record)}
            vouched = vouch(row, record.pair.digest, name)
            entry = ledger.write(connection, record.lineage, "pair", vouched, self._key, token)
            connection.execute(insert(pairs).values(**row, entry=entry.seq))

    def _record(self, connection: Connection, lineage: str, pair: str) -> PairRecord | None:
        query = with_entry("pair").where(pairs.c.lineage == lineage, pairs.c.pair == pair)
        row = connection.execute(query.order_by(pairs.c.entry.desc()).limit(1)).mappings().one_or_none()
        return PairRecord.model_validate_json(checked("pair", row, self._key)["body"]) if row is not None else None


def _champion(connection: Connection, lineage: str) -> str | None:
    query = select(promotions.c.pair).where(promotions.c.lineage == lineage)
    return connection.scalar(query.order_by(promotions.c.seq.desc()).limit(1))
