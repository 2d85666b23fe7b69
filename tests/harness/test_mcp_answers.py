"""What MCP servers answer, as it comes, or do not: logs, results, deaths. Each in a real sandbox; it is data."""

import pytest
from odd_server import ask, offered

from rsi.errors import UserError
from rsi.harness.mcp import call

pytestmark = pytest.mark.slow  # each begins a sandbox, an interpreter and a server


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
    ('{"content": [{"type": "resource", "resource": {"uri": "f", "blob": ""}}]}', {"result": "[resource content: f]"}),
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
    'say({"jsonrpc": "2.0", "id": 9, "method": "ping"}); sys.stdin.readline(); answer(asked, text("x"))',
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
            'say({"jsonrpc": "2.0", "id": asked["id"], "error": {"message": "no such thing"}})',
            "no such thing",
        ),
        ('say({"jsonrpc": "2.0", "id": asked["id"], "error": "bad"})', "bad"),
        ('say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700}})', "-32700"),
        pytest.param("time.sleep(60)", "in time", marks=pytest.mark.slow),
        pytest.param("os.kill(os.getpid(), 19)", "in time", marks=pytest.mark.slow),
        ("os.fork(); os.fork(); time.sleep(60)", "in time"),
        pytest.param(
            'while True:\n        say({"id": 1, "method": "ping"})', "", id="asks without end", marks=pytest.mark.slow
        ),
    ],
)
async def test_a_server_that_gives_no_answer_costs_that_call_alone(sandbox, odd, words):
    tools = await offered(sandbox, f"def called(asked, name, given):\n    {odd}")
    assert words in (await ask(tools, "mcp__s__t", seconds=1 if words in ("in time", "") else 10))["error"]
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


CONNECT = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/tmp/hcp/mcp/s/socket')"
SENT = (
    "b'[1]'",
    "bytes(9)",
    "b'{}\\n'",
    """b'{\\"seconds\\": Infinity, \\"method\\": {}, \\"params\\": 3}\\n'""",
)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /tmp/hcp/mcp",
        "echo 'import sys; sys.exit(9)' > /tmp/hcp/relay.py",
        "echo 'print(1)' > /tmp/hcp/relay.py",
        "rm /tmp/hcp/relay.py; mkdir /tmp/hcp/relay.py",
        'printf \'while True: print("{\\"result\\": 3}" * 9000)\' > /tmp/hcp/relay.py',
        pytest.param("printf 'import time\\ntime.sleep(99)' > /tmp/hcp/relay.py", marks=pytest.mark.slow),
        "kill -9 -1",
        pytest.param("kill -STOP -1 2>&1; true", marks=pytest.mark.slow),
        *(f'python3 -c "{CONNECT}; s.send({said})"' for said in SENT),
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
