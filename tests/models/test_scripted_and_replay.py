"""What is particular to the table and the tape: which rule answers, weights, bad files, torn tapes."""

import asyncio
import json
import math
import multiprocessing
import os
import signal
import time
from collections import Counter

import pytest
from model_conformance import ask

from rsi.errors import IntegrityError, UserError
from rsi.models.replay import RecordingModel, ReplayModel, read_tape
from rsi.models.scripted import ScriptedModel, load_table
from rsi.types import Message

RULES = [
    {"contains": "lines", "needs": "wc -l", "replies": [["wc -l a.txt", 1]]},
    {"contains": "lines", "lacks": "words", "replies": [["I do not know", 3], ["wc", 1]]},
    {"replies": [["fallback", 1]]},
]


@pytest.fixture
def model(tmp_path):
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"rules": RULES}))
    return ScriptedModel(load_table(table))


async def test_an_exemplar_opens_its_rule(model):
    exemplar = (Message(role="user", content="count"), Message(role="assistant", content="wc -l b.txt"))
    shown = (*exemplar, Message(role="user", content="count lines"))
    assert (await model.generate(ask(messages=shown))).text == "wc -l a.txt"
    assert (await model.generate(ask("count lines"))).text in ("I do not know", "wc")
    assert (await model.generate(ask("count lines and words"))).text == "fallback"


async def test_weights_are_frequencies_and_log_probabilities(model):
    answers = [await model.generate(ask("count lines", seed=seed)) for seed in range(2000)]
    counts = Counter(answer.text for answer in answers)
    assert counts["wc"] / 2000 == pytest.approx(0.25, abs=0.03)
    assert {a.text: pytest.approx(sum(a.logprobs)) for a in answers} == {
        "wc": math.log(0.25),
        "I do not know": math.log(0.75),
    }


async def test_a_cut_reply_ends_with_a_whole_character(tmp_path):
    (tmp_path / "table.json").write_text('{"rules": [{"replies": [["aé", 1]]}]}')
    cut = await ScriptedModel(load_table(tmp_path / "table.json")).generate(ask(tokens=2))
    assert (cut.text, cut.token_ids, cut.finish) == ("a", (97,), "length")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "malformed JSON"),
        ('{"rules": [{"replies": []}]}', "rules.0.replies"),
        ('{"rules": [{"replies": [["a", 0]]}]}', "rules.0.replies.0.1"),
        ('{"rules": [], "extra": 1}', "unknown key 'extra'"),
    ],
)
def test_a_bad_table_names_file_and_key(tmp_path, text, message):
    table = tmp_path / "bad.json"
    table.write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        load_table(table)
    assert "bad.json" in str(caught.value)


async def test_no_rule_is_a_user_error(tmp_path):
    (tmp_path / "table.json").write_text('{"rules": [{"contains": "x", "replies": [["a", 1]]}]}')
    with pytest.raises(UserError, match="no rule fits"):
        await ScriptedModel(load_table(tmp_path / "table.json")).generate(ask("y"))


async def test_replay_refuses_an_unseen_request(model, tmp_path):
    tape = tmp_path / "tape.jsonl"
    await RecordingModel(model, tape).generate(ask("count lines"))
    with pytest.raises(UserError, match="record it first"):
        await ReplayModel(tape).generate(ask("count lines", seed=99))
    with pytest.raises(UserError, match="record a tape first"):
        ReplayModel(tmp_path / "none.jsonl")


async def test_a_request_has_one_answer(model, tmp_path):
    tape = tmp_path / "tape.jsonl"
    first = await RecordingModel(model, tape).generate(ask("count lines"))
    again = RecordingModel(model, tape)
    assert await asyncio.gather(*[again.generate(ask("count lines")) for _ in range(3)]) == [first] * 3
    assert len(tape.read_text().splitlines()) == 1
    other = json.loads(tape.read_text())
    other["completion"]["text"] = "another"
    tape.write_text(tape.read_text() + json.dumps(other) + "\n")
    with pytest.raises(IntegrityError, match="line 2"):
        ReplayModel(tape)


async def test_a_torn_line_is_recorded_again(model, tmp_path):
    tape = tmp_path / "tape.jsonl"
    await RecordingModel(model, tape).generate(ask("one"))
    whole = tape.read_bytes()
    tape.write_bytes(whole + whole[: len(whole) // 2])
    assert len(read_tape(tape)) == 1
    await RecordingModel(model, tape).generate(ask("two"))
    assert len(read_tape(tape)) == 2 and tape.read_bytes().startswith(whole)
    tape.write_bytes(b"nonsense\n" + whole)
    with pytest.raises(UserError, match="line 1"):
        read_tape(tape)


def _record_for_ever(model, tape, acknowledged):
    recorder = RecordingModel(model, tape)
    with acknowledged.open("w", buffering=1) as out:
        for seed in range(10**6):
            asyncio.run(recorder.generate(ask("count lines", seed=seed)))
            out.write(f"{seed}\n")


@pytest.mark.chaos
def test_a_killed_recorder_loses_no_answer_it_gave(model, tmp_path):
    tape, acknowledged = tmp_path / "tape.jsonl", tmp_path / "acknowledged"
    for round in range(5):
        acknowledged.write_text("")
        child = multiprocessing.get_context("spawn").Process(target=_record_for_ever, args=(model, tape, acknowledged))
        child.start()
        while not acknowledged.read_text():
            time.sleep(0.02)
        time.sleep(0.03 * round)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        given = [int(line) for line in acknowledged.read_text().split("\n")[:-1]]
        answers = read_tape(tape)
        assert given and all(ask("count lines", seed=seed).digest in answers for seed in given)
