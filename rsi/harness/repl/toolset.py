"""Tools on this side of the sandbox: declared, called by JSON, retried, and refused where a rule says so."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rsi.errors import InfrastructureError, UserError
from rsi.harness.repl.masking import Masked

TRIES = 3
PAUSE = 0.05  # seconds before the first retry, doubled each time
MAX_RESULT = 1_000_000  # characters of a result as JSON


@dataclass(frozen=True)
class Tool:
    """`run` takes the arguments as JSON data and returns JSON data; UserError is told to the caller,
    InfrastructureError is tried again where `idempotent` and ends the attempt otherwise. `commits`: its effect cannot
    be taken back, so it is never batched. `no_ai`: keys of its result whose values the model must not see."""

    name: str
    text: str
    run: Callable[[Mapping[str, Any]], Awaitable[Any]]
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    commits: bool = False
    idempotent: bool = False
    no_ai: tuple[str, ...] = ()


class Calls:
    """The calls of one episode. `begin` starts a block, in which at most one tool that commits may be called."""

    def __init__(self, tools: Sequence[Tool], masked: Masked) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self._masked = masked
        self._committed = ""

    def begin(self) -> None:
        self._committed = ""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """{"result": JSON data} or {"error": text}, as the caller inside is told."""
        tool = self.tools.get(name)
        if tool is None:
            return {"error": f"there is no tool '{name}'; there are: {', '.join(sorted(self.tools)) or 'none'}"}
        if tool.commits and self._committed:
            return {
                "error": f"{name} was not called: {self._committed} has committed in this block; "
                "look at its result, then call again in a new block"
            }
        if tool.commits:
            self._committed = name
        try:
            result = await _tried(tool, arguments)
            text = json.dumps(result, allow_nan=False)
        except UserError as error:
            return {"error": str(error)}
        except (TypeError, ValueError) as error:
            return {"error": f"{name}: its result is not JSON ({error})"}
        if len(text) > MAX_RESULT:
            return {"error": f"{name}: its result has {len(text)} characters, at most {MAX_RESULT} are handed on"}
        self._masked.learn(result, tool.no_ai)
        return {"result": result}


async def _tried(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    for attempt in range(TRIES):
        try:
            return await tool.run(arguments)
        except InfrastructureError:
            if not tool.idempotent or attempt == TRIES - 1:
                raise
            await asyncio.sleep(PAUSE * 2**attempt)
    raise AssertionError
