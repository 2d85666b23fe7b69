"""The gate on the real store: a look that dies half-way owes what is left, and nothing else."""

import random
from pathlib import Path

import pytest
from registry_records import make_record

from rsi.config import GateSettings
from rsi.errors import UserError
from rsi.gate.contract import load_contract
from rsi.gate.stage import Candidate, judge
from rsi.ids import digest
from rsi.ports import Scene
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.looks import Looks
from rsi.registry.store import SqlStore
from rsi.rollouts.record import Recording
from rsi.types import Attempt, Cost, HarnessConfig, Pair, Recipe, Score, Task, TaskKey, Termination

CONTRACT = load_contract(Path(__file__).resolve().parents[2] / "contracts/default.toml")
SETTINGS = GateSettings(tasks=20, held_out_tasks=6)
OLD = make_record("a0").pair
NEW = Pair(base="b", adapters={"agent": "a1"}, hcp="h1")


class Killed(BaseException):
    pass


class Bank:
    digest = "bank"

    def tasks(self, split, shard=0):
        names = [(f"f{i}", i >= 8) for i in range(10)]
        return [self._task(name, held, shard, i) for i in range(3) for name, held in names]

    def _task(self, family, held, shard, i):
        name, recipe = digest([family, shard, i]), Recipe(family=family)
        return Task(id=name, bank="toy", recipe=recipe, split="sealed", instance=i, held_out=held, request=name)

    def key(self, task):
        return TaskKey(task_id=task.id, reference="true", checks=())


class Chance:
    """An executor: the new pair passes half of the time, by the attempt's seed; dies after `lives` attempts.
    Infrastructure takes the first `lost`."""

    def __init__(self, lives=10**6, lost=0):
        self.lives, self.lost, self.played = lives, lost, []

    async def run(self, jobs):
        for job in jobs:
            if len(self.played) == self.lives:
                raise Killed
            self.played.append(job.spec.digest)
            passed = job.spec.pair == NEW.digest and random.Random(job.spec.seed).random() < 0.6
            lost = len(self.played) <= self.lost
            yield Attempt(
                id=job.spec.digest,
                spec=job.spec,
                family=job.task.recipe.family,
                split=job.task.split,
                held_out=job.task.held_out,
                termination=Termination.INFRASTRUCTURE if lost else Termination.ANSWERED,
                turns=(),
                score=None if lost else Score(reward=float(passed), passed=passed),
                cost=Cost(turns=1, completion_tokens=10),
            )

    async def close(self):
        pass


async def gate(url, executor, settings=SETTINGS, seed=0):
    database, bank = open_database(url), Bank()
    with acquire(database, "main") as lease:
        recording = Recording(
            bank, executor, SqlStore(database, lease), "none", "agent", lambda *_: None, lambda *_: None
        )
        return await judged(recording, bank, settings, seed, Looks(database, lease))


async def judged(recording, bank, settings, seed, looks):
    async def draw(tasks, pair, harness, k, purpose):
        return await recording.draw(tasks, pair, harness, k, f"main/seed{seed}/{purpose}")

    scene = Scene(
        lineage="main",
        generation=1,
        seed=seed,
        champion=OLD,
        document="",
        harness=HarnessConfig(document_digest=OLD.hcp, system=""),
        bank=bank,
        draw=draw,
        say=lambda line: None,
    )
    harness = HarnessConfig(document_digest="h1", system="")
    return await judge(scene, Candidate(NEW, harness, "agent", {}), CONTRACT, settings, looks)


async def test_a_killed_look_resumes_what_it_owes_and_judges_alike(url, tmp_path):
    first, second = Chance(lives=37), Chance()
    with pytest.raises(Killed):
        await gate(url, first)
    database = open_database(url)
    assert len(Looks(database).of("main")) == 1, "the look is recorded before it is scored"
    verdict = await gate(url, second)
    assert not set(first.played) & set(second.played)
    assert len(first.played) + len(second.played) == 2 * 23  # of 26 tasks 3 are held back
    assert len(Looks(database).of("main")[0].attempts) == 4 * 26  # at most
    assert SqlStore(database).counts("main/seed0/gen1/gate")[0] == 2 * 23
    undisturbed = await gate(f"sqlite:///{tmp_path}/undisturbed.db", Chance())
    assert verdict == undisturbed


async def test_a_recorded_verdict_stands_where_lost_attempts_might_be_had_now(url):
    """A run killed between the verdict and the stage's end: the attempts that it never had are not drawn again."""
    verdict, later = await gate(url, Chance(lost=3)), Chance()
    database = open_database(url)
    with acquire(database, "main") as lease:
        Looks(database, lease).close(verdict)
    assert await gate(url, later) == verdict
    assert later.played == []


async def test_another_choice_of_sealed_tasks_is_no_way_to_a_second_look(url):
    with pytest.raises(Killed):
        await gate(url, Chance(lives=30))
    fresh = Chance()
    with pytest.raises(UserError, match="no second look"):
        await gate(url, fresh, GateSettings(tasks=24, held_out_tasks=6))
    assert fresh.played == []


async def test_another_seed_is_no_way_to_other_draws_of_the_same_look(url):
    with pytest.raises(Killed):
        await gate(url, Chance(lives=30))
    fresh = Chance()
    with pytest.raises(UserError, match="no second look"):
        await gate(url, fresh, seed=1)
    assert fresh.played == []
