"""`rsi run`, `demo`, `status`, `report`, `schedule`: the generations of a lineage."""

import asyncio
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rsi.cli.out import say, say_json, tell

if TYPE_CHECKING:
    from rsi.config import RunSettings

DEMO = Path("demo.toml")
SettingsPath = Annotated[Path, typer.Argument(help="Settings (TOML).")]
Generations = Annotated[
    int | None, typer.Option(min=0, max=10_000, help="How many generations the lineage shall have.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON value.")]
ModelId = Annotated[str | None, typer.Option("--model", help="embedded, a folder or hub id, a URL, scripted:FILE.")]


def register(app: typer.Typer) -> None:
    for command in (run, demo, status, report, schedule):
        app.command()(command)


def run(settings: SettingsPath = DEMO, generations: Generations = None, model: ModelId = None) -> None:
    """Run the generations that a lineage still owes; a killed run continues where it was."""
    from rsi.cli.progress import Progress
    from rsi.wiring.budget import watched
    from rsi.wiring.models import fetch_embedded
    from rsi.wiring.results import show_results
    from rsi.wiring.run import run_plain, settle

    with Progress() as progress, watched() as usage:
        chosen = settle(load(settings, generations, model), progress.say)
        fetch_embedded(chosen.model, progress.say)
        with _waiting_at(settings):
            asyncio.run(run_plain(chosen, progress.say, progress))
    show_results(chosen, usage.figures(chosen.budget))


def demo(generations: Generations = None, model: ModelId = None) -> None:
    """The doctor, then two generations on the embedded model through Prefect, then a table of what came of them."""
    from flows import prepare_environment
    from rsi.cli.machine import show_findings
    from rsi.cli.progress import Progress
    from rsi.config import home
    from rsi.doctor import examine, ready
    from rsi.wiring.budget import watched
    from rsi.wiring.models import fetch_embedded
    from rsi.wiring.results import show_results
    from rsi.wiring.run import open_run, settle

    prepare_environment(home())
    from flows.generation import run_generations

    with Progress() as progress, watched() as usage:
        chosen = load(DEMO, generations, model)
        fetch_embedded(chosen.model, progress.say)
        findings = asyncio.run(examine(chosen))
        show_findings(findings)
        if not ready(findings):
            raise typer.Exit(2)
        chosen = settle(chosen, progress.say)
        opener = functools.partial(open_run, progress=progress)
        run_generations(chosen, chosen.generations, progress.say, opener)
    show_results(chosen, usage.figures(chosen.budget))


def status(settings: SettingsPath = DEMO, as_json: AsJson = False) -> None:
    """The table of a lineage's generations so far."""
    from rsi.wiring.results import dump_results, show_results

    chosen = settled(settings)
    if as_json:
        say_json(dump_results(chosen))
    else:
        show_results(chosen)


def report(settings: SettingsPath = DEMO) -> None:
    """Write the lineage's reports, and MLflow's mirror of it, anew from the store."""
    from rsi.wiring.results import rewrite_reports

    rewrite_reports(settled(settings), say)


def schedule(
    settings: SettingsPath = DEMO,
    cron: Annotated[str, typer.Option(help="When a generation starts, as in '0 3 * * *' (UTC).")] = "0 3 * * *",
) -> None:
    """Serve the lineage on a schedule, through Prefect, until interrupted."""
    from flows import prepare_environment
    from rsi.config import home
    from rsi.wiring.models import fetch_embedded

    prepare_environment(home())
    from flows.schedule import check_cron, serve

    check_cron(cron)
    fetch_embedded(settled(settings).model, tell)
    serve(settings, cron)


@contextmanager
def _waiting_at(settings: Path) -> Iterator[None]:
    """What waits is shown by a command that names the settings too, so that it can be typed as it stands."""
    from rsi.errors import ReviewPending

    try:
        yield
    except ReviewPending as pending:
        raise ReviewPending(str(pending) if settings == DEMO else f"{pending} {settings}") from None


def settled(path: Path) -> "RunSettings":
    """The settings in a file as they hold on this machine."""
    from rsi.wiring.run import settle

    return settle(load(path), tell)


def load(path: Path, generations: int | None = None, model: str | None = None) -> "RunSettings":
    """The settings in a file, or of the project's demo; with what the command line says on top."""
    from rsi.config import load_settings, project_root

    if path == DEMO and not path.exists():
        path = project_root() / DEMO
    settings = load_settings(path)
    if generations is not None:
        settings = settings.model_copy(update={"generations": generations})
    if model is not None:
        settings = settings.model_copy(update={"model": settings.model.model_copy(update={"id": model})})
    return settings
