"""Pairs, and pairs as they are registered."""

from collections.abc import Mapping

from pydantic import Field, JsonValue

from rsi.types.record import Record


class Pair(Record):
    """Base digest, adapter revision of each specialist, HCP digest. Its digest is its name."""

    base: str
    adapters: Mapping[str, str] = Field(default_factory=dict)  # specialist -> adapter revision
    hcp: str

    @property
    def name(self) -> str:
        return self.digest[:12]


class PairRecord(Record):
    """A pair as registered: enough to run it again, and where it came from."""

    pair: Pair
    lineage: str
    generation: int
    parent: str | None  # pair digest
    document: str  # the HCP document's text
    adapter_paths: Mapping[str, str] = Field(default_factory=dict)
    evidence: Mapping[str, JsonValue] = Field(default_factory=dict)
