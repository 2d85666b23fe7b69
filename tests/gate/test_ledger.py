"""The chain: every way to change it is found, and named by its number."""

import json
from dataclasses import dataclass

import pytest

from rsi.errors import IntegrityError
from rsi.gate.ledger import Anchor, append, faults

KEY, OTHER = b"a key that is long enough", b"another key, as long as it"
NOW = 1_800_000_000.0


def chain(n=6, key=None, lineage="main", start=NOW):
    entries = []
    for i in range(n):
        last = entries[-1] if entries else None
        entries.append(append(last, lineage, "look", json.dumps({"n": i}), start + i, key))
    return entries


def rebuilt(entries, key=None):
    """What a forger makes of changed entries: the same contents, numbered, hashed and linked anew."""
    made = []
    for entry in entries:
        made.append(append(made[-1] if made else None, "main", entry.kind, entry.body, entry.at, key))
    return made


def anchor(entries, seq=None):
    entry = entries[-1] if seq is None else entries[seq - 1]
    return Anchor(lineage="main", seq=entry.seq, hash=entry.hash)


def edited(entry, **changes):
    return entry.model_copy(update=changes)


@dataclass
class Case:
    name: str
    change: object
    message: str


CASES = [
    Case("body", lambda c: [*c[:2], edited(c[2], body='{"n": 9}'), *c[3:]], "entry 3 was changed"),
    Case("kind", lambda c: [*c[:2], edited(c[2], kind="verdict"), *c[3:]], "entry 3 was changed"),
    Case("time", lambda c: [*c[:2], edited(c[2], at=NOW), *c[3:]], "entry 3 was changed"),
    Case("swap bodies", lambda c: [edited(c[0], body=c[1].body), edited(c[1], body=c[0].body), *c[2:]], "entry 1 was"),
    Case("hash kept right", lambda c: [*rebuilt([*c[:2], edited(c[2], body="{}")]), *c[3:]], "entry 4 does not follow"),
    Case("delete the first", lambda c: c[1:], "entry 1 is missing"),
    Case("delete", lambda c: [*c[:2], *c[3:]], "entry 3 is missing"),
    Case("delete two", lambda c: [*c[:2], *c[4:]], "entries 3 to 4 are missing"),
    Case("delete and renumber", lambda c: [*rebuilt([*c[:2], *c[3:5]]), c[5]], "entry 5 is missing"),
    Case("insert", lambda c: [*c[:2], append(c[1], "main", "look", "{}", NOW), *c[2:]], "two entries have number"),
    Case("reorder", lambda c: [*c[:2], c[3], c[2], *c[4:]], "entry 3 stands out of order"),
    Case("truncate", lambda c: c[:4], "ends at entry 4, but the anchor knows entry 6"),
    Case("empty", lambda c: [], "ends at entry 0, but the anchor knows entry 6"),
    Case("rewrite whole", lambda c: rebuilt([edited(e, body="{}") for e in c]), "not the one that was anchored"),
    Case(
        "fork", lambda c: [*c[:5], append(c[4], "main", "look", '{"n": "fork"}', NOW + 9)], "not the one that was anch"
    ),
    Case("foreign lineage", lambda c: chain(lineage="other"), "entry 1 belongs to lineage 'other'"),
    Case("foreign entry", lambda c: [*c[:5], chain(lineage="other")[5]], "entry 6 belongs to"),
    Case("replay", lambda c: [*c, edited(c[2], seq=7)], "entry 7 was changed"),
    Case("signature added", lambda c: [*c[:5], edited(c[5], signature="0" * 64)], "signature"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_was_done_to_a_chain_is_found(case):
    whole = chain()
    assert faults("main", whole, anchor(whole)) == []
    found = faults("main", case.change(whole), anchor(whole))
    assert any(case.message in line for line in found), found


def test_a_clock_moved_back_is_found_and_never_enters_the_chain():
    whole = chain(3)
    late = append(whole[-1], "main", "look", "{}", NOW - 500)
    assert late.at == whole[-1].at, "the ledger's time stands still until the clock has caught up"
    assert faults("main", [*whole, late], None) == []
    back = rebuilt([*whole[:2]])
    forged = edited(append(None, "main", "look", "{}", NOW - 500), seq=3, previous=back[-1].hash)
    forged = edited(forged, hash=forged.computed())
    assert any("entry 3 is earlier than entry 2" in line for line in faults("main", [*back, forged], None))
    assert any("entry 3" in line and "clock" in line for line in faults("main", whole, None, now=NOW - 5000))
    assert faults("main", whole, None, now=NOW - 5) == [], "clocks differ by seconds"


def test_a_chain_longer_than_its_anchor_is_whole():
    whole = chain()
    assert faults("main", whole, anchor(whole, 4)) == []
    assert faults("main", [], None) == []


def test_an_anchor_of_another_lineage_or_none():
    whole = chain()
    other = Anchor(lineage="other", seq=1, hash=whole[0].hash)
    assert any("anchor is of lineage 'other'" in line for line in faults("main", whole, other))
    assert faults("main", whole, None) == [], "whether one must exist is the store's to say"


@pytest.mark.parametrize(
    ("signed", "asked", "message"),
    [
        (KEY, KEY, None),
        (KEY, None, None),
        (KEY, OTHER, "entry 1 is not signed with this key"),
        (None, KEY, "entry 1 is not signed"),
    ],
)
def test_signatures(signed, asked, message):
    found = faults("main", chain(key=signed), None, asked)
    assert found == [] if message is None else any(message in line for line in found)


def test_a_rewritten_chain_without_the_key_is_found_even_where_the_anchor_went_along():
    whole = chain(key=KEY)
    forged = rebuilt([edited(e, body="{}") for e in whole])
    assert faults("main", forged, anchor(forged)) == [], "without a key this cannot be seen"
    assert faults("main", forged, anchor(forged), KEY) != []
    half = [*whole[:5], edited(whole[5], signature=None)]
    assert any("entry 6 is not signed, entry 5 is" in line for line in faults("main", half, None))


def test_a_chain_is_signed_from_its_first_entry_on_or_not_at_all():
    with pytest.raises(IntegrityError, match="signed"):
        append(chain(2, KEY)[-1], "main", "look", "{}", NOW + 9)
    with pytest.raises(IntegrityError, match="without a key"):
        append(chain(2)[-1], "main", "look", "{}", NOW + 9, KEY)
    with pytest.raises(IntegrityError, match="kind 'gift'"):
        append(None, "main", "gift", "{}", NOW)
    with pytest.raises(IntegrityError, match="lineage"):
        append(chain(2)[-1], "other", "look", "{}", NOW + 9)
