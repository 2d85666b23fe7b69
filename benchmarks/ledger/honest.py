"""Honest histories, in which nothing may be found."""

from benchmarks.ledger.reviews import decided, said
from benchmarks.ledger.victim import (
    FIRST,
    LOOKS,
    SECOND,
    THIRD,
    Attack,
    Faults,
    Victim,
    look,
    verdict,
)
from rsi.gate.ledger import Anchor
from rsi.registry.champions import Champions
from rsi.registry.lease import acquire
from rsi.registry.reviews import Reviews


def nothing_happened(v: Victim) -> Faults:
    return v.verify()


def killed_between_commit_and_anchor(v: Victim) -> Faults:
    last = v.entries()[-2]
    v.anchor(Anchor(lineage="main", seq=last.seq, hash=last.hash))
    return v.verify()


def rolled_back_and_promoted_again(v: Victim) -> Faults:
    v.champions.rollback("main", FIRST.pair.digest)
    late = look(3, FIRST, THIRD)
    v.looks.open(late)
    v.looks.close(verdict(late, "promote"))
    v.champions.promote("main", THIRD.pair.digest, late.digest)
    return v.verify()


def resumed(v: Victim) -> Faults:
    for one, decision in zip(LOOKS, ("promote", "reject"), strict=True):
        v.looks.open(one)
        v.looks.close(verdict(one, decision))
    v.champions.promote("main", SECOND.pair.digest, LOOKS[0].digest)
    return v.verify()


def another_lineage_beside(v: Victim) -> Faults:
    with acquire(v.database, "other") as lease:
        Champions(v.database, lease, v.key).start(FIRST.model_copy(update={"lineage": "other"}))
    return [*v.verify(), *v.ledger.verify("other")]


def reviewed_beside_a_run(v: Victim) -> Faults:
    decided(v)
    Reviews(v.database, key=v.key).decide("main", said())
    return v.verify()


def second_anchor_that_lags(v: Victim) -> Faults:
    return v.ledger.verify("main", Anchor(lineage="main", seq=2, hash=v.entries()[1].hash))


HISTORIES: tuple[Attack, ...] = (
    nothing_happened,
    killed_between_commit_and_anchor,
    rolled_back_and_promoted_again,
    resumed,
    another_lineage_beside,
    reviewed_beside_a_run,
    second_anchor_that_lags,
)
