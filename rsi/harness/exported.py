"""A sandbox whose every command sees some environment variables more. Their values are in no record."""

import shlex
from collections.abc import Mapping

from rsi.ports import ExecResult, Sandbox, Workspace


class Exported:
    """The sandbox `inner` with `values` exported before each command."""

    def __init__(self, inner: Sandbox, values: Mapping[str, str]) -> None:
        self._inner = inner
        self._prefix = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(values.items()))

    async def exec(self, command: str, timeout: float, limit: int = 100_000) -> ExecResult:
        return await self._inner.exec(self._prefix + command, timeout, limit)

    async def put(self, files: Mapping[str, bytes]) -> None:
        await self._inner.put(files)

    async def get(self, limit: int = 16_000_000) -> Workspace:
        return await self._inner.get(limit)

    async def close(self) -> None:
        await self._inner.close()
