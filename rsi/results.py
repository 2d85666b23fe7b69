"""What a lineage's generations came to, read from committed stages alone."""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

from rsi.errors import IntegrityError
from rsi.gate.canaries import Outcome
from rsi.ports import Registry, Store
from rsi.types import Discovery, Expansion, PairRecord, Record, Update, Verdict

STAGES = ("start", "discovery", "expansion", "update", "gate", "promotion", "report")
CANARIES = "canaries"  # a step of its own: what was seen before the look


class Judgement(Record):
    """The gate stage's output: which pair was judged, and how."""

    candidate: str  # pair digest
    verdict: Verdict


class Results:
    """Committed outputs by generation. A stage that is not committed is an IntegrityError: ask `done` first."""

    def __init__(self, lineage: str, store: Store, registry: Registry) -> None:
        self.lineage, self.store, self.registry = lineage, store, registry

    def done(self, n: int, stage: str) -> bool:
        return self.store.stage(self.lineage, n, stage) is not None

    def owed(self, generations: int) -> Sequence[int]:
        """Generations 1..`generations` whose last stage is not committed."""
        return [n for n in range(1, generations + 1) if not self.done(n, STAGES[-1])]

    def next_owed(self) -> int:
        """The generation that is under way, or the next one."""
        return next(n for n in count(1) if not self.done(n, STAGES[-1]))

    def champion(self, n: int) -> PairRecord:
        """The champion that generation `n` started from."""
        return self._pair(json.loads(self._output(n, "start"))["champion"])

    def bank(self) -> str:
        """The bank that the lineage began with."""
        return str(json.loads(self._output(1, "start"))["bank"])

    def salt(self) -> str:
        """Digest of the salt that the lineage began under."""
        return str(json.loads(self._output(1, "start")).get("salt", ""))

    def limits(self, n: int) -> dict[str, str]:
        """The sandbox of generation `n` and which of its limits held; empty in records from before this was kept."""
        return dict(json.loads(self._output(n, "start")).get("limits", {}))

    def begun_with(self, n: int) -> dict[str, Any]:
        """The settings that generation `n` was begun with; empty in records from before this was kept."""
        return dict(json.loads(self._output(n, "start")).get("settings", {}))

    def discovered(self, n: int) -> Discovery:
        return Discovery.model_validate_json(self._output(n, "discovery"))

    def expanded(self, n: int) -> Expansion:
        return Expansion.model_validate_json(self._output(n, "expansion"))

    def updated(self, n: int) -> Update:
        return Update.model_validate_json(self._output(n, "update"))

    def canaries(self, n: int) -> Outcome:
        """What generation `n`'s canaries came to."""
        return Outcome.model_validate_json(self._output(n, CANARIES))

    def stopped(self, n: int) -> bool:
        """Whether the canaries of generation `n` were hit and its candidate is not refused for it yet."""
        return self.done(n, CANARIES) and self.canaries(n).hit and not self.done(n, "gate")

    def verdict(self, n: int) -> Verdict:
        return self._judgement(n).verdict

    def review(self, n: int) -> str | None:
        """How people decided on the candidate of generation `n`; None where nobody was asked."""
        review = json.loads(self._output(n, "promotion")).get("review")
        return str(review) if review else None

    def candidate(self, n: int) -> PairRecord:
        """The pair that generation `n` judged."""
        return self._pair(self._judgement(n).candidate)

    def _judgement(self, n: int) -> Judgement:
        return Judgement.model_validate_json(self._output(n, "gate"))

    def _output(self, n: int, stage: str) -> str:
        if (output := self.store.stage(self.lineage, n, stage)) is None:
            raise IntegrityError(f"lineage {self.lineage}, generation {n}: stage '{stage}' is not committed")
        return output

    def _pair(self, digest: str) -> PairRecord:
        for record in self.registry.lineage(self.lineage):
            if record.pair.digest == digest:
                return record
        raise IntegrityError(f"lineage {self.lineage}: pair {digest} is not registered")
