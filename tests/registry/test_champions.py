import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from registry_records import make_look, make_record, make_verdict

from rsi.errors import IntegrityError, LeaseHeld, UserError
from rsi.registry.champions import Champions
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.looks import Looks

OLD, NEW = make_record("a0"), make_record("a1", 1)


@pytest.fixture
def lease(database):
    return acquire(database, "main")


@pytest.fixture
def champions(database, lease):
    registry = Champions(database, lease)
    registry.start(OLD)
    registry.publish(NEW)
    return registry


@pytest.fixture
def looks(database, lease):
    return Looks(database, lease)


def judged(looks, decision="promote", champion=OLD, candidate=NEW, generation=1):
    look = make_look(champion, candidate, generation)
    looks.open(look)
    looks.close(make_verdict(look, decision))
    return look.digest


def test_a_lineage_starts_once(database, lease):
    registry = Champions(database, lease)
    assert registry.current("main") is None and registry.lineage("main") == []
    assert registry.start(OLD) and not registry.start(NEW)
    assert registry.current("main") == OLD


def test_publishing_again_adds_evidence_and_no_duplicate(champions):
    more = NEW.model_copy(update={"evidence": {"coverage": 0.5}})
    champions.publish(NEW)
    champions.publish(more)
    champions.publish(more)
    assert champions.lineage("main") == [OLD, more]


def test_promotion_happens_once_for_a_look(champions, looks):
    look = judged(looks)
    assert champions.promote("main", NEW.pair.digest, look) is True
    assert champions.promote("main", NEW.pair.digest, look) is False
    assert champions.current("main") == NEW
    assert [(p.kind, p.pair, p.previous) for p in champions.history("main")] == [
        ("start", OLD.pair.digest, None),
        ("promotion", NEW.pair.digest, OLD.pair.digest),
    ]


@pytest.mark.parametrize("decision", ["reject", "indecisive"])
def test_only_a_verdict_that_says_promote_promotes(champions, looks, decision):
    look = judged(looks, decision)
    with pytest.raises(IntegrityError, match="no verdict"):
        champions.promote("main", NEW.pair.digest, look)
    assert champions.current("main") == OLD


def test_no_verdict_another_pair_or_an_unpublished_one_does_not_promote(champions, looks):
    open_only = make_look(OLD, NEW, 7)
    looks.open(open_only)
    other = make_record("a2", 1)
    unpublished = judged(looks, candidate=other, generation=8)
    for pair, look, message in (
        (NEW, open_only.digest, "no verdict"),
        (NEW, "unknown", "no verdict"),
        (NEW, unpublished, "no verdict"),
        (other, unpublished, "not published"),
    ):
        with pytest.raises(IntegrityError, match=message):
            champions.promote("main", pair.pair.digest, look)
    assert champions.current("main") == OLD and len(champions.history("main")) == 1


def test_a_verdict_against_a_former_champion_does_not_promote(champions, looks):
    third = make_record("a2", 2)
    champions.publish(third)
    first, second = judged(looks), judged(looks, candidate=third, generation=2)
    champions.promote("main", NEW.pair.digest, first)
    with pytest.raises(IntegrityError, match="judge it again"):
        champions.promote("main", third.pair.digest, second)


def test_two_promoters_at_once_one_wins_and_the_other_is_told(champions, looks, lease, url):
    look, barrier = judged(looks), threading.Barrier(4)

    def promote(_):
        registry = Champions(open_database(url), lease)
        barrier.wait()
        return registry.promote("main", NEW.pair.digest, look)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(promote, range(4))) == [False, False, False, True]
    assert len(champions.history("main")) == 2


def test_rollback_is_one_more_step_and_does_not_revive_the_old_look(champions, looks):
    look = judged(looks)
    champions.promote("main", NEW.pair.digest, look)
    assert champions.rollback("main", OLD.pair.digest[:12], "it forgets umlauts") == OLD
    assert champions.current("main") == OLD
    assert champions.promote("main", NEW.pair.digest, look) is False
    history = champions.history("main")
    assert [p.kind for p in history] == ["start", "promotion", "rollback"] and history[
        -1
    ].reason == "it forgets umlauts"


@pytest.mark.parametrize("to", ["", "ffffffffffff", NEW.pair.digest, OLD.pair.digest])
def test_rollback_refuses_what_never_was_champion_or_is_now(champions, to):
    with pytest.raises(UserError, match="rollback of 'main'"):
        champions.rollback("main", to)


def test_the_champion_is_changed_only_under_the_lease(champions, database):
    free = Champions(database)
    for change in (
        lambda: free.promote("main", NEW.pair.digest, "x"),
        lambda: free.rollback("main", "x"),
        lambda: free.start(make_record(lineage="new")),
        lambda: free.publish(make_record("a9")),
    ):
        with pytest.raises(LeaseHeld, match="only under its lease"):
            change()


def test_a_look_is_recorded_once_and_its_shard_shown_once(looks):
    look = make_look(OLD, NEW)
    looks.open(look)
    looks.open(look)
    for change in ({"candidate": "other"}, {"attempts": ("other",)}, {"sealed": "fewer tasks"}):
        with pytest.raises(UserError, match="no second look"):
            looks.open(look.model_copy(update=change))
    with pytest.raises(UserError, match="1 of the 1 looks"):
        looks.open(look.model_copy(update={"generation": 5}))
    looks.open(make_look(OLD, NEW, 2))
    assert looks.of("main") == [look, make_look(OLD, NEW, 2)]


def test_a_look_has_one_verdict(looks):
    look = make_look(OLD, NEW)
    with pytest.raises(IntegrityError, match="no such look"):
        looks.close(make_verdict(look))
    looks.open(look)
    looks.close(make_verdict(look, "reject"))
    looks.close(make_verdict(look, "reject"))
    with pytest.raises(IntegrityError, match="another verdict"):
        looks.close(make_verdict(look, "promote"))
    assert looks.verdict(look.digest) == make_verdict(look, "reject") and looks.verdict("x") is None
