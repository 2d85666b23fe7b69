"""`rsi bank check`: tasks prove themselves. `rsi bank new`: a bank of one's own."""

import asyncio
import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rsi.cli.out import say_json, say_line, tell

if TYPE_CHECKING:
    from rsi.banks.check import CheckRow

app = typer.Typer(no_args_is_help=True, help="Task banks.")


@app.callback()
def bank() -> None:
    """Task banks."""


@app.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(help="Banks under task_banks/, or folders; else all.")] = None,
    whole: Annotated[bool, typer.Option("--all", help="Every task, and every level of the open families.")] = False,
    sample: Annotated[int, typer.Option(min=1, help="Tasks a family and split, without --all.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
) -> None:
    """Certify tasks: the reference passes five times, idleness, the request said back and hacks earn nothing, no open
    task is near a sealed one. No constant answer and no part of the request may pass more than a fifth of a family.
    Certificates are kept under RSI_HOME/certificates; exit 1 where a task is quarantined or a family refused."""
    from dataclasses import asdict

    from rsi.cli.progress import Progress
    from rsi.wiring.check import check_whole_bank, shipped_banks, without_tools

    begun, rows = time.monotonic(), list["CheckRow"]()
    with Progress() as progress:
        for name in names or shipped_banks():
            if not names and (lacks := without_tools(name)):
                tell(f"bank {name} is left out: {lacks}")
                continue
            told = functools.partial(progress, f"certify {name}")
            rows += asyncio.run(check_whole_bank(name, None if whole else sample, told))
    if as_json:
        say_json([asdict(row) for row in rows], indent=1)
    else:
        _show(rows, time.monotonic() - begun)
    raise typer.Exit(1 if any(row.problems or row.refused for row in rows) else 0)


@app.command()
def fetch_tools() -> None:
    """Install esbuild, which the ui bank compiles components with, into RSI_HOME/tools (by npm, about 10 MB)."""
    from rsi.wiring.browser import PACKAGE, fetch_esbuild, missing, tools

    say_line(f"npm install --prefix {tools()} {PACKAGE}")
    say_line(fetch_esbuild(tools()))
    if lacks := missing():
        tell(lacks)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="What the bank is called.")],
    folder: Annotated[Path | None, typer.Option(help="Where it goes; else ./NAME.")] = None,
) -> None:
    """Write a bank of one's own: settings, a generator to change, a catalogue of edits, two harness documents."""
    from rsi.banks.scaffold import scaffold
    from rsi.errors import UserError
    from rsi.wiring.check import shipped_banks

    if name in shipped_banks():
        raise UserError(f"'{name}' is a bank that ships with the project; choose another name")
    place = folder or Path(name)
    for path in scaffold(name, place):
        say_line(path)
    say_line(f"next: rsi bank check {place}, then rsi run {place}/run.toml")


def _show(rows: Sequence["CheckRow"], seconds: float) -> None:
    for row in rows:
        note = " (held out)" if row.held_out else ""
        note += f" (bank.toml asks for {row.asked}, only {row.made} differ)" if 0 < row.made < row.asked else ""
        say_line(f"{row.bank:8} {row.split:10} {row.family:20} {row.passed} of {row.tasks} certified{note}")
        for problem in row.problems:
            say_line(f"{'':20}{'quarantined ' if row.made else ''}{problem}")
    for bank, family, refused in dict.fromkeys((row.bank, row.family, row.refused) for row in rows if row.refused):
        say_line(f"{bank:8} {'refused':10} {family:20} {refused}")
    tasks, passed = sum(row.tasks for row in rows), sum(row.passed for row in rows)
    say_line(f"{passed} of {tasks} tasks certified, {tasks - passed} quarantined, in {seconds:.0f} s")
