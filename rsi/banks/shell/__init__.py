"""The `shell` bank's families: from everyday one-liners over tiny files to jobs of ten commands. SHELL maps a family's
name to its generator."""

from rsi.banks.shell import (
    actions,
    archives,
    counts,
    dates,
    history,
    jobs,
    lines,
    modes,
    numbers,
    records,
    tables,
    texts,
)
from rsi.banks.shell.forms import SHELL

__all__ = [
    "SHELL",
    "actions",
    "archives",
    "counts",
    "dates",
    "history",
    "jobs",
    "lines",
    "modes",
    "numbers",
    "records",
    "tables",
    "texts",
]
