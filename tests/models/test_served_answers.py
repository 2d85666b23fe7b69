"""What servers answer in all their ways: odd fields cost themselves alone, what failed is no answer, counts hold."""

import math

import pytest
from model_conformance import ask, follow
from plain_server import answering, said

import rsi.models.openai
from rsi.config import ModelSettings
from rsi.errors import InfrastructureError, IntegrityError, RequestRefusedError
from rsi.models.openai import UNKNOWN, OpenAIModel
from rsi.types import Message, ToolCall, ToolSpec

TOOL = ToolSpec(name="shell", description="Runs.", parameters={"type": "object"})


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(rsi.models.openai, "PAUSE", 0.001)


async def get(answer, request=None):
    with answering(lambda body: answer) as server:
        return await OpenAIModel(ModelSettings(id=server.url)).generate(request or ask())


def spoken(*values):
    return {"choice": {"logprobs": {"content": [{"token": "re", "logprob": value} for value in values]}}}


ODD = {
    "logprobs null": said(choice={"logprobs": None}),
    "logprobs a list": said(choice={"logprobs": [1, 2]}),
    "logprobs without content": said(choice={"logprobs": {"tokens": ["a"]}}),
    "content of nulls": said(choice={"logprobs": {"content": [None, None]}}),
    "a null value": said(**spoken(-0.5, None, -0.1)),
    "an infinite value": said(**spoken(-0.5, -math.inf, -0.1)),
    "no number": said(**spoken(-0.5, math.nan, -0.1)),
    "a text as value": said(**spoken("-0.5", -0.5, -0.5)),
    "a truth as value": said(**spoken(True, -0.5, -0.5)),
    "a huge value": said(**spoken(-0.5, 10**400, -0.1)),
    "usage null": said(usage=None),
    "usage a list": said(usage=[]),
    "usage of texts": said(usage={"prompt_tokens": "9", "completion_tokens": "3"}),
    "usage absurd": said(usage={"prompt_tokens": 10**15, "completion_tokens": 10**15}),
    "usage negative": said(usage={"prompt_tokens": -1, "completion_tokens": -9}),
    "usage of nulls": said(usage={"prompt_tokens": None, "completion_tokens": None}),
    "ids of texts": said(choice={"token_ids": ["a"]}, prompt_token_ids="abc"),
    "ids of nulls": said(choice={"token_ids": [None]}, prompt_token_ids=[None]),
    "ids negative": said(choice={"token_ids": [-5]}, prompt_token_ids=[-5]),
    "unknown members": said(tier=[1], choice={"stop_reason": 7}, message={"annotations": [], "audio": None}),
    "thinking beside it": said(message={"reasoning_content": "hm", "reasoning": None, "thinking": {"a": 1}}),
    "calls null": said(message={"tool_calls": None, "function_call": None}),
    "calls of nulls": said(message={"tool_calls": [None, {"function": None}]}),
    "reason null": said(finish=None),
    "reason a number": said(finish=3),
    "reason of its own": said(finish="eos_token"),
    "parts": said([{"type": "text", "text": "r"}, {"type": "text", "text": "ed"}]),
    "parts and strings": said(["r", {"text": "ed"}, {"type": "thinking", "thinking": "hm"}, None]),
    "several choices": said(choices=[{"message": {"content": "red"}}, {"message": 5}]),
    "error null": said(error=None),
}  # fmt: skip


@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
async def test_an_odd_field_costs_itself_alone(answer):
    completion = await get(answer)
    assert completion.text == "red"
    assert len(completion.logprobs) in (0, len(completion.token_ids))
    assert all(math.isfinite(value) for value in completion.logprobs)
    assert 0 < len(completion.token_ids) <= 3 and 0 < len(completion.prompt_ids) <= 9, "it is counted"
    completion.model_dump_json()


@pytest.mark.parametrize("value", [None, -math.inf, math.inf, math.nan])
async def test_one_unknown_log_probability_makes_the_answer_one_without(value):
    completion = await get(said(**spoken(-0.5, value, -0.1)))
    assert (completion.text, completion.logprobs, completion.token_ids) == ("red", (), (UNKNOWN,) * 3)


async def test_a_lone_surrogate_is_replaced():
    completion = await get(said("a\ud83db\0"))
    assert completion.text == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"id": None, "function": {"name": "shell", "arguments": None}}, ("call_0", "shell", "")),
        ({"function": {"name": "shell"}}, ("call_0", "shell", "")),
        ({"id": 7, "function": {"name": "shell", "arguments": {"c": "ä"}}}, ("call_0", "shell", '{"c": "ä"}')),
        ({"id": "c", "type": None, "index": 0, "function": {"name": "shell", "arguments": []}}, ("c", "shell", "[]")),
        ({"id": "c", "function": {"name": None, "arguments": "{"}}, ("c", "", "{")),
    ],
)  # fmt: skip
async def test_native_calls_are_read_as_they_come(call, expected):
    asked = ask().model_copy(update={"tools": (TOOL,)})
    completion = await get(said(None, finish="tool_calls", message={"tool_calls": [call]}), asked)
    id, name, arguments = expected
    assert completion.tool_calls == (ToolCall(id=id, name=name, arguments=arguments),)
    assert len(completion.token_ids) == 3


async def test_calls_of_one_id_are_told_apart():
    calls = [{"id": "c", "function": {"name": "shell", "arguments": text}} for text in ("{}", "[]")]
    completion = await get(said(None, message={"tool_calls": calls}), ask().model_copy(update={"tools": (TOOL,)}))
    assert [call.id for call in completion.tool_calls] == ["c", "call_1"]


async def test_a_call_that_was_not_offered_is_the_models_text():
    calls = [{"id": "c", "function": {"name": "shell", "arguments": "{}"}}]
    completion = await get(said(None, message={"tool_calls": calls}))
    assert completion.tool_calls == () and '"shell"' in completion.text


NO_ANSWER = {
    "an error ended it": said("", finish="error"),
    "an error ended half of it": said("re", finish="error"),
    "aborted": said("re", finish="abort"),
    "cancelled": said("", finish="cancelled"),
    "a time-out": said("re", finish="timeout"),
    "no resources": said("", finish="insufficient_system_resource"),
    "loaded only": said("", finish="load"),
    "an error beside it": said("", error={"message": "upstream", "code": 502}),
    "an error in the choice": said("", choice={"error": {"code": 502}}),
    "no choices": said(choices=[]),
    "choices null": said(choices=None),
    "choices a map": said(choices={"0": 1}),
    "no message": said(choices=[{"text": "red"}]),
    "an error alone": (200, {"error": "overloaded"}),
    "an empty object": (200, {}),
    "a list": (200, [1]),
    "a text": (200, "red"),
    "null": (200, None),
    "half JSON": (200, b'{"choices": [{"message": {"content": "re'),
    "HTML": (200, b"<html>Welcome</html>", {"Content-Type": "text/html"}),
    "nothing": (200, b""),
    "no UTF-8": (200, b"\xff\xfe\x00"),
    "deep": (200, b"[" * 100_000),
    "a long number": (200, b'{"choices": ' + b"9" * 10_000 + b"}"),
    "not compressed": (200, b"red", {"Content-Encoding": "gzip"}),
    "broken off": (200, b"{}", {"Content-Length": "500", "Connection": "close"}),
}


@pytest.mark.parametrize("answer", NO_ANSWER.values(), ids=NO_ANSWER)
async def test_what_failed_is_no_answer(answer):
    with pytest.raises(InfrastructureError) as caught:
        await get(answer)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


async def test_what_a_filter_left_counts_and_nothing_is_a_refusal():
    assert (await get(said("I can", finish="content_filter"))).text == "I can"
    with pytest.raises(RequestRefusedError):
        await get(said("", finish="content_filter"))


async def test_usage_counts_where_nothing_else_does():
    completion = await get(said(usage={"prompt_tokens": 40, "completion_tokens": 50}))
    assert (len(completion.prompt_ids), len(completion.token_ids)) == (40, 50)
    assert set(completion.token_ids) == {UNKNOWN}
    hidden = await get(said(**spoken(-0.1), usage={"prompt_tokens": 40, "completion_tokens": 50}))
    assert (len(hidden.token_ids), hidden.logprobs) == (50, ()), "thinking that is not shown costs as well"
    assert len((await get(said("12345678", usage=None))).token_ids) == 2


async def test_a_template_that_rewrites_history_costs_the_prompt_ids_alone():
    lines = []

    def answer(body):
        ids = [len(m["content"].replace("<think>n</think>", "")) for m in body["messages"]]
        return said(
            "<think>n</think>red", choice={"token_ids": [1], "logprobs": {"content": [{"logprob": -0.5}]}},
            prompt_token_ids=[*ids, 5] if len(ids) == 1 else ids,
        )  # fmt: skip

    with answering(answer, (200, {"data": [{"id": "m", "owned_by": "vllm"}]})) as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        model.say = lines.append
        first = ask()
        told = await model.generate(first)
        assert UNKNOWN not in told.prompt_ids
        for _ in range(2):
            then = await model.generate(follow(first, told))
            assert set(then.prompt_ids) == {UNKNOWN} and then.token_ids == (1,)
        assert len(lines) == 1 and "rewrites earlier turns" in lines[0]
        other = Message(role="assistant", content="never sampled")
        changed = follow(first, told).model_copy(update={"messages": (*first.messages, other, *first.messages)})
        with pytest.raises(IntegrityError, match="prefix"):
            await model.generate(changed)
