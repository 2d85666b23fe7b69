"""Sandboxes started ahead of their use, over any provider. Each is used once: none is ever handed on.

It must not know what kind of sandbox it keeps, nor what for.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping
from types import TracebackType

from rsi.errors import InfrastructureError
from rsi.ports import ExecResult, Sandbox, SandboxProvider, Workspace


class Pooled:
    """A provider with `size` (at least 1) sandboxes ready or starting from the first `open` on. For one event loop.

    Close it, or leave it as a context manager: everything that it opened is then ended, also what is still in use."""

    def __init__(self, provider: SandboxProvider, size: int) -> None:
        if size < 1:
            raise ValueError("a pool keeps at least one sandbox ready")
        self._provider, self._size = provider, size
        self._ready: deque[asyncio.Task[Sandbox]] = deque()
        self._lent: set[Lent] = set()
        self._closed = False

    @property
    def identity(self) -> str:
        return self._provider.identity

    @property
    def limits(self) -> Mapping[str, str]:
        return self._provider.limits

    async def open(self) -> "Lent":
        """The sandbox that has been starting for longest. Raises InfrastructureError where it did not start."""
        if self._closed:
            raise InfrastructureError("the pool of sandboxes is closed")
        self._fill()
        taken = self._ready.popleft()
        try:
            sandbox = await asyncio.shield(taken)
        except asyncio.CancelledError:
            if self._closed:  # nobody comes for it any more
                with contextlib.suppress(InfrastructureError):
                    await (await asyncio.shield(taken)).close()
            else:
                self._ready.appendleft(taken)  # whoever comes next takes it, or `close` ends it
            raise
        if self._closed:
            await sandbox.close()
            raise InfrastructureError("the pool of sandboxes is closed")
        self._fill()
        return Lent(sandbox, self._lent)

    def _fill(self) -> None:
        while len(self._ready) < self._size:
            self._ready.append(asyncio.create_task(self._start()))

    async def _start(self) -> Sandbox:
        return await self._provider.open()

    async def close(self) -> None:
        """End every sandbox. A cancellation waits until that is done, for one left behind holds memory."""
        self._closed = True
        ending, cancelled = asyncio.ensure_future(self._end()), False
        while not ending.done():
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            raise asyncio.CancelledError

    async def _end(self) -> None:
        ready, self._ready = self._ready, deque()
        started = await asyncio.gather(*ready, return_exceptions=True)
        left = [one for one in started if not isinstance(one, BaseException)]
        await asyncio.gather(*(one.close() for one in (*left, *self._lent)))

    async def __aenter__(self) -> "Pooled":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Lent:
    """A sandbox of a pool, which knows that it is out until it is closed."""

    def __init__(self, inner: Sandbox, out: "set[Lent]") -> None:
        self.inner, self._out = inner, out
        out.add(self)

    async def exec(self, command: str, timeout: float, limit: int = 100_000) -> ExecResult:
        return await self.inner.exec(command, timeout, limit)

    async def put(self, files: Mapping[str, bytes]) -> None:
        await self.inner.put(files)

    async def get(self, limit: int = 16_000_000) -> Workspace:
        return await self.inner.get(limit)

    async def close(self) -> None:
        await self.inner.close()
        self._out.discard(self)
