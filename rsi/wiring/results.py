"""A lineage's committed results, gathered for people: the table, the report files, MLflow's mirror."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rsi.config import RunSettings, home
from rsi.errors import UserError
from rsi.files import read_text
from rsi.gate.contract import load_contract
from rsi.hcp.document import recorded
from rsi.registry.champions import Champions
from rsi.registry.chapter import Chapter
from rsi.registry.engine import Database, open_database
from rsi.registry.ledger import Ledger
from rsi.registry.looks import Looks
from rsi.registry.pairs import Mirror, default_uri
from rsi.registry.store import SqlStore
from rsi.report.console import EscapingConsole
from rsi.report.data import BudgetFigure, GenerationData, LostAttempts, ReportData
from rsi.report.terminal import show
from rsi.results import Results
from rsi.wiring.budget import drawn, scope
from rsi.wiring.paths import inside, report_file

REASONS, REASON = 5, 200  # reasons of lost attempts that are told, and characters of one


@contextmanager
def opened() -> Iterator[Database]:
    """The home's store, for as long as the block."""
    database = open_database()
    try:
        yield database
    finally:
        database.close()


@dataclass(frozen=True)
class Records:
    """The finished generations of a lineage as a database holds them."""

    settings: RunSettings
    database: Database

    @property
    def results(self) -> Results:
        return Results(self.settings.lineage, SqlStore(self.database), Champions(self.database))

    def generation(self, n: int) -> GenerationData:
        results, verdict = self.results, self.results.verdict(n)
        looks = {look.digest: look for look in Looks(self.database).of(self.settings.lineage)}
        return GenerationData(
            generation=n,
            champion=results.champion(n),
            candidate=results.candidate(n),
            discovery=results.discovered(n),
            expansion=results.expanded(n),
            update=results.updated(n),
            verdict=verdict,
            look=looks.get(verdict.look),
            promoted=any(
                step.look == verdict.look and step.kind == "promotion"
                for step in Champions(self.database).history(self.settings.lineage)
            ),
            review=results.review(n),
            limits=results.limits(n),
        )

    def until(self, n: int, budget: Sequence[BudgetFigure] = ()) -> ReportData:
        """Generations 1..n, the last of which a report is about; none is finished where n is 0."""
        begun = (self.results.begun_with(n) if n else {}) or self.settings.model_dump(mode="json")
        return ReportData(
            lineage=self.settings.lineage,
            bank=begun["bank"],
            model=begun["model"]["id"],
            generations=tuple(self.generation(k) for k in range(1, n + 1)),
            losses=tuple(self.losses(k) for k in range(1, n + 2)),
            settings=begun,
            budget=(*drawn(self.settings, self.database), *budget),
            places={
                "report": str(report_file(self.settings, n)),
                "MLflow": f"mlflow server --backend-store-uri {default_uri()} (or: make services)",
                "store": str(home() / "store.db"),
                "ledger": head_line(self.settings, self.database),
            },
        )

    def losses(self, n: int) -> LostAttempts:
        """What generation `n` lacks; it may be under way."""
        store, prefix = SqlStore(self.database), f"{scope(self.settings)}/gen{n}/"
        lost = Counter[str]()
        for reason, number in store.lost(prefix).items():
            lost[" ".join(reason.split())[:REASON]] += number
        return LostAttempts(generation=n, lost=dict(lost.most_common(REASONS)), refused=store.refused(prefix))

    def last(self) -> int:
        """The newest generation whose promotion is committed; 0 where the first one has lost attempts and is not at its
        end. UserError where there is nothing to tell."""
        n = 0
        while self.results.done(n + 1, "promotion"):
            n += 1
        if n == 0 and not self.losses(1).any:
            raise UserError(
                f"lineage '{self.settings.lineage}' has no finished generation yet; start it with `rsi run`"
            )
        return n


def head_line(settings: RunSettings, database: Database) -> str:
    """The head as one line for people, to compare with later."""
    head = Ledger(database).head(settings.lineage)
    return f"entry {head.seq}, hash {head.hash}" if head is not None else "no entry yet"


def report(settings: RunSettings, database: Database, n: int, say: Callable[[str], None]) -> None:
    """Write generation `n`'s report and mirror it to MLflow, aliases included."""
    from rsi.report.page import render  # plots take a second to import: only where some are drawn

    records = Records(settings, database)
    path, page = report_file(settings, n), render(records.until(n))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf8")
    data, mirror = records.generation(n), Mirror(say)
    mirror.publish(
        Chapter(
            record=data.candidate,
            generation=n,
            harness=recorded(data.candidate.document).harness(),
            expansion=data.expansion,
            update=data.update,
            verdict=data.verdict,
            contract=_contract(settings, data),
            report=page,
        )
    )
    champion = Champions(database).current(settings.lineage)
    mirror.aliases(settings.lineage, champion, data.candidate)
    if (head := Ledger(database).head(settings.lineage)) is not None:
        mirror.tag(head)
    say(f"report: {path}")


def _contract(settings: RunSettings, data: GenerationData) -> str:
    """The contract's text, if the file still is the one that was judged by."""
    path = inside(settings.contract)
    same = data.look is not None and path.exists() and load_contract(path).digest == data.look.contract
    return read_text(path, "contract") if same else ""


def rewrite_reports(settings: RunSettings, say: Callable[[str], None]) -> None:
    """All reports and the mirror anew, from the store alone."""
    with opened() as database:
        for n in range(1, Records(settings, database).last() + 1):
            report(settings, database, n, say)


def show_results(settings: RunSettings, budget: Sequence[BudgetFigure] = ()) -> None:
    """Print the lineage's table."""
    with opened() as database:
        records = Records(settings, database)
        show(records.until(records.last(), budget), EscapingConsole())


def dump_results(settings: RunSettings) -> ReportData:
    """The same as a record."""
    with opened() as database:
        records = Records(settings, database)
        return records.until(records.last())
