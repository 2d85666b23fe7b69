"""The root of all records: a frozen value with a content digest."""

from functools import cached_property
from typing import Self

from pydantic import BaseModel, ConfigDict

from rsi.ids import digest


class Record(BaseModel):
    """A frozen value. Unknown keys are errors; two records with equal content have equal digests."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @cached_property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json"))

    def __copy__(self) -> Self:
        copied = super().__copy__()
        copied.__dict__.pop("digest", None)  # model_copy(update=...) has other content, hence another digest
        return copied
