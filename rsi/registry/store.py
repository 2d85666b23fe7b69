"""The truth about attempts and stages. Insert-once: what was recorded is never changed and never recorded twice."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, func, insert, select

from rsi.errors import IntegrityError
from rsi.ids import canonical
from rsi.registry.engine import Database
from rsi.registry.lease import Lease
from rsi.registry.models import attempts, failures, stages
from rsi.types import Attempt, Record, Termination

CHUNK = 500  # ids a query: below every database's limit on parameters


class SqlStore:
    """ports.Store over a database. With a lease, stages are committed only while it is still the newest."""

    def __init__(self, database: Database, lease: Lease | None = None) -> None:
        self._database, self._lease = database, lease

    def record(self, attempt: Attempt) -> None:
        """Record a finished attempt once, durably; an unscored one goes to the failures and stays owed.

        Raises IntegrityError where the id is recorded already, is not the digest of its spec, or the content is no JSON
        (a NaN). UserError where the disk is full or the store is busy."""
        if attempt.id != attempt.spec.digest:
            raise IntegrityError(f"attempt {attempt.id}: its id is not the digest of its spec {attempt.spec.digest}")
        self._database.write(lambda connection: _insert(connection, attempt))

    def get(self, ids: Sequence[str]) -> Mapping[str, Attempt]:
        """The recorded attempts among `ids`, by id."""

        def work(connection: Connection) -> dict[str, Attempt]:
            found = {}
            for start in range(0, len(ids), CHUNK):
                query = select(attempts.c.id, attempts.c.body).where(attempts.c.id.in_(ids[start : start + CHUNK]))
                found.update({row.id: Attempt.model_validate_json(row.body) for row in connection.execute(query)})
            return found

        return self._database.read(work)

    def stage(self, lineage: str, generation: int, name: str) -> str | None:
        """The committed JSON output of a stage, or None."""
        return self._database.read(lambda connection: _output(connection, lineage, generation, name))

    def commit_stage(self, lineage: str, generation: int, name: str, output: str) -> None:
        """Commit a stage's output. The same output again changes nothing; another one is an IntegrityError."""

        def work(connection: Connection) -> None:
            if self._lease is not None:
                self._lease.check(connection, lineage)
            present = _output(connection, lineage, generation, name)
            if present == output:
                return
            if present is not None:
                raise IntegrityError(f"{lineage}, generation {generation}: stage '{name}' has another output already")
            row = {"lineage": lineage, "generation": generation, "name": name, "output": output}
            connection.execute(insert(stages).values(**row, committed_at=time.time()))

        self._database.write(work)

    def open_attempts(self, prefix: str) -> Sequence[Attempt]:
        """Recorded attempts of purposes that begin so, oldest first; never of the sealed split or a held-out family."""
        query = select(attempts.c.body).where(
            attempts.c.purpose.startswith(prefix, autoescape=True),
            attempts.c.split.in_(("train", "selection")),
            attempts.c.held_out.is_(False),
        )
        found = self._database.read(lambda connection: connection.scalars(query.order_by(attempts.c.recorded_at)).all())
        return [Attempt.model_validate_json(item) for item in found]

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
        rows = self._database.read(lambda connection: connection.execute(query.order_by(failures.c.seq)).all())
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


def body(record: Record) -> str:
    """A record as canonical JSON. Raises IntegrityError for what JSON cannot hold."""
    try:
        return canonical(record).decode()
    except ValueError as error:
        raise IntegrityError(f"{type(record).__name__} cannot be recorded: {error}") from None


def _insert(connection: Connection, attempt: Attempt) -> None:
    if connection.scalar(select(attempts.c.id).where(attempts.c.id == attempt.id)) is not None:
        raise IntegrityError(f"attempt {attempt.id} ({attempt.spec.purpose}) is recorded already")
    spec, now = attempt.spec, time.time()
    if attempt.score is None:
        lost = {"attempt": attempt.id, "purpose": spec.purpose, "error": attempt.error}
        connection.execute(insert(failures).values(**lost, recorded_at=now, body=body(attempt)))
        return
    connection.execute(
        insert(attempts).values(
            id=attempt.id,
            task_id=spec.task_id,
            pair=spec.pair,
            purpose=spec.purpose,
            draw=spec.draw,
            family=attempt.family,
            split=attempt.split,
            held_out=attempt.held_out,
            passed=attempt.passed,
            reward=attempt.score.reward,
            recorded_at=now,
            body=body(attempt),
        )
    )


def _output(connection: Connection, lineage: str, generation: int, name: str) -> str | None:
    return connection.scalar(
        select(stages.c.output).where(
            stages.c.lineage == lineage, stages.c.generation == generation, stages.c.name == name
        )
    )
