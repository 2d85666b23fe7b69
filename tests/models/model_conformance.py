"""What every model backend must hold. Each check takes a backend whose model answers "colour" messages in some words.

Requests are built from fixed seeds, so that a tape of one run answers the next.
"""

import asyncio
import pickle
from collections.abc import Awaitable, Callable

import pytest

from rsi.errors import ContextOverflow, IntegrityError, UserError
from rsi.ports import ModelBackend
from rsi.types import Completion, Message, ModelRequest, Sampling

Check = Callable[[ModelBackend], Awaitable[None]]
COLOURS = ("red", "green", "green as grass")


def ask(text: str = "Name a colour.", seed: int = 1, **changes) -> ModelRequest:
    sampling = Sampling(max_new_tokens=changes.pop("tokens", 24), temperature=changes.pop("temperature", 1.0))
    messages = changes.pop("messages", (Message(role="user", content=text),))
    return ModelRequest(messages=messages, sampling=sampling, seed=seed, **changes)


def follow(first: ModelRequest, answer: Completion, said: str | None = None) -> ModelRequest:
    """The next turn of a conversation, its sampled ids as prefix."""
    said = answer.text if said is None else said
    turns = (Message(role="assistant", content=said), Message(role="user", content="Another colour."))
    prefix = answer.prompt_ids + answer.token_ids
    return first.model_copy(update={"messages": first.messages + turns, "prefix_ids": prefix})


async def gives_a_log_probability_for_each_token(model: ModelBackend) -> None:
    answer = await model.generate(ask())
    assert answer.text and answer.prompt_ids and answer.policy_version
    assert len(answer.token_ids) == len(answer.logprobs) > 0
    assert all(logprob <= 0 for logprob in answer.logprobs)


async def a_seed_decides_the_answer(model: ModelBackend) -> None:
    assert await model.generate(ask(seed=3)) == await model.generate(ask(seed=3))


async def seeds_differ(model: ModelBackend) -> None:
    answers = await asyncio.gather(*[model.generate(ask(seed=seed)) for seed in range(12)])
    assert len({answer.text for answer in answers}) > 1


async def temperature_zero_ignores_the_seed(model: ModelBackend) -> None:
    one, other = [await model.generate(ask(seed=seed, temperature=0.0)) for seed in (1, 2)]
    assert one.text == other.text


async def concurrent_requests_do_not_mix(model: ModelBackend) -> None:
    requests = [ask(f"Name a colour, number {n}.", seed=n, temperature=0.0, tokens=8) for n in range(6)]
    together = await asyncio.gather(*[model.generate(request) for request in requests])
    for request, answer in zip(requests, together, strict=True):
        alone = await model.generate(request)
        assert (alone.text, alone.prompt_ids) == (answer.text, answer.prompt_ids)


async def a_stop_string_ends_the_text_and_stays(model: ModelBackend) -> None:
    request = ask("List the colours.", temperature=0.0)
    whole = await model.generate(request)
    stop = whole.text[len(whole.text) // 3 :][:2]
    cut = await model.generate(request.model_copy(update={"stop": (stop,)}))
    assert stop in cut.text and cut.finish == "stop"
    assert whole.text.startswith(cut.text) and len(cut.text) < len(whole.text)


async def the_length_is_bounded(model: ModelBackend) -> None:
    answer = await model.generate(ask("List the colours.", tokens=3))
    assert len(answer.token_ids) == 3 and answer.finish == "length"


async def choices_constrain_the_whole_text(model: ModelBackend) -> None:
    texts = [(await model.generate(ask(seed=seed, tokens=2, choices=COLOURS))).text for seed in range(6)]
    assert set(texts) <= set(COLOURS)


async def the_prefix_is_kept_over_turns(model: ModelBackend) -> None:
    first = ask("List the colours.")
    answer = await model.generate(first)
    second = follow(first, answer)
    next_answer = await model.generate(second)
    assert next_answer.prompt_ids[: len(second.prefix_ids)] == second.prefix_ids
    assert len(next_answer.prompt_ids) > len(second.prefix_ids)


async def a_broken_prefix_is_refused(model: ModelBackend) -> None:
    first = ask("List the colours.")
    answer = await model.generate(first)
    with pytest.raises(IntegrityError, match="prefix"):
        await model.generate(follow(first, answer, said="words that were never sampled"))


async def a_prompt_beyond_the_window_overflows(model: ModelBackend) -> None:
    with pytest.raises(ContextOverflow, match="window"):
        await model.generate(ask("colour " * 200_000))


async def an_unknown_adapter_is_named(model: ModelBackend) -> None:
    with pytest.raises(UserError, match=r"adapter"):
        await model.generate(ask(adapter="0123456789abcdef"))


async def it_pickles(model: ModelBackend) -> None:
    copy = pickle.loads(pickle.dumps(model))
    assert await copy.generate(ask(seed=3)) == await model.generate(ask(seed=3))
    await copy.close()


async def close_may_be_called_twice(model: ModelBackend) -> None:
    await model.close()
    await model.close()


CHECKS: tuple[Check, ...] = (
    gives_a_log_probability_for_each_token,
    a_seed_decides_the_answer,
    seeds_differ,
    temperature_zero_ignores_the_seed,
    concurrent_requests_do_not_mix,
    a_stop_string_ends_the_text_and_stays,
    the_length_is_bounded,
    choices_constrain_the_whole_text,
    the_prefix_is_kept_over_turns,
    a_broken_prefix_is_refused,
    a_prompt_beyond_the_window_overflows,
    an_unknown_adapter_is_named,
    it_pickles,
    close_may_be_called_twice,
)


def named(*without: Check) -> dict[str, object]:
    """Arguments of `pytest.mark.parametrize` for all checks but `without`."""
    checks = [check for check in CHECKS if check not in without]
    return {"argnames": "check", "argvalues": checks, "ids": [check.__name__ for check in checks]}
