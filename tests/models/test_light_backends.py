"""The conformance suite on the backends that need no model of their own: scripted, recording, replay, OpenAI."""

import pytest
from model_conformance import (
    CHECKS,
    a_broken_prefix_is_refused,
    a_prompt_beyond_the_window_overflows,
    an_unknown_adapter_is_named,
    ask,
    named,
)
from openai_server import serving

from rsi.config import ModelSettings
from rsi.models.openai import OpenAIModel
from rsi.models.replay import RecordingModel, ReplayModel
from rsi.models.scripted import ScriptedModel, Table
from rsi.ports import ModelBackend

TABLE = Table.model_validate(
    {
        "rules": [
            {"contains": "List the colours", "replies": [["white, grey, black", 1]]},
            {"contains": "colour", "replies": [["red", 3], ["green", 2], ["blue as the sky", 1]]},
        ]
    }
)


def test_every_backend_is_the_protocol():
    assert isinstance(ScriptedModel(TABLE), ModelBackend)
    assert isinstance(OpenAIModel(ModelSettings(id="http://127.0.0.1:1/v1")), ModelBackend)


@pytest.mark.parametrize(**named(an_unknown_adapter_is_named))
async def test_scripted(check):
    await check(ScriptedModel(TABLE))


@pytest.mark.parametrize(**named(an_unknown_adapter_is_named))
async def test_recording(check, tmp_path):
    await check(RecordingModel(ScriptedModel(TABLE), tmp_path / "tape.jsonl"))


@pytest.mark.parametrize(
    **named(an_unknown_adapter_is_named, a_broken_prefix_is_refused, a_prompt_beyond_the_window_overflows)
)
async def test_replay(check, tmp_path):
    """A tape holds answers only, so the checks of errors have nothing to replay."""
    tape = tmp_path / "tape.jsonl"
    recorder = RecordingModel(ScriptedModel(TABLE), tape)
    await recorder.generate(ask())
    await check(recorder)
    await check(ReplayModel(tape))


@pytest.mark.parametrize(**named())
async def test_openai(check):
    with serving(ScriptedModel(TABLE)) as server:
        model = OpenAIModel(ModelSettings(id=server.url))
        await check(model)
        await model.close()


def test_the_suite_is_complete():
    assert len(CHECKS) == len({check.__name__ for check in CHECKS}) >= 14
