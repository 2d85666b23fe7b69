"""The truth about attempts and stages. Insert-once: what was recorded is never changed and never recorded twice."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select

from rsi.errors import IntegrityError
from rsi.ids import digest
from rsi.registry.bound import TABLES, body, checked, vouch, with_entry
from rsi.registry.engine import Database
from rsi.registry.lease import Lease, fence
from rsi.registry.ledger import anchor, write
from rsi.registry.models import attempts, failures, stages
from rsi.types import Attempt, Termination

CHUNK = 500  # ids a query: below every database's limit on parameters


class SqlStore:
    """ports.Store over a database. Written under the lease alone, of its lineage, signed with `key`; what is read is
    what the ledger vouches for (IntegrityError), and of the lease's lineage where there is one."""

    def __init__(self, database: Database, lease: Lease | None = None, key: bytes | None = None) -> None:
        self._database, self._lease, self._key = database, lease, key

    def record(self, attempt: Attempt) -> None:
        """Record a finished attempt once, durably; an unscored one goes to the failures and stays owed.

        Raises LeaseHeld without the newest lease. IntegrityError where the id is recorded already, is not the digest of
        its spec, its purpose is of another lineage, or the content is no JSON (a NaN). UserError where the disk is full
        or the store is busy."""
        if attempt.id != attempt.spec.digest:
            raise IntegrityError(f"attempt {attempt.id}: its id is not the digest of its spec {attempt.spec.digest}")
        lineage = self._lease.lineage if self._lease is not None else attempt.spec.purpose.partition("/")[0]
        if not attempt.spec.purpose.startswith(f"{lineage}/"):
            raise IntegrityError(f"attempt {attempt.id} ({attempt.spec.purpose}) is not of lineage '{lineage}'")

        def work(connection: Connection) -> None:
            token = fence(connection, self._lease, lineage)
            if connection.scalar(select(attempts.c.id).where(attempts.c.id == attempt.id)) is not None:
                raise IntegrityError(f"attempt {attempt.id} ({attempt.spec.purpose}) is recorded already")
            kind, row = _row(attempt, lineage)
            self._insert(connection, kind, row, attempt.spec.name, attempt.digest, token)

        self._database.write(work)
        if attempt.split == "sealed":  # what a look has drawn cannot be cut off and drawn again
            anchor(self._database, lineage)

    def get(self, ids: Sequence[str]) -> Mapping[str, Attempt]:
        """The recorded attempts among `ids`, by id."""

        def work(connection: Connection) -> dict[str, Attempt]:
            found = dict[str, Attempt]()
            for start in range(0, len(ids), CHUNK):
                query = with_entry("attempt").where(attempts.c.id.in_(ids[start : start + CHUNK]))
                found |= {attempt.id: attempt for attempt in self._read(connection, query)}
            return found

        return self._database.read(work)

    def stage(self, lineage: str, generation: int, name: str) -> str | None:
        """The committed JSON output of a stage, or None."""
        return self._database.read(lambda connection: self._output(connection, lineage, generation, name))

    def commit_stage(self, lineage: str, generation: int, name: str, output: str) -> None:
        """Commit a stage's output. The same output again changes nothing; another one is an IntegrityError."""

        def work(connection: Connection) -> None:
            token = fence(connection, self._lease, lineage)
            present = self._output(connection, lineage, generation, name)
            if present == output:
                return
            if present is not None:
                raise IntegrityError(f"{lineage}, generation {generation}: stage '{name}' has another output already")
            row = {"lineage": lineage, "generation": generation, "name": name, "output": output}
            row["committed_at"] = time.time()
            self._insert(connection, "stage", row, f"{generation}/{name}", digest(output), token)

        self._database.write(work)
        anchor(self._database, lineage)

    def open_attempts(self, prefix: str) -> Sequence[Attempt]:
        """Recorded attempts of purposes that begin so, oldest first; never of the sealed split or a held-out family."""
        query = with_entry("attempt").where(
            attempts.c.purpose.startswith(prefix, autoescape=True),
            attempts.c.split.in_(("train", "selection")),
            attempts.c.held_out.is_(False),
        )
        ordered = query.order_by(attempts.c.recorded_at)
        return self._database.read(lambda connection: self._read(connection, ordered))

    def counts(self, prefix: str = "") -> tuple[int, int]:
        """How many attempts, and how many infrastructure failures, are recorded of purposes that begin so."""

        def work(connection: Connection) -> tuple[int, int]:
            done, lost = (
                connection.scalar(
                    select(func.count()).select_from(table).where(table.c.purpose.startswith(prefix, autoescape=True))
                )
                for table in (attempts, failures)
            )
            return done or 0, lost or 0

        return self._database.read(work)

    def lost(self, prefix: str) -> Mapping[str, int]:
        """How many attempts of purposes that begin so were lost to infrastructure and not played since, by why they
        were last."""
        played = select(attempts.c.id).where(attempts.c.id == failures.c.attempt).exists()
        query = select(failures.c.attempt, failures.c.error).where(
            failures.c.purpose.startswith(prefix, autoescape=True), ~played
        )
        rows = self._database.read(lambda connection: connection.execute(query.order_by(failures.c.entry)).all())
        return Counter({row.attempt: row.error for row in rows}.values())

    def refused(self, prefix: str) -> int:
        """How many recorded attempts of purposes that begin so ended because the model's server refused them."""
        ended = f'"termination":"{Termination.REFUSED}"'  # no text within a record holds these quotes unescaped
        query = select(func.count()).where(
            attempts.c.purpose.startswith(prefix, autoescape=True), attempts.c.body.contains(ended, autoescape=True)
        )
        return self._database.read(lambda connection: connection.scalar(query)) or 0

    def holding(self, word: str, prefix: str, but: str) -> Mapping[str, int]:
        """How many attempts hold `word` (plain letters, in any case) in their record, by family, of purposes that begin
        with `prefix` and not with `but`."""
        purpose = attempts.c.purpose
        query = (
            select(attempts.c.family, func.count().label("n"))
            .where(purpose.startswith(prefix, autoescape=True), ~purpose.startswith(but, autoescape=True))
            .where(func.lower(attempts.c.body).contains(word.lower(), autoescape=True))
            .group_by(attempts.c.family)
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return {row.family: row.n for row in rows}

    def _read(self, connection: Connection, query: Select[Any]) -> list[Attempt]:
        """The attempts of these rows. A row is believed where the lineage's ledger vouches for it, and its record is
        the one that its id names."""
        found = []
        for row in connection.execute(query).mappings():
            attempt = Attempt.model_validate_json(checked("attempt", row, self._key)["body"])
            home = self._lease.lineage if self._lease is not None else row["lineage"]
            named = row["id"] == attempt.id == attempt.spec.digest
            if not named or row["lineage"] != home or not attempt.spec.purpose.startswith(f"{home}/"):
                raise IntegrityError(f"attempt {row['id']} ({row['purpose']}) is recorded in another lineage's name")
            found.append(attempt)
        return found

    def _output(self, connection: Connection, lineage: str, generation: int, name: str) -> str | None:
        its = (stages.c.lineage == lineage, stages.c.generation == generation, stages.c.name == name)
        row = connection.execute(with_entry("stage").where(*its)).mappings().one_or_none()
        return str(checked("stage", row, self._key)["output"]) if row is not None else None

    def _insert(
        self, connection: Connection, kind: str, row: dict[str, Any], name: str, record: str, token: int
    ) -> None:
        entry = write(connection, row["lineage"], kind, vouch(row, name, record), self._key, token)
        connection.execute(insert(TABLES[kind]).values(**row, entry=entry.seq))


def _row(attempt: Attempt, lineage: str) -> tuple[str, dict[str, Any]]:
    """The kind of an attempt's row, and the row."""
    spec, now = attempt.spec, time.time()
    if attempt.score is None:
        lost = {"attempt": attempt.id, "purpose": spec.purpose, "error": attempt.error}
        return "failure", {**lost, "lineage": lineage, "recorded_at": now, "body": body(attempt)}
    return "attempt", {
        "id": attempt.id,
        "lineage": lineage,
        "task_id": spec.task_id,
        "pair": spec.pair,
        "purpose": spec.purpose,
        "draw": spec.draw,
        "family": attempt.family,
        "split": attempt.split,
        "held_out": attempt.held_out,
        "passed": attempt.passed,
        "reward": attempt.score.reward,
        "recorded_at": now,
        "body": body(attempt),
    }
