"""A model backend that asks an engine's process. Imports no torch; what is pickled is the address alone."""

import asyncio
import contextlib
import itertools
from asyncio import StreamReader, StreamWriter

from rsi.errors import ContextOverflow
from rsi.models.wire import LINE_LIMIT, SILENT_SECONDS, Call, Reply, gone, line
from rsi.types import Completion, ModelRequest


class _Link:
    """One connection on one event loop: replies find their request by number, in whatever order they come."""

    def __init__(self, address: str, reader: StreamReader, writer: StreamWriter) -> None:
        self.loop = asyncio.get_running_loop()
        self.lost = False
        self._address, self._reader, self._writer = address, reader, writer
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[Completion]] = {}
        self._listener = self.loop.create_task(self._listen())

    async def ask(self, request: ModelRequest) -> Completion:
        id, answer = next(self._ids), self.loop.create_future()
        if len(text := line(Call(id=id, request=request))) > LINE_LIMIT:
            raise ContextOverflow(f"the request has {len(text) >> 20} MB, the engine takes {LINE_LIMIT >> 20}")
        self._waiting[id] = answer
        try:
            self._writer.write(text)
            await self._writer.drain()
            return await answer  # type: ignore[no-any-return]
        except ConnectionError as error:
            raise gone(self._address, error) from None
        except asyncio.CancelledError:
            if not self.lost:
                self._writer.write(line(Call(id=id, cancel=True)))
            raise
        finally:
            self._waiting.pop(id, None)

    async def close(self) -> None:
        self._listener.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listener
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def _listen(self) -> None:
        why: object = "it closed the connection"
        try:
            while text := await self._next_line():
                reply = Reply.model_validate_json(text)
                waiting = self._waiting.get(reply.id)
                if waiting is None or waiting.done():
                    continue
                if reply.completion is not None:
                    waiting.set_result(reply.completion)
                else:
                    waiting.set_exception(reply.raised())
        except (OSError, ValueError) as error:  # a reset connection, a torn line
            why = error
        finally:
            self.lost = True
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(gone(self._address, why))
            self._writer.transport.abort()  # nothing that was not sent is of use to anybody

    async def _next_line(self) -> bytes:
        """The next line; empty at the end. TimeoutError after SILENT_SECONDS, counted in quarters: a loop that was kept
        busy itself sees one of them end, and then what has come meanwhile."""
        reading = asyncio.ensure_future(self._reader.readline())
        try:
            for _ in range(4):
                if (await asyncio.wait({reading}, timeout=SILENT_SECONDS / 4))[0]:
                    return reading.result()
            raise TimeoutError(f"it has been silent for {SILENT_SECONDS:.0f} s")
        finally:
            reading.cancel()


class EngineClient:
    """ModelBackend over the engine at `address`. Connects at the first request, and again after the engine came back;
    raises InfrastructureError while it is gone. Picklable; each event loop has its own connection."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._link: _Link | None = None
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    def __reduce__(self) -> tuple[type["EngineClient"], tuple[str]]:
        return EngineClient, (self.address,)

    async def generate(self, request: ModelRequest) -> Completion:
        return await (await self._connected()).ask(request)

    async def close(self) -> None:
        link, self._link = self._link, None
        if link is not None and link.loop is asyncio.get_running_loop():
            await link.close()

    async def _connected(self) -> _Link:
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
        async with self._lock[1]:
            if self._link is None or self._link.lost or self._link.loop is not loop:
                try:
                    reader, writer = await asyncio.open_unix_connection(self.address, limit=LINE_LIMIT)
                except OSError as error:
                    raise gone(self.address, error.strerror or error) from None
                self._link = _Link(self.address, reader, writer)
            return self._link
