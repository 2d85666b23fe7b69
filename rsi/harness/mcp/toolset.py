"""The tools of a document's MCP servers, as an episode's protocol takes tools."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from rsi.errors import UserError
from rsi.harness.mcp.client import McpTool, call, start
from rsi.harness.repl import Tool, tidy_schema
from rsi.ids import digest
from rsi.ports import Sandbox
from rsi.types import McpServer

SECONDS = 30.0  # of one call
_FAILED = "[error] "
LONGEST = 64  # characters of an offered name
_PLAIN = re.compile(r"[^a-zA-Z0-9_]")
_DESCRIBED = 1000  # characters of a tool's description that a prompt shows


async def mcp_tools(sandbox: Sandbox | None, servers: Sequence[McpServer]) -> tuple[Tool, ...]:
    """Start the servers in the episode's sandbox and offer what they have as `mcp__SERVER__TOOL`. UserError where one
    does not start, or there is no sandbox: never on the host."""
    if not servers:
        return ()
    if sandbox is None:
        raise UserError(f"MCP server '{servers[0].name}' needs a sandbox, and these tasks have none")
    found = await start(sandbox, servers)
    return tuple(_tool(sandbox, tool, name) for tool, name in zip(found, offered_names(found), strict=True))


def offered_names(tools: Sequence[McpTool]) -> list[str]:
    """A name for each, in order: one that every API takes, and a Python identifier. A tool whose own name is one has
    it; where others come down to one name, or to the beginning of theirs, a digest ends it, whatever their order."""
    plain = [_PLAIN.sub("_", tool.called)[:LONGEST] for tool in tools]
    alike, own = Counter(plain), dict[str, McpTool]()
    for tool, name in zip(tools, plain, strict=True):
        if name == tool.called:
            own.setdefault(name, tool)
    names, taken = list[str](), set(own)
    for tool, name in zip(tools, plain, strict=True):
        if own.get(name) is not tool and (alike[name] > 1 or len(tool.called) > LONGEST or name in taken):
            name = next(free for n in count() if (free := _marked(name, tool, n)) not in taken)
        taken.add(name)
        names.append(name)
    return names


def _marked(name: str, tool: McpTool, n: int) -> str:
    return f"{name[: LONGEST - 9]}_{digest([tool.server, tool.name, n])[:8]}"


def _tool(sandbox: Sandbox, found: McpTool, name: str) -> Tool:
    async def run_within(arguments: Mapping[str, Any], seconds: float) -> Any:
        text = await call(sandbox, found.server, found.name, arguments, min(seconds, SECONDS))
        if text.startswith(_FAILED):
            raise UserError(text.removeprefix(_FAILED))
        return text

    async def run(arguments: Mapping[str, Any]) -> Any:
        return await run_within(arguments, SECONDS)

    schema = tidy_schema(found.schema)
    text = f"{' '.join(found.description.split())} Arguments: {json.dumps(schema.get('properties', {}))}"[:_DESCRIBED]
    return Tool(name, text, run, schema, run_within=run_within)
