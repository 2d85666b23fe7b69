"""The ledger's chain: each entry holds the hash of the one before it, so that none can be changed, removed or put
elsewhere unseen. Pure: where entries and anchors are kept is not known here; docs/ledger.md says what this stops.
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pydantic import Field

from rsi.errors import IntegrityError
from rsi.ids import canonical
from rsi.types import Record

KINDS = ("look", "verdict", "review", "promotion", "canary", "attempt", "failure", "stage", "pair", "certificate")
MAX_TIME = 253402300799.0  # the end of the year 9999
AHEAD = 300.0  # seconds by which clocks of honest machines may differ


class Entry(Record):
    """One line of a lineage's ledger. `seq` counts from 1; `kind`: one of KINDS; `body`: the JSON text of a record;
    `at`: seconds since the epoch, never before the predecessor's; `fence`: the token of the lease that it was written
    under, which never falls; `previous`: the predecessor's hash, "" for the first;
    `hash`: hex SHA-256 of the canonical JSON of the fields above it; `signature`: hex HMAC-SHA256 of `hash`."""

    lineage: str
    seq: int = Field(ge=1, lt=2**53)
    kind: str
    body: str
    at: float = Field(ge=0, le=MAX_TIME)
    fence: int = Field(ge=0, lt=2**53)
    previous: str
    hash: str
    signature: str | None = None

    def computed(self) -> str:
        """The hash that this content should have."""
        return hashlib.sha256(canonical(self.model_dump(exclude={"hash", "signature"}))).hexdigest()


class Anchor(Record):
    """What is kept of the head outside the store."""

    lineage: str
    seq: int
    hash: str


def append(
    last: Entry | None,
    lineage: str,
    kind: str,
    body: str,
    at: float,
    key: bytes | None = None,
    fence: int | None = None,
) -> Entry:
    """The entry that follows `last`. A clock that was moved back does not move the ledger's time back. `fence`: the
    token of the writer's lease; None (people decide without one) takes the predecessor's.

    Raises IntegrityError where the kind is unknown, `last` is of another lineage, or signed while there is no key, or
    unsigned while there is one: a chain is signed from its first entry on, or not at all."""
    if kind not in KINDS:
        raise IntegrityError(f"ledger of '{lineage}': entries of kind '{kind}' are not known")
    if last is not None and last.lineage != lineage:
        raise IntegrityError(f"ledger of '{lineage}': entry {last.seq} is of lineage '{last.lineage}'")
    if last is not None and last.signature is not None and key is None:
        raise IntegrityError(f"ledger of '{lineage}': its entries are signed; give the key that signs them")
    if last is not None and last.signature is None and key is not None:
        raise IntegrityError(f"ledger of '{lineage}': it began without a key; leave the key away, or start a lineage")
    if last is not None and fence is not None and fence < last.fence:
        raise IntegrityError(f"ledger of '{lineage}': lease {fence} has been followed by lease {last.fence}")
    fields = {
        "lineage": lineage,
        "seq": last.seq + 1 if last is not None else 1,
        "kind": kind,
        "body": body,
        "at": max(at, last.at) if last is not None else at,
        "fence": fence if fence is not None else last.fence if last is not None else 0,
        "previous": last.hash if last is not None else "",
    }
    entry = Entry.model_validate({**fields, "hash": ""})
    name = entry.computed()
    return entry.model_copy(update={"hash": name, "signature": None if key is None else _signature(name, key)})


def faults(
    lineage: str, entries: Sequence[Entry], anchor: Anchor | None, key: bytes | None = None, now: float | None = None
) -> list[str]:
    """What is wrong with a lineage's entries, in the order in which they are stored; empty where nothing is.

    `now` (seconds since the epoch) finds entries of the future. Without a key signatures are not checked, only that all
    entries have one or none has."""
    found = [line for entry in entries for line in alone(lineage, entry, key, now)]
    found += _numbers([entry.seq for entry in entries])
    found += [line for before, entry in pairwise(entries) for line in _linked(before, entry)]
    if entries and entries[0].previous and entries[0].seq == 1:
        found.append("entry 1 has a predecessor: entries before it were removed")
    return found + (anchored(lineage, entries, anchor) if anchor is not None else [])


def anchored(lineage: str, entries: Sequence[Entry], anchor: Anchor) -> list[str]:
    """What is wrong by an anchor. A chain longer than it is fine: a crash may come between the two."""
    last = entries[-1].seq if entries else 0
    if anchor.lineage != lineage:
        return [f"the anchor is of lineage '{anchor.lineage}', not of '{lineage}'"]
    if last < anchor.seq:
        return [f"the chain ends at entry {last}, but the anchor knows entry {anchor.seq}: its end was cut off"]
    if anchor.hash not in [entry.hash for entry in entries if entry.seq == anchor.seq]:
        return [f"entry {anchor.seq} is not the one that was anchored: the chain was rewritten"]
    return []


def alone(lineage: str, entry: Entry, key: bytes | None, now: float | None = None) -> Iterator[str]:
    """What is wrong with an entry by itself."""
    name = f"entry {entry.seq}"
    if entry.lineage != lineage:
        yield f"{name} belongs to lineage '{entry.lineage}', not to '{lineage}'"
    if entry.computed() != entry.hash:
        yield f"{name} was changed: its content does not have its hash"
    if key is not None and entry.signature is None:
        yield f"{name} is not signed, though there is a key"
    elif key is not None and entry.signature != _signature(entry.hash, key):
        yield f"{name} is not signed with this key"
    if now is not None and entry.at > now + AHEAD:
        yield f"{name} is of the future: the clock was moved back, or the entry is forged"


def _numbers(numbers: Sequence[int]) -> Iterator[str]:
    for before, seq in pairwise((0, *numbers)):
        if seq == before:
            yield f"two entries have number {seq}: the chain forks"
        elif seq <= before:
            yield f"entry {seq} stands out of order, after entry {before}"
        elif seq == before + 2:
            yield f"entry {before + 1} is missing"
        elif seq > before + 1:
            yield f"entries {before + 1} to {seq - 1} are missing"


def _linked(before: Entry, entry: Entry) -> Iterator[str]:
    if entry.previous != before.hash:
        yield f"entry {entry.seq} does not follow entry {before.seq}: one was changed, removed, inserted or moved"
    if entry.at < before.at:
        yield f"entry {entry.seq} is earlier than entry {before.seq}: the clock was moved back"
    if entry.fence < before.fence:
        yield f"entry {entry.seq} was written under lease {entry.fence}, which lease {before.fence} had followed"
    if (entry.signature is None) != (before.signature is None):
        bare, signed = (entry, before) if entry.signature is None else (before, entry)
        yield f"entry {bare.seq} is not signed, entry {signed.seq} is: one of them has another signature than it had"


def _signature(name: str, key: bytes) -> str:
    return hmac.new(key, name.encode(), hashlib.sha256).hexdigest()
