"""An MCP server for tests in which any part can be replaced, and how its tools are reached in a real sandbox."""

import json

from rsi.harness.mcp import mcp_tools
from rsi.harness.place import place
from rsi.harness.repl import Calls, Masked
from rsi.types import McpServer, PlacedFile

SERVER = """
import json, os, sys, threading, time

def say(message):
    print(json.dumps(message), flush=True)

def answer(asked, result):
    say({"jsonrpc": "2.0", "id": asked["id"], "result": result})

def text(words):
    return {"content": [{"type": "text", "text": words}]}

def greet(asked):
    answer(asked, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {}})

def listed(asked):
    answer(asked, {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})

def called(asked, name, given):
    answer(asked, text("it is " + name))

# ODD

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked or "method" not in asked:
        continue
    if asked["method"] == "initialize":
        greet(asked)
    elif asked["method"] == "tools/list":
        listed(asked)
    else:
        called(asked, asked["params"]["name"], asked["params"]["arguments"])
"""
SERVED = McpServer(name="s", command="python3", args=("/tmp/hcp/s.py",))


async def offered(sandbox, odd):
    """The tools, by name, of a server in which `odd` replaces functions."""
    await place([PlacedFile(path="s.py", content=SERVER.replace("# ODD", odd), place="runtime")], sandbox)
    return {tool.name: tool for tool in await mcp_tools(sandbox, [SERVED])}


async def ask(tools, name, arguments=None, seconds=10):
    """What the caller of a tool is told, as every protocol calls it."""
    return await Calls(list(tools.values()), Masked()).call(name, arguments or {}, seconds)


def lists(*tools):
    return f"""
TOOLS = json.loads({json.dumps(json.dumps(tools))})

def listed(asked):
    answer(asked, {{"tools": TOOLS}})
"""
