"""The engine's process as its clients meet it, on a tiny model: refusals, silence, death, folders that cannot serve."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from model_conformance import ask
from tiny_model import build_model

from rsi.config import ModelSettings
from rsi.doctor import examine_model
from rsi.errors import ContextOverflow, InfrastructureError, UserError
from rsi.models.embedded import client as clients
from rsi.models.embedded.client import EngineClient
from rsi.models.embedded.fetch import ModelFolder
from rsi.models.embedded.process import EngineProcess
from rsi.types import Message
from rsi.weights import content_digest, file_digests

pytestmark = [pytest.mark.model, pytest.mark.timeout(120)]
SETTINGS = ModelSettings(device="cpu", dtype="float32", threads=1)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
)


def served(folder):
    return ModelFolder(folder, content_digest(file_digests(folder)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Path(build_model(tmp_path_factory.mktemp("base"), NO_SYSTEM))


@pytest.fixture
def process(folder, tmp_path):
    process = EngineProcess(served(folder), tmp_path, SETTINGS)
    process.start()
    yield process
    process.stop()


def with_system(text):
    return ask(messages=(Message(role="system", content="Be brief."), Message(role="user", content=text)))


async def test_a_template_without_a_system_role_is_told_and_the_engine_goes_on(process):
    client = EngineClient(process.address)
    asked = [client.generate(ask("hello") if n % 2 else with_system("hello")) for n in range(8)]
    for n, answer in enumerate(await asyncio.gather(*asked, return_exceptions=True)):
        assert answer.text if n % 2 else isinstance(answer, UserError) and "no system role" in str(answer)
    await client.close()


async def test_the_doctor_finds_it_before_a_run(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("RSI_HOME", str(tmp_path))
    finding = await examine_model(SETTINGS.model_copy(update={"id": str(folder)}))
    assert not finding.ok and "no system role" in finding.found and "template" in finding.found


async def test_an_engine_that_falls_silent_is_told_within_a_bound(process, monkeypatch):
    monkeypatch.setattr(clients, "SILENT_SECONDS", 2.0)
    client = EngineClient(process.address)
    assert (await client.generate(ask())).text
    os.kill(process.pid, signal.SIGSTOP)
    asked = await asyncio.gather(*(client.generate(ask(seed=n)) for n in range(3)), return_exceptions=True)
    assert all(isinstance(one, InfrastructureError) and "silent for 2 s" in str(one) for one in asked)
    os.kill(process.pid, signal.SIGCONT)
    assert (await client.generate(ask())).text, "a new connection finds it alive"
    await client.close()


async def test_a_killed_engine_answers_at_once(process):
    client = EngineClient(process.address)
    asked = [asyncio.create_task(client.generate(ask("more", seed=n, tokens=400))) for n in range(20)]
    await asyncio.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    ended = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 10)
    assert all(isinstance(one, InfrastructureError) or one.text for one in ended)
    with pytest.raises(InfrastructureError, match="gone"):
        await client.generate(ask())


async def test_a_request_that_no_line_holds_is_refused_alone(process, monkeypatch):
    monkeypatch.setattr(clients, "LINE_LIMIT", 20_000)
    client = EngineClient(process.address)
    bad, good = await asyncio.gather(
        client.generate(ask("x" * 30_000)), client.generate(ask("y")), return_exceptions=True
    )
    assert isinstance(bad, ContextOverflow) and good.text
    await client.close()


def written(name, text):
    return lambda folder: (folder / name).write_text(text)


CANNOT_SERVE = {
    "half the weights": lambda f: os.truncate(f / "model.safetensors", 4000),
    "no weights": lambda f: (f / "model.safetensors").unlink(),
    "weights are text": written("model.safetensors", "no weights, by no means\n" * 20),
    "config is no JSON": written("config.json", "{"),
    "no such kind of model": written("config.json", json.dumps({"model_type": "no-such"})),
    "tokenizer is no JSON": written("tokenizer.json", "{"),
    "tokenizer of another form": written("tokenizer.json", json.dumps({"version": "1.0", "model": {"type": "No"}})),
    "no template": lambda f: (f / "chat_template.jinja").unlink(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CANNOT_SERVE)
def test_a_folder_that_cannot_serve_is_one_line(tmp_path, name):
    build_model(tmp_path)
    CANNOT_SERVE[name](tmp_path)
    process = EngineProcess(served(tmp_path), tmp_path, SETTINGS)
    with pytest.raises(UserError, match="model: ") as caught:
        process.start()
    assert "\n" not in str(caught.value) and process.pid is None
