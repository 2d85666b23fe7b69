"""Calls that must be refused: replays, second looks, refunds, races for the lease."""

from benchmarks.ledger.victim import (
    FIRST,
    LOOKS,
    SECOND,
    STRANGER,
    THIRD,
    Attack,
    Faults,
    Victim,
    look,
    verdict,
)
from rsi.errors import IntegrityError
from rsi.gate.canaries import Outcome
from rsi.registry.champions import Champions
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.reviews import Reviews
from rsi.types import ReviewDecision, ReviewRequest


def verdict_replayed_for_another_candidate(v: Victim) -> Faults:
    v.champions.publish(STRANGER)
    v.champions.promote("main", STRANGER.pair.digest, LOOKS[1].digest)
    return []


def rejected_candidate_promoted(v: Victim) -> Faults:
    v.champions.promote("main", THIRD.pair.digest, LOOKS[1].digest)
    return []


def verdict_changed_afterwards(v: Victim) -> Faults:
    v.looks.close(verdict(LOOKS[1], "promote"))
    return []


def verdict_without_a_look(v: Victim) -> Faults:
    v.looks.close(verdict(look(7, SECOND, STRANGER), "promote"))
    return []


def second_look_in_a_generation(v: Victim) -> Faults:
    v.looks.open(look(2, SECOND, STRANGER, sealed="a fresh shard"))
    return []


def second_look_at_a_shard(v: Victim) -> Faults:
    v.looks.open(look(3, SECOND, STRANGER, sealed="shard 2"))
    return []


def retired_shard_reopened_by_a_new_contract(v: Victim) -> Faults:
    v.looks.open(look(3, SECOND, STRANGER, sealed="shard 2", shard_looks=9, contract="a laxer one"))
    return []


def look_after_a_hit_of_the_canaries(v: Victim) -> Faults:
    v.ledger.append("main", "canary", Outcome(generation=3, passes=1))
    v.looks.open(look(3, SECOND, STRANGER))
    return []


def rejection_between_the_question_and_the_promotion(v: Victim) -> Faults:
    """People reject after the run has looked, and before it promotes."""
    one, pair = look(3, SECOND, STRANGER), STRANGER.pair.digest
    v.champions.publish(STRANGER)
    v.looks.open(one)
    v.looks.close(verdict(one, "promote"))
    fields = {
        "lineage": "main",
        "generation": 3,
        "kind": "candidate",
        "name": "a",
        "subject": "b",
        "classes": ("text",),
    }
    asked, reviews = ReviewRequest.model_validate({**fields, "pair": pair}), Reviews(v.database, v.lease, v.key)
    reviews.ask(asked)
    said = {"request": asked.digest, "subject": "b", "reviewer": "ann", "verdict": "reject"}
    reviews.decide("main", ReviewDecision.model_validate(said))
    try:
        v.champions.promote("main", pair, one.digest)
    except IntegrityError as error:
        return [str(error)]
    return []


def budget_refunded(v: Victim) -> Faults:
    v.looks.open(look(3, SECOND, STRANGER, spent=0.0))
    return []


def budget_widened_by_a_new_contract(v: Victim) -> Faults:
    v.looks.open(look(3, SECOND, STRANGER, budget=0.5, contract="a laxer one"))
    return []


def budget_overdrawn(v: Victim) -> Faults:
    v.looks.open(look(3, SECOND, STRANGER, alpha=0.04))
    return []


def rollback_to_a_never_champion(v: Victim) -> Faults:
    v.champions.rollback("main", THIRD.pair.digest)
    return []


def judged_against_a_former_champion(v: Victim) -> Faults:
    late = look(3, SECOND, THIRD)
    v.looks.open(late)
    v.looks.close(verdict(late, "promote"))
    v.champions.rollback("main", FIRST.pair.digest)
    v.champions.promote("main", THIRD.pair.digest, late.digest)
    return []


def old_promotion_used_again_after_a_rollback(v: Victim) -> Faults:
    v.champions.rollback("main", FIRST.pair.digest)
    again = v.champions.promote("main", SECOND.pair.digest, LOOKS[0].digest)
    return [] if again else ["this look has promoted already, and does so once"]


def two_promoters(v: Victim) -> Faults:
    late = look(3, SECOND, THIRD)
    v.looks.open(late)
    v.looks.close(verdict(late, "promote"))
    other = Champions(open_database(f"sqlite:///{v.folder}/store.db"), v.lease)
    won = [one.promote("main", THIRD.pair.digest, late.digest) for one in (other, v.champions)]
    return ["the second was told that it lost"] if won == [True, False] and not v.verify() else []


def second_holder_of_the_lease(v: Victim) -> Faults:
    acquire(v.database, "main", "another run")
    return []


def stale_lease(v: Victim) -> Faults:
    v.database.write(lambda c: c.exec_driver_sql("UPDATE leases SET expires_at = 0"))
    acquire(v.database, "main", "the run that took over")
    v.champions.rollback("main", FIRST.pair.digest)
    return []


def lost_lease(v: Victim) -> Faults:
    v.lease.release()
    v.looks.open(look(3, SECOND, STRANGER))
    return []


def no_lease(v: Victim) -> Faults:
    Champions(v.database).rollback("main", FIRST.pair.digest)
    return []


def lease_of_another_lineage(v: Victim) -> Faults:
    Champions(v.database, acquire(v.database, "other")).rollback("main", FIRST.pair.digest)
    return []


ATTACKS: tuple[Attack, ...] = (
    verdict_replayed_for_another_candidate,
    rejected_candidate_promoted,
    verdict_changed_afterwards,
    verdict_without_a_look,
    second_look_in_a_generation,
    second_look_at_a_shard,
    retired_shard_reopened_by_a_new_contract,
    look_after_a_hit_of_the_canaries,
    rejection_between_the_question_and_the_promotion,
    budget_refunded,
    budget_widened_by_a_new_contract,
    budget_overdrawn,
    rollback_to_a_never_champion,
    judged_against_a_former_champion,
    old_promotion_used_again_after_a_rollback,
    two_promoters,
    second_holder_of_the_lease,
    stale_lease,
    lost_lease,
    no_lease,
    lease_of_another_lineage,
)
