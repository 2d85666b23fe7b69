"""One HTML file for a generation: opens from disk, needs no network, runs no script."""

from collections import Counter
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rsi.errors import UserError
from rsi.expansion.coverage import equal_budget
from rsi.hcp.diff import Difference, diff
from rsi.hcp.document import parse
from rsi.report import words
from rsi.report.data import GenerationData, ReportData
from rsi.report.pictures import coverage_curve, learning_curve, loci_bars, thinned, training_curve, training_rates
from rsi.text import escape
from rsi.types import Expansion, Locus

LONGEST = 300  # characters of a value in the HCP diff


def render(data: ReportData) -> str:
    """The page of `data`'s last generation, with the curve over all of them. Everything but our own SVG is escaped."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escaped,
    )
    environment.filters |= {"percent": words.percent, "points": words.points}
    return environment.get_template("page.html.j2").render(_context(data))


def _escaped(value: Any) -> Any:
    """What a page shows of text from elsewhere; autoescape does the rest. Our own pictures stay as they are."""
    return escape(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _context(data: ReportData) -> dict[str, Any]:
    last, expansion, update = data.last, data.last.expansion, data.last.update
    loci = loci_of(expansion)
    steps = update.adapter.metrics if update.adapter else ()
    return {
        "data": data,
        "last": last,
        "words": words,
        "learning": Markup(learning_curve(data)),
        "coverage": Markup(coverage_curve(expansion)) if expansion.tasks else None,
        "coverage_rows": [
            (who, point)
            for who, points in (("search (adaptive)", expansion.coverage), ("retry control", expansion.retry))
            for point in thinned(points)
        ],
        "equal": equal_budget(expansion.coverage, expansion.retry),
        "loci": Markup(loci_bars(loci)) if loci else None,
        "loci_rows": loci,
        "training": Markup(training_curve(update)) if steps else None,
        "training_rows": list(zip(steps, training_rates(steps), strict=True)),
        "differences": [(d, short(d.before), short(d.after)) for d in differences(last)],
    }


def loci_of(expansion: Expansion) -> list[tuple[str, int, int]]:
    """(locus, suspected, confirmed) for each locus that was seen."""
    seen = Counter((a.locus, a.status) for a in expansion.attributions)
    rows = [(locus.value, seen[locus, "suspected"], seen[locus, "confirmed"]) for locus in Locus]
    return [row for row in rows if row[1] or row[2]]


def differences(data: GenerationData) -> list[Difference]:
    """From the champion's HCP document to the candidate's; none where one of them no longer parses."""
    try:
        return diff(parse(data.champion.document, "champion"), parse(data.candidate.document, "candidate"))
    except UserError:
        return []


def short(value: Any) -> str:
    """A value of a document in at most LONGEST characters; empty where the key is absent."""
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"
