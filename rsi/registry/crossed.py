"""The tables against the ledger: a row of looks, verdicts or promotions that was edited, removed or added outside, and
a pair's record that is not what its digest says."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select

from rsi.errors import RsiError
from rsi.gate.lawful import DAMAGE
from rsi.gate.ledger import Entry
from rsi.hcp.document import parse
from rsi.ids import digest
from rsi.registry.models import looks, pairs, promotions, verdicts

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Mirrored:
    """A kind of entry that has a row too. `key` names the row; of an entry its `columns` follow from the body."""

    kind: str
    key: str
    columns: tuple[str, ...]
    rows: Select[Any]


KINDS = (
    Mirrored(
        "look",
        "digest",
        ("lineage", "generation", "champion", "candidate", "sealed", "opened_at", "body"),
        select(looks),
    ),
    Mirrored(
        "verdict",
        "look",
        ("decision", "recorded_at", "body"),
        select(verdicts, looks.c.lineage).join_from(verdicts, looks, verdicts.c.look == looks.c.digest),
    ),
    Mirrored("promotion", "seq", ("lineage", "pair", "previous", "kind", "look", "reason", "at"), select(promotions)),
)


def disagreements(connection: Connection, lineage: str, entries: Sequence[Entry]) -> Iterator[str]:
    """One plain line for each row and entry that do not say the same."""
    for what in KINDS:
        kept = {}
        for entry in entries:
            if entry.kind == what.kind and (values := _said(entry)) is not None:
                if (name := str(values.get(what.key))) in kept:
                    yield f"{what.kind} {name[:12]} stands twice in the ledger, the second time as entry {entry.seq}"
                kept[name] = values
        column = promotions.c.lineage if what.kind == "promotion" else looks.c.lineage
        found = connection.execute(what.rows.where(column == lineage)).mappings()
        rows = {str(row[what.key]): dict(row) for row in found}
        for name in sorted(kept.keys() | rows.keys()):
            yield from _compared(what, name, kept.get(name), rows.get(name))
    yield from _records(connection, lineage, entries)


def _records(connection: Connection, lineage: str, entries: Sequence[Entry]) -> Iterator[str]:
    """Pairs' records must have the digest that names them, and their documents the digest that the pair names; that
    each row is what was published is checked in `bound`."""
    present = set[str]()
    for row in connection.execute(select(pairs).where(pairs.c.lineage == lineage)):
        present.add(row.pair)
        try:
            content = json.loads(row.body)
            same = digest(content) == row.body_digest and digest(content["pair"]) == row.pair
            named = not same or parse(content["document"], "").digest == content["pair"]["hcp"]
        except DAMAGE:
            same = named = False
        except RsiError:
            named = False
        if not same:
            yield f"pair {row.pair[:12]}: its record is not the one that was published: it was changed"
        elif not named:
            yield f"pair {row.pair[:12]}: its document is not the one that its digest names: it was changed"
    steps = [said for entry in entries if entry.kind == "promotion" and (said := _said(entry))]
    for pair in dict.fromkeys(str(step.get("pair")) for step in steps):
        if pair not in present:
            yield f"pair {pair[:12]} was made champion but has no record: its rows were removed"


def _said(entry: Entry) -> Values | None:
    """What an entry's row must hold; None where its body is no record."""
    try:
        content = json.loads(entry.body)
        when = {"opened_at": entry.at, "recorded_at": entry.at}
        return {**content, **when, "digest": digest(content), "body": entry.body}
    except DAMAGE:
        return None


def _compared(what: Mirrored, name: str, said: Values | None, row: Values | None) -> Iterator[str]:
    title = f"{what.kind} {name[:12]}"
    if said is None:
        yield f"{title} has a row but no entry in the ledger: it was added outside, or its entry is forged"
    elif row is None:
        yield f"{title} stands in the ledger but has no row: the row was removed"
    else:
        for column in what.columns:
            if said.get(column) != row[column]:
                yield f"{title}: '{column}' of its row differs from its entry in the ledger: it was changed"
