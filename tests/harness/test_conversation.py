"""Conversations: one episode over many user messages, what each answered, and how they are judged."""

import pytest
from test_loop import TASK, Replies, config, sh

from benchmarks.plain_sandbox import PlainProvider
from rsi.errors import ContextOverflow, IntegrityError
from rsi.harness import run_episode
from rsi.harness.memory import compacted, extract
from rsi.turns import judge
from rsi.types import Hook, Memory, Message, OutputCheck, Score, StopHook, Task, TaskKey, Termination
from rsi.verify.checks import CheckVerifier

TALK = TASK.model_copy(update={"files": {}, "needs_sandbox": False, "user_turns": ("Two?", "Three?")})


def answer(text):
    return f"<answer>{text}</answer>"


async def talk(model, harness, task=TALK):
    return await run_episode(task, harness, model, None, 1, None)


async def test_every_user_message_is_answered_within_one_episode():
    model = Replies(answer(1), "no tag", answer(3))
    episode = await talk(model, config(turns=5))
    assert episode.termination == Termination.ANSWERED
    assert episode.outputs == ("1", "", "3") and episode.output == "3" and len(episode.turns) == 3
    assert [m.content for m in model.requests[-1].messages if m.role == "user"] == ["Go.", "Two?", "Three?"]
    last = episode.turns[-1].completion
    assert last.prompt_ids[: len(model.requests[-1].prefix_ids)] == model.requests[-1].prefix_ids != ()


async def test_a_task_of_one_request_has_one_output():
    episode = await talk(Replies(answer(1)), config(), TALK.model_copy(update={"user_turns": ()}))
    assert episode.outputs == ("1",) and episode.termination == Termination.ANSWERED


@pytest.mark.parametrize(
    ("limits", "end", "outputs"),
    [
        ({"turns": 2}, Termination.TURNS, ("1", "2")),  # a third message is never shown
        ({"turns": 9, "tokens": 36}, Termination.TOKENS, ("1", "2", "")),
    ],
)
async def test_budgets_hold_over_the_whole_conversation(limits, end, outputs):
    episode = await talk(Replies(answer(1), answer(2), answer(3)), config(**limits))
    assert episode.termination == end and episode.outputs == outputs
    assert len(episode.turns) == 2


async def test_a_full_window_without_memory_ends_the_conversation():
    episode = await talk(Replies(answer(1), ContextOverflow("full")), config(turns=9))
    assert episode.termination == Termination.CONTEXT and episode.outputs == ("1", "")


async def test_hooks_see_each_message_and_a_held_back_end_stays_in_its_message(tmp_path):
    sandbox = await PlainProvider().open()
    says = Hook(event="UserPromptSubmit", name="h", command="cat >> seen; echo seen-by-hook")
    stop = StopHook(name="s", message="Again.", builtin="no_action")
    held = Hook(event="Stop", name="s", message="Again.", builtin="no_action")
    model = Replies("hm", answer(1), sh("echo 2"), answer("two"), answer(3))
    try:
        harness = config(stop, turns=9, hooks=(says, held))
        episode = await run_episode(TALK, harness, model, sandbox, 1, None)
        seen = (await sandbox.get())["seen"].decode()
    finally:
        await sandbox.close()
    assert episode.outputs == ("1", "two", "3")
    assert [word in seen for word in ("Go.", "Two?", "Three?")] == [True] * 3
    assert "seen-by-hook" in model.requests[-1].messages[-1].content


async def test_a_refused_message_ends_the_conversation():
    sandbox = await PlainProvider().open()
    hook = Hook(event="UserPromptSubmit", name="h", command="grep -q Two && exit 2; exit 0")
    try:
        episode = await run_episode(TALK, config(turns=9, hooks=(hook,)), Replies(answer(1)), sandbox, 1, None)
    finally:
        await sandbox.close()
    assert episode.termination == Termination.NO_ACTION and episode.outputs == ("1",)


def said(*texts):
    return [Message(role="assistant" if n % 2 else "user", content=text) for n, text in enumerate(texts)]


def test_compaction_keeps_the_current_request_and_what_was_told():
    log = said("The sky is green. Right?", "noted", "Why?", "x", "Look.", "cmd", "shown 1", "cmd", "shown 2")
    kept = compacted([], log, 1, 300, (0, 2, 4), True)
    assert kept[0].content.endswith("Look.\n\nshown 2") and "- user: The sky is green.\n" in kept[0].content
    assert "Right" not in kept[0].content and "Why" not in kept[0].content
    assert len(kept) == 1 and kept[0].content.count("Look.") == 1
    again = compacted([], log[:5], 1, 300, (0, 2, 4), True)
    assert again[-1].content.endswith("\n\nLook.") and again[-1].content.count("Look.") == 1


def test_an_extract_that_prefers_what_was_told_keeps_early_facts():
    log = said("Ann has 7.", *[f"{'cmd' if n % 2 else 'shown'} {n} {'x' * 40}" for n in range(1, 20)])
    assert "Ann has 7." not in extract(log, 300, {0})
    first = extract(log, 300, {0}, told_first=True)
    assert first.splitlines()[1] == "- user: Ann has 7." and "cmd 19" in first and len(first) <= 300


class Window(Replies):
    async def generate(self, request):
        if sum(len(m.content) for m in request.messages) > 260:
            raise ContextOverflow("full")
        return await super().generate(request)


async def test_with_a_memory_an_early_fact_is_in_the_last_prompt():
    turns = tuple(f"Question {n} {'y' * 20}?" for n in range(20))
    task = TALK.model_copy(update={"request": "Ann has 7.", "user_turns": turns})
    model = Window(*[answer(n) for n in range(21)])
    memory = Memory(keep_turns=2, summary_chars=80, first="told")
    episode = await talk(model, config(turns=30, memory=memory), task)
    assert len(episode.outputs) == 21 and episode.turns[-1].segment > 1
    assert "- user: Ann has 7." in str(model.requests[-1].messages)
    assert model.requests[-1].messages[-1].content.endswith(turns[-1])


def key(*expected, **fields):
    checks = tuple((OutputCheck(expected=text),) for text in expected)
    return TaskKey(task_id="t", reference="[]", checks=(), turn_checks=checks, **fields)


async def score(outputs, its: TaskKey, task: Task = TALK) -> Score:
    return await judge(CheckVerifier(None), task, its, outputs, {})


async def test_a_conversation_is_judged_message_by_message():
    whole = await score(("1", "2", "3"), key("1", "2", "3"))
    assert (whole.reward, whole.passed, whole.parts) == (1.0, True, (1.0, 1.0, 1.0))
    short = await score(("1", "9"), key("1", "2", "3", pass_share=0.3))
    assert short.passed and short.parts == (1.0, 0.0, 0.0) and short.reward == pytest.approx(1 / 3)
    assert not (await score(("1", "9"), key("1", "2", "3"))).passed
    with pytest.raises(IntegrityError, match="3 user messages and checks for 2"):
        await score(("1",), key("1", "2"))


async def test_one_request_is_judged_as_before():
    one = TaskKey(task_id="t", reference="1", checks=(OutputCheck(expected="1"),))
    plain = TALK.model_copy(update={"user_turns": ()})
    assert await score(("1",), one, plain) == Score(reward=1.0, passed=True)
    assert not (await score((), one, plain)).passed
