"""What people are asked and what they decided, as the lineage's ledger keeps it."""

import re
import unicodedata
from typing import Generic, Literal, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from rsi.types.edits import Edit
from rsi.types.record import Record

R = TypeVar("R", bound=Record)
# What prints as nothing although `isprintable` takes it: default-ignorable characters of Unicode, and a blank.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)


class ReviewRequest(Record):
    """A question to people. `subject` is the digest of what is asked: of the edit, or of the candidate's pair and the
    difference of its document. `classes` are the risk classes for which it waits. `reviewers`: how many people must
    approve at least, even where the contract asks for fewer later."""

    what: Literal["request"] = "request"
    lineage: str
    generation: int
    kind: Literal["edit", "candidate"]
    subject: str
    name: str
    classes: tuple[str, ...]
    edit: Edit | None = None  # of kind "edit"
    pair: str | None = None  # of kind "candidate": its digest
    reviewers: int = Field(1, ge=1)

    @model_validator(mode="after")
    def _bound(self) -> Self:
        if (self.edit.digest if self.edit else None) != (self.subject if self.kind == "edit" else None):
            raise ValueError("an edit's subject is its digest")
        return self


class ReviewDecision(Record):
    """One person's decision on a request (its digest), bound to `subject`, the digest of what was decided on."""

    what: Literal["decision"] = "decision"
    request: str
    subject: str
    reviewer: str = Field(min_length=1, max_length=80)
    verdict: Literal["approve", "reject"]
    reason: str = Field("", max_length=2000)

    @field_validator("reviewer")
    @classmethod
    def _shows_as_it_is(cls, name: str) -> str:
        if not name.isprintable() or not name.strip():
            raise ValueError("a name of printable characters is expected")
        return name

    @property
    def person(self) -> str:
        """Who decided, in one spelling: case, width, spaces and what cannot be seen make no second person."""
        seen = INVISIBLE.sub("", unicodedata.normalize("NFKC", self.reviewer))
        return " ".join(seen.casefold().split())


class Filed(Record, Generic[R]):
    """A record with the ledger's time (seconds since the epoch), which never runs back."""

    record: R
    at: float


class Docket(Record):
    """A lineage's questions and decisions, oldest first. `now` is the clock's time, or the newest entry's if later."""

    requests: tuple[Filed[ReviewRequest], ...]
    decisions: tuple[Filed[ReviewDecision], ...]
    now: float
