"""A server that breaks on one conversation is told from one that is ill: the first ends that attempt, and is scored."""

import asyncio
import itertools
import random

import pytest
from model_conformance import ask
from plain_server import answering, refused, said

import rsi.models.openai
from rsi.config import ModelSettings
from rsi.errors import InfrastructureError, RequestRefusedError
from rsi.models.openai import OpenAIModel


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(rsi.models.openai, "PAUSE", 0.001)


def last(body):
    return body["messages"][-1]["content"]


async def proved(server):
    model = OpenAIModel(ModelSettings(id=server.url))
    await model.generate(ask("well"))
    return model


@pytest.mark.parametrize("body", [{"error": {"message": "Internal Server Error"}}, {}, [], None, b"", b"<html>oops"])
async def test_a_conversation_on_which_alone_the_server_breaks_is_refused(body):
    with answering(lambda asked: (500, body) if "{%" in last(asked) else said()) as server:
        model = await proved(server)
        for _ in range(2):
            with pytest.raises(RequestRefusedError, match="breaks on this conversation, and on no other"):
                await model.generate(ask("{% raise %}"))
        assert (await model.generate(ask("well"))).text == "red"


@pytest.mark.parametrize("status", [502, 503, 504, 429, 408, 501, 507, 599])
async def test_another_status_is_never_a_refusal(status):
    with answering(lambda asked: refused("busy", status) if "{%" in last(asked) else said()) as server:
        model = await proved(server)
        with pytest.raises(InfrastructureError, match=f"status {status}"):
            await model.generate(ask("{% raise %}"))


async def test_one_other_status_among_the_tries_is_an_outage():
    statuses = itertools.cycle([500, 500, 502])
    with answering(lambda asked: refused("ill", next(statuses)) if "{%" in last(asked) else said()) as server:
        model = await proved(server)
        with pytest.raises(InfrastructureError):
            await model.generate(ask("{% raise %}"))


async def test_a_server_that_breaks_on_everything_is_an_outage():
    asked_for = itertools.count()
    with answering(lambda asked: said() if next(asked_for) < 1 else refused("ill", 500)) as server:
        model = await proved(server)
        for _ in range(3):
            with pytest.raises(InfrastructureError, match="status 500"):
                await model.generate(ask("red?"))


async def test_a_server_that_never_answered_is_no_proof():
    with answering(lambda asked: refused("ill", 500)) as server, pytest.raises(InfrastructureError):
        await OpenAIModel(ModelSettings(id=server.url)).generate(ask("red?"))


async def test_beside_a_conversation_that_breaks_it_a_flaky_server_still_refuses_no_other():
    chance = random.Random(5)

    def answer(asked):
        return (
            refused("ill", 500) if "{%" in last(asked) or (len(last(asked)) < 12 and chance.random() < 0.3) else said()
        )

    with answering(answer) as server:
        model = await proved(server)
        asked = [model.generate(ask("{% raise %}" if n % 2 else f"red {n}")) for n in range(60)]
        ended = await asyncio.gather(*asked, return_exceptions=True)
    assert not any(isinstance(one, RequestRefusedError) for one in ended[::2])
    assert any(isinstance(one, RequestRefusedError) for one in ended[1::2])  # in doubt it is lost


async def test_a_request_that_breaks_once_it_is_shortened_is_refused_too():
    def answer(asked):
        if "long" not in last(asked):
            return said()
        full = refused(
            "maximum context length is 60 tokens, you requested 70 (46 in the messages, 24 in the completion)"
        )
        return full if asked["max_tokens"] == 24 else refused("ill", 500)

    with answering(answer) as server:
        model = await proved(server)
        with pytest.raises(RequestRefusedError):
            await model.generate(ask("long", tokens=24))


@pytest.mark.parametrize("share", [0.1, 0.3])
async def test_a_flaky_server_refuses_nothing(share):
    chance = random.Random(7)
    with answering(lambda asked: refused("ill", 500) if chance.random() < share else said()) as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        for n in range(100):
            assert (await model.generate(ask(f"question {n}"))).text == "red"
