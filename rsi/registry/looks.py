"""Looks at the sealed split, recorded before they are scored, and the verdicts that came of them."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, insert, select

from rsi.errors import IntegrityError, UserError
from rsi.gate.lawful import breaches, overspent
from rsi.registry.bound import body
from rsi.registry.engine import Database
from rsi.registry.lease import Lease, fence
from rsi.registry.ledger import anchor, chain, write
from rsi.registry.models import looks, verdicts
from rsi.types import Look, Verdict


class Looks:
    """What is written is written under the lineage's newest lease alone. `key` signs."""

    def __init__(self, database: Database, lease: Lease | None = None, key: bytes | None = None) -> None:
        self._database, self._lease, self._key = database, lease, key

    def open(self, look: Look) -> Verdict | None:
        """Record a look durably. The same look again resumes it, or gives the verdict that it has. UserError for
        another one in the same generation, whatever changed since, or at a sealed shard that has had its looks.
        IntegrityError where the look states another sum than the lineage's looks have spent, breaks its budget, or is
        of a generation whose canaries were hit."""

        def work(connection: Connection) -> None:
            token = fence(connection, self._lease, look.lineage)
            if connection.scalar(select(looks.c.digest).where(looks.c.digest == look.digest)) is not None:
                return
            past = connection.execute(select(looks).where(looks.c.lineage == look.lineage)).all()
            _check_generation(look, past)
            _check_shard(look, past)
            _check_spent(look, past)
            row = look.model_dump(include={"lineage", "generation", "champion", "candidate", "sealed"})
            at = write(connection, look.lineage, "look", look, self._key, token).at
            connection.execute(insert(looks).values(**row, digest=look.digest, opened_at=at, body=body(look)))
            for line in breaches(chain(connection, look.lineage)):
                raise IntegrityError(f"lineage '{look.lineage}': no look is opened: {line}")

        self._database.write(work)
        anchor(self._database, look.lineage)
        return self.verdict(look.digest)

    def close(self, verdict: Verdict) -> None:
        """Record the verdict of its look, once. Raises IntegrityError where the look is unknown or judged otherwise."""

        def work(connection: Connection) -> str:
            lineage = connection.scalar(select(looks.c.lineage).where(looks.c.digest == verdict.look))
            if lineage is None:
                raise IntegrityError(f"verdict on look '{verdict.look}': no such look was recorded")
            token = fence(connection, self._lease, lineage)
            present = connection.scalar(select(verdicts.c.body).where(verdicts.c.look == verdict.look))
            if present is not None:
                if present != body(verdict):
                    raise IntegrityError(f"look {verdict.look} has another verdict already")
                return str(lineage)
            at = write(connection, lineage, "verdict", verdict, self._key, token).at
            row = {"look": verdict.look, "decision": verdict.decision, "recorded_at": at, "body": body(verdict)}
            connection.execute(insert(verdicts).values(**row))
            for line in breaches(chain(connection, lineage)):
                raise IntegrityError(f"lineage '{lineage}': no verdict is recorded: {line}")
            return str(lineage)

        anchor(self._database, self._database.write(work))

    def verdict(self, look: str) -> Verdict | None:
        query = select(verdicts.c.body).where(verdicts.c.look == look)
        found = self._database.read(lambda connection: connection.scalar(query))
        return Verdict.model_validate_json(found) if found is not None else None

    def of(self, lineage: str) -> Sequence[Look]:
        """The looks of a lineage, oldest first."""
        query = select(looks.c.body).where(looks.c.lineage == lineage).order_by(looks.c.opened_at)
        found = self._database.read(lambda connection: connection.scalars(query).all())
        return [Look.model_validate_json(item) for item in found]


def _check_generation(look: Look, past: Sequence[Any]) -> None:
    for row in past:
        if row.generation == look.generation:
            raise UserError(
                f"lineage '{look.lineage}': generation {row.generation} has had its look at a sealed shard "
                f"(candidate {row.candidate[:12]}), and there is no second look; restore the "
                "contract, the seed and the gate settings that it was opened with, and run again"
            )


def _check_shard(look: Look, past: Sequence[Any]) -> None:
    """What an earlier contract allowed at this shard still binds: a later one cannot reopen it."""
    had = [json.loads(row.body).get("shard_looks", 1) for row in past if row.sealed == look.sealed]
    if had and len(had) >= (allowed := min(*had, look.shard_looks)):
        raise UserError(
            f"lineage '{look.lineage}': sealed shard {look.sealed[:12]} has had {len(had)} of the {allowed} looks that "
            "its contract allows, and is retired; give the bank fresh sealed tasks"
        )


def _check_spent(look: Look, past: Sequence[Any]) -> None:
    for line in overspent(json.loads(body(look)), [json.loads(row.body) for row in past]):
        raise IntegrityError(f"lineage '{look.lineage}': the look of generation {look.generation} {line}")
