"""Which changes wait for people, and when an approval counts. Pure.

Knows no ledger and no clock: a `Docket` brings both. Names of reviewers are claims: docs/review.md.
"""

from collections.abc import Collection, Sequence
from typing import Literal, get_args

from pydantic import Field, field_validator

from rsi.hcp.diff import Difference, diff
from rsi.hcp.document import Document
from rsi.hcp.edits import compose
from rsi.hcp.risk import AUTOMATIC, Risk, risk
from rsi.ids import digest
from rsi.types import Docket, Edit, Pair, Record, ReviewRequest

Standing = Literal["waiting", "approved", "rejected", "expired"]
DAY = 86400.0
BY_DEFAULT: tuple[Risk, ...] = tuple(sorted(set(get_args(Risk)) - AUTOMATIC))


class Review(Record):
    """[review] of a contract: the risk classes that wait for people (`unknown` always does), how many different people
    must approve, and after how many days a request or an approval counts no more."""

    classes: tuple[Risk, ...] = BY_DEFAULT
    reviewers: int = Field(1, ge=1, le=100)
    expires_days: float = Field(30, ge=0.01, le=3650)

    @field_validator("classes")
    @classmethod
    def _once_each(cls, classes: tuple[Risk, ...]) -> tuple[Risk, ...]:
        if "lineage" in classes:
            raise ValueError("'lineage' is part of every edit; name the classes that shall wait")
        return tuple(sorted(set(classes)))

    def waits(self, risk: Risk) -> bool:
        return risk in self.classes or risk == "unknown"

    def waits_for(self, edit: Edit) -> bool:
        return self.waits(risk(edit))


def standing(request: ReviewRequest, docket: Docket, review: Review) -> Standing:
    """How a request stands. One rejection ends it. An approval counts while it is younger than the expiry, was given
    while the request was open, and is bound to what is asked; each person counts once. Time never runs back: it is at
    least that of the newest decision on anything."""
    asked = min((filed.at for filed in docket.requests if filed.record == request), default=None)
    if asked is None:
        return "waiting"
    now = max(docket.now, asked, *(filed.at for filed in docket.decisions))
    lasts = review.expires_days * DAY
    about = [filed for filed in docket.decisions if filed.record.request == request.digest]
    if any(filed.record.verdict == "reject" for filed in about):
        return "rejected"
    people = {
        filed.record.person
        for filed in about
        if filed.record.subject == request.subject and asked <= filed.at <= asked + lasts and now - filed.at <= lasts
    }
    if len(people) >= max(review.reviewers, request.reviewers):
        return "approved"
    return "expired" if now - asked > lasts else "waiting"


def ledgered(docket: Docket, review: Review) -> tuple[set[str], set[str]]:
    """Digests of the edits that people have approved, and of those that they have rejected (once is enough)."""
    found: dict[Standing, set[str]] = {name: set() for name in get_args(Standing)}
    for filed in docket.requests:
        if filed.record.kind == "edit":
            found[standing(filed.record, docket, review)].add(filed.record.subject)
    return found["approved"] - found["rejected"], found["rejected"]


def edit_requests(
    lineage: str, generation: int, waiting: Sequence[Edit], docket: Docket, review: Review
) -> list[ReviewRequest]:
    """A request for each waiting edit of which no request stands; one that has expired is asked again."""
    asked = {filed.record.subject for filed in docket.requests if standing(filed.record, docket, review) != "expired"}
    return [
        ReviewRequest(
            lineage=lineage,
            generation=generation,
            kind="edit",
            subject=edit.digest,
            name=edit.name,
            classes=(risk(edit),),
            edit=edit,
        )
        for edit in waiting
        if edit.digest not in asked
    ]


def unapproved(
    champion: Document, candidate: Document, edits: Sequence[Edit], approved: Collection[str], review: Review
) -> list[Difference]:
    """What of the candidate's document waits for people: differences of a waiting class that are not the doing of
    approved edits. `edits`: those of which the candidate was composed, in order; `approved`: digests."""
    known = compose(champion, [edit for edit in edits if edit.digest in approved])
    return [item for item in diff(known, candidate) if review.waits(item.risk)]


def candidate_request(
    lineage: str, generation: int, pairs: tuple[Pair, Pair], documents: tuple[Document, Document], review: Review
) -> ReviewRequest:
    """The request for a candidate. `pairs`, `documents`: the champion's and the candidate's. What has been approved
    before makes no difference, so that the request of a candidate is always the same."""
    found = diff(*documents)
    said = [[item.key, item.before, item.after] for item in found]
    return ReviewRequest(
        lineage=lineage,
        generation=generation,
        kind="candidate",
        subject=digest([*(pair.digest for pair in pairs), said]),
        pair=pairs[1].digest,
        name=f"candidate {pairs[1].name}",
        classes=tuple(sorted({item.risk for item in found if review.waits(item.risk)})),
        reviewers=review.reviewers,
    )


def earlier_request(request: ReviewRequest, docket: Docket) -> ReviewRequest | None:
    """What people were asked first of the same candidate, whatever the contract's rules were then. Once asked it binds:
    rules that are taken away since do not let the candidate through."""
    for filed in docket.requests:
        asked = filed.record
        if (asked.kind, asked.generation, asked.subject) == (request.kind, request.generation, request.subject):
            return asked
    return None
