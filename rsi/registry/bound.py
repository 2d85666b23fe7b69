"""Rows that an entry of the ledger vouches for: written together with it, compared with it whenever they are read."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Select, Table, and_, select

from rsi.errors import IntegrityError
from rsi.gate.ledger import Entry, alone
from rsi.ids import canonical
from rsi.registry.models import attempts, failures, ledger, pairs, stages
from rsi.types import Record

Values = Mapping[Any, Any]
TABLES: Mapping[str, Table] = {"attempt": attempts, "failure": failures, "stage": stages, "pair": pairs}  # by kind
_ENTRY = [column.label(f"ledger_{column.name}") for column in ledger.c]


class Vouched(Record):
    """The body of an entry that vouches for a row. `row`: SHA-256 of all its columns but `entry`; `name`: what it is
    for people ("purpose/pair/task/draw" of an attempt); `record`: the digest of the record that it holds."""

    row: str
    name: str
    record: str


def vouch(values: Values, name: str, record: str) -> Vouched:
    return Vouched(row=row_digest(values), name=name, record=record)


def row_digest(values: Values) -> str:
    """Of a row as it is inserted, or as it was read."""
    kept = {name: value for name, value in values.items() if name != "entry" and not name.startswith("ledger_")}
    return hashlib.sha256(canonical(kept)).hexdigest()


def with_entry(kind: str) -> Select[Any]:
    """The rows of a kind, each with its entry (columns `ledger_...`, NULL where there is none), as `checked` takes."""
    table = TABLES[kind]
    its = and_(ledger.c.lineage == table.c.lineage, ledger.c.seq == table.c.entry, ledger.c.kind == kind)
    return select(table, *_ENTRY).join_from(table, ledger, its, isouter=True)


def checked(kind: str, row: Values, key: bytes | None) -> Values:
    """The row, where its entry vouches for it; else an IntegrityError. With a key the entry must be signed with it."""
    fault = _fault(row, key)
    if fault is not None:
        raise IntegrityError(
            f"{kind} {_title(kind, row)} of '{row['lineage']}' {fault}; `rsi ledger verify` names all, docs/ledger.md "
            "says what to do"
        )
    return row


def unvouched(connection: Connection, lineage: str, entries: Sequence[Entry]) -> Iterator[str]:
    """One plain line for each row that its entry does not vouch for, and for each entry whose row is gone."""
    for kind, table in TABLES.items():
        owed = {entry.seq for entry in entries if entry.kind == kind}
        query = with_entry(kind).where(table.c.lineage == lineage).execution_options(yield_per=200)
        for row in connection.execute(query).mappings():
            owed.discard(row["entry"])
            if (fault := _fault(row, None)) is not None:
                yield f"{kind} {_title(kind, row)} {fault}"
        yield from _gone(kind, owed, entries)


def body(record: Record) -> str:
    """A record as canonical JSON. Raises IntegrityError for what JSON cannot hold."""
    try:
        return canonical(record).decode()
    except ValueError as error:
        raise IntegrityError(f"{type(record).__name__} cannot be recorded: {error}") from None


def _fault(row: Values, key: bytes | None) -> str | None:
    if row["ledger_seq"] is None:
        return "has a row but no entry in the ledger: it was added outside"
    try:
        entry = Entry.model_validate({name: row[f"ledger_{name}"] for name in Entry.model_fields})
        vouched = Vouched.model_validate_json(entry.body)
        if vouched.row != row_digest(row):
            return "is not what its entry in the ledger vouches for: it was changed"
    except (ValidationError, ValueError):
        return "has a damaged entry in the ledger"
    for line in alone(row["lineage"], entry, key):
        return f"is vouched for by an entry that does not count: {line}"
    return None


def _title(kind: str, row: Values) -> str:
    match kind:
        case "stage":
            return f"'{row['name']}' of generation {row['generation']}"
        case "pair":
            return str(row["pair"])[:12]
        case _:
            return f"{str(row['id' if kind == 'attempt' else 'attempt'])[:12]} ({row['purpose']})"


def _gone(kind: str, seqs: Collection[int], entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        if entry.seq in seqs and entry.kind == kind:
            yield f"{kind} of entry {entry.seq} has no row: the row was removed"
