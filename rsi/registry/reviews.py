"""Requests to people and their decisions: entries of kind `review` in the lineage's ledger, and nowhere else."""

import time
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from rsi.errors import IntegrityError
from rsi.registry.engine import Database
from rsi.registry.lease import Lease
from rsi.registry.ledger import Ledger, anchor, write
from rsi.types import Docket, Filed, ReviewDecision, ReviewRequest

KIND = "review"
_BODY: TypeAdapter[ReviewRequest | ReviewDecision] = TypeAdapter(
    Annotated[ReviewRequest | ReviewDecision, Field(discriminator="what")]
)


class Reviews:
    """ports.ReviewBook over a database. A run asks under its lease; people decide at any time, also while a run holds
    the lease: of all that is written, a decision alone needs none."""

    def __init__(self, database: Database, lease: Lease | None = None, key: bytes | None = None) -> None:
        self._database, self._key = database, key
        self._ledger = Ledger(database, lease, key)

    def ask(self, request: ReviewRequest) -> None:
        if not any(filed.record == request for filed in self.docket(request.lineage).requests):
            self._ledger.append(request.lineage, KIND, request)

    def decide(self, lineage: str, decision: ReviewDecision) -> None:
        """Record a decision durably. IntegrityError where it is on nothing that was asked, or the ledger does not
        verify."""
        if decision.request not in {filed.record.digest for filed in self.docket(lineage).requests}:
            raise IntegrityError(f"lineage '{lineage}': request {decision.request[:12]} was never asked")
        self._database.write(lambda connection: write(connection, lineage, KIND, decision, self._key, None))
        anchor(self._database, lineage)

    def docket(self, lineage: str) -> Docket:
        if found := self._ledger.verify(lineage, rows=False):
            raise IntegrityError(
                f"ledger of '{lineage}': {found[0]}; no review in it counts until `rsi ledger verify` finds nothing"
            )
        entries = self._ledger.entries(lineage)
        requests: list[Filed[ReviewRequest]] = []
        decisions: list[Filed[ReviewDecision]] = []
        for entry in (entry for entry in entries if entry.kind == KIND):
            try:
                record = _BODY.validate_json(entry.body)
            except ValidationError:
                raise IntegrityError(f"ledger of '{lineage}': entry {entry.seq} is no review") from None
            if isinstance(record, ReviewRequest):
                requests.append(Filed[ReviewRequest](record=record, at=entry.at))
            else:
                decisions.append(Filed[ReviewDecision](record=record, at=entry.at))
        now = max([time.time(), *(entry.at for entry in entries)])
        return Docket(requests=tuple(requests), decisions=tuple(decisions), now=now)
