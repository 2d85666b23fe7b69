"""Draws: recorded before they count, never played twice, the same seeds for every arm."""

import gc

import pytest
from rollout_fakes import HARNESS, PAIR, ToyBank, ToyModel, make_task, toy_parts

from rsi.errors import InfrastructureError, IntegrityError, OutageError, UserError
from rsi.ids import seed_of
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.store import SqlStore
from rsi.rollouts import LocalExecutor, Recording, make_spec
from rsi.rollouts.losses import Losses
from rsi.types import Pair

TASKS = [make_task(n) for n in range(4)]
LEASES = {}


class Log:
    def __init__(self):
        self.spent, self.steps = [], []

    def spend(self, purpose, n):
        self.spent.append((purpose, n))

    def progress(self, purpose, done, total):
        self.steps.append((done, total))


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return open_database(f"sqlite:///{tmp_path_factory.mktemp('store') / 'rsi.db'}")


@pytest.fixture(autouse=True)
def lease(database):
    LEASES[database] = acquire(database, "main")
    yield
    LEASES.pop(database).release()


def recording(database, model=None, log=None, losses=None):
    log, executor = log or Log(), LocalExecutor(toy_parts(model), concurrency=8, retries=0)
    return Recording(
        ToyBank(),
        executor,
        SqlStore(database, LEASES[database]),
        "plain",
        "agent",
        log.spend,
        log.progress,
        losses or Losses(),
    )


async def test_draws_come_grouped_recorded_and_once(database):
    log, model = Log(), ToyModel()
    draw = recording(database, model, log).draw
    groups = await draw(TASKS, PAIR, HARNESS, 3, "main/once")
    assert [[a.spec.task_id for a in group] for group in groups] == [[task.id] * 3 for task in TASKS]
    assert [[a.spec.draw for a in group] for group in groups] == [[0, 1, 2]] * 4
    assert log.spent == [("main/once", 12)] and log.steps == [(n, 12) for n in range(13)] and model.calls == 12
    assert SqlStore(database).get([a.id for g in groups for a in g]).keys() == {a.id for g in groups for a in g}
    again = await draw(TASKS[:2], PAIR, HARNESS, 5, "main/once")
    assert model.calls == 16 and log.spent[1:] == [("main/once", 4)]
    assert [group[:3] for group in again] == groups[:2]
    assert await draw(TASKS, PAIR, HARNESS, 3, "main/once") == groups and len(log.spent) == 2


async def test_arms_share_seeds_and_purposes_do_not(database):
    other = Pair(base="base", adapters={}, hcp="hcp")
    mine, theirs = make_spec(TASKS[0], PAIR, "p", 1, "plain"), make_spec(TASKS[0], other, "p", 1, "plain")
    assert mine.seed == theirs.seed == seed_of(TASKS[0].id, "p", 1) and mine.digest != theirs.digest
    assert len({make_spec(t, PAIR, p, n, "plain").seed for t in TASKS for p in "pq" for n in range(3)}) == 24
    draw = recording(database).draw
    assert (await draw(TASKS, PAIR, HARNESS, 1, "main/arm"))[0][0].turns[0].completion.policy_version == "revision"
    assert (await draw(TASKS, other, HARNESS, 1, "main/arm"))[0][0].turns[0].completion.policy_version == "base"


async def test_a_stopped_draw_keeps_what_it_recorded_and_plays_only_the_rest(database, caplog):
    class Stops(ToyModel):
        async def generate(self, request):
            if self.calls == 5:
                raise UserError("stopped")
            return await super().generate(request)

    stopping = recording(database, Stops(), losses=Losses(share=0.2))
    with pytest.raises(OutageError, match=r"of 12 attempts were lost .*UserError: stopped"):
        await stopping.draw(TASKS, PAIR, HARNESS, 3, "main/stopped")
    ids = [make_spec(t, PAIR, "main/stopped", n, "plain").digest for t in TASKS for n in range(3)]
    kept = SqlStore(database).get(ids)
    model = ToyModel()
    groups = await recording(database, model).draw(TASKS, PAIR, HARNESS, 3, "main/stopped")
    assert model.calls == 12 - len(kept) and [len(group) for group in groups] == [3] * 4
    gc.collect()
    assert "never retrieved" not in caplog.text  # the error of one job is told, its neighbours' are taken


async def test_infrastructure_failures_stay_owed(database):
    class Down(ToyModel):
        async def generate(self, request):
            raise InfrastructureError("down")

    groups = await recording(database, Down()).draw(TASKS[:1], PAIR, HARNESS, 2, "main/down")
    assert [a.score for a in groups[0]] == [None, None]
    model = ToyModel()
    groups = await recording(database, model).draw(TASKS[:1], PAIR, HARNESS, 2, "main/down")
    assert model.calls == 2 and all(a.score is not None for a in groups[0])


async def test_a_budget_refuses_before_anything_is_played(database):
    class Broke(Log):
        def spend(self, purpose, n):
            raise UserError("budget of attempts is used up")

    model = ToyModel()
    with pytest.raises(UserError, match="used up"):
        await recording(database, model, Broke()).draw(TASKS, PAIR, HARNESS, 1, "broke")
    assert model.calls == 0


async def test_the_same_task_twice_is_drawn_once(database):
    model = ToyModel()
    groups = await recording(database, model).draw([TASKS[0], TASKS[0]], PAIR, HARNESS, 2, "main/twice")
    assert model.calls == 2 and groups[0] == groups[1]


async def test_a_harness_of_another_document_is_refused(database):
    with pytest.raises(IntegrityError, match="not of pair"):
        await recording(database).draw(TASKS, Pair(base="base", hcp="other"), HARNESS, 1, "x")


async def test_an_attempt_is_recorded_before_it_counts():
    class Refuses:
        def get(self, ids):
            return {}

        def record(self, attempt):
            raise UserError("disk full")

    executor = LocalExecutor(toy_parts(), concurrency=2, retries=0)
    log = Log()
    draw = Recording(ToyBank(), executor, Refuses(), "plain", "agent", log.spend, log.progress).draw
    with pytest.raises(UserError, match="disk full"):
        await draw(TASKS, PAIR, HARNESS, 1, "x")
    assert log.steps == [(0, 4)]
