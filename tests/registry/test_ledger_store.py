"""The ledger on the real store: written with what it records, anchored outside, checked against the tables."""

import json
import sqlite3

import pytest
from alembic import command
from alembic.config import Config
from registry_records import make_look, make_record, make_verdict

from rsi.errors import IntegrityError, LeaseHeld, UserError
from rsi.gate.canaries import Outcome
from rsi.registry import anchors
from rsi.registry.champions import Champions
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.ledger import Ledger
from rsi.registry.looks import Looks
from rsi.registry.reviews import Reviews
from rsi.types import Record, ReviewDecision, ReviewRequest

OLD, NEW = make_record("a0"), make_record("a1", 1)
KEY = b"a key of the operator"


class Note(Record):
    text: str


@pytest.fixture
def lease(database):
    return acquire(database, "main")


@pytest.fixture
def ledger(database, lease):
    return Ledger(database, lease)


def promoted(database, lease, key=None):
    """Two pairs, a start, a look, a verdict and a promotion: six entries."""
    champions, looks, look = Champions(database, lease, key), Looks(database, lease, key), make_look(OLD, NEW)
    champions.start(OLD)
    champions.publish(NEW)
    looks.open(look)
    looks.close(make_verdict(look))
    champions.promote("main", NEW.pair.digest, look.digest)
    return look


def test_what_is_recorded_stands_in_the_ledger_in_order(database, lease, ledger):
    look = promoted(database, lease)
    Champions(database, lease).rollback("main", OLD.pair.digest, "why not")
    entries = ledger.entries("main")
    assert [entry.kind for entry in entries] == [
        "pair",
        "promotion",
        "pair",
        "look",
        "verdict",
        "promotion",
        "promotion",
    ]
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5, 6, 7]
    assert json.loads(entries[3].body)["candidate"] == NEW.pair.digest
    assert json.loads(entries[4].body) == make_verdict(look).model_dump(mode="json")
    assert [json.loads(entry.body)["kind"] for entry in ledger.entries("main", "promotion")] == [
        "start",
        "promotion",
        "rollback",
    ]
    assert ledger.verify("main") == [] and ledger.entries("other") == [] and ledger.verify("other") == []


def test_the_same_again_adds_no_entry(database, lease, ledger):
    look = promoted(database, lease)
    Looks(database, lease).open(look)
    Looks(database, lease).close(make_verdict(look))
    assert Champions(database, lease).promote("main", NEW.pair.digest, look.digest) is False
    assert Champions(database, lease).start(OLD) is False
    assert len(ledger.entries("main")) == 6


def test_what_fails_leaves_neither_row_nor_entry(database, lease, ledger):
    promoted(database, lease, None)
    signed = Looks(database, lease, KEY)
    with pytest.raises(IntegrityError, match="began without a key"):
        signed.open(make_look(OLD, NEW, 2))
    assert len(signed.of("main")) == 1 and len(ledger.entries("main")) == 6 and ledger.verify("main") == []


def test_reviews_and_canaries_live_in_the_ledger_alone(database, lease, ledger):
    entry = ledger.append("main", "review", Note(text="fine"))
    assert Note.model_validate_json(ledger.entries("main", "review")[0].body) == Note(text="fine")
    assert ledger.head("main").hash == entry.hash and ledger.head("other") is None
    acquired = acquire(database, "other")
    with pytest.raises(LeaseHeld):
        Ledger(database, acquired).append("main", "review", Note(text="of another"))
    with pytest.raises(LeaseHeld, match="only under its lease"):
        Ledger(database).append("main", "review", Note(text="beside a run"))


def test_the_anchor_follows_each_commit_and_never_goes_back(database, lease, ledger, tmp_path):
    promoted(database, lease)
    kept = anchors.read(tmp_path / "anchors", "main")
    assert (kept.seq, kept.hash) == (6, ledger.head("main").hash)
    anchors.advance(tmp_path / "anchors", kept.model_copy(update={"seq": 3, "hash": "older"}))
    anchors.advance(tmp_path / "anchors", kept.model_copy(update={"hash": "another"}))
    assert anchors.read(tmp_path / "anchors", "main") == kept
    assert [path.name for path in (tmp_path / "anchors").iterdir()] == ["main.json"]


def test_a_crash_between_commit_and_anchor_is_no_fault(database, lease, ledger, tmp_path):
    Champions(database, lease).start(OLD)
    anchors.anchor_file(tmp_path / "anchors", "main").unlink()
    assert ledger.verify("main") == [], "the very first commit"
    promoted(database, lease)
    text = anchors.anchor_file(tmp_path / "anchors", "main").read_text()
    ledger.append("main", "review", Note(text="x"))
    anchors.anchor_file(tmp_path / "anchors", "main").write_text(text)
    assert ledger.verify("main") == []
    ledger.append("main", "review", Note(text="y"))
    assert anchors.read(tmp_path / "anchors", "main").seq == 8


@pytest.mark.parametrize(("content", "message"), [(None, "is gone"), ("{", "damaged"), (b"\xff\xfe", "damaged")])
def test_a_lost_or_damaged_anchor(database, lease, ledger, tmp_path, content, message):
    promoted(database, lease)
    path = anchors.anchor_file(tmp_path / "anchors", "main")
    path.unlink() if content is None else path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert any(message in line for line in ledger.verify("main"))


def test_a_signed_lineage(database, lease):
    promoted(database, lease, KEY)
    assert Ledger(database, key=KEY).verify("main") == [] == Ledger(database).verify("main")
    assert any("not signed with this key" in line for line in Ledger(database, key=b"wrong").verify("main"))
    with pytest.raises(IntegrityError, match="signed"):
        Ledger(database, lease).append("main", "review", Note(text="x"))


def test_the_database_itself_refuses_to_change_the_ledger(database, lease, tmp_path):
    promoted(database, lease)
    with sqlite3.connect(tmp_path / "store.db") as raw:
        for statement in ("UPDATE ledger SET body = '{}'", "DELETE FROM ledger"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                raw.execute(statement)


EDITS = [
    ("UPDATE looks SET candidate = 'x'", "look"),
    ("UPDATE looks SET body = replace(body, '\"c\"', '\"d\"')", "look"),
    ("UPDATE verdicts SET decision = 'reject'", "verdict"),
    ("UPDATE verdicts SET body = replace(body, 'promote', 'reject')", "verdict"),
    ("UPDATE promotions SET pair = 'x' WHERE kind = 'promotion'", "promotion"),
    ("UPDATE promotions SET reason = 'another' WHERE kind = 'start'", "promotion"),
    ("DELETE FROM promotions WHERE kind = 'promotion'", "promotion"),
    ("DELETE FROM verdicts", "verdict"),
    ("DELETE FROM looks", "look"),
    ("INSERT INTO promotions VALUES (9, 'main', 'x', NULL, 'promotion', NULL, 'forged', 0.0)", "promotion"),
    ("UPDATE pairs SET body = replace(body, 'version = 1', 'version = 2')", "pair"),
    ("UPDATE pairs SET body = '{'", "pair"),
    ("DELETE FROM pairs", "pair"),
    ("INSERT INTO looks VALUES ('d', 'main', 9, 'a', 'b', 's', 0.0, '{}')", "look"),
]


@pytest.mark.parametrize(("statement", "kind"), EDITS)
def test_a_row_changed_removed_or_added_outside_is_found(database, lease, ledger, tmp_path, statement, kind):
    promoted(database, lease)
    with sqlite3.connect(tmp_path / "store.db") as raw:
        assert raw.execute(statement).rowcount >= 1
    assert any(line.startswith(kind) for line in ledger.verify("main")), ledger.verify("main")


def add_pair(raw, record):
    """A newer row of a pair, as someone who can write the file adds it."""
    columns = "lineage, entry, pair, generation, body_digest, published_at, body"
    values = ("main", 99, record.pair.digest, 1, record.digest, 9.0, canonical_of(record))
    raw.execute(f"INSERT INTO pairs ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)


@pytest.mark.parametrize("text", ["version = 1", "no document"])
def test_a_pair_whose_document_is_not_its_own_is_found_and_promotes_nothing(database, lease, ledger, tmp_path, text):
    champions, looks, look = Champions(database, lease), Looks(database, lease), make_look(OLD, NEW)
    champions.start(OLD)
    champions.publish(NEW)
    looks.open(look)
    looks.close(make_verdict(look))
    with sqlite3.connect(tmp_path / "store.db") as raw:
        add_pair(raw, NEW.model_copy(update={"document": text}))
    found = ledger.verify("main")
    assert any("its document is not the one" in line for line in found) and any("no entry" in line for line in found)
    with pytest.raises(IntegrityError, match="no entry in the ledger"):
        champions.promote("main", NEW.pair.digest, look.digest)


def test_a_rejection_that_comes_just_before_the_promotion_refuses_it(database, lease, ledger):
    champions, looks, look = Champions(database, lease), Looks(database, lease), make_look(OLD, NEW)
    reviews = Reviews(database, lease)
    champions.start(OLD)
    champions.publish(NEW)
    looks.open(look)
    looks.close(make_verdict(look))
    pair = NEW.pair.digest
    fields = {"lineage": "main", "generation": 1, "kind": "candidate", "name": "pair", "subject": "all of it"}
    asked = ReviewRequest.model_validate({**fields, "classes": ("text",), "pair": pair})
    reviews.ask(asked)
    given = {"request": asked.digest, "subject": asked.subject, "reviewer": "ann", "verdict": "reject"}
    reviews.decide("main", ReviewDecision.model_validate(given))
    with pytest.raises(IntegrityError, match="people rejected the candidate"):
        champions.promote("main", pair, look.digest)
    assert champions.current("main") == OLD and ledger.verify("main") == []


def test_no_look_is_opened_in_a_generation_whose_canaries_were_hit(database, lease, ledger):
    Champions(database, lease).start(OLD)
    ledger.append("main", "canary", Outcome(generation=1, passes=1))
    with pytest.raises(IntegrityError, match="whose canaries were hit"):
        Looks(database, lease).open(make_look(OLD, NEW))
    ledger.append("main", "canary", Outcome(generation=2))
    Looks(database, lease).open(make_look(OLD, NEW, 2))
    assert ledger.verify("main") == []


DAMAGE = [
    "body = cast(x'ff' AS text)",
    "body = '{\"alpha\": NaN}'",
    'body = \'{"a": "\\ud800"}\'',
    "body = '" + "[" * 200_000 + "'",
    'body = \'{"alpha": 1' + "0" * 400 + "}'",
    "body = '[]'",
    "body = '{}'",
    "body = '{\"pair\": []}'",
    "at = 9e999",
    "at = 1e300",
    "signature = 'é'",
]


@pytest.mark.parametrize("change", DAMAGE)
def test_a_damaged_entry_is_a_fault_and_never_a_traceback(database, lease, ledger, tmp_path, change):
    promoted(database, lease, KEY)
    with sqlite3.connect(tmp_path / "store.db") as raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        whole = raw.execute("SELECT * FROM ledger ORDER BY seq").fetchall()
    for seq in range(1, 7):
        with sqlite3.connect(tmp_path / "store.db") as raw:
            raw.execute("DELETE FROM ledger")
            raw.executemany(f"INSERT INTO ledger VALUES ({','.join('?' * len(whole[0]))})", whole)
            raw.execute(f"UPDATE ledger SET {change} WHERE seq = {seq}")
        try:
            assert Ledger(database, key=KEY).verify("main")
        except UserError as error:
            assert "is damaged" in str(error)


def test_a_folder_in_the_anchors_place_is_a_fault(database, lease, ledger):
    promoted(database, lease)
    file = anchors.anchor_file(database.anchors, "main")
    file.unlink()
    file.mkdir()
    assert any("damaged" in line for line in ledger.verify("main"))


def test_a_forged_verdict_promotes_nothing_even_before_anyone_verifies(database, lease, tmp_path):
    champions, looks, look = Champions(database, lease), Looks(database, lease), make_look(OLD, NEW)
    champions.start(OLD)
    champions.publish(NEW)
    looks.open(look)
    looks.close(make_verdict(look, "reject"))
    with sqlite3.connect(tmp_path / "store.db") as raw:
        raw.execute("UPDATE verdicts SET decision = 'promote', body = replace(body, 'reject', 'promote')")
    with pytest.raises(IntegrityError, match="cannot be believed"):
        champions.promote("main", NEW.pair.digest, look.digest)
    assert champions.current("main") == OLD


def test_looks_at_one_shard_are_as_many_as_the_contract_allows(looks_at):
    looks_at(1, 2), looks_at(2, 2)
    with pytest.raises(UserError, match="2 of the 2 looks"):
        looks_at(3, 2)
    with pytest.raises(UserError, match="2 of the 2 looks"):
        looks_at(3, 5)  # a later contract reopens no shard


def test_a_look_must_state_what_the_lineage_has_spent(database, lease, ledger):
    looks, first = Looks(database, lease), make_look(OLD, NEW).model_copy(update={"alpha": 0.02, "budget": 0.05})
    looks.open(first)
    second = make_look(OLD, NEW, 2)
    for change, message in (
        ({"budget": 0.05}, "was spent, it was 0.02"),
        ({"spent": 0.02, "alpha": 0.04, "budget": 0.05}, "may spend 0.04"),
        ({"spent": 0.02, "alpha": 0.01, "budget": 0.5}, "widens"),
    ):
        with pytest.raises(IntegrityError, match=message):
            looks.open(second.model_copy(update=change))
    looks.open(second.model_copy(update={"spent": 0.02, "alpha": 0.01, "budget": 0.05}))
    assert ledger.verify("main") == [] and len(ledger.entries("main", "look")) == 2


@pytest.fixture
def looks_at(database, lease):
    def look(generation, allowed):
        made = make_look(OLD, NEW, generation, sealed="shard")
        Looks(database, lease).open(made.model_copy(update={"shard_looks": allowed}))

    return look


def test_a_store_whose_records_nothing_vouches_for_is_one_clear_line(tmp_path):
    """Rows of the first schema; a store of it without any is brought up to date."""
    path, empty = tmp_path / "old.db", tmp_path / "empty.db"
    for each in (path, empty):
        first_schema(each)
    with sqlite3.connect(path) as raw:
        raw.execute("INSERT INTO promotions VALUES (1, 'main', 'pair', NULL, 'start', NULL, 'the first', 1.0)")
    with pytest.raises(UserError, match=r"of an earlier version of rsi.*another RSI_HOME") as caught:
        open_database(f"sqlite:///{path}")
    assert "\n" not in str(caught.value)
    database = open_database(f"sqlite:///{empty}")
    promoted(database, acquire(database, "main"))
    assert Ledger(database).verify("main") == []


def canonical_of(record):
    return json.dumps(record.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))


def first_schema(path):
    from sqlalchemy import create_engine

    import rsi.registry.engine as engine

    config = Config()
    config.set_main_option("script_location", str(engine.Path(engine.__file__).parent / "migrations"))
    with create_engine(f"sqlite:///{path}").begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
