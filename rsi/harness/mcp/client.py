"""Tools of MCP servers, which run in the episode's sandbox and nowhere else.

The server shares the sandbox with the agent: it is a tool, and nothing of it is trusted. What it says may enter a
prompt, so it is bounded. A sandbox without python3 cannot have such servers."""

import base64
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rsi.errors import UserError
from rsi.harness.place import RUNTIME, place
from rsi.ports import Sandbox
from rsi.types import McpServer, PlacedFile

START_SECONDS = 20.0
MAX_ARGUMENTS = 80_000  # characters of JSON; it must fit into one argument
MAX_TOOLS = 64  # of a server
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
    """The tools of a server that runs, at most MAX_TOOLS. UserError where it lists none in a shape that can be read."""
    answer = await _ask(sandbox, server, "tools/list", {}, timeout)
    listed = answer.get("result")
    tools = listed.get("tools") if isinstance(listed, dict) else None
    if not isinstance(tools, list):
        raise UserError(f"MCP server '{server}' lists no tools: {answer.get('error', 'malformed answer')}")
    return tuple(
        McpTool(
            server,
            tool["name"],
            str(tool.get("description", ""))[:MAX_TEXT],
            tool["inputSchema"] if isinstance(tool.get("inputSchema"), dict) else {},
        )
        for tool in tools[:MAX_TOOLS]
        if isinstance(tool, dict) and isinstance(tool.get("name"), str)
    )


async def call(sandbox: Sandbox, server: str, tool: str, arguments: Mapping[str, Any], timeout: float) -> str:
    """What the tool answered, as text; what went wrong begins with "[error]". Raises InfrastructureError only."""
    answer = await _ask(sandbox, server, "tools/call", {"name": tool, "arguments": dict(arguments)}, timeout)
    result = answer.get("result")
    if not isinstance(result, dict):
        return f"[error] {answer.get('error', 'malformed answer')}"
    parts = result.get("content")
    texts = [_text(part) for part in parts] if isinstance(parts, list) else []
    if not texts and "structuredContent" in result:
        texts = [json.dumps(result["structuredContent"])]
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
    inner = max(timeout - 1, 0.5)  # the relay gives up first: a time-out of the sandbox would end the server too
    result = await sandbox.exec(
        f"exec python3 -I {_RELAY} ask {_folder(server)} {inner:g} {encoded}", timeout + 1, 1_000_000
    )
    if result.exit_code:
        return {"error": " ".join(result.stderr.split())[:500] or f"exit code {result.exit_code}"}
    try:
        answer = json.loads(result.stdout)
    except (ValueError, RecursionError):
        return {"error": "the answer is not JSON, or too long"}
    return answer if isinstance(answer, dict) else {"error": "malformed answer"}


def _folder(server: str) -> str:
    return shlex.quote(f"{RUNTIME}/mcp/{server}")


def _text(part: Any) -> str:
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = part.get("type") if isinstance(part, dict) else None
    return f"[{kind if isinstance(kind, str) else 'unknown'} content]"
