"""Pictures as inline SVG, drawn by matplotlib without a display. Text and axes take the page's own colour, so they are
readable on light and dark."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from rsi.figures import wilson
from rsi.report.data import ReportData
from rsi.report.words import SLICES
from rsi.types import CoveragePoint, Expansion, Rate, Update

INK = "#0a0b0c"  # stands for the page's text colour
BLUE, ORANGE, GREEN, GREY = "#3b82c4", "#d9822b", "#3a9d5d", "#8a8f98"
STYLE = {
    "svg.fonttype": "none",
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}


def _svg(name: str, label: str, size: tuple[float, float], draw: Callable[[Figure], None]) -> str:
    """The picture that `draw` makes, deterministic, with `label` for those who do not see it."""
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    body = out.getvalue()
    return (
        body[body.index("<svg") :]
        .replace(INK, "currentColor")
        .replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    )


def learning_curve(data: ReportData) -> str:
    """Sealed pass rate of champion and candidate at each generation's gate; unseen instances and families apart."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, where in zip(axes, SLICES, strict=True):
            for offset, who, look in ((-0.06, "champion", "o-"), (0.06, "candidate", "o")):
                rates = [(g.generation, g.verdict.rates.get(f"{who}/{where}")) for g in data.generations]
                _errors(ax, [(n + offset, r) for n, r in rates if r is not None and r.n], who, look)
            promoted = [
                (g.generation, g.verdict.rates.get(f"candidate/{where}")) for g in data.generations if g.promoted
            ]
            spots = [(n + 0.06, r.value) for n, r in promoted if r is not None]
            ax.plot(*zip(*spots, strict=True) if spots else ((), ()), "*", color=GREEN, markersize=11, label="promoted")
            ax.set(title=where, xlabel="generation", ylim=(-0.03, 1.03), xlim=(0.5, data.last.generation + 0.5))
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            ax.yaxis.set_major_formatter(PercentFormatter(1))
        axes[0].set_ylabel("sealed pass rate, 95% interval")
        axes[1].legend(loc="upper left")

    return _svg("learning", "Sealed pass rates over generations", (7.2, 2.9), draw)


def coverage_curve(expansion: Expansion) -> str:
    """Unique coverage and pooled passes against attempts, of the search and of the retry control."""

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for points, who, colour in (
            (expansion.coverage, "search (adaptive)", BLUE),
            (expansion.retry, "retry control", ORANGE),
        ):
            x = [point.attempts for point in points]
            left.step(x, [point.covered for point in points], where="post", color=colour, label=who)
            right.step(x, [point.passes for point in points], where="post", color=colour, label=who)
        left.axhline(expansion.tasks, color=GREY, linestyle=":", label=f"all {expansion.tasks} failing tasks")
        left.set(title="unique coverage", xlabel="attempts", ylabel="tasks passed at least once")
        right.set(title="pooled passes", xlabel="attempts", ylabel="passes")
        for ax in (left, right):
            ax.set_ylim(bottom=-0.03 * max(1, ax.get_ylim()[1]))  # a curve that stays at 0 is seen
            ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        left.legend(loc="best")

    return _svg("coverage", "Coverage and passes against attempts", (7.2, 2.9), draw)


def training_curve(update: Update) -> str:
    """Mean reward and pass rate of the sampled groups at each training step, pass rate with its interval."""
    steps = update.adapter.metrics if update.adapter else ()

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        _errors(ax, [(n, rate) for n, rate in enumerate(training_rates(steps), 1) if rate.n], "pass rate", "o-")
        rewards = [(n, step["reward_mean"]) for n, step in enumerate(steps, 1) if "reward_mean" in step]
        ax.plot(*zip(*rewards, strict=True) if rewards else ((), ()), color=ORANGE, label="mean reward (with form)")
        ax.set(xlabel="training step", ylim=(-0.03, None))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(loc="best")

    return _svg("training", "Training reward", (7.2, 2.6), draw)


def training_rates(steps: Sequence[Any]) -> list[Rate]:
    """Pass rate of each step's samples; n = 0 where a step logged none."""
    counted = [(step.get("pass_rate", 0.0), int(step.get("samples", 0))) for step in steps]
    return [wilson(round(share * n), n, "sampled groups") for share, n in counted]


def loci_bars(loci: Sequence[tuple[str, int, int]]) -> str:
    """Failing tasks by locus: (name, suspected, confirmed)."""

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        names = [name for name, _, _ in loci]
        suspected, confirmed = [s for _, s, _ in loci], [c for _, _, c in loci]
        ax.barh(names, confirmed, color=BLUE, label="confirmed")
        ax.barh(names, suspected, left=confirmed, color=BLUE, alpha=0.4, label="suspected")
        ax.set_xlabel("tasks")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(loc="best")

    return _svg("loci", "Failing tasks by locus", (7.2, 1.9), draw)


def _errors(ax: Any, rates: Sequence[tuple[float, Rate]], label: str, look: str) -> None:
    x, y = [n for n, _ in rates], [rate.value for _, rate in rates]
    below = [max(0.0, rate.value - rate.low) for _, rate in rates]
    above = [max(0.0, rate.high - rate.value) for _, rate in rates]
    ax.errorbar(
        x,
        y,
        yerr=[below, above],
        fmt=look,
        color=GREY if label == "champion" else BLUE,
        capsize=3,
        markersize=4,
        label=label,
    )


def thinned(points: Sequence[CoveragePoint], most: int = 12) -> list[CoveragePoint]:
    """At most about `most` points of a curve, its ends among them, for the table behind the picture."""
    step = max(1, -(-len(points) // most))
    return [*points[:-1:step], *points[-1:]]
