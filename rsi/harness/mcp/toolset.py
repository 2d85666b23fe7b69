"""The tools of a document's MCP servers, as an episode's protocol takes tools."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rsi.errors import UserError
from rsi.harness.mcp.client import McpTool, call, start
from rsi.harness.repl import Tool
from rsi.ports import Sandbox
from rsi.types import McpServer

SECONDS = 30.0  # of one call
_FAILED = "[error] "
_DESCRIBED = 1000  # characters of a tool's description that a prompt shows


async def mcp_tools(sandbox: Sandbox | None, servers: Sequence[McpServer]) -> tuple[Tool, ...]:
    """Start the servers in the episode's sandbox and offer what they have as `mcp__SERVER__TOOL`. UserError where one
    does not start, or there is no sandbox: never on the host."""
    if not servers:
        return ()
    if sandbox is None:
        raise UserError(f"MCP server '{servers[0].name}' needs a sandbox, and these tasks have none")
    offered: dict[str, Tool] = {}
    for found in await start(sandbox, servers):
        tool = _tool(sandbox, found)
        offered.setdefault(tool.name, tool)
    return tuple(offered.values())


def _tool(sandbox: Sandbox, found: McpTool) -> Tool:
    async def run(arguments: Mapping[str, Any]) -> Any:
        text = await call(sandbox, found.server, found.name, arguments, SECONDS)
        if text.startswith(_FAILED):
            raise UserError(text.removeprefix(_FAILED))
        return text

    schema = found.schema or {"type": "object"}
    takes = json.dumps(schema.get("properties", {}))
    text = f"{' '.join(found.description.split())} Arguments: {takes}"[:_DESCRIBED]
    return Tool(name=re.sub(r"\W", "_", found.called, flags=re.ASCII), text=text, run=run, schema=schema)
