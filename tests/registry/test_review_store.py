"""Attacks on approvals: each is refused, or does not count."""

import json
import time

import pytest
from sqlalchemy import delete, insert, text, update

from rsi.errors import IntegrityError
from rsi.gate.review import DAY, Review, standing
from rsi.registry import ledger as ledger_room
from rsi.registry.lease import acquire
from rsi.registry.ledger import Ledger
from rsi.registry.models import ledger
from rsi.registry.reviews import Reviews
from rsi.types import ReviewDecision, ReviewRequest

ASKED = ReviewRequest(lineage="main", generation=1, kind="candidate", subject="s", name="c", classes=("code",))


def approval(reviewer="ann", request=ASKED, **fields):
    given = {"request": request.digest, "subject": request.subject, "reviewer": reviewer, "verdict": "approve"}
    return ReviewDecision.model_validate({**given, **fields})


@pytest.fixture
def reviews(database):
    opened = Reviews(database, acquire(database, "main"))
    opened.ask(ASKED)
    return opened


def stands(reviews, request=ASKED, **rules):
    return standing(request, reviews.docket("main"), Review(**rules))


def attack(database, *statements):
    """Change the ledger as someone would who owns the file: its triggers first."""

    def work(connection):
        for verb in ("update", "delete"):
            connection.execute(text(f"DROP TRIGGER IF EXISTS ledger_no_{verb}"))
        for statement in statements:
            connection.execute(statement)

    database.write(work)


def test_a_request_is_recorded_once_and_decided_by_people(reviews):
    reviews.ask(ASKED)
    assert len(reviews.docket("main").requests) == 1
    assert stands(reviews) == "waiting"
    reviews.decide("main", approval())
    assert stands(reviews) == "approved"
    reviews.decide("main", approval("bea", verdict="reject"))
    assert stands(reviews) == "rejected"


@pytest.mark.parametrize("field", ["verdict", "reviewer", "subject"])
def test_a_changed_decision_is_found_and_nothing_counts(reviews, database, field):
    reviews.decide("main", approval(verdict="reject"))
    entry = Ledger(database).entries("main")[-1]
    forged = {**json.loads(entry.body), "verdict": "approve", field: "approve"}
    attack(database, update(ledger).where(ledger.c.seq == entry.seq).values(body=json.dumps(forged)))
    with pytest.raises(IntegrityError, match="was changed"):
        reviews.docket("main")
    with pytest.raises(IntegrityError):
        reviews.decide("main", approval())


def test_an_approval_put_into_the_table_is_found(reviews, database):
    last = Ledger(database).entries("main")[-1]
    body = approval().model_dump_json()
    row = {**last.model_dump(), "seq": last.seq + 1, "body": body, "previous": last.hash}
    attack(database, insert(ledger).values(**row))
    with pytest.raises(IntegrityError, match="was changed"):
        reviews.docket("main")


def test_an_approval_copied_from_another_lineage_is_found(reviews, database):
    elsewhere = Reviews(database, acquire(database, "other"))
    elsewhere.ask(other := ASKED.model_copy(update={"lineage": "other"}))
    elsewhere.decide("other", approval(request=other))
    entry = Ledger(database).entries("other")[-1]
    attack(database, insert(ledger).values({**entry.model_dump(), "lineage": "main"}))
    with pytest.raises(IntegrityError):
        reviews.docket("main")
    assert other.digest != ASKED.digest  # even written properly it would approve another request


def test_a_rejection_cut_off_the_end_is_found(reviews, database):
    reviews.decide("main", approval())
    reviews.decide("main", approval("bea", verdict="reject"))
    last = Ledger(database).entries("main")[-1]
    attack(database, delete(ledger).where(ledger.c.seq == last.seq))
    with pytest.raises(IntegrityError, match="cut off"):
        reviews.docket("main")


def test_approvals_of_another_digest_and_one_person_twice_do_not_count(reviews):
    reviews.decide("main", approval(subject="another"))
    reviews.ask(later := ASKED.model_copy(update={"generation": 2}))
    reviews.decide("main", approval(request=later))
    assert stands(reviews) == "waiting"
    reviews.decide("main", approval("ann"))
    reviews.decide("main", approval("Ann "))
    assert stands(reviews, reviewers=2) == "waiting"


def test_time_expires_an_approval_and_a_clock_moved_back_does_not_bring_it_back(reviews, monkeypatch):
    reviews.decide("main", approval())
    start = time.time()
    monkeypatch.setattr(ledger_room.time, "time", lambda: start + 31 * DAY)
    reviews.ask(later := ASKED.model_copy(update={"generation": 2}))
    assert stands(reviews) == "expired"
    monkeypatch.setattr(ledger_room.time, "time", lambda: start + DAY)
    with pytest.raises(IntegrityError, match="clock was moved back"):
        stands(reviews)
    monkeypatch.setattr(Ledger, "verify", lambda self, lineage, rows: [])  # even where that went unseen
    assert stands(reviews) == "expired"
    reviews.decide("main", approval(request=later))
    assert [filed.at for filed in reviews.docket("main").decisions][-1] >= start + 31 * DAY


def test_what_is_no_review_is_refused(reviews, database):
    with pytest.raises(IntegrityError, match="never asked"):
        reviews.decide("main", approval(request=ASKED.model_copy(update={"generation": 7})))
    reviews.decide("main", approval(reviewer="x" * 80).model_copy(update={"reviewer": "x" * 81}))
    with pytest.raises(IntegrityError, match="is no review"):
        reviews.docket("main")
