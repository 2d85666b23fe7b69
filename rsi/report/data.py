"""What a report is made from: the records of a lineage's generations, as they were committed."""

from collections.abc import Mapping

from pydantic import Field, JsonValue

from rsi.types import Discovery, Expansion, Look, PairRecord, Record, Update, Verdict


class GenerationData(Record):
    """One generation. `promoted`: the candidate became champion (a verdict alone does not say so).
    `limits`: the sandbox of its attempts, and which limits held."""

    generation: int
    champion: PairRecord
    candidate: PairRecord
    discovery: Discovery
    expansion: Expansion
    update: Update
    verdict: Verdict
    look: Look | None = None
    promoted: bool = False
    review: str | None = None  # how people decided on it, where they were asked
    limits: Mapping[str, str] = Field(default_factory=dict)


class BudgetFigure(Record):
    """What a run used of a budget it had: "attempts", "minutes" and so on."""

    name: str
    used: float
    limit: float

    @property
    def kept(self) -> bool:
        return self.used <= self.limit


class LostAttempts(Record):
    """What a generation's figures lack: attempts lost to infrastructure and not played since (reason -> how many), and
    conversations that the model's server refused, which are scored as they stood."""

    generation: int
    lost: Mapping[str, int] = Field(default_factory=dict)
    refused: int = 0

    @property
    def any(self) -> bool:
        return bool(self.lost or self.refused)


class ReportData(Record):
    """Generations oldest first; the page is about the last. `places` says where to look: label -> command or path.
    `losses` hold a generation that is under way too."""

    lineage: str
    bank: str
    model: str
    generations: tuple[GenerationData, ...]
    losses: tuple[LostAttempts, ...] = ()
    settings: Mapping[str, JsonValue] = Field(default_factory=dict)
    budget: tuple[BudgetFigure, ...] = ()
    places: Mapping[str, str] = Field(default_factory=dict)

    @property
    def last(self) -> GenerationData:
        return self.generations[-1]
