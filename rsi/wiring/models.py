"""Which model backend `model.id` means, opened and closed; the embedded engine lives in its own process."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rsi.config import ModelSettings, home
from rsi.errors import UserError
from rsi.ids import digest, digest_file
from rsi.models.embedded.client import EngineClient
from rsi.models.embedded.fetch import fetch, fetched, resolve_model
from rsi.models.embedded.process import EngineProcess
from rsi.models.replay import RecordingModel, ReplayModel
from rsi.models.scripted import ScriptedModel, load_table
from rsi.ports import ModelBackend
from rsi.wiring.paths import adapters


@dataclass(frozen=True)
class OpenModel:
    """`folder` is None for what cannot be trained. Inside `absent()` the engine is unloaded and its memory free.
    `notes`: a line for each thing that a server cannot do."""

    backend: ModelBackend
    base_digest: str
    folder: Path | None
    absent: Callable[[], AbstractAsyncContextManager[None]]
    notes: tuple[str, ...] = ()


def keep_quiet(line: str) -> None:
    """For those who show nothing."""


@asynccontextmanager
async def open_model(settings: ModelSettings, say: Callable[[str], None] = keep_quiet) -> AsyncIterator[OpenModel]:
    """Open `settings.id`. UserError where it is not there or its credentials are missing. A server is asked for what it
    can do; `say` is told what comes up later."""
    kind, _, rest = settings.id.partition(":")
    if kind in ("scripted", "replay", "http", "https"):
        backend, base_digest, notes = await _open_light(settings, kind, Path(rest), say)
        if settings.record is not None:
            backend = RecordingModel(backend, Path(settings.record))
        try:
            yield OpenModel(backend, base_digest, None, _stays, notes)
        finally:
            await backend.close()
        return
    if settings.record is not None:
        raise UserError("'model.record': only scripted models and URLs are recorded; the embedded one has seeds")
    folder = await asyncio.to_thread(resolve_model, settings.id, home())
    process = EngineProcess(folder, adapters(), settings)
    await asyncio.to_thread(process.start)
    client = EngineClient(process.address)
    try:
        yield OpenModel(client, folder.digest, folder.path, lambda: _absent(process))
    finally:
        await client.close()
        await asyncio.to_thread(process.stop)


def fetch_embedded(settings: ModelSettings, say: Callable[[str], None]) -> None:
    """Fetch the embedded model where the settings ask for it and it is not there."""
    if settings.id == "embedded" and not fetched(home()):
        say("model: the embedded model is fetched once (93 MB)")
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:  # its memory comes back
            process.submit(fetch, home()).result()


async def _open_light(
    settings: ModelSettings, kind: str, rest: Path, say: Callable[[str], None]
) -> tuple[ModelBackend, str, tuple[str, ...]]:
    """A backend without a process of its own, the digest that stands for its weights, and what it cannot do."""
    if kind == "scripted":
        table = load_table(rest)
        return ScriptedModel(table), table.digest, ()
    if kind == "replay":
        return ReplayModel(rest), digest_file(rest)[:32], ()
    from rsi.models.openai import OpenAIModel

    model = OpenAIModel(settings)
    model.say = say
    try:
        return model, digest(["url", settings.id]), await model.learn()
    except BaseException:
        await model.close()
        raise


@asynccontextmanager
async def _absent(process: EngineProcess) -> AsyncIterator[None]:
    await asyncio.to_thread(process.stop)
    try:
        yield
    finally:
        await asyncio.to_thread(process.start)


@asynccontextmanager
async def _stays() -> AsyncIterator[None]:
    yield
