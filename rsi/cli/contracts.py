"""`rsi contract check|explain|simulate|schema`: what a contract asks, in plain words, and what it would take."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rsi.cli.cycle import DEMO, AsJson, ModelId, SettingsPath, load
from rsi.cli.out import say, say_json, say_line

if TYPE_CHECKING:
    from rsi.gate.contract import Contract

app = typer.Typer(help="Promotion contracts.", no_args_is_help=True)
File = Annotated[Path, typer.Argument(help="A contract (TOML).")]
DEFAULT = Path("contracts/default.toml")


@app.command()
def check(contract: File = DEFAULT) -> None:
    """Parse a contract; exit code 2 names file and key where it is wrong."""
    found = _load(contract)
    say_line(f"{contract}: contract '{found.name}' is in order: {len(found.clause)} clauses, digest {found.digest}")


@app.command()
def explain(contract: File = DEFAULT) -> None:
    """Say in plain words what a candidate must show, and at which error."""
    from rsi.gate.explain import explained

    say("\n".join(explained(_load(contract))))


@app.command()
def schema() -> None:
    """The JSON Schema of a contract (contracts/schema.json)."""
    from rsi.gate.contract import Contract

    say_json(Contract.model_json_schema(), indent=2, sort_keys=True)


@app.command()
def simulate(
    contract: File = DEFAULT,
    gain: Annotated[float, typer.Option(min=-1, max=1, help="The candidate's true gain in pass rate.")] = 0.1,
    tasks: Annotated[int, typer.Option(min=8, max=5000, help="Sealed tasks.")] = 200,
    families: Annotated[int, typer.Option(min=2, max=5000, help="Families that they come from.")] = 40,
    draws: Annotated[int, typer.Option(min=1, max=100, help="Attempts a task and arm.")] = 4,
    tau: Annotated[float, typer.Option(min=0, max=0.5, help="How much the gain differs between tasks.")] = 0.05,
    rate: Annotated[float, typer.Option(min=0, max=1, help="The mean base pass rate.")] = 0.6,
    generation: Annotated[int, typer.Option(min=1, max=10_000, help="Of the lineage: later looks have less.")] = 1,
    verdicts: Annotated[int, typer.Option(min=1, max=100_000, help="Verdicts to simulate.")] = 300,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Judge candidates of a known gain by this contract: how often they are promoted, and at how many attempts."""
    from rsi.errors import UserError
    from rsi.gate.explain import spread
    from rsi.gate.simulate import World, simulated
    from rsi.report.words import points

    if families > tasks:
        raise UserError(f"{tasks} tasks cannot come from {families} families; take more tasks or fewer families")
    world = World(spread(rate), families, tasks, draws, gain, tau)
    found = simulated(_load(contract), world, generation, verdicts)
    if as_json:
        say_json(found)
        return
    promoted = found.promoted
    say_line(f"true gain {gain:+.3g}, {tasks} tasks of {families} families x {draws} an arm, generation {generation}")
    say_line(f"promoted: {promoted.value:.0%} [{promoted.low:.0%}, {promoted.high:.0%}] of {promoted.n} verdicts")
    cost, reported = found.attempts, found.gain
    say_line(f"attempts: {cost.value:.0f} [{cost.low:.0f}, {cost.high:.0f}] on average, of at most {2 * tasks * draws}")
    if reported is not None:
        say_line(f"gain reported of the promoted, on average: {points(reported)} promotions")


gate = typer.Typer(help="The gate.", no_args_is_help=True)


@gate.callback()
def _gate() -> None:
    """The gate."""


@gate.command()
def calibrate(settings: SettingsPath = DEMO, model: ModelId = None, as_json: AsJson = False) -> None:
    """Judge the champion against itself: the noise of the sealed tasks, and whether the contract can show what it asks.
    Exit code 1 where it cannot."""
    import asyncio

    from rsi.cli.progress import Progress
    from rsi.report.words import points
    from rsi.wiring.calibrate import calibrate_gate
    from rsi.wiring.models import fetch_embedded
    from rsi.wiring.run import settle

    with Progress() as progress:
        chosen = settle(load(settings, None, model), progress.say)
        fetch_embedded(chosen.model, progress.say)
        found = asyncio.run(calibrate_gate(chosen, progress.say, progress))
    if as_json:
        say_json(found)
    else:
        say_line(f"the champion against itself: {points(found.difference)} tasks of {found.difference.note}")
        for generation, gain in found.shown.items():
            say_line(f"generation {generation}: a gain of {100 * gain:.0f} points is promoted four times of five")
        say("\n".join(found.problems) or "the contract can show what it asks")
    raise typer.Exit(1 if found.problems else 0)


def _load(path: Path) -> "Contract":
    from rsi.config import project_root
    from rsi.gate.contract import load_contract

    return load_contract(project_root() / path if path == DEFAULT and not path.exists() else path)
