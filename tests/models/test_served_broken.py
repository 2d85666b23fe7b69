"""A server that breaks on one conversation is told from one that is ill: the first ends that attempt, and is scored."""

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


@pytest.mark.parametrize("share", [0.1, 0.3])
async def test_a_flaky_server_refuses_nothing(share):
    chance = random.Random(7)
    with answering(lambda asked: refused("ill", 500) if chance.random() < share else said()) as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        for n in range(100):
            assert (await model.generate(ask(f"question {n}"))).text == "red"
