"""A small MCP server over stdio, for tests: `add`, `slow`, `broken`, `env`."""

import json
import os
import sys
import time
from pathlib import Path

TOOLS = [
    {"name": "add", "description": "Adds.", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}},
    {"name": "slow"}, {"name": "broken"}, {"name": "env"}, {"name": "die"}, {"name": "long"},
]  # fmt: skip


def result(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {}}
    if method == "tools/list":
        return {"tools": TOOLS}
    name, given = params["name"], params["arguments"]
    if name == "slow":
        time.sleep(60)
    if name == "die":
        sys.exit(1)
    text = {
        "add": lambda: str(given["a"] + given["b"]),
        "env": lambda: f"{os.environ.get('FROM_SERVER')} {os.environ.get('FROM_DOCUMENT')} {Path.cwd()}",
        "long": lambda: "x" * 300_000,
    }.get(name, lambda: "it broke")()
    return {"content": [{"type": "text", "text": text}, {"type": "image", "data": ""}], "isError": name == "broken"}


if "--fail" in sys.argv:
    sys.exit("cannot find my database")
print("not JSON, as some servers print")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
    print(json.dumps({"jsonrpc": "2.0", "id": 77, "method": "ping"}), flush=True)
    sys.stdin.readline()
    print(
        json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result(asked["method"], asked["params"])}),
        flush=True,
    )
