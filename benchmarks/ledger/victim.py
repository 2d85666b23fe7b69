"""The store that is attacked, and what an attacker can do with it."""

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rsi.gate.ledger import Anchor, Entry, append
from rsi.hcp.document import parse
from rsi.ids import canonical
from rsi.registry import anchors
from rsi.registry.champions import Champions
from rsi.registry.engine import Database, open_database
from rsi.registry.lease import Lease, acquire
from rsi.registry.ledger import Ledger
from rsi.registry.looks import Looks
from rsi.types import Look, Pair, PairRecord, Record, Verdict

KEY = b"the key of the operator, which the forger has not"
Faults = Sequence[str]
Attack = Callable[["Victim"], Faults]


class Note(Record):
    text: str


def pair(name: str, generation: int) -> PairRecord:
    document = f"version = 1\nname = '{name}'"
    made = Pair(base="base", adapters={"agent": name}, hcp=parse(document, name).digest)
    return PairRecord(pair=made, lineage="main", generation=generation, parent=None, document=document)


FIRST, SECOND, THIRD, STRANGER = pair("a0", 0), pair("a1", 1), pair("a2", 2), pair("a9", 9)


def look(generation: int, champion: PairRecord, candidate: PairRecord, **changes: Any) -> Look:
    fields = {
        "lineage": "main",
        "generation": generation,
        "champion": champion.pair.digest,
        "candidate": candidate.pair.digest,
        "contract": "contract",
        "sealed": f"shard {generation}",
        "attempts": ("an attempt",),
        "alpha": 0.01,
        "spent": 0.01 * (generation - 1),
        "budget": 0.05,
    }
    return Look.model_validate({**fields, **changes})


def verdict(on: Look, decision: str) -> Verdict:
    """With what a verdict that promotes must name."""
    clause = {
        "name": "gain",
        "kind": "superiority",
        "slice": "all",
        "binding": True,
        "held": True,
        "estimate": None,
        "reason": "",
    }
    digests = {name: getattr(on, name) for name in ("contract", "champion", "candidate", "sealed")}
    fields = {"clauses": (clause,), "rates": {}, "two_by_two": {}, "digests": {**digests, "attempts": "digest"}}
    return Verdict.model_validate({"decision": decision, "look": on.digest, **fields})


LOOKS = (look(1, FIRST, SECOND), look(2, SECOND, THIRD))


@dataclass(frozen=True)
class Victim:
    """A store in which SECOND was promoted and THIRD refused, unsigned unless `key` is given."""

    folder: Path
    database: Database
    lease: Lease
    key: bytes | None = None

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.database, self.lease, self.key)

    @property
    def champions(self) -> Champions:
        return Champions(self.database, self.lease, self.key)

    @property
    def looks(self) -> Looks:
        return Looks(self.database, self.lease, self.key)

    def verify(self) -> Faults:
        return self.ledger.verify("main")

    def sql(self, *statements: str) -> Faults:
        """What is found after someone with the file has run these, triggers and foreign keys out of the way."""
        with sqlite3.connect(self.folder / "store.db") as raw:
            raw.execute("DROP TRIGGER IF EXISTS ledger_no_update")
            raw.execute("DROP TRIGGER IF EXISTS ledger_no_delete")
            for statement in statements:
                if raw.execute(statement).rowcount == 0:
                    raise AssertionError(f"the attack did nothing: {statement}")
        return self.verify()

    def entries(self) -> list[Entry]:
        return list(self.ledger.entries("main"))

    def seq(self, kind: str, n: int = -1) -> int:
        """The number of the n-th entry of a kind (from 0; the last unless given)."""
        return [entry.seq for entry in self.entries() if entry.kind == kind][n]

    def rewrite(self, entries: Sequence[Entry], move_anchor: bool = False) -> Faults:
        """Put these in the place of the chain."""
        with sqlite3.connect(self.folder / "store.db") as raw:
            raw.execute("DROP TRIGGER IF EXISTS ledger_no_delete")
            raw.execute("DELETE FROM ledger")
            for entry in entries:
                names, values = zip(*entry.model_dump().items(), strict=True)
                raw.execute(f"INSERT INTO ledger ({','.join(names)}) VALUES ({','.join('?' * len(names))})", values)
        if move_anchor:
            self.anchor(Anchor(lineage="main", seq=entries[-1].seq, hash=entries[-1].hash))
        return self.verify()

    def anchor(self, place: Anchor) -> None:
        anchors.anchor_file(self.database.anchors, "main").write_text(place.model_dump_json())

    def forge(self, kind: str, content: Mapping[str, Any], *statements: str) -> Faults:
        """Append an entry with right hashes, and its row, as someone with the store but without a key can."""
        entries = self.entries()
        last = entries[-1].model_copy(update={"signature": None})
        entries.append(append(last, "main", kind, canonical(content).decode(), time.time()))
        self.rewrite(entries, move_anchor=True)
        return self.sql(*statements)


def rebuilt(contents: Sequence[Entry], key: bytes | None = None) -> list[Entry]:
    """These contents, numbered, hashed and linked anew."""
    made: list[Entry] = []
    for entry in contents:
        made.append(append(made[-1] if made else None, "main", entry.kind, entry.body, entry.at, key))
    return made


def build(folder: Path, key: bytes | None = None) -> None:
    database = open_database(f"sqlite:///{folder}/store.db")
    with acquire(database, "main") as lease:
        victim = Victim(folder, database, lease, key)
        victim.champions.start(FIRST)
        for record, one, decision in zip((SECOND, THIRD), LOOKS, ("promote", "reject"), strict=True):
            victim.champions.publish(record)
            victim.looks.open(one)
            victim.looks.close(verdict(one, decision))
        victim.champions.promote("main", SECOND.pair.digest, LOOKS[0].digest)
    database.close()
