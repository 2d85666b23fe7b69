"""What is particular to a URL: credentials, retries, what other servers leave out, and answers that are no protocol."""

import socket

import pytest
from model_conformance import COLOURS, ask
from openai_server import serving

import rsi.models.openai
from rsi.config import ModelSettings
from rsi.errors import ContextOverflow, InfrastructureError, RequestRefusedError, UserError
from rsi.models.openai import TRIES, UNKNOWN, OpenAIModel
from rsi.models.scripted import ScriptedModel, Table
from rsi.types import Message, Sampling, ToolCall, ToolSpec

MODEL = ScriptedModel(Table.model_validate({"rules": [{"replies": [["red", 1]]}]}))


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(rsi.models.openai, "PAUSE", 0.001)


async def test_the_key_comes_from_the_environment_alone(monkeypatch):
    with serving(MODEL, key="s3cret") as server:
        settings = ModelSettings(id=server.url, api_key_env="COLOUR_KEY")
        with pytest.raises(UserError, match=r"COLOUR_KEY.*is not set"):
            await OpenAIModel(settings).generate(ask())
        monkeypatch.setenv("COLOUR_KEY", "wrong")
        with pytest.raises(UserError, match="refused the key in \\$COLOUR_KEY") as caught:
            await OpenAIModel(settings).generate(ask())
        assert "wrong" not in str(caught.value)
        monkeypatch.setenv("COLOUR_KEY", "s3cret")
        assert (await OpenAIModel(settings).generate(ask())).text == "red"
        with pytest.raises(UserError, match="api_key_env"):
            await OpenAIModel(ModelSettings(id=server.url)).generate(ask())


async def test_passing_faults_are_retried_within_a_bound():
    with serving(MODEL) as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        server.statuses = [503, 429, 500]
        assert (await model.generate(ask())).text == "red"
        server.statuses = [503] * (TRIES + 1)
        with pytest.raises(InfrastructureError, match="503"):
            await model.generate(ask())
        assert len(server.statuses) == 1
        server.statuses = [400]
        with pytest.raises(RequestRefusedError, match="status 400"):
            await model.generate(ask())
        server.statuses = [400] * 2
        with pytest.raises(InfrastructureError, match="refuses all requests now"):
            await model.generate(ask())
        server.statuses = [400]
        with pytest.raises(UserError, match="status 400"):
            await OpenAIModel(ModelSettings(id=server.url)).generate(ask())


async def test_a_server_that_is_not_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(InfrastructureError, match="no answer"):
        await OpenAIModel(ModelSettings(id=url)).generate(ask())


async def test_another_server_is_sent_no_field_of_vllm():
    with serving(MODEL, owner="someone") as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        cut = await model.generate(ask(stop=("e", "d")))
        assert (cut.text, cut.finish, len(cut.token_ids)) == ("re", "stop", 2), "the server would drop the stop string"
        answer = await model.generate(ask())
        assert server.bodies[-2].keys().isdisjoint({"return_token_ids", "include_stop_str_in_output", "stop"})
        assert set(answer.token_ids) == set(answer.prompt_ids) == {UNKNOWN}
        assert len(answer.token_ids) == len(answer.logprobs) == 3
        said = await model.generate(ask(choices=COLOURS[1:]))
        assert said.text == "red", "a text that is no choice is the proposer's to refuse"


async def test_names_choose_model_and_adapter():
    with serving(MODEL) as server:
        assert (await OpenAIModel(ModelSettings(id=f"{server.url}#lora")).generate(ask())).policy_version == "lora"
        answer = await OpenAIModel(ModelSettings(id=server.url)).generate(ask(adapter="lora"))
        assert answer.policy_version == server.bodies[-1]["model"] == "lora"
        with pytest.raises(UserError, match="serves no model 'other' \\(it has: base, lora\\)"):
            await OpenAIModel(ModelSettings(id=f"{server.url}#other")).generate(ask())


async def test_a_long_prompt_overflows():
    with serving(MODEL) as server, pytest.raises(ContextOverflow):
        await OpenAIModel(ModelSettings(id=server.url)).generate(ask("x" * 20_000))


async def test_an_answer_that_is_no_protocol(monkeypatch):
    with serving(MODEL) as server:
        monkeypatch.setattr(
            "openai_server.Handler._completion", lambda self, body: {"choices": [{"message": "<html>"}]}
        )
        with pytest.raises(InfrastructureError, match=r"choices\.0\.message"):
            await OpenAIModel(ModelSettings(id=server.url)).generate(ask())


SHELL = ToolSpec(name="shell", description="Runs.", parameters={"type": "object"})


@pytest.mark.parametrize("owner", ["vllm", "someone"])
async def test_native_calls_go_out_and_come_back(owner):
    said = '{"name": "shell", "arguments": "{}"}'
    rules = [{"contains": "call", "replies": [[said, 1]]}, {"replies": [["red", 1]]}]
    with serving(ScriptedModel(Table.model_validate({"rules": rules})), owner=owner) as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        asked = ask("call").model_copy(update={"tools": (SHELL,), "sampling": Sampling(max_new_tokens=64)})
        called = await model.generate(asked)
        assert called.tool_calls == (ToolCall(id="c", name="shell", arguments="{}"),)
        assert server.bodies[-1]["tools"] == [{"type": "function", "function": SHELL.model_dump()}]
        talk = (
            *asked.messages,
            Message(role="assistant", content="", tool_calls=called.tool_calls),
            Message(role="tool", content="done", tool_call_id="c"),
        )
        known = owner == "vllm"
        prefix = (*called.prompt_ids, *called.token_ids) if known else ()
        then = await model.generate(asked.model_copy(update={"messages": talk, "prefix_ids": prefix}))
        assert then.text == "red" and (then.prompt_ids[: len(prefix)] == prefix)
        sent = server.bodies[-1]["messages"][-2:]
        assert sent[0]["tool_calls"][0]["function"] == {"name": "shell", "arguments": "{}"}
        assert sent[1] == {"role": "tool", "content": "done", "tool_call_id": "c"}
        assert "tools" not in (await model.generate(ask()), server.bodies[-1])[1]
