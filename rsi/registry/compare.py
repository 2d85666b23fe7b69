"""Rows for people: two pairs side by side, and a lineage's steps. Pure; the command line prints them."""

import difflib
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rsi.registry.champions import Promotion
from rsi.types import PairRecord


class Row(NamedTuple):
    """One line of a comparison; `same` where both sides are equal, absent values are empty."""

    what: str
    a: str
    b: str

    @property
    def same(self) -> bool:
        return self.a == self.b


class Step(NamedTuple):
    """One pair of a lineage. `role`: champion, former champion, or candidate (published, never promoted)."""

    generation: int
    pair: str
    role: str
    parent: str
    hcp: str
    adapters: str
    history: tuple[str, ...]  # what happened to it, in words, oldest first


def compare(a: PairRecord, b: PairRecord) -> list[Row]:
    """What two pairs are made of and what their evidence says, one row a fact, in the same order each time."""
    left, right = _facts(a), _facts(b)
    return [Row(what, left.get(what, ""), right.get(what, "")) for what in dict.fromkeys((*left, *right))]


def document_diff(a: PairRecord, b: PairRecord) -> str:
    """The HCP documents' unified diff; empty where they are equal."""
    old, new = a.document.splitlines(), b.document.splitlines()
    return "\n".join(difflib.unified_diff(old, new, a.pair.name, b.pair.name, lineterm=""))


def steps(records: Sequence[PairRecord], history: Sequence[Promotion]) -> list[Step]:
    """A lineage's pairs in the order of `records`, each with its role and what happened to it."""
    current = history[-1].pair if history else None
    found = []
    for record in records:
        events = [item for item in history if item.pair == record.pair.digest]
        role = "champion" if record.pair.digest == current else "former champion" if events else "candidate"
        found.append(
            Step(
                generation=record.generation,
                pair=record.pair.name,
                role=role,
                parent=(record.parent or "")[:12],
                hcp=record.pair.hcp[:12],
                adapters=_adapters(record),
                history=tuple(_words(event) for event in events),
            )
        )
    return found


def find(records: Sequence[PairRecord], name: str) -> list[PairRecord]:
    """The records that a person may mean: by (the beginning of) the pair's digest, or "gen3" for generation 3."""
    if name.startswith("gen") and name[3:].isdecimal():
        return [record for record in records if record.generation == int(name[3:])]
    return [record for record in records if name and record.pair.digest.startswith(name)]


def _facts(record: PairRecord) -> dict[str, str]:
    pair = record.pair
    facts = {"pair": pair.name, "generation": str(record.generation), "base": pair.base[:12], "hcp": pair.hcp[:12]}
    facts |= {f"adapter {name}": revision[:12] for name, revision in sorted(pair.adapters.items())}
    return facts | _evidence(record.evidence)


def _evidence(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested evidence as "a / b" -> text; what has the form of a Rate becomes one line with interval and n."""
    found: dict[str, str] = {}
    for key, item in sorted(value.items()):
        name = f"{prefix}{key}"
        if isinstance(item, Mapping) and {"value", "n", "low", "high"} <= set(item):
            found[name] = f"{item['value']:.3g} [{item['low']:.3g}, {item['high']:.3g}], n={item['n']}"
        elif isinstance(item, Mapping):
            found |= _evidence(item, f"{name} / ")
        else:
            found[name] = f"{item:.4g}" if isinstance(item, float) else str(item)[:200]
    return found


def _adapters(record: PairRecord) -> str:
    return ", ".join(f"{name} {revision[:12]}" for name, revision in sorted(record.pair.adapters.items())) or "none"


def _words(event: Promotion) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(event.at))
    words = {
        "start": "started the lineage",
        "promotion": f"promoted by look {(event.look or '')[:12]}",
        "rollback": f"rolled back to: {event.reason}",
    }
    return f"{when} {words[event.kind]}"
