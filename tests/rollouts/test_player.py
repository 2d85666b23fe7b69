"""One job's trouble stays its own; what fails before anything was scored is a wrong set-up."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from rollout_fakes import HARNESS, PAIR, Failing, ToyBank, ToyModel, make_task, toy_parts

from rsi.errors import (
    InfrastructureError,
    IntegrityError,
    LeaseHeld,
    OutageError,
    RsiError,
    SetupError,
    TamperError,
    UserError,
)
from rsi.ids import canonical
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.store import SqlStore
from rsi.rollouts import LocalExecutor, make_spec, play
from rsi.rollouts.episode import MOST, storable, unscored
from rsi.types import Attempt, Job, Termination


def jobs(n):
    tasks = [make_task(number, needs_sandbox=False) for number in range(n)]
    return [
        Job(spec=make_spec(task, PAIR, "main/test", 0, "none"), task=task, key=ToyBank().key(task), harness=HARNESS)
        for task in tasks
    ]


async def played(model, owed, at_once=4, retries=0):
    return [attempt async for attempt in LocalExecutor(toy_parts(model), at_once, retries).run(owed)]


class Panic(BaseException):
    """As native libraries raise it: no Exception."""


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def surrogates():
    return "\ud800 in it".encode("utf-8")


def invalid():
    Attempt.model_validate({})


TROUBLE = [
    UserError("status 400: unsupported value"),
    IntegrityError("breaks the prefix"),
    InfrastructureError("status 503"),
    SetupError("set-up failed"),
    OutageError("all gone"),
    TamperError("forged"),
    RsiError("of any kind"),
    LeaseHeld("elsewhere"),
    RecursionError("maximum recursion depth exceeded"),
    MemoryError(),
    TypeError("'NoneType' object is not iterable"),
    KeyError("choices"),
    AttributeError("content"),
    IndexError("list index out of range"),
    OverflowError("int too large to convert to float"),
    ZeroDivisionError("division by zero"),
    TimeoutError(),
    OSError(28, "No space left on device"),
    BrokenPipeError(32, "Broken pipe"),
    EOFError(),
    ImportError("no module named socksio"),
    AssertionError(),
    StopAsyncIteration("ended"),
    ExceptionGroup("several", [ValueError("one"), TypeError("two")]),
    RuntimeError("\ud800\0 in its words"),
    RuntimeError("x" * 1_000_000),
    Unspeakable(),
    Panic("native code panicked"),
    asyncio.CancelledError("by a library"),
]
CALLS = [surrogates, invalid]


class Odd(ToyModel):
    """`trouble` for every request of task 7, an answer for all others."""

    def __init__(self, trouble):
        super().__init__()
        self.trouble = trouble

    async def generate(self, request):
        if "(7)" in request.messages[-1].content:
            if isinstance(self.trouble, BaseException):
                raise self.trouble
            self.trouble()
        return await super().generate(request)


@pytest.mark.parametrize("trouble", [*TROUBLE, *CALLS], ids=lambda t: getattr(t, "__name__", type(t).__name__))
async def test_one_jobs_error_of_any_type_ends_that_job_alone(trouble, tmp_path):
    attempts = await played(Odd(trouble), jobs(20))
    (lost,) = (a for a in attempts if a.score is None)
    assert len(attempts) == 20 and lost.spec.task_id == "task-7" and lost.termination is Termination.INFRASTRUCTURE
    names = (type(trouble).__name__, "UnicodeEncodeError", "ValidationError", "RuntimeError: no words")
    assert lost.error.startswith(names)
    assert len(lost.error) <= MOST
    database = open_database(f"sqlite:///{tmp_path / 'rsi.db'}")
    store = SqlStore(database, acquire(database, "main"))
    for attempt in attempts:
        store.record(attempt)
    assert store.counts("main/test") == (19, 1)
    database.close()


@pytest.mark.parametrize("error", [UserError("refused the key"), IntegrityError("another prefix")])
@pytest.mark.parametrize("at_once", [1, 3, 48])
async def test_what_fails_before_anything_was_scored_is_a_wrong_setup(error, at_once):
    model = Failing(error, times=1000)
    with pytest.raises(type(error), match=str(error)):
        await played(model, jobs(300), at_once)
    assert model.calls <= 2 * max(8, at_once)
    with pytest.raises(type(error), match=str(error)):
        await played(Failing(error, times=1000), jobs(2), at_once)


async def test_refusals_that_come_before_the_first_score_are_asked_again():
    """A refusal is quick and an answer slow: the first words of a server that works may all be refusals."""

    class Slow(ToyModel):
        asked = 0

        async def generate(self, request):
            self.asked += 1
            if self.asked <= 6:
                raise UserError("status 400: content_filter")
            await asyncio.sleep(0.01)
            return await super().generate(request)

    model = Slow()
    attempts = await played(model, jobs(20), at_once=8)
    assert len({a.id for a in attempts}) == len(attempts) == 20 and all(a.score is not None for a in attempts)
    assert model.asked == 26


async def test_a_wrong_setup_that_begins_later_is_each_jobs_own():
    class Expires(ToyModel):
        async def generate(self, request):
            if self.calls == 5:
                raise UserError("refused the key in $K (status 401)")
            return await super().generate(request)

    attempts = await played(Expires(), jobs(20), at_once=2, retries=3)
    assert sum(a.score is not None for a in attempts) == 5
    assert {a.error for a in attempts if a.score is None} == {"UserError: refused the key in $K (status 401)"}


async def test_a_cancelled_run_is_cancelled():
    running = asyncio.create_task(played(ToyModel(seconds=60), jobs(3)))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def attempt_of(text, logprobs):
    attempt = await play(jobs(1)[0], toy_parts())
    turn = attempt.turns[0]
    completion = turn.completion.model_copy(update={"text": text, "logprobs": logprobs})
    turn = turn.model_copy(update={"completion": completion, "observation": text})
    return attempt.model_copy(update={"turns": (turn,), "output": text})


texts = st.text(st.characters(), max_size=20)
numbers = st.lists(st.floats(), max_size=5).map(tuple)


@given(texts, numbers)
def test_a_played_attempt_can_always_be_recorded_and_keeps_its_score(text, logprobs):
    attempt = asyncio.run(attempt_of(text, logprobs))
    kept = storable(attempt)
    assert Attempt.model_validate_json(canonical(kept)) == kept and kept.score == attempt.score
    assert kept.id == attempt.id and len(kept.output) <= len(attempt.output)
    assert storable(kept) is kept


@given(st.text(st.characters(), max_size=50))
def test_any_words_of_a_failure_can_be_recorded(words):
    canonical(unscored(jobs(1)[0], RuntimeError(words)))


def test_a_record_that_is_no_attempt_is_refused():
    with pytest.raises(ValidationError):
        Attempt.model_validate({})
