"""What differs between two documents, key by key, with the risk class of each difference: `rsi hcp diff`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rsi.hcp.document import Document, leaves
from rsi.hcp.risk import Risk, risk_of


@dataclass(frozen=True)
class Difference:
    """`before` or `after` is None where the key stands in one document only."""

    key: str
    before: Any
    after: Any
    risk: Risk


def diff(a: Document, b: Document) -> list[Difference]:
    """Differences from `a` to `b`, sorted by key. Empty exactly where the digests agree."""
    before, after = dict(leaves(a.content)), dict(leaves(b.content))
    changed = [key for key in sorted(before.keys() | after.keys()) if not _same(before.get(key), after.get(key))]
    return [Difference(key, before.get(key), after.get(key), risk_of(key)) for key in changed]


def render(differences: Sequence[Difference]) -> str:
    """Plain text, a line a difference. Escaped to ASCII: a document from elsewhere must not steer the terminal."""
    return "\n".join(_line(item) for item in differences) or "no difference"


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


def _line(item: Difference) -> str:
    if item.before is None:
        return f"+ {item.key} = {_value(item.after)}  ({item.risk})"
    if item.after is None:
        return f"- {item.key} = {_value(item.before)}  ({item.risk})"
    return f"~ {item.key}: {_value(item.before)} -> {_value(item.after)}  ({item.risk})"


def _value(value: Any) -> str:
    return json.dumps(value, default=str)
