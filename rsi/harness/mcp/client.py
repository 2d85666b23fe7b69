"""Tools of MCP servers, which run in the episode's sandbox and nowhere else.

The server shares the sandbox with the agent: it is a tool, and nothing of it is trusted. What it says may enter a
prompt, so it is bounded. A sandbox without python3 cannot have such servers."""

import base64
import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rsi.errors import UserError
from rsi.harness.place import RUNTIME, place
from rsi.ports import Sandbox
from rsi.text import parse_json
from rsi.types import McpServer, PlacedFile

START_SECONDS = 20.0
MAX_ARGUMENTS = 80_000  # characters of JSON; it must fit into one argument
MAX_TOOLS = 64  # of a server
MAX_PAGES = 64  # of its list, each at most as long as one answer
MAX_NAME = 500  # characters
MAX_TEXT = 4000  # characters of a description
_RELAY = f"{RUNTIME}/relay.py"


@dataclass(frozen=True)
class McpTool:
    """A tool of a server. `schema` is the JSON Schema of its arguments, as the server says it."""

    server: str
    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """What the model calls it."""
        return f"mcp__{self.server}__{self.name}"


async def start(sandbox: Sandbox, servers: Sequence[McpServer]) -> tuple[McpTool, ...]:
    """Start every server of an episode, and list their tools. UserError, at once, where one does not come up: there is
    no falling back to the host."""
    if not servers:
        return ()
    relay = (Path(__file__).parent / "relay.py").read_text(encoding="utf8")
    await place([PlacedFile(path="relay.py", content=relay, place="runtime")], sandbox)
    tools: list[McpTool] = []
    for server in servers:
        settings = [f"{name}={value}" for name, value in sorted(server.env.items())]
        command = shlex.join(["env", *settings, server.command, *server.args])
        run = f"exec python3 -I {_RELAY} start {_folder(server.name)} {START_SECONDS:g} {command}"
        result = await sandbox.exec(run, START_SECONDS + 5, 2000)
        if result.exit_code:
            why = " ".join((result.stderr or result.stdout).split())[:300] or f"exit code {result.exit_code}"
            raise UserError(f"MCP server '{server.name}' does not start in the sandbox: {why}")
        tools += await list_tools(sandbox, server.name)
    return tuple(tools)


async def list_tools(sandbox: Sandbox, server: str, timeout: float = START_SECONDS) -> tuple[McpTool, ...]:
    """The tools of a server that runs, page by page, at most MAX_TOOLS. UserError where a page is none that can be
    read. A cursor that came before ends the list."""
    tools: dict[str, McpTool] = {}
    cursors, params, ends = set[object](), dict[str, Any](), time.monotonic() + timeout
    while True:
        answer = await _ask(sandbox, server, "tools/list", params, ends - time.monotonic())
        page = answer.get("result")
        listed = page.get("tools") if isinstance(page, dict) else None
        if not isinstance(page, dict) or not isinstance(listed, list):
            raise UserError(f"MCP server '{server}' lists no tools: {answer.get('error', 'malformed answer')}")
        for tool in filter(None, (_tool(server, said) for said in listed)):
            tools.setdefault(tool.name, tool)
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str | int) or cursor in {"", *cursors} or len(cursors) == MAX_PAGES:
            break
        if len(tools) >= MAX_TOOLS:
            break
        cursors.add(cursor)
        params = {"cursor": cursor}
    return tuple(tools.values())[:MAX_TOOLS]


def _tool(server: str, said: object) -> McpTool | None:
    """A tool as a server says it; what it says in a wrong type is as if absent."""
    if not isinstance(said, dict) or not isinstance(name := said.get("name"), str) or len(name) > MAX_NAME:
        return None
    text, schema = said.get("description"), said.get("inputSchema")
    text = text[:MAX_TEXT] if isinstance(text, str) else ""
    return McpTool(server, name, text, schema if isinstance(schema, dict) else {})


async def call(sandbox: Sandbox, server: str, tool: str, arguments: Mapping[str, Any], timeout: float) -> str:
    """What the tool answered, as text; what went wrong begins with "[error]". Raises InfrastructureError only."""
    answer = await _ask(sandbox, server, "tools/call", {"name": tool, "arguments": dict(arguments)}, timeout)
    result = answer.get("result")
    if not isinstance(result, dict):
        return f"[error] {answer.get('error', 'malformed answer')}"
    parts = result.get("content")
    texts = [_text(part) for part in parts] if isinstance(parts, list) else [parts] if isinstance(parts, str) else []
    if not texts and result.get("structuredContent") is not None:
        texts = [json.dumps(result["structuredContent"], ensure_ascii=False)]
    text = "\n".join(texts) or "[no output]"
    return f"[error] {text}" if result.get("isError") else text


async def _ask(
    sandbox: Sandbox, server: str, method: str, params: Mapping[str, Any], timeout: float
) -> Mapping[str, Any]:
    """The relay's answer: `result` or `error`."""
    request = json.dumps({"method": method, "params": params})
    if len(request) > MAX_ARGUMENTS:
        return {"error": f"the arguments are longer than {MAX_ARGUMENTS} characters"}
    encoded = base64.b64encode(request.encode()).decode()
    timeout = max(timeout, 0.1)
    inner = max(
        timeout - 1, timeout / 2
    )  # the relay gives up first: a time-out of the sandbox would end the server too
    result = await sandbox.exec(
        f"exec python3 -I {_RELAY} ask {_folder(server)} {inner:g} {encoded}", timeout + 1, 1_000_000
    )
    if result.exit_code:
        return {"error": " ".join(result.stderr.split())[:500] or f"exit code {result.exit_code}"}
    try:
        answer = parse_json(result.stdout)
    except ValueError:
        return {"error": "the answer is not JSON, or too long"}
    return answer if isinstance(answer, dict) else {"error": "malformed answer"}


def _folder(server: str) -> str:
    return shlex.quote(f"{RUNTIME}/mcp/{server}")


def _text(part: object) -> str:
    """One part of a result: its text, or what a text of it is within; else what kind it is."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return "[unknown content]"
    kind, inner = part.get("type"), part.get("resource")
    said = inner if kind == "resource" and isinstance(inner, dict) else part
    if kind in ("text", "resource") and isinstance(said.get("text"), str):
        return str(said["text"])
    place = said.get("uri") if kind in ("resource", "resource_link") else None
    return f"[{kind if isinstance(kind, str) else 'unknown'} content{f': {place}' if isinstance(place, str) else ''}]"
