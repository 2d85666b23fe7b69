"""Tools on this side of the sandbox: declared, called by JSON, retried, and refused where a rule says so."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rsi.errors import InfrastructureError, UserError
from rsi.harness.repl.masking import Masked
from rsi.harness.repl.schema import tidy_schema

TRIES = 3
PAUSE = 0.05  # seconds before the first retry, doubled each time
MAX_RESULT = 1_000_000  # characters of a result as JSON


@dataclass(frozen=True)
class Tool:
    """`run` takes the arguments as JSON data and returns JSON data; UserError is told to the caller,
    InfrastructureError is tried again where `idempotent` and ends the attempt otherwise. `run_within`, where given, is
    called in its place with the seconds that are left, ends by itself, and is never cancelled. `schema` is tidied.
    `commits`: its effect cannot be taken back, so it is never batched. `no_ai`: keys of its result whose values the
    model must not see."""

    name: str
    text: str
    run: Callable[[Mapping[str, Any]], Awaitable[Any]]
    schema: Mapping[str, Any] = field(default_factory=dict)
    commits: bool = False
    idempotent: bool = False
    no_ai: tuple[str, ...] = ()
    run_within: Callable[[Mapping[str, Any], float], Awaitable[Any]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", tidy_schema(self.schema))


class Calls:
    """The calls of one episode. `begin` starts a block, in which at most one tool that commits may be called."""

    def __init__(self, tools: Sequence[Tool], masked: Masked) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self._masked = masked
        self._committed = ""

    def begin(self) -> None:
        self._committed = ""

    async def call(self, name: str, arguments: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """{"result": JSON data} or {"error": text}, as the caller inside is told, within `seconds`."""
        tool = self.tools.get(name)
        if tool is None:
            return {"error": f"there is no tool '{name[:100]}'; there are: {', '.join(sorted(self.tools)) or 'none'}"}
        if wrong := _wrong(tool, arguments):
            return {"error": wrong}
        if tool.commits and self._committed:
            return {
                "error": f"{name} was not called: {self._committed} has committed in this block; "
                "look at its result, then call again in a new block"
            }
        if tool.commits:
            self._committed = name
        try:
            result = await _in_time(tool, arguments, max(seconds, 0.01))
            text = json.dumps(result, allow_nan=False)
        except UserError as error:
            return {"error": str(error)}
        except TimeoutError:
            return {"error": f"{name}: no result in the time that was left"}
        except InfrastructureError:
            raise
        except Exception as error:  # noqa: BLE001 arguments that the tool cannot take, which the caller chose
            return {"error": f"{name}: {type(error).__name__}: {error}"[:300]}
        if len(text) > MAX_RESULT:
            return {"error": f"{name}: its result has {len(text)} characters, at most {MAX_RESULT} are handed on"}
        self._masked.learn(result, tool.no_ai)
        return {"result": result}


def _wrong(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """What of a call is no JSON, or contradicts the tool's schema: missing arguments, and unknown ones where it allows
    no others."""
    try:
        json.dumps(dict(arguments), allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        return f"{tool.name}: the arguments are not JSON ({error})"[:300]
    if missing := [name for name in tool.schema.get("required", ()) if name not in arguments]:
        return f"{tool.name}: missing: {', '.join(missing)}"[:300]
    known, closed = tool.schema.get("properties", {}), tool.schema.get("additionalProperties") is False
    unknown = [name for name in arguments if closed and name not in known]
    return f"{tool.name}: unknown arguments: {', '.join(unknown)}"[:300] if unknown else ""


async def _in_time(tool: Tool, arguments: Mapping[str, Any], seconds: float) -> Any:
    if tool.run_within is not None:
        return await tool.run_within(arguments, seconds)
    return await asyncio.wait_for(_tried(tool, arguments), seconds)


async def _tried(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    for attempt in range(TRIES):
        try:
            return await tool.run(arguments)
        except InfrastructureError:
            if not tool.idempotent or attempt == TRIES - 1:
                raise
            await asyncio.sleep(PAUSE * 2**attempt)
    raise AssertionError
