"""Compaction: what stays of a conversation, and that training sees only tokens behind their own prompt."""

import pytest
from test_loop import Replies, config, run, sh

from rsi.errors import ContextOverflow, UserError
from rsi.harness.memory import compacted, extract
from rsi.hcp.document import parse
from rsi.ids import seed_of
from rsi.types import Attempt, AttemptSpec, Hook, Memory, Message, Termination, ToolCall
from rsi.update.select import flatten


def said(*texts):
    return [Message(role="assistant" if n % 2 else "user", content=text) for n, text in enumerate(texts)]


class Window(Replies):
    """A model whose prompts hold at most `window` bytes."""

    window = 600

    async def generate(self, request):
        if sum(len(m.content) for m in request.messages) > self.window:
            raise ContextOverflow("full")
        return await super().generate(request)


def test_head_request_and_last_exchanges_stay_and_roles_alternate():
    head, log = said("sys", "ex"), said("Do it.", "a", "1", "b", "2", "c", "3")
    kept = compacted(head, log, 2, 500)
    assert kept[:2] == tuple(head) and [m.content for m in kept[3:]] == ["c", "3"]
    assert kept[2].role == "user" and kept[2].content.endswith("- shown: 1\n- you: b\n\nDo it.\n\n2")
    assert compacted(head, log, 9, 500) == (*head, *log)


def test_the_extract_is_bounded_and_keeps_the_latest():
    text = extract(said(*[f"fact {n} " + "x" * 300 for n in range(20)], "Why?"), 1000)
    assert len(text) <= 1000 and "fact 19" in text and "fact 0 " not in text and "Why" not in text
    assert extract(said("a"), 0) == ""


async def test_a_full_window_compacts_where_the_document_has_a_memory():
    replies = [sh(f"echo {'x' * 100}{n}") for n in range(8)] + ["<answer>1</answer>"]
    bare = await run(Window(*replies), config(turns=20, tokens=9000))
    assert bare.termination == Termination.CONTEXT
    model = Window(*replies)
    episode = await run(model, config(turns=20, tokens=9000, memory=Memory(keep_turns=2, summary_chars=100)))
    assert (episode.termination, episode.output) == (Termination.ANSWERED, "1")
    assert episode.turns[-1].segment > 0 and all("Go." in str(request.messages) for request in model.requests)
    spec = AttemptSpec(task_id="t", pair="p", purpose="x", draw=0, sandbox="none", seed=1)
    attempt = Attempt(
        id=spec.digest, spec=spec, family="f", split="train", held_out=False,
        termination=episode.termination, turns=episode.turns,
    )  # fmt: skip
    segments = sorted({turn.segment for turn in episode.turns})
    chosen = segments[seed_of(attempt.id) % len(segments)]
    mine = [turn for turn in episode.turns if turn.segment == chosen]
    flat = flatten(attempt)
    assert flat.prompt_ids == mine[0].completion.prompt_ids
    assert sum(flat.env_mask) == sum(len(turn.completion.token_ids) for turn in mine)


async def test_hooks_may_refuse_a_compaction():
    hook = Hook(event="PreCompact", name="h", command="exit 2")
    replies = [sh(f"echo {'x' * 100}{n}") for n in range(8)]
    refused = await run(Window(*replies), config(turns=20, tokens=9000, memory=Memory(), hooks=(hook,)))
    assert refused.termination == Termination.CONTEXT


def test_a_document_declares_its_memory_and_without_one_there_is_none():
    assert parse("version = 1\n", "d").harness().memory is None
    document = parse("version = 1\n[rsi.memory]\nkeep_turns = 3\n", "d")
    assert document.harness().memory == Memory(keep_turns=3)
    with pytest.raises(UserError, match=r"rsi\.memory\.keep_turns"):
        parse("version = 1\n[rsi.memory]\nkeep_turns = 0\n", "d")


def test_native_calls_are_compacted_without_an_answer_that_has_no_call():
    log = [Message(role="user", content="go")]
    for n in range(3):
        calls = tuple(ToolCall(id=f"{n}{i}", name="shell", arguments="{}") for i in range(2))
        log.append(Message(role="assistant", content="", tool_calls=calls))
        log += [Message(role="tool", content=f"saw {n}", tool_call_id=call.id) for call in calls]
    kept = compacted((), log, 2, 500)
    assert [message.role for message in kept] == ["user", "assistant", "tool", "tool"]
    assert "go" in kept[0].content and "saw 1" in kept[0].content and "shown: saw 0" in kept[0].content
