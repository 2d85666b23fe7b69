"""Who must approve what, and when an approval counts."""

import pytest
from pydantic import ValidationError

from rsi.gate.review import Review, candidate_request, edit_requests, ledgered, standing, unapproved
from rsi.hcp.document import parse
from rsi.hcp.edits import compose
from rsi.hcp.risk import AUTOMATIC
from rsi.ids import digest
from rsi.types import (
    AddStopHook,
    AddTool,
    Docket,
    Edit,
    Filed,
    Helper,
    Pair,
    ReviewDecision,
    ReviewRequest,
    SetInstruction,
    StopHook,
)

DAY = 86400.0
BARE = 'version = 1\n[resources]\nsystem_prompt = "Answer."\n'
COMMAND = Edit(name="look", change=AddStopHook(hook=StopHook(name="look", message="m", command="ls")))
HELPER = Edit(
    name="add", change=AddTool(helper=Helper(name="add", code="x = 1", code_digest=digest("x = 1"), source="s"))
)
TEXT = Edit(name="say", change=SetInstruction(text="Think."))
ASKED = ReviewRequest(lineage="main", generation=1, kind="candidate", subject="s", name="c", classes=("code",))


def filed(record, day):
    return Filed(record=record, at=day * DAY)


def decision(reviewer="ann", verdict="approve", request=ASKED, subject="s"):
    return ReviewDecision(request=request.digest, subject=subject, reviewer=reviewer, verdict=verdict)


def stands(*decisions, now=1.0, **rules):
    docket = Docket(requests=(filed(ASKED, 0),), decisions=decisions, now=now * DAY)
    return standing(ASKED, docket, Review(**rules))


def test_a_request_waits_until_enough_people_have_approved():
    assert stands() == "waiting"
    assert stands(filed(decision(), 1)) == "approved"
    assert stands(filed(decision(), 1), reviewers=2) == "waiting"
    assert stands(filed(decision(), 1), filed(decision("bea"), 1), reviewers=2) == "approved"


@pytest.mark.parametrize("again", ["ann", "Ann", " ann ", "ANN", "ａｎｎ"])
def test_one_person_counts_once(again):
    assert stands(filed(decision("ann"), 1), filed(decision(again), 1), reviewers=2) == "waiting"


@pytest.mark.parametrize("name", ["", "  ", "an\u200bn", "a\x1b[2Jnn", "\u202eann", "a" * 81])
def test_a_name_that_shows_as_another_is_refused(name):
    with pytest.raises(ValidationError):
        decision(name)


def test_a_rejection_ends_it_before_and_after_approvals():
    for order in (1, -1):
        both = [filed(decision("ann"), 1), filed(decision("bea", "reject"), 1)][::order]
        assert stands(*both) == "rejected"
    assert stands(filed(decision("bea", "reject"), 1), now=90) == "rejected"
    assert stands(filed(decision("bea", "reject", subject="other"), 1)) == "rejected"


def test_an_approval_of_something_else_does_not_count():
    other = ASKED.model_copy(update={"generation": 2})
    assert stands(filed(decision(subject="other"), 1)) == "waiting"
    assert stands(filed(decision(request=other), 1)) == "waiting"


def test_an_approval_before_its_request_does_not_count():
    assert stands(filed(decision(), -1)) == "waiting"


def test_requests_and_approvals_expire():
    assert stands(now=30) == "waiting"
    assert stands(now=30.1) == "expired"
    assert stands(filed(decision(), 20), now=45) == "approved"
    assert stands(filed(decision(), 20), now=50.1) == "expired"
    assert stands(filed(decision(), 31), now=31) == "expired"
    assert stands(filed(decision(), 2), filed(decision("bea"), 29), now=33, reviewers=2) == "expired"
    assert stands(filed(decision(), 3), now=3.5, expires_days=2) == "expired"


def test_a_clock_moved_back_revives_nothing():
    later = ASKED.model_copy(update={"generation": 7})
    newest = filed(decision("bea", request=later), 60)
    assert stands(filed(decision(), 1), newest, now=2) == "expired"
    assert stands(filed(decision(), 20), now=-100) == "approved"


def test_a_request_that_was_never_asked_stands_nowhere():
    docket = Docket(requests=(), decisions=(filed(decision(), 1),), now=2 * DAY)
    assert standing(ASKED, docket, Review()) == "waiting"


def test_what_waits_by_default_is_what_is_not_automatic():
    assert not set(Review().classes) & AUTOMATIC
    assert Review().waits("code") and Review().waits("network") and not Review().waits("text")
    own = Review(classes=("text", "text"))
    assert own.classes == ("text",) and own.waits("text") and own.waits("unknown") and not own.waits("code")
    assert Review(classes=("text", "code")).digest == Review(classes=("code", "text")).digest


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\u200b"])
def test_a_name_is_of_printable_characters(name):
    with pytest.raises(ValueError, match="reviewer"):
        ReviewDecision(request="r", subject="s", reviewer=name, verdict="approve")


@pytest.mark.parametrize("unseen", ["\u034f", "\u3164", "\u2800", "\ufe0f", "\U000e0100", "\U0001d159", "\U00016fe4"])
def test_what_cannot_be_seen_makes_no_second_person(unseen):
    spelled = ReviewDecision(request="r", subject="s", reviewer=f"An{unseen}n", verdict="approve")
    assert spelled.person == "ann" and ReviewDecision.model_validate_json(spelled.model_dump_json()) == spelled


@pytest.mark.parametrize(
    "bad", [{"reviewers": 0}, {"expires_days": 0}, {"classes": ("lineage",)}, {"classes": ("anything",)}, {"more": 1}]
)
def test_a_bad_section_is_refused(bad):
    with pytest.raises(ValidationError):
        Review(**bad)


def docket_of(*records, now=1.0):
    requests = tuple(filed(r, 0) for r in records if isinstance(r, ReviewRequest))
    decisions = tuple(filed(r, 1) for r in records if isinstance(r, ReviewDecision))
    return Docket(requests=requests, decisions=decisions, now=now * DAY)


def test_waiting_edits_are_asked_for_once_and_again_when_the_request_expired():
    [first] = edit_requests("main", 1, [HELPER], docket_of(), Review())
    assert (first.subject, first.classes, first.edit) == (HELPER.digest, ("code",), HELPER)
    assert edit_requests("main", 2, [HELPER], docket_of(first), Review()) == []
    rejected = decision(verdict="reject", request=first, subject=first.subject)
    assert edit_requests("main", 2, [HELPER], docket_of(first, rejected), Review()) == []
    [second] = edit_requests("main", 2, [HELPER], docket_of(first, now=40), Review())
    assert second.digest != first.digest


def test_the_ledger_says_which_edits_people_approved_and_which_they_rejected():
    a, b = edit_requests("main", 1, [HELPER, COMMAND], docket_of(), Review())
    yes = decision(request=a, subject=a.subject)
    no = decision(verdict="reject", request=b, subject=b.subject)
    assert ledgered(docket_of(a, b, yes, no), Review()) == ({HELPER.digest}, {COMMAND.digest})
    assert ledgered(docket_of(a, yes, now=40), Review()) == (set(), set())


def test_an_approved_edit_does_not_wait_twice_and_what_else_changed_does():
    champion = parse(BARE, "a")
    candidate = compose(champion, [TEXT, HELPER, COMMAND])
    approved = {HELPER.digest, COMMAND.digest}
    edits = [TEXT, HELPER, COMMAND]
    assert unapproved(champion, candidate, edits, approved, Review()) == []
    left = unapproved(champion, candidate, edits, {HELPER.digest}, Review())
    assert {item.risk for item in left} == {"command_hook"}
    assert {i.risk for i in unapproved(champion, candidate, [], approved, Review())} == {"code", "command_hook"}
    texts = unapproved(champion, candidate, edits, approved, Review(classes=("text",)))
    assert [item.key for item in texts] == ["resources.system_prompt"]


def test_a_candidates_request_is_bound_to_its_pair_and_its_difference():
    def request(adapter="a1", edits=(TEXT, HELPER)):
        pairs = Pair(base="b", hcp="h"), Pair(base="b", hcp="h", adapters={"agent": adapter})
        return candidate_request("main", 2, pairs, (parse(BARE, "a"), compose(parse(BARE, "a"), edits)), Review())

    assert request().classes == ("code",) and request().kind == "candidate"
    assert request().digest == request().digest
    assert len({request().subject, request("a2").subject, request(edits=(HELPER,)).subject}) == 3
