"""The engine's process: serves one engine on a Unix socket until its parent goes away.

    python -m rsi.models.embedded.server   with a JSON `Serve` as first line of stdin

Says "ready" on stdout, or "error" and one line. Ends when stdin closes, which is also how a killed parent is noticed.
It knows the engine and the wire, and neither harness nor store.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import threading
from asyncio import StreamReader, StreamWriter
from pathlib import Path

from pydantic import ValidationError

from rsi.config import ModelSettings
from rsi.errors import RsiError, reason
from rsi.models.embedded.engine import Engine, EngineSettings, load
from rsi.models.wire import BEAT, BEAT_SECONDS, LINE_LIMIT, Call, Reply, failure, line
from rsi.types import Record
from rsi.weights import check_content


class Serve(Record):
    """What the parent wants served. `socket` lies in a folder that only this user can enter."""

    socket: str
    folder: str
    digest: str
    adapters_root: str
    model: ModelSettings


class Connection:
    """One client: many requests at once, answered in the order in which they finish."""

    def __init__(self, engine: Engine, reader: StreamReader, writer: StreamWriter) -> None:
        self._engine, self._reader, self._writer = engine, reader, writer
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def serve(self) -> None:
        beating = asyncio.create_task(self._beat())
        try:
            while text := await self._reader.readline():
                call = Call.model_validate_json(text)
                if call.cancel and call.id in self._tasks:
                    self._tasks[call.id].cancel()
                elif call.request is not None:
                    task = asyncio.create_task(self._answer(call))
                    self._tasks[call.id] = task
                    task.add_done_callback(lambda _, id=call.id: self._tasks.pop(id))  # type: ignore[misc]
        except (ValidationError, ValueError, ConnectionError) as error:
            print(f"a client was dropped: {str(error).splitlines()[0]}", file=sys.stderr)
        finally:
            for task in (beating, *self._tasks.values()):
                task.cancel()
            self._writer.close()

    async def _answer(self, call: Call) -> None:
        assert call.request is not None
        try:
            reply = line(Reply(id=call.id, completion=await self._engine.generate(call.request)))
        except Exception as error:  # noqa: BLE001 whatever it is, this request is answered with it and others go on
            reply = line(failure(call.id, error))
        await self._send(reply)

    async def _beat(self) -> None:
        """Tell the client from time to time that this process is alive, however long an answer takes."""
        while True:
            await self._send(line(BEAT))
            await asyncio.sleep(BEAT_SECONDS)

    async def _send(self, text: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            self._writer.write(text)
            await self._writer.drain()


async def serve(spec: Serve) -> None:
    """Check, load, bind, say ready, serve for ever.

    The files are read whole, so that what is loaded is what its digest says."""
    check_content(Path(spec.folder), spec.digest)
    model, tokenizer = load(Path(spec.folder), spec.model)
    settings = EngineSettings(spec.digest, Path(spec.adapters_root), max_batch=spec.model.max_batch)
    engine = Engine(model, tokenizer, settings)

    async def connected(reader: StreamReader, writer: StreamWriter) -> None:
        await Connection(engine, reader, writer).serve()

    server = await asyncio.start_unix_server(connected, spec.socket, limit=LINE_LIMIT)
    print("ready", flush=True)
    await server.serve_forever()


def _end_with_parent(folder: Path) -> None:
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)  # a killed parent cannot
    os._exit(0)  # torch may be in the middle of a batch that nobody waits for


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt of the terminal is the parent's to answer
    spec = Serve.model_validate_json(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, args=(Path(spec.socket).parent,), daemon=True).start()
    try:
        asyncio.run(serve(spec))
    except Exception as error:  # noqa: BLE001 the parent is told in one line, whatever a model's folder makes of us
        why = str(error) if isinstance(error, RsiError) else f"{spec.folder} cannot be served ({reason(error)})"
        print(f"error {' '.join(why.split())}", flush=True)
        os._exit(2)


if __name__ == "__main__":
    main()
