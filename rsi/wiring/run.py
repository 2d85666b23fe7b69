"""A lineage's run: everything opened once, in order, and closed again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager

from rsi.config import ModelSettings, RunSettings
from rsi.errors import UserError
from rsi.generation import Cycle
from rsi.hcp.document import Document
from rsi.registry.champions import Champions
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.text import show_url
from rsi.types import Pair, PairRecord
from rsi.wiring.artifacts import check_adapters
from rsi.wiring.inputs import Say, read
from rsi.wiring.ledger import hold, key_of
from rsi.wiring.models import OpenModel, open_model
from rsi.wiring.parts import Books, Progress, make_executor, parts

Opener = Callable[[ModelSettings, Say], AbstractAsyncContextManager[OpenModel]]


def no_progress(purpose: str, done: int, total: int) -> None:
    return None


def settle(settings: RunSettings, say: Say) -> RunSettings:
    """The settings as they hold on this machine: those of the fallback bank where the bank cannot be run. UserError,
    before a model is fetched or loaded, where a file that they name is missing or malformed."""
    return asyncio.run(read(settings, say)).place.settings


@asynccontextmanager
async def open_run(
    settings: RunSettings, say: Say, progress: Progress = no_progress, opener: Opener = open_model
) -> AsyncIterator[Cycle]:
    """The cycle of a lineage, under its lease. UserError or LeaseHeld before anything is drawn."""
    inputs = await read(settings, say)
    settings = inputs.place.settings
    key = key_of(settings)
    with ExitStack() as stack:
        database = open_database()
        stack.callback(database.close)
        lease = stack.enter_context(acquire(database, settings.lineage))
        hold(settings, database, key, say)
        if (champion := Champions(database).current(settings.lineage)) is not None:
            check_adapters(champion)
        async with AsyncExitStack() as resources:
            model = await resources.enter_async_context(opener(settings.model, say))
            for note in model.notes:
                say(note)
            executor = make_executor(inputs.place, model)
            resources.push_async_callback(executor.close)
            start(settings, model, inputs.document, Champions(database, lease, key))
            if model.folder is None and settings.update.steps:
                say(f"model '{show_url(settings.model.id)}' cannot be trained: the harness alone is searched")
            yield Cycle(settings, parts(inputs, Books(database, lease, key), model, executor, say, progress))


async def run_plain(settings: RunSettings, say: Say, progress: Progress = no_progress) -> None:
    """Run what generations 1..`settings.generations` owe, without Prefect."""
    async with open_run(settings, say, progress) as cycle:
        owed = cycle.owed(settings.generations)
        if not owed:
            say(f"nothing is owed: all {settings.generations} generations are done; --generations asks for more")
        for generation in owed:
            await cycle.run(generation)


def start(settings: RunSettings, model: OpenModel, document: Document, champions: Champions) -> None:
    """Make the founding pair champion where the lineage has none. UserError where it stands on another base."""
    champion = champions.current(settings.lineage)
    if champion is None:
        pair = Pair(base=model.base_digest, hcp=document.digest)
        champions.start(
            PairRecord(pair=pair, lineage=settings.lineage, generation=0, parent=None, document=document.text)
        )
    elif champion.pair.base != model.base_digest:
        raise UserError(
            f"lineage '{settings.lineage}' stands on base {champion.pair.base[:12]}, model "
            f"'{show_url(settings.model.id)}' is {model.base_digest[:12]}; use that model, or another lineage"
        )
