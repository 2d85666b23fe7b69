"""When lost attempts are an outage: one rule, at the one place where attempts are asked for and recorded.

What an outage took is not judged and no stage is committed over it: what was played is recorded, what was lost stays
owed. It must not know what a stage does with its attempts.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rsi.errors import OutageError
from rsi.ports import Store
from rsi.types import Attempt

FEW = 3  # lost attempts that are no outage, as long as another was played
ROW = 24  # lost attempts on end after which the rest is not tried (at least half of those that are played at once)
SHOWN = 300  # characters of a reason
PART = re.compile(r".*?/gen\d+/[^/]+(/[^/]+)?")  # of a purpose: the edits' trials are one part, the selection another


@dataclass
class _Part:
    """What one part of a stage asked for and lost."""

    name: str
    asked: set[str] = field(default_factory=set)
    lost: dict[str, str] = field(default_factory=dict)  # attempt id -> why
    on_end: int = 0

    def count(self, attempt: Attempt) -> None:
        self.asked.add(attempt.id)
        if attempt.score is not None:
            self.on_end = 0
            self.lost.pop(attempt.id, None)
        else:
            self.on_end += 1
            self.lost[attempt.id] = attempt.error

    def is_out(self, share: float, row: int) -> bool:
        lost, asked = len(self.lost), len(self.asked)
        return lost == asked or lost > max(FEW, share * asked) or self.on_end >= row


class Losses:
    """Counts the attempts of a run. There is an outage where a part of a stage (its screening, its edits' trials, the
    look) lost all that it asked for, or more than FEW attempts and more than `share` of them, or half as many on end as
    are played `at_once` (at least ROW). Without a share there is none."""

    def __init__(self, share: float | None = None, at_once: int = 1) -> None:
        self._share, self._row = share, max(ROW, at_once // 2)
        self._parts: dict[str, _Part] = {}

    def counted(self, store: Store, purpose: str) -> "CountedStore":
        """`store` for the attempts of `purpose`, which raises OutageError as soon as there is one."""
        found = PART.match(purpose)
        name = found[0] if found else purpose
        return CountedStore(store, self, self._parts.setdefault(name, _Part(name)))

    def count(self, part: _Part, attempt: Attempt) -> None:
        part.count(attempt)
        if self._share is not None and attempt.score is None and part.is_out(self._share, self._row):
            (reason, _), *_ = Counter(part.lost.values()).most_common(1)
            raise OutageError(
                f"{part.name}: {len(part.lost)} of {len(part.asked)} attempts were lost to infrastructure, most often "
                f"to: {' '.join(reason.split())[:SHOWN]}; nothing is decided over them: run again once that is mended, "
                "only what is owed is played ([rollouts] max_lost is the share that may be lost)"
            )


@dataclass(frozen=True)
class CountedStore:
    """ports.Store: what is asked of it is counted as asked for, what is recorded as played or lost."""

    store: Store
    losses: Losses
    part: _Part

    def get(self, ids: Sequence[str]) -> Mapping[str, Attempt]:
        self.part.asked.update(ids)
        return self.store.get(ids)

    def record(self, attempt: Attempt) -> None:
        """Record it, then raise OutageError where it was one too many."""
        self.store.record(attempt)
        self.losses.count(self.part, attempt)

    def stage(self, lineage: str, generation: int, name: str) -> str | None:
        return self.store.stage(lineage, generation, name)

    def commit_stage(self, lineage: str, generation: int, name: str, output: str) -> None:
        self.store.commit_stage(lineage, generation, name, output)
