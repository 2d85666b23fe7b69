"""`rsi doctor` and `rsi model fetch`: what this machine has and can do."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rsi.cli.out import say_json, say_line

if TYPE_CHECKING:
    from rsi.doctor import Finding

model_app = typer.Typer(no_args_is_help=True, help="The embedded model.")


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    settings: Annotated[Path | None, typer.Argument(help="Settings TOML whose model and sandbox are examined.")] = None,
    model: Annotated[bool, typer.Option("--model/--no-model", help="Load the model and ask it for a token.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
) -> None:
    """Say what works here, by starting a sandbox and loading the model; each remedy in one line."""
    from rsi.config import RunSettings, load_settings
    from rsi.doctor import as_rows, examine, ready

    findings = asyncio.run(examine(load_settings(settings) if settings else RunSettings(), model))
    if as_json:
        say_json(as_rows(findings), indent=2)
    else:
        show_findings(findings)
    raise typer.Exit(0 if ready(findings) else 2)


def show_findings(findings: "list[Finding]") -> None:
    """Print one line a check, and its remedy where it failed."""
    from rich.text import Text

    from rsi.report.console import EscapingConsole

    console = EscapingConsole()
    for finding in findings:
        word, style = (
            ("ok", "green") if finding.ok else (("missing", "red") if finding.required else ("absent", "yellow"))
        )
        console.print(Text.assemble((f"{word:8}", style), f"{finding.name:8} {finding.found}"))
        if finding.remedy:
            console.print(Text(f"{'':17}remedy: {finding.remedy}"))


@model_app.command()
def fetch() -> None:
    """Download the embedded model (93 MB), check its digest and convert it, once."""
    from rsi.config import home
    from rsi.models.embedded.fetch import fetch as fetch_model

    say_line(fetch_model(home()))
