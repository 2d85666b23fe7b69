"""Attacks on approvals: a forged one is found, one that may not count does not."""

import time
from typing import Any
from unittest.mock import patch

from benchmarks.ledger.victim import Faults, Victim, verdict
from rsi.errors import IntegrityError
from rsi.gate.review import DAY, Review, standing
from rsi.hcp.document import parse
from rsi.registry.lease import acquire
from rsi.registry.reviews import Reviews
from rsi.types import Look, ReviewDecision, ReviewRequest

PAIR = "the candidate's pair"
ASKED = ReviewRequest(
    lineage="main", generation=3, kind="candidate", subject="what is asked", name="c", classes=("code",), pair=PAIR
)


def said(verdict: str = "approve", request: ReviewRequest = ASKED, **changes: Any) -> ReviewDecision:
    given = {"request": request.digest, "subject": request.subject, "reviewer": "ann", "verdict": verdict}
    return ReviewDecision.model_validate({**given, **changes})


def decided(v: Victim, *decisions: ReviewDecision) -> Reviews:
    """The request and these decisions on it, recorded as they should be."""
    reviews = Reviews(v.database, v.lease, v.key)
    reviews.ask(ASKED)
    for decision in decisions:
        reviews.decide("main", decision)
    return reviews


def counted(reviews: Reviews, **rules: Any) -> Faults:
    stands = standing(ASKED, reviews.docket("main"), Review(**rules))
    return [] if stands == "approved" else [f"it does not count, the request is {stands}"]


def rejection_turned_into_an_approval(v: Victim) -> Faults:
    decided(v, said("reject"))
    return v.sql(f"UPDATE ledger SET body = replace(body, '\"reject\"', '\"approve\"') WHERE seq = {v.seq('review')}")


def approval_turned_to_another_subject(v: Victim) -> Faults:
    decided(v, said(subject="a harmless thing"))
    return v.sql(
        f"UPDATE ledger SET body = replace(body, 'a harmless thing', 'what is asked') WHERE seq = {v.seq('review')}"
    )


def request_changed_under_its_approval(v: Victim) -> Faults:
    decided(v, said())
    return v.sql(
        f"UPDATE ledger SET body = replace(body, 'what is asked', 'what is worse') WHERE seq = {v.seq('review', 0)}"
    )


def rejection_cut_off(v: Victim) -> Faults:
    decided(v, said(), said("reject", reviewer="bea"))
    return v.sql(f"DELETE FROM ledger WHERE seq = {v.seq('review')}")


def approval_inserted(v: Victim) -> Faults:
    decided(v)
    body, last = said().model_dump_json(), v.seq("review")
    return v.sql(
        f"INSERT INTO ledger SELECT lineage, {last + 1}, kind, '{body}', at, fence, hash, hash, signature FROM ledger "
        f"WHERE seq = {last}"
    )


def approval_copied_from_another_lineage(v: Victim) -> Faults:
    decided(v)
    elsewhere = Reviews(v.database, acquire(v.database, "other"), v.key)
    elsewhere.ask(other := ASKED.model_copy(update={"lineage": "other"}))
    elsewhere.decide("other", said(request=other))
    return v.sql(
        f"INSERT INTO ledger SELECT 'main', {v.seq('review') + 1}, kind, body, at, fence, previous, hash, signature "
        "FROM ledger WHERE lineage = 'other' AND seq = 2"
    )


def approval_of_another_digest(v: Victim) -> Faults:
    return counted(decided(v, said(subject="another candidate")))


def approval_of_another_request(v: Victim) -> Faults:
    other = ASKED.model_copy(update={"generation": 2})
    Reviews(v.database, v.lease, v.key).ask(other)
    return counted(decided(v, said(request=other)))


def approval_of_what_was_never_asked(v: Victim) -> Faults:
    return counted(decided(v, said(request=ASKED.model_copy(update={"generation": 9}))))


def one_person_twice(v: Victim) -> Faults:
    return counted(decided(v, said(reviewer="Ann"), said(reviewer=" ann ")), reviewers=2)


def approval_after_a_rejection(v: Victim) -> Faults:
    return counted(decided(v, said("reject", reviewer="bea"), said()))


def expired_approval(v: Victim) -> Faults:
    reviews, late = decided(v, said()), time.time() + 31 * DAY
    with patch("time.time", lambda: late):
        return counted(reviews)


def expired_approval_and_the_clock_moved_back(v: Victim) -> Faults:
    reviews, late = decided(v, said()), time.time() + 31 * DAY
    with patch("time.time", lambda: late):
        reviews.ask(ASKED.model_copy(update={"generation": 4}))
    try:
        return counted(reviews)
    except IntegrityError as error:
        return [str(error)]


def candidate_promoted_that_people_rejected(v: Victim) -> Faults:
    """Past the run that would have asked: the history tells."""
    champion = v.champions.current("main")
    assert champion is not None
    worse = "version = 1\nname = 'worse'"
    hcp = parse(worse, "worse").digest
    new = champion.model_copy(update={"document": worse, "pair": champion.pair.model_copy(update={"hcp": hcp})})
    request = ASKED.model_copy(update={"pair": new.pair.digest})
    fields = {
        "lineage": "main",
        "generation": 3,
        "sealed": "shard 3",
        "attempts": ("an attempt",),
        "contract": "contract",
    }
    money = {"alpha": 0.01, "spent": 0.02, "budget": 0.05}
    look = Look.model_validate({**fields, **money, "champion": champion.pair.digest, "candidate": new.pair.digest})
    v.champions.publish(new)
    v.looks.open(look)
    v.looks.close(verdict(look, "promote"))
    reviews = Reviews(v.database, v.lease, v.key)
    reviews.ask(request)
    reviews.decide("main", said("reject", request))
    v.champions.promote("main", new.pair.digest, look.digest)
    return v.verify()


ATTACKS = (
    rejection_turned_into_an_approval, approval_turned_to_another_subject, request_changed_under_its_approval,
    rejection_cut_off, approval_inserted, approval_copied_from_another_lineage, approval_of_another_digest,
    approval_of_another_request, approval_of_what_was_never_asked, one_person_twice, approval_after_a_rejection,
    expired_approval, expired_approval_and_the_clock_moved_back, candidate_promoted_that_people_rejected,
)  # fmt: skip
