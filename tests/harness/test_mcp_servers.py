"""MCP servers as they come: pages, names, schemas, logs, results. Each in a real sandbox; what it says is data."""

import json
import re

import pytest

from rsi.errors import InfrastructureError, UserError
from rsi.harness.mcp import McpTool, call, mcp_tools
from rsi.harness.mcp.client import MAX_TOOLS
from rsi.harness.mcp.toolset import offered_names
from rsi.harness.place import place
from rsi.harness.repl import Calls, Masked
from rsi.sandbox.bubblewrap import Bubblewrap
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


@pytest.fixture
async def sandbox():
    try:
        opened = await Bubblewrap().open()
    except InfrastructureError as error:
        pytest.skip(f"no bubblewrap sandbox here: {error}")
    yield opened
    await opened.close()


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


async def test_pages_are_followed(sandbox):
    odd = """
def listed(asked):
    at = int(asked["params"].get("cursor", 0))
    more = {"nextCursor": str(at + 1)} if at < 4 else {}
    answer(asked, {"tools": [{"name": "t%d" % at}], **more})
"""
    tools = await offered(sandbox, odd)
    assert sorted(tools) == [f"mcp__s__t{n}" for n in range(5)]
    assert await ask(tools, "mcp__s__t3") == {"result": "it is t3"}


@pytest.mark.parametrize(
    ("cursor", "most"),
    [
        ('"same"', 2), ('"a" if asked["params"].get("cursor") == "b" else "b"', 3), ('""', 1), ("None", 1), ("7", 2),
        ("[1]", 1), ("{}", 1), ("True", 2), ('"x" * 200_000', 0),
    ],
)  # fmt: skip
async def test_a_list_without_an_end_ends(sandbox, cursor, most):
    odd = f"""
N = 0
def listed(asked):
    global N
    N += 1
    answer(asked, {{"tools": [{{"name": "t%d" % N}}], "nextCursor": {cursor}}})
"""
    if most == 0:
        with pytest.raises(UserError, match="lists no tools"):
            await offered(sandbox, odd)
    else:
        assert len(await offered(sandbox, odd)) == most


@pytest.mark.slow
async def test_cursors_that_always_advance_are_bounded(sandbox):
    odd = """
N = 0
def listed(asked):
    global N
    N += 1
    answer(asked, {"tools": [{"name": "same"}] if N % 2 else [], "nextCursor": str(N)})
"""
    assert list(await offered(sandbox, odd)) == ["mcp__s__same"]


async def test_a_long_list_is_bounded(sandbox):
    odd = 'def listed(asked):\n    answer(asked, {"tools": [{"name": "t%d" % n} for n in range(2000)]})'
    assert len(await offered(sandbox, odd)) == MAX_TOOLS


async def test_each_tool_has_a_name_of_its_own_and_is_called_by_it(sandbox):
    names = [
        "get.user", "get_user", "get-user", "get user", "get/user", "ä", "ö", "", "x" * 64, "x" * 65, "x" * 66, "1",
        "get_user", "a\u202eb", "a\u0000b", "\ud83d", "日本語",
    ]  # fmt: skip
    tools = await offered(sandbox, lists(*({"name": name} for name in names)))
    assert len(tools) == len(set(names)), "one that is listed twice is one tool"
    assert all(re.fullmatch(r"[a-zA-Z0-9_]{1,64}", name) and name.isidentifier() for name in tools)
    told = [(await ask(tools, name))["result"] for name in tools]
    assert told == [
        f"it is {name}".replace("\0", "\ufffd").replace("\ud83d", "\ufffd") for name in dict.fromkeys(names)
    ]
    assert (await ask(tools, "mcp__s__get_user"))["result"] == "it is get_user", "a sound name stays a tool's own"


def test_names_do_not_hang_on_the_order_and_do_not_meet():
    tools = [McpTool(s, t) for s, t in [("a", "b__c"), ("a__b", "c"), ("a", "d.e"), ("a", "d-e"), ("a", "y" * 99)]]
    names = offered_names(tools)
    assert len(set(names)) == 5 and names[0] == "mcp__a__b__c" and max(map(len, names)) == 64
    assert offered_names(tools[:1:-1]) == names[:1:-1]
    spoof = McpTool("a", names[2].removeprefix("mcp__a__"))
    assert len(set(offered_names([*tools, spoof]))) == 6


SCHEMAS = [
    {"type": "object", "properties": None, "required": None}, None, True, False, 3, "object", [], {}, {"type": "string"},
    {"type": ["object", "null"]}, {"properties": []}, {"properties": {"a": None}}, {"properties": {"a": True}},
    {"properties": {"a": {"type": "nonsense"}}}, {"properties": {"a": {"type": 5}}}, {"required": "a"}, {"required": 3},
    {"required": [None, 1, ["a"], {}]}, {"additionalProperties": None}, {"additionalProperties": 0},
    {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"$ref": 3}}}}}, {"$defs": None, "allOf": None},
    {"anyOf": [None, {"required": None}]}, {"properties": {"a": {"items": None, "enum": None}}}, {"enum": {}},
    {"properties": {"a": {"type": "array", "items": [{"type": "string"}]}}}, {"properties": {"x" * 30_000: {}}},
    json.loads('{"properties": {"a": ' * 40 + "{}" + "}}" * 40), {"type": None, "description": None, "title": 7},
]  # fmt: skip


async def test_whatever_a_tool_says_of_its_arguments_it_is_offered_and_called(sandbox):
    said = [{"name": f"t{n}", "inputSchema": schema, "description": None} for n, schema in enumerate(SCHEMAS)]
    tools = await offered(sandbox, lists(*said, {"name": "bare"}, {"name": 3}, {}, None, "t", {"name": "x" * 9000}))
    assert len(tools) == len(SCHEMAS) + 1
    for name, tool in tools.items():
        assert "None" not in tool.text
        assert unsound(dict(tool.schema)) == "" and tool.schema["type"] == "object"
        assert await ask(tools, name, {"b": 1}) == {"result": "it is " + name.removeprefix("mcp__s__")}


def unsound(schema):
    """What of a schema a strict server refuses; empty where it is taken."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return str(error)
    return ""


async def test_what_a_schema_demands_is_still_demanded(sandbox):
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    tools = await offered(sandbox, lists({"name": "t", "inputSchema": schema}))
    assert tools["mcp__s__t"].schema == schema
    assert "missing: a" in (await ask(tools, "mcp__s__t"))["error"]
    assert "unknown arguments: b" in (await ask(tools, "mcp__s__t", {"a": "", "b": ""}))["error"]


async def test_a_server_that_logs_without_end_leaves_room_and_answers(sandbox):
    odd = """
def called(asked, name, given):
    for _ in range(70):
        os.write(2, b"x" * 1_000_000)
    answer(asked, text("done"))
"""
    tools = await offered(sandbox, odd)
    assert await ask(tools, "mcp__s__t") == {"result": "done"}
    used = await sandbox.exec("du -sk /tmp | cut -f1; echo x > /tmp/f && cat /tmp/f", 5)
    assert int(used.stdout.split()[0]) < 1000 and used.stdout.endswith("x\n")
    assert await ask(tools, "mcp__s__t") == {"result": "done"}, "and again"


RESULTS = [
    ('{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}', {"result": "a\nb"}),
    ('{"content": [{"type": "image", "data": "AA", "mimeType": "image/png"}]}', {"result": "[image content]"}),
    ('{"content": [{"type": "resource", "resource": {"uri": "f:x", "text": "in it"}}]}', {"result": "in it"}),
    ('{"content": [{"type": "resource", "resource": {"uri": "f:x", "blob": "AA"}}]}', {"result": "[resource content: f:x]"}),
    ('{"content": [{"type": "resource_link", "uri": "f:x"}]}', {"result": "[resource_link content: f:x]"}),
    ('{"content": [None, 3, {}, {"type": None}, {"type": "text"}, {"type": "text", "text": None}, "plain"]}',
     {"result": "\n".join(["[unknown content]"] * 4 + ["[text content]"] * 2 + ["plain"])}),
    ('{"content": "plain"}', {"result": "plain"}),
    ('{"content": None, "structuredContent": {"a": [1, "ä"]}}', {"result": '{"a": [1, "ä"]}'}),
    ('{"content": [], "structuredContent": 0}', {"result": "0"}),
    ("{}", {"result": "[no output]"}),
    ('{"content": [{"type": "text", "text": "no"}], "isError": True}', {"error": "no"}),
    ('text("a" + chr(0xd83d) + chr(0) + "b")', {"result": "a\ufffd\ufffdb"}),
    ('text("x" * 300_000)', {"result": "x" * 300_000}),
    ("None", {"error": "malformed answer"}),
    ("[1]", {"error": "malformed answer"}),
    ('json.loads("[" * 900 + "]" * 900)', {"error": "the answer is not JSON, or too long"}),
    ('{"content": [], "structuredContent": int("9" * 3000)}', {"error": "the answer is not JSON, or too long"}),
    ('text("x" * 3_000_000)', {"error": "the answer is not JSON, or too long"}),
    ('text("x" * 9_000_000)', {"error": "the server says too much"}),
]  # fmt: skip


async def test_results_of_every_kind(sandbox):
    """One server: none of them hurts the next call."""
    cases = ", ".join(f"lambda: {source}" for source, _ in RESULTS)
    odd = f"CASES = [{cases}]\ndef called(asked, name, given):\n    answer(asked, CASES[given['n']]())"
    tools = await offered(sandbox, odd)
    for n, (_, told) in enumerate(RESULTS):
        assert await ask(tools, "mcp__s__t", {"n": n}) == told, RESULTS[n][0][:80]


ANSWERS = [
    'say({"jsonrpc": "2.0", "id": str(asked["id"]), "result": text("x")})',
    'say({"jsonrpc": "2.0", "id": asked["id"], "result": text("x"), "error": None})',
    'say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}); answer(asked, text("x"))',
    'print("words", flush=True); print("[1]"); print("{", flush=True); answer(asked, text("x"))',
    'os.write(1, b"\\xff\\xfe\\n\\n\\r\\n"); answer(asked, text("x"))',
    'say({"jsonrpc": "2.0", "id": asked["id"] - 1, "result": text("late")}); answer(asked, text("x"))',
    'say({"jsonrpc": "2.0", "id": [1], "result": text("odd")}); answer(asked, text("x"))',
    'say({"jsonrpc": "2.0", "id": "r", "method": "sampling/createMessage"}); REFUSED(); answer(asked, text("x"))',
    'say({"jsonrpc": "2.0", "id": 9, "method": "roots/list"}); REFUSED(); answer(asked, text("x"))',
    'say({"jsonrpc": "2.0", "id": 9, "method": "ping"}); assert "result" in sys.stdin.readline(); answer(asked, text("x"))',
    '[say({"jsonrpc": "2.0", "method": "log", "params": "y" * 900}) for _ in range(9000)]; answer(asked, text("x"))',
    'print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": text("x")}) + "\\r", flush=True)',
]


async def test_answers_among_other_words(sandbox):
    cases = "".join(f"    if given['n'] == {n}:\n        {source}\n" for n, source in enumerate(ANSWERS))
    odd = f"""
def REFUSED():
    assert json.loads(sys.stdin.readline())["error"]["code"] == -32601
def called(asked, name, given):
{cases}"""
    tools = await offered(sandbox, odd)
    for n, source in enumerate(ANSWERS):
        assert await ask(tools, "mcp__s__t", {"n": n}) == {"result": "x"}, source


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("sys.exit(3)", "has ended"),
        ("os._exit(0)", "has ended"),
        ("os.close(1); time.sleep(9)", "has ended"),
        ("os.kill(os.getpid(), 9)", "has ended"),
        ("print('cut {', end='', flush=True); sys.exit()", "has ended"),
        ("raise ValueError('x')", "has ended"),
        (
            'say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "no such thing"}})',
            "no such thing",
        ),
        ('say({"jsonrpc": "2.0", "id": asked["id"], "error": "bad"})', "bad"),
        ('say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700}})', "-32700"),
        ("time.sleep(60)", "in time"),
        ("os.kill(os.getpid(), 19)", "in time"),
        ("os.fork(); os.fork(); time.sleep(60)", "in time"),
        ('[say({"id": n, "method": "ping"}) for n in range(10**9)]', "in time"),
    ],
)
async def test_a_server_that_gives_no_answer_costs_that_call_alone(sandbox, odd, words):
    tools = await offered(sandbox, f"def called(asked, name, given):\n    {odd}")
    assert words in (await ask(tools, "mcp__s__t", seconds=0.4))["error"]
    assert "error" in await ask(tools, "mcp__s__t", seconds=0.3)
    assert (await sandbox.exec("echo fine", 5)).stdout == "fine\n"
    assert sorted(await sandbox.get()) == []


async def test_a_long_request_to_a_server_that_talks_first(sandbox):
    """Both pipes are full at once: neither side may wait for the other."""
    odd = """
def chatter():
    while True:
        say({"jsonrpc": "2.0", "method": "log", "params": "y" * 60_000})
def called(asked, name, given):
    answer(asked, text(str(len(given["a"]))))
say_ = say
LOCK = threading.Lock()
def say(message):
    with LOCK:
        say_(message)
threading.Thread(target=chatter, daemon=True).start()
"""
    tools = await offered(sandbox, odd)
    assert await ask(tools, "mcp__s__t", {"a": "x" * 75_000}) == {"result": "75000"}
    assert "longer than" in (await ask(tools, "mcp__s__t", {"a": "x" * 90_000}))["error"]


@pytest.mark.parametrize(
    "greeting",
    [
        'answer(asked, {"protocolVersion": "2099-01-01"})',
        "answer(asked, {})",
        "answer(asked, None)",
        'say({"id": asked["id"], "error": {"code": -32602}}) if "2024" not in asked["params"]["protocolVersion"] '
        'else answer(asked, {"protocolVersion": "2024-11-05"})',
        'print("Starting up...", flush=True); say({"id": str(asked["id"]), "result": {}})',
    ],
)
async def test_versions_and_greetings(sandbox, greeting):
    tools = await offered(sandbox, f"def greet(asked):\n    {greeting}")
    assert await ask(tools, "mcp__s__t") == {"result": "it is t"}


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ('sys.exit("cannot find my database")', "does not start.*cannot find my database"),
        ('def greet(asked):\n    say({"id": asked["id"], "error": {"message": "go away"}})', "does not start.*go away"),
        ("def listed(asked):\n    answer(asked, None)", "lists no tools"),
        ('def listed(asked):\n    answer(asked, {"tools": None})', "lists no tools"),
        ('def listed(asked):\n    answer(asked, {"tools": {"t": {}}})', "lists no tools"),
        ("def listed(asked):\n    sys.exit()", "lists no tools.*has ended"),
    ],
)
async def test_a_server_that_does_not_come_up_is_said_in_one_line(sandbox, odd, words):
    with pytest.raises(UserError, match=words) as caught:
        await offered(sandbox, odd)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /tmp/hcp/mcp",
        "echo 'import sys; sys.exit(9)' > /tmp/hcp/relay.py",
        "echo 'print(1)' > /tmp/hcp/relay.py",
        "rm /tmp/hcp/relay.py; mkdir /tmp/hcp/relay.py",
        'printf \'while True: print("{\\"result\\": 3}" * 9000)\' > /tmp/hcp/relay.py',
        "printf 'import time\\ntime.sleep(99)' > /tmp/hcp/relay.py",
        "kill -9 -1",
        "kill -STOP -1 2>&1; true",
        "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('/tmp/hcp/mcp/s/socket'); s.send(b'[1]')\"",
        "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('/tmp/hcp/mcp/s/socket'); "
        's.send(b\'{\\"seconds\\": Infinity, \\"method\\": {}, \\"params\\": 3}\\n\')"',
        "head -c 999999999 /dev/zero > /tmp/f",
        "head -c 999999999 /dev/zero > /task/f; rm /task/f",
    ],
)
async def test_what_an_agent_does_to_its_servers_is_an_answer(sandbox, command):
    tools = await offered(sandbox, "")
    await sandbox.exec(command, 5)
    told = await ask(tools, "mcp__s__t", seconds=0.2)
    assert set(told) <= {"result", "error"} and told
    await sandbox.get()


async def test_a_call_ends_with_the_time_that_is_left_and_the_sandbox_lives(sandbox):
    tools = await offered(sandbox, "def called(asked, name, given):\n    time.sleep(60)")
    assert "in time" in (await ask(tools, "mcp__s__t", seconds=0.2))["error"]
    assert (await sandbox.exec("echo fine", 5)).stdout == "fine\n"
    assert "[error]" in await call(sandbox, "s", "t", {}, 0.2)
