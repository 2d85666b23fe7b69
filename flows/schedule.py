"""`rsi schedule`: one generation a tick, on a cron expression, one deployment a lineage.

Two ticks may overlap: the lineage's lease in our own store, not Prefect, decides which of them runs. So a second run is
let in at once and ends as Cancelled, instead of waiting in a queue that grows while generations outlast ticks.
"""

from pathlib import Path
from typing import Any

from prefect import State, flow
from prefect.client.schemas.schedules import CronSchedule
from prefect.flows import EntrypointType
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Cancelled, Failed
from pydantic import ValidationError

from flows.generation import PLAIN, Opener, production, stages_as_tasks, waits_for_review
from flows.server import prefect_api
from rsi.config import load_settings
from rsi.errors import LeaseHeld, RsiError, UserError
from rsi.text import escape


def serve(settings_path: Path, cron: str) -> None:
    """Run one generation of the settings' lineage at each tick of `cron` (UTC), until interrupted.

    Serving again replaces the lineage's deployment and its schedule. UserError for a bad cron expression or settings.
    """
    check_cron(cron)
    settings = load_settings(settings_path)
    with prefect_api() as url, temporary_settings({PREFECT_API_URL: url}):
        tick.serve(
            name=f"rsi-{settings.lineage}",
            cron=cron,
            parameters={"settings_path": str(settings_path.absolute())},
            limit=2,
            entrypoint_type=EntrypointType.MODULE_PATH,
            print_starting_message=False,
        )


def check_cron(cron: str) -> None:
    try:
        CronSchedule(cron=cron)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UserError(
            f"--cron '{cron}': not a cron expression ({reason}); five fields are expected, as in '0 3 * * *'"
        ) from None


@flow(name="tick", **PLAIN)
async def tick(settings_path: str) -> State[Any] | None:
    """One scheduled run. The settings are read anew, so that an edit holds from the next tick on."""
    return await run_tick(Path(settings_path), production())


async def run_tick(settings_path: Path, opener: Opener) -> State[Any] | None:
    """Finish the generation that is under way, or run the next one. Expected ends are states, not tracebacks; a
    generation that waits for people is taken up again by each later tick."""
    try:
        async with opener(load_settings(settings_path), _say) as run:
            waits = await stages_as_tasks(run, [run.next_owed()], [])
    except LeaseHeld as error:
        return _ended(Cancelled(message=f"skipped: {error}"))
    except RsiError as error:
        return _ended(Failed(message=str(error)))
    return _ended(waits_for_review(waits)) if waits else None


def _ended(state: State[Any]) -> State[Any]:
    _say(state.message or "")
    return state


def _say(line: str) -> None:
    print(escape(line), flush=True)
