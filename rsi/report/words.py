"""How figures are written: every rate with its 95% interval and its n."""

from rsi.figures import wilson
from rsi.report.data import BudgetFigure, GenerationData
from rsi.text import escape_line
from rsi.types import CoveragePoint, Rate, Verdict

SLICES = ("unseen instances", "unseen families")
NONE = "–"


def percent(rate: Rate | None) -> str:
    """`26% [15, 41] n=40`; a dash where nothing was measured."""
    if rate is None or rate.n == 0:
        return NONE
    return f"{100 * rate.value:.0f}% [{100 * rate.low:.0f}, {100 * rate.high:.0f}] n={rate.n}"


def points(rate: Rate | None) -> str:
    """A difference of rates in percentage points: `+12 pp [+3, +21] n=56`."""
    if rate is None or rate.n == 0:
        return NONE
    return f"{100 * rate.value:+.0f} pp [{100 * rate.low:+.0f}, {100 * rate.high:+.0f}] n={rate.n}"


def pooled(point: CoveragePoint | None) -> str:
    """Pooled pass rate over every attempt that was spent."""
    return percent(wilson(point.passes, point.attempts)) if point else NONE


def covered(point: CoveragePoint | None, tasks: int) -> str:
    """Unique coverage, which is adaptive, so that it has no interval: it is a ceiling, not an estimate."""
    return f"{point.covered} of {tasks} in {point.attempts} attempts" if point and tasks else NONE


def limit(figure: BudgetFigure) -> str:
    """What a budget allows."""
    none = figure.name in ("minutes", "memory, GB") and figure.limit >= 1e6  # what these are unless they are set
    return "no limit" if none else f"{figure.limit:,.6g}"


def outcome(data: GenerationData) -> str:
    """The verdict in a word, with what became of it."""
    if data.candidate.pair == data.champion.pair:
        return "no candidate"
    if data.verdict.decision == "promote" and not data.promoted:
        return f"promote (review: {data.review})" if data.review else "promote (not carried out)"
    return data.verdict.decision


def judged(verdict: Verdict) -> str:
    """How far the look went: `after 1 of 3 batches (success)`; a dash where there was none."""
    if not verdict.look:
        return NONE
    drawn, most = verdict.batches
    return f"after {drawn} of {most} batches ({verdict.stopped})"


def single_line(text: str, limit: int = 300) -> str:
    """Text from elsewhere for a terminal: one line, what cannot be seen escaped."""
    return escape_line(text, limit)
