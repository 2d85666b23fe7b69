"""The talk bank: conversations that prove themselves, split apart by all that the user says."""

import json
from collections import Counter
from pathlib import Path

import pytest
from shipped_banks import shipped

from benchmarks.drift import WINDOW, converse, harnesses
from rsi.banks.catalogue import load_catalogue
from rsi.banks.certify import certify
from rsi.banks.near import SealedScan, contents
from rsi.harness.memory import extract
from rsi.hcp import load
from rsi.turns import judge
from rsi.types import Message, Termination
from rsi.verify.checks import CheckVerifier

ROOT = Path(__file__).resolve().parents[2]
SPLITS = ("train", "selection", "sealed")


@pytest.fixture(scope="module")
def talk():
    return shipped("talk")


def test_ten_conversations_of_forty_turns_and_a_fifth_of_the_families_held_out(talk):
    assert len(talk.open_families) == 8 and len(talk.definition.families) == 10
    for split in SPLITS:
        tasks = talk.tasks(split)
        assert len(tasks) >= 16 and all(len(task.user_turns) == 39 for task in tasks)
        assert min(Counter(task.recipe.family for task in tasks).values()) >= 2
        assert len({task.id for task in tasks}) == len(tasks)


async def test_every_conversation_is_certified(talk):
    for task in [task for split in SPLITS for task in talk.tasks(split)]:
        certificate = await certify(task, talk.key(task), CheckVerifier(None), None, repeats=1)
        assert certificate.passed, (task.recipe.family, certificate.reason)


async def test_no_single_answer_passes_and_a_wrong_reference_fails(talk):
    task = talk.tasks("sealed")[0]
    key = talk.key(task)
    answers = json.loads(key.reference)
    for text in set(answers):
        assert not (await judge(CheckVerifier(None), task, key, [text] * 40, {})).passed
    for reference in ("none", "{}", json.dumps(answers[:35])):
        broken = key.model_copy(update={"reference": reference})
        assert not (await certify(task, broken, CheckVerifier(None), None, repeats=1)).passed


def test_the_last_ten_turns_only_ask_and_early_ones_tell(talk):
    for task in talk.tasks("sealed"):
        answers = json.loads(talk.key(task).reference)
        assert answers[0] == "noted" and answers[:10].count("noted") >= 6 and "noted" not in answers[30:]


def test_what_the_user_says_later_counts_as_content(talk):
    task, other = talk.tasks("train")[0], talk.tasks("sealed")[0]
    assert contents(task.asked, {}) != contents(task.request, {})
    scan = SealedScan(talk.tasks("sealed"))
    assert not [one.id for split in ("train", "selection") for one in talk.tasks(split) if scan(one)]
    assert scan(other)
    assert scan(other.model_copy(update={"request": other.request + " Please."}))


def test_the_default_documents_memory_holds_all_that_is_told(talk):
    """Otherwise the bank would ask for what no document of it can know."""
    document = load(ROOT / "harness_configs/talk/default.toml").harness()
    assert document.memory is not None and document.memory.first == "told" and document.tools == ()
    for task in talk.tasks("sealed"):
        messages = [Message(role="user", content=text) for text in (task.request, *task.user_turns)]
        kept = extract(messages, document.memory.summary_chars, range(40), told_first=True)
        assert kept.count("- user:") == json.loads(talk.key(task).reference).count("noted")
    bare = load(ROOT / "harness_configs/talk/bare.toml").harness()
    same = document.model_dump(exclude={"memory", "document_digest"})
    assert bare.memory is None and bare.model_dump(exclude={"memory", "document_digest"}) == same
    assert load_catalogue(ROOT / "task_banks/talk")


async def test_a_reader_of_its_prompt_passes_with_a_memory_and_is_cut_off_without(talk):
    """Played as any job is; the score says which of the forty turns were met."""
    tasks = talk.tasks("sealed")[:3]
    arms = harnesses()
    for kept in await converse(talk, tasks, arms["memory"]):
        assert kept.score is not None and kept.score.reward == 1.0
        assert kept.passed and kept.turns[-1].segment > 0
        assert all(len(turn.completion.prompt_ids) < WINDOW for turn in kept.turns)
    for cut in await converse(talk, tasks, arms["no memory"]):
        assert cut.termination == Termination.CONTEXT and not cut.passed
        assert cut.score is not None and cut.score.parts[-1] == 0.0 and cut.score.reward < 0.85
