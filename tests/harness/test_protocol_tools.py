"""The tools protocol in the one episode loop: native calls of shell, files and servers' tools, and what is shown."""

import json

import pytest
from test_loop import TASK, Replies, config

from benchmarks.plain_sandbox import PlainProvider
from rsi.errors import UserError
from rsi.harness import run_episode
from rsi.harness.repl import Tool
from rsi.types import Completion, Message, ModelRequest, Sampling, Termination, ToolCall


class Calling(Replies):
    """A reply that is a list is native calls: (name, arguments)."""

    async def generate(self, request):
        calls = self.replies[0] if isinstance(self.replies[0], list) else ()
        if calls:
            self.replies[0] = ""
        completion = await super().generate(request)
        made = tuple(ToolCall(id=f"c{i}", name=n, arguments=a) for i, (n, a) in enumerate(calls))
        prompt = "".join(f"\x01{m.role}\x02{m.content}{m.tool_calls}" for m in request.messages)
        return completion.model_copy(update={"tool_calls": made, "prompt_ids": tuple(prompt.encode())})


async def play(*replies, tools=(), **fields):
    model, sandbox = Calling(*replies), await PlainProvider().open()
    harness = config(turns=9, protocol="tools", **{"tools": ("shell", "read", "write"), **fields})
    try:
        return model, await run_episode(TASK, harness, model, sandbox, 7, None, tools)
    finally:
        await sandbox.close()


def call(name, **arguments):
    return (name, json.dumps(arguments))


async def add(arguments):
    return {"sum": arguments["a"] + arguments["b"], "pin": "secret-4711"}


ADD = Tool("mcp__s__add", "Adds.", add, schema={"type": "object", "required": ["a"]}, no_ai=("pin",))


async def test_native_calls_of_shell_files_and_servers():
    model, episode = await play(
        [call("write", path="b", content="hi\n")], [call("shell", command="cat b")], [call("read", path="b")],
        [call("mcp__s__add", a=1, b=2)], "<answer>3</answer>", tools=[ADD],
    )  # fmt: skip
    assert (episode.output, episode.termination) == ("3", Termination.ANSWERED)
    assert [turn.observation for turn in episode.turns][1:4] == ["hi", "hi", '{"sum": 3, "pin": "[hidden]"}']
    assert [turn.action for turn in episode.turns][:2] == ["write b\nhi\n", "cat b"], "recorded as in every protocol"
    asked = model.requests[1]
    assert [spec.name for spec in asked.tools] == ["shell", "read", "write", "mcp__s__add"]
    assert [message.role for message in asked.messages[-2:]] == ["assistant", "tool"]
    assert asked.messages[-1].tool_call_id == asked.messages[-2].tool_calls[0].id


async def test_of_several_calls_one_is_taken_and_each_is_answered():
    model, episode = await play(
        [call("shell", command="echo a"), call("shell", command="echo b")], "<answer>x</answer>"
    )
    shown = model.requests[1].messages[-2:]
    assert [m.content for m in shown] == ["a", "not taken: one call a turn; call again"]
    assert [m.tool_call_id for m in shown] == ["c0", "c1"] and episode.turns[0].exit_code == 0


async def test_bad_calls_are_data_and_text_is_no_action():
    bad = [("shell", "no json"), ("shell", '{"command": 3}'), ("none", "{}"), ("mcp__s__add", "[1]")]
    _, episode = await play(*([each] for each in bad), "```sh\nls\n```", tools=[ADD])
    shown = [turn.observation or "" for turn in episode.turns]
    assert "texts with command" in shown[0] and "texts with command" in shown[1]
    assert "there is no tool 'none'" in shown[2] and "JSON object" in shown[3]
    assert episode.termination == Termination.NO_ACTION


def test_records_without_native_calls_keep_their_digests():
    request = ModelRequest(messages=(Message(role="user", content="x"),), sampling=Sampling(), seed=0)
    assert "tools" not in request.model_dump() and request.model_dump()["messages"][0].keys() == {"role", "content"}
    said = Completion(text="", prompt_ids=(), token_ids=(), logprobs=(), policy_version="v", finish="stop")
    assert "tool_calls" not in said.model_dump()
    assert ModelRequest.model_validate_json(request.model_dump_json()).digest == request.digest


async def test_a_model_without_native_calls_says_so():
    from rsi.models.scripted import Rule, ScriptedModel, Table

    table = Table(rules=(Rule(replies=(("x", 1),)),))
    with pytest.raises(UserError, match="native tools"):
        await run_episode(TASK, config(protocol="tools", tools=()), ScriptedModel(table), None, 0, None, [ADD])
