"""The shape every benchmark shares: a table, then as last line one JSON object, and exit 1 for a missed goal.

It must not know what is measured.
"""

import argparse
import json
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from rsi.figures import wilson

_RESAMPLES = 4000


@dataclass(frozen=True)
class Figure:
    """A measured value with its unit, sample size and 95% interval."""

    name: str
    value: float
    unit: str
    n: int
    low: float
    high: float


@dataclass(frozen=True)
class Goal:
    """`figure` (a name) must lie within the bounds; None is no bound."""

    figure: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def text(self) -> str:
        bounds = [("at least", self.at_least), ("at most", self.at_most)]
        return f"{self.figure} " + " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)

    def met(self, value: float) -> bool:
        low, high = (self.at_least, self.at_most)
        return (low is None or value >= low) and (high is None or value <= high)


def quick(description: str, arguments: Sequence[str] | None = None) -> bool:
    """Parse the command line; whether `--quick` (at most 45 seconds) was asked for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="end within 45 seconds, with wider intervals")
    return bool(parser.parse_args(arguments).quick)


def share(name: str, hits: int, n: int) -> Figure:
    """`hits` of `n`, with a Wilson interval."""
    found = wilson(hits, n)
    return Figure(name, found.value, "rate", n, found.low, found.high)


def mean(name: str, unit: str, values: Sequence[float]) -> Figure:
    """The mean of independent rounds, with a bootstrap interval over the rounds."""
    data = np.asarray(values, float)
    low, high = _interval(data)
    return Figure(name, float(data.mean()), unit, len(data), low, high)


def ratio(name: str, top: Sequence[float], bottom: Sequence[float]) -> Figure:
    """The geometric mean of `top / bottom` over paired rounds, with a bootstrap interval over the pairs.

    Raises ValueError where the rounds do not pair or a value is not positive."""
    if len(top) != len(bottom) or min(*top, *bottom) <= 0:
        raise ValueError("paired rounds of positive values are expected")
    logs = np.log(np.asarray(top, float) / np.asarray(bottom, float))
    low, high = _interval(logs)
    return Figure(name, math.exp(logs.mean()), "x", len(logs), math.exp(low), math.exp(high))


def _interval(data: np.ndarray) -> tuple[float, float]:
    draws = np.random.default_rng(0).choice(data, (_RESAMPLES, len(data))).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)


def finish(name: str, figures: Sequence[Figure], goals: Sequence[Goal]) -> int:
    """Print the table and the JSON line; the exit status. A goal without its figure is missed."""
    table = Table("figure", "value", "95% interval", "n", "unit", title=name)
    for figure in figures:
        interval = f"{figure.low:.4g} .. {figure.high:.4g}"
        table.add_row(figure.name, f"{figure.value:.4g}", interval, str(figure.n), figure.unit)
    values = {figure.name: figure.value for figure in figures}
    met = {goal.text: goal.figure in values and goal.met(values[goal.figure]) for goal in goals}
    console = Console()
    console.print(table)
    for text, held in met.items():
        console.print(f"goal: {text}: {'met' if held else 'MISSED'}", markup=False, highlight=False)
    line = {
        "name": name,
        "figures": values,
        "goals": met,
        "met": all(met.values()),
        "n": {figure.name: figure.n for figure in figures},
        "intervals": {figure.name: [figure.low, figure.high] for figure in figures},
        "commit": commit(),
    }
    print(json.dumps(line, allow_nan=False))
    return 0 if line["met"] else 1


def commit() -> str:
    """The checkout's commit, with "+" where files differ from it; "unknown" outside a checkout."""
    here = Path(__file__).parent
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True)
        changed = subprocess.run(["git", "status", "--porcelain"], cwd=here, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")
