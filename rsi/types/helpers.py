"""Functions that agents wrote: staged in an attempt, and, once proven, carried by a document."""

from typing import Self

from pydantic import Field, model_validator

from rsi.ids import digest
from rsi.types.record import Record

_NAME = r"^[A-Za-z][A-Za-z0-9_]{0,59}$"
MOST_CODE = 10_000  # characters


class StagedTool(Record):
    """Python that an agent saved under a name. Hostile text until it is proven; it runs in sandboxes alone."""

    name: str = Field(pattern=_NAME)
    code: str = Field(min_length=1, max_length=MOST_CODE)


class Helper(StagedTool):
    """A proven function that stands in every later namespace. `source` is the attempt that staged it; a `code_digest`
    that is not the code's own is an error, so proven code cannot be changed in place."""

    code_digest: str
    source: str

    @model_validator(mode="after")
    def _unchanged(self) -> Self:
        if self.code_digest != digest(self.code):
            raise ValueError(f"helper '{self.name}': code_digest is not the digest of its code; prove it again")
        return self
