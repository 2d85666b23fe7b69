"""A namespace that lives from block to block, and what may pass between it and the host."""

import asyncio
import base64
import time

import pytest

from benchmarks.plain_sandbox import PlainProvider
from rsi.errors import InfrastructureError, UserError
from rsi.harness.repl import Calls, Interpreter, Masked, Tool


async def world(*tools):
    masked = Masked()
    sandbox = await PlainProvider().open()
    return sandbox, Interpreter(sandbox, Calls(tools, masked), masked)


@pytest.fixture
async def opened():
    held = []

    async def make(*tools):
        sandbox, repl = await world(*tools)
        held.append(sandbox)
        return repl

    yield make
    for sandbox in held:
        await sandbox.close()


def tool(name, answer, seen=None, **fields):
    async def run(arguments):
        if seen is not None:
            seen.append(dict(arguments))
        return answer(arguments) if callable(answer) else answer

    return Tool(name, f"{name} it", run, **fields)


async def test_names_live_on_and_values_stay_variables(opened):
    seen = []
    repl = await opened(tool("find", lambda a: {"id": a["n"] + 1}, seen))
    assert (await repl.run("x = 1\nprint('hi')", 10)).output == "hi\n"
    block = await repl.run("for _ in range(3):\n    x = find(n=x)['id']\nx", 10)
    assert (block.output, block.failed, block.calls) == ("4\n", False, 3)
    assert seen == [{"n": 1}, {"n": 2}, {"n": 3}]
    failed = await repl.run("1 / 0", 10)
    assert failed.failed and "ZeroDivisionError" in failed.output and "server.py" not in failed.output
    assert (await repl.run("x", 10)).output == "4\n"


@pytest.mark.slow
async def test_a_hung_or_dead_interpreter_is_started_again_and_said_so(opened):
    repl = await opened()
    await repl.run("kept = 1", 10)
    hung = await repl.run("while True: pass", 0.3)
    assert hung.failed and "did not end in time" in hung.output and "lost: kept" in hung.output
    assert "NameError" in (await repl.run("kept", 10)).output
    dead = await repl.run("import os\nos._exit(3)", 10)
    assert dead.failed and "died" in dead.output
    assert (await repl.run("2 + 2", 10)).output == "4\n"


@pytest.mark.slow
async def test_output_is_bounded(opened):
    repl = await opened()
    block = await repl.run("print('x' * 10**6)", 10)
    assert len(block.output) < 21_000 and block.output.endswith("characters cut]")


async def test_nothing_of_the_host_is_inside(opened):
    secret = "host-only-value"

    async def run(arguments):
        return len(secret)

    repl = await opened(Tool("measure", "m", run))
    probe = "print(measure(), type(measure).__call__.__globals__, measure.__doc__, open('/proc/self/environ').read())"
    block = await repl.run(probe, 10)
    assert not block.failed and "host-only-value" not in block.output


@pytest.mark.slow
async def test_at_most_one_commit_a_block(opened):
    seen = []
    repl = await opened(tool("pay", "paid", seen, commits=True))
    block = await repl.run("print(pay(to=1))\npay(to=2)", 10)
    assert block.failed and "paid" in block.output and "look at its result" in block.output and seen == [{"to": 1}]
    await repl.run("pay(to=2)", 10)
    assert seen == [{"to": 1}, {"to": 2}]


async def test_two_commits_of_one_block_and_the_tools_behind_it():
    seen = []
    calls = Calls([tool("pay", "paid", seen, commits=True)], Masked())
    calls.begin()
    assert await calls.call("pay", {"to": 1}, 5) == {"result": "paid"}
    assert "look at its result" in (await calls.call("pay", {"to": 2}, 5))["error"] and seen == [{"to": 1}]


@pytest.mark.slow
async def test_retries_only_where_the_tool_allows_it(opened):
    tries = []

    async def flaky(arguments):
        tries.append(1)
        if len(tries) < 3:
            raise InfrastructureError("gone")
        return "there"

    assert (await (await opened(Tool("f", "f", flaky, idempotent=True))).run("f()", 10)).output == "'there'\n"
    tries.clear()
    with pytest.raises(InfrastructureError):
        await (await opened(Tool("f", "f", flaky))).run("f()", 10)
    assert len(tries) == 1


@pytest.mark.slow
async def test_a_tools_refusal_is_an_error_of_the_program(opened):
    async def refuse(arguments):
        raise UserError("no such city")

    block = await (await opened(Tool("f", "f", refuse))).run(
        "try:\n    f()\nexcept ToolError as e:\n    print('told', e)", 10
    )
    assert block.output == "told no such city\n"


@pytest.mark.slow
async def test_large_results_and_code_pass(opened):
    repl = await opened(tool("big", "x" * 300_000))
    assert (await repl.run("len(big())", 10)).output == "300000\n"
    assert "has 2000002 characters" in (await (await opened(tool("big", "x" * 2_000_000))).run("big()", 10)).output


NUMBER = "4929-1783-0022-7741"


SHOWN = (
    "c",
    "c['card']",
    "c['card'][3:15]",
    "c['card'][::-1]",
    "c['card'].encode().hex()",
    "repr(c) + '!'",
    "b64encode(c['card'].encode())",
    "b64encode(b'ab' + c['card'].encode())",
    "int(c['card'])",
)


@pytest.mark.slow
async def test_no_ai_fields_can_be_used_but_not_seen(opened):
    seen = []
    card = tool("card", {"card": NUMBER, "owner": "Ann"}, no_ai=("card",))
    repl = await opened(card, tool("pay", "ok", seen, commits=True))
    await repl.run("from base64 import b64encode\nc = card()\npay(card=c['card'])", 10)
    assert seen == [{"card": NUMBER}], "the program uses the value"
    coded = base64.b64encode(NUMBER.encode()).decode()
    for shown in SHOWN:
        block = await repl.run(f"print({shown})", 10)
        for text in (NUMBER, NUMBER[3:15], NUMBER[::-1], NUMBER.encode().hex(), coded, "1783"):
            assert text not in block.output, shown
        assert "[hidden]" in block.output, shown


CLOSED = {"properties": {"n": {}}, "required": ["n"], "additionalProperties": False}


@pytest.mark.slow
async def test_a_call_that_a_tool_cannot_take_is_data(opened):
    async def slow(arguments):
        await asyncio.sleep(9)

    needs = tool("f", lambda a: {}[a["n"]], schema=CLOSED)
    repl = await opened(needs, Tool("slow", "s", slow))
    for call, said in (("f()", "missing: n"), ("f(n=1, m=2)", "unknown arguments: m"), ("f(n=1)", "KeyError")):
        block = await repl.run(call, 10)
        assert block.failed and said in block.output
    more = tool("f", lambda a: sum(a.values()), schema={"properties": {"n": {}}})
    assert (await (await opened(more)).run("f(n=1, m=2)", 10)).output == "3\n", "a schema allows more unless it says so"
    block = await repl.run("try:\n    slow()\nexcept ToolError as e:\n    print(e)", 1)
    assert "no result in the time" in block.output or (block.failed and "did not end in time" in block.output)


@pytest.mark.parametrize(
    "trouble",
    [
        AttributeError("x"), RuntimeError("x"), OSError(36, "File name too long"), RecursionError("x"), KeyError("a"),
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), AssertionError(), MemoryError(), StopIteration(),
    ],
)  # fmt: skip
async def test_arguments_that_a_tool_fails_on_are_told_to_the_caller(trouble):
    async def run(arguments):
        raise trouble

    told = await Calls([Tool("t", "", run)], Masked()).call("t", {"a": 1}, 5)
    assert told["error"].startswith("t: ") and type(trouble).__name__ in told["error"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1}, b"x", [float("-inf")]])
async def test_arguments_that_are_no_json_reach_no_tool(value):
    seen = []
    calls = Calls([tool("t", "ok", seen, commits=True)], Masked())
    assert "not JSON" in (await calls.call("t", {"a": value}, 5))["error"] and seen == []
    assert await calls.call("t", {"a": 1}, 5) == {"result": "ok"}, "nothing was committed"


async def test_a_block_that_calls_without_end_ends_with_its_time(opened):
    repl = await opened(tool("t", "x"))
    began = time.monotonic()
    block = await repl.run("while True:\n    try:\n        t()\n    except ToolError:\n        pass", 0.4)
    assert block.failed and "did not end in time" in block.output and time.monotonic() - began < 10
