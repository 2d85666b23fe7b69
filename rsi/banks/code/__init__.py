"""The table of the code bank: functions and small modules of Python, judged by hidden calls."""

from rsi.banks.code import (
    containers,
    grids,
    machines,
    maps,
    numbers,
    pairs,
    parsing,
    recursion,
    sequences,
    spans,
    texts,
    times,
)
from rsi.banks.code.forms import CODE

__all__ = [
    "CODE",
    "containers",
    "grids",
    "machines",
    "maps",
    "numbers",
    "pairs",
    "parsing",
    "recursion",
    "sequences",
    "spans",
    "texts",
    "times",
]
