"""Looks at the sealed split, recorded before they are scored, and the verdicts that came of them."""

import time
from collections.abc import Sequence

from sqlalchemy import Connection, insert, or_, select

from rsi.errors import IntegrityError, UserError
from rsi.registry.engine import Database
from rsi.registry.lease import Lease
from rsi.registry.models import looks, verdicts
from rsi.registry.store import body
from rsi.types import Look, Verdict


class Looks:
    """With a lease, what is written is written only while it is still the newest of its lineage."""

    def __init__(self, database: Database, lease: Lease | None = None) -> None:
        self._database, self._lease = database, lease

    def open(self, look: Look) -> Verdict | None:
        """Record a look durably. The same look again resumes it, or gives the verdict that it has. UserError for
        another one in the same generation or at the same sealed shard, whatever changed since: no shard is looked at
        twice."""

        def work(connection: Connection) -> None:
            if self._lease is not None:
                self._lease.check(connection, look.lineage)
            same = or_(looks.c.sealed == look.sealed, looks.c.generation == look.generation)
            present = connection.execute(select(looks).where(looks.c.lineage == look.lineage, same)).all()
            if [row.digest for row in present] == [look.digest]:
                return
            if present:
                raise UserError(
                    f"lineage '{look.lineage}': generation {present[0].generation} has had its look at this shard "
                    f"(candidate {present[0].candidate[:12]}), and there is no second look; restore the "
                    "contract, the seed and the gate settings that it was opened with, and run again"
                )
            row = look.model_dump(include={"lineage", "generation", "champion", "candidate", "sealed"})
            connection.execute(insert(looks).values(**row, digest=look.digest, opened_at=time.time(), body=body(look)))

        self._database.write(work)
        return self.verdict(look.digest)

    def close(self, verdict: Verdict) -> None:
        """Record the verdict of its look, once. Raises IntegrityError where the look is unknown or judged otherwise."""

        def work(connection: Connection) -> None:
            lineage = connection.scalar(select(looks.c.lineage).where(looks.c.digest == verdict.look))
            if lineage is None:
                raise IntegrityError(f"verdict on look '{verdict.look}': no such look was recorded")
            if self._lease is not None:
                self._lease.check(connection, lineage)
            present = connection.scalar(select(verdicts.c.body).where(verdicts.c.look == verdict.look))
            if present is not None:
                if present != body(verdict):
                    raise IntegrityError(f"look {verdict.look} has another verdict already")
                return
            row = {
                "look": verdict.look,
                "decision": verdict.decision,
                "recorded_at": time.time(),
                "body": body(verdict),
            }
            connection.execute(insert(verdicts).values(**row))

        self._database.write(work)

    def verdict(self, look: str) -> Verdict | None:
        query = select(verdicts.c.body).where(verdicts.c.look == look)
        found = self._database.read(lambda connection: connection.scalar(query))
        return Verdict.model_validate_json(found) if found is not None else None

    def of(self, lineage: str) -> Sequence[Look]:
        """The looks of a lineage, oldest first."""
        query = select(looks.c.body).where(looks.c.lineage == lineage).order_by(looks.c.opened_at)
        found = self._database.read(lambda connection: connection.scalars(query).all())
        return [Look.model_validate_json(item) for item in found]
