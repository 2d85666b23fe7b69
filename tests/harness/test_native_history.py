"""What of malformed native calls goes back to a server, what the model is told, and what the record keeps."""

import json

import pytest
from strict_server import calling, serving
from test_loop import TASK, Replies, config
from test_protocol_tools import Calling

from benchmarks.plain_sandbox import PlainProvider
from rsi.config import ModelSettings
from rsi.harness import run_episode
from rsi.harness.protocols.history import sendable
from rsi.models.openai import OpenAIModel
from rsi.types import Message, Termination, ToolCall

GOOD = ("shell", '{"command": "echo good"}')


async def play(*replies, **fields):
    sandbox = await PlainProvider().open()
    with serving(*replies) as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        try:
            harness = config(protocol="tools", **{"turns": 4, "tools": ("shell", "write"), **fields})
            return server, await run_episode(TASK, harness, model, sandbox, 7, None)
        finally:
            await model.close()
            await sandbox.close()


BAD_ARGUMENTS = [
    '{"command": "ls', "", " ", "ls", "null", "true", "3", '"ls"', "[]", '["ls"]', "{", "}{", '{"command": "ls"} and',
    '{"command": NaN}', '{"command": "ls", "n": Infinity}', "{'command': 'ls'}", '{"command": "a\nb"}', "[" * 5000,
    '{"command": ' + "9" * 5000 + "}", '{"command": null}', '{"command": ["ls"]}', "\ufeff{", "\x00", "ls \ufffd",
]  # fmt: skip


@pytest.mark.parametrize("arguments", BAD_ARGUMENTS)
async def test_the_model_is_told_that_its_arguments_are_no_json_and_goes_on(arguments):
    server, episode = await play(calling(("shell", arguments)), calling(GOOD), "<answer>x</answer>")
    assert (server.refused, episode.termination, episode.output) == ([], Termination.ANSWERED, "x")
    first, second, _ = episode.turns
    assert first.exit_code == 2 and "JSON object of texts with command" in first.observation
    assert second.observation == "good"
    kept = first.completion.tool_calls[0].arguments
    assert kept == arguments.replace("\0", "\ufffd"), "the record keeps what the model wrote"


async def test_halves_of_surrogates_in_arguments_are_replaced_and_the_call_is_taken():
    server, episode = await play(
        calling(("shell", '{"command": "echo \\ud83d"}')), calling(("shell", '{"command": "echo \\ud83d\\ude00"}')),
        calling(("write", json.dumps({"path": "a", "content": "\ud800"}))), "<answer>x</answer>",
    )  # fmt: skip
    assert server.refused == [] and episode.output == "x"
    assert [turn.observation for turn in episode.turns] == ["\ufffd", "😀", "[no output]", None]
    episode.turns[0].model_dump_json()


async def test_names_ids_and_crowds_that_no_server_takes_back():
    calls = calling(("get user!", "{}"), *[("x" * 300, "{}")] * 60)
    for call in calls["tool_calls"]:
        call["id"] = "same"
    server, episode = await play(calls, calling(("", "{}")), calling(GOOD), "<answer>x</answer>")
    assert (server.refused, episode.output) == ([], "x")
    assert "no tool 'get user!'" in episode.turns[0].observation
    assert len(episode.turns[0].completion.tool_calls) == 61, "the record keeps them all"


async def test_a_stop_hook_speaks_behind_a_malformed_call():
    from rsi.types import StopHook

    hook = StopHook(name="h", message="Go on.", builtin="no_action")
    sandbox = await PlainProvider().open()
    with serving(calling(("shell", "{")), "nothing", "<answer>x</answer>") as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        harness = config(hook, protocol="tools", turns=3, tools=("shell",))
        episode = await run_episode(TASK, harness, model, sandbox, 7, None)
        await model.close()
        await sandbox.close()
    assert (server.refused, episode.output) == ([], "x")


def test_sound_calls_go_back_as_they_were():
    calls = tuple(
        ToolCall(id=f"c{n}", name="shell", arguments=text)
        for n, text in enumerate(['{"command":  "ls"}', '{ "a": "\\u00e4\\\\" }', '{"n": 1e5, "m": [null]}\n'])
    )
    assert sendable(calls) == calls


@pytest.mark.parametrize(
    ("protocol", "first"), [("tools", [("shell", "{")]), ("text", "\0\n```sh\nls\n```"), ("tools", [("a b", "{}")])]
)
async def test_an_altered_reply_begins_a_new_segment_of_tokens(protocol, first):
    """Where ids are told, no later prompt can continue tokens that the history does not hold."""
    second = [GOOD] if protocol == "tools" else "```sh\nls\n```"
    kind, sandbox = Calling if protocol == "tools" else Replies, await PlainProvider().open()
    model = kind(first, second, "<answer>x</answer>")
    try:
        harness = config(protocol=protocol, turns=5, tools=("shell",))
        episode = await run_episode(TASK, harness, model, sandbox, 7, None)
    finally:
        await sandbox.close()
    assert [turn.segment for turn in episode.turns] == [0, 1, 1]
    assert [bool(request.prefix_ids) for request in model.requests] == [False, False, True]


def test_messages_without_calls_keep_their_form():
    assert "tool_calls" not in Message(role="assistant", content="x").model_dump()
