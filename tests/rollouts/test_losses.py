"""When lost attempts are an outage: what is recorded, what stays owed, what goes on as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollout_fakes import HARNESS, PAIR, ToyBank, ToyModel, make_task, toy_parts

from rsi.errors import InfrastructureError, OutageError
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.store import SqlStore
from rsi.rollouts import LocalExecutor, Recording, make_spec
from rsi.rollouts.losses import FEW, ROW, Losses
from rsi.types import Attempt, Score, Termination

TASKS = [make_task(n, needs_sandbox=False) for n in range(40)]


class Down(ToyModel):
    """Answers only while `up(number of the call)` holds."""

    def __init__(self, up):
        super().__init__()
        self.up, self.asked = up, 0

    async def generate(self, request):
        self.asked += 1
        if not self.up(self.asked):
            raise InfrastructureError("no answer after 4 tries (status 503)")
        return await super().generate(request)


@pytest.fixture
def store(tmp_path):
    database = open_database(f"sqlite:///{tmp_path / 'rsi.db'}")
    yield SqlStore(database, acquire(database, "main"))
    database.close()


def recording(store, model, at_once=4, share=0.2):
    executor = LocalExecutor(toy_parts(model), at_once, retries=0)
    nothing = lambda *_: None  # noqa: E731
    return Recording(ToyBank(), executor, store, "none", "agent", nothing, nothing, Losses(share, at_once))


async def test_a_draw_that_loses_everything_ends_long_before_its_last_attempt(store):
    model = Down(lambda n: False)
    with pytest.raises(OutageError, match=r"main/seed0/gen1/discovery/screen: \d+ of 160 attempts.*status 503"):
        await recording(store, model).draw(TASKS, PAIR, HARNESS, 4, "main/seed0/gen1/discovery/screen")
    assert FEW < model.asked <= ROW + 4
    assert store.counts("main/seed0/gen1")[0] == 0 and store.counts("main/seed0/gen1")[1] >= ROW


async def test_the_next_run_plays_only_what_is_owed(store):
    purpose, played = "main/seed0/gen1/discovery/screen", 21
    with pytest.raises(OutageError):
        await recording(store, Down(lambda n: n <= played)).draw(TASKS[:8], PAIR, HARNESS, 4, purpose)
    assert store.counts(purpose)[0] == played
    model = ToyModel()
    groups = await recording(store, model).draw(TASKS[:8], PAIR, HARNESS, 4, purpose)
    assert model.calls == 32 - played and all(a.score is not None for group in groups for a in group)


async def test_a_few_lost_draws_among_many_stay_unscored_attempts(store):
    lost = {5, 20, 33}
    model = Down(lambda n: n not in lost)
    groups = await recording(store, model).draw(TASKS, PAIR, HARNESS, 1, "main/seed0/gen1/discovery/screen")
    assert sum(a.score is None for group in groups for a in group) == len(lost) <= FEW


async def test_parts_of_a_stage_are_counted_apart(store):
    """What was drawn well before must not hide that the selection was lost."""
    drawn = recording(store, ToyModel())
    await drawn.draw(TASKS, PAIR, HARNESS, 4, "main/seed0/gen1/expansion/without")
    down = recording(store, Down(lambda n: False))
    down.losses._parts.update(drawn.losses._parts)
    with pytest.raises(OutageError, match=r"gen1/expansion/selection: \d+ of 4"):
        await down.draw(TASKS[:4], PAIR, HARNESS, 1, "main/seed0/gen1/expansion/selection")


async def test_trials_of_edits_are_one_part(store):
    """One edit's draws may all be lost where the others' are not: that is no outage of the search."""
    drawn = recording(store, ToyModel())
    for name in "abcdef":
        await drawn.draw(TASKS[:2], PAIR, HARNESS, 2, f"main/seed0/gen1/expansion/edit/{name}/0000")
    down = recording(store, Down(lambda n: False))
    down.losses._parts.update(drawn.losses._parts)
    groups = await down.draw(TASKS[:2], PAIR, HARNESS, 2, "main/seed0/gen1/expansion/edit/g/0000")
    assert all(a.score is None for group in groups for a in group)


def attempt(n, lost):
    spec = make_spec(TASKS[0], PAIR, "main/seed0/gen1/gate", n, "none")
    return Attempt(
        id=spec.digest,
        spec=spec,
        family="f",
        split="sealed",
        held_out=False,
        termination=Termination.INFRASTRUCTURE if lost else Termination.ANSWERED,
        turns=(),
        score=None if lost else Score(reward=1, passed=True),
        error="gone" if lost else "",
    )


class Shelf:
    def get(self, ids):
        return {}

    def record(self, attempt):
        pass


@given(st.lists(st.booleans(), min_size=1, max_size=80), st.sampled_from([0.0, 0.1, 0.2, 0.5]))
def test_whatever_the_order_many_lost_are_an_outage_and_few_are_not(lost, share):
    attempts = [attempt(n, one) for n, one in enumerate(lost)]
    counted = Losses(share, at_once=200).counted(Shelf(), attempts[0].spec.purpose)
    counted.get([a.id for a in attempts])
    out = False
    try:
        for each in attempts:
            counted.record(each)
    except OutageError:
        out = True
    assert out == (all(lost) or sum(lost) > max(FEW, share * len(lost)))


def test_an_attempt_that_is_played_well_later_is_no_longer_lost():
    counted = Losses(0.2).counted(Shelf(), "main/seed0/gen1/canaries")
    counted.get([attempt(n, True).id for n in range(4)])
    for _ in range(5):
        for n in range(3):
            counted.record(attempt(n, lost=True))
            counted.record(attempt(n, lost=False))
    counted.record(attempt(3, lost=True))
