"""`rsi bank check`: every task of a bank proves itself."""

import asyncio
import json
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Task banks.")


@app.callback()
def bank() -> None:
    """Task banks."""


@app.command()
def check(
    name: Annotated[str, typer.Argument(help="A bank under task_banks/, or a folder.")] = "shell",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
) -> None:
    """Certify each task: reference passes, doing nothing fails, repeats agree, no open one is near a sealed one."""
    from dataclasses import asdict

    from rsi.cli.progress import Progress
    from rsi.wiring.check import check_whole_bank

    with Progress() as progress:
        rows = asyncio.run(check_whole_bank(name, lambda done, total: progress(f"certify {name}", done, total)))
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        for row in rows:
            note = " (held out)" if row.held_out else ""
            print(f"{row.split:10} {row.family:20} {row.passed} of {row.tasks} proved{note}")
            for problem in row.problems:
                print(f"{'':11}quarantined {problem}")
    raise typer.Exit(0 if all(row.passed == row.tasks for row in rows) else 1)
