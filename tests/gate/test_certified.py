"""A sealed task that does not prove itself is left out of the look, with its reason, and another steps in."""

from rsi.config import GateSettings
from rsi.gate.certified import Certified, looked_at, quarantine, worn
from rsi.types import Certificate, Look, Recipe, Task, TaskKey

SETTINGS = GateSettings(tasks=4, held_out_tasks=2)


class Bank:
    digest = "bank"

    def tasks(self, split, shard=0):
        return [
            Task(
                id=f"{shard}-{n}",
                bank="toy",
                recipe=Recipe(family="f"),
                split="sealed",
                instance=n,
                held_out=n % 3 == 0,
                request="r",
            )
            for n in range(12)
        ]

    def key(self, task):
        return TaskKey(task_id=task.id, reference="", checks=())


class Proofs:
    def __init__(self, *bad):
        self.bad, self.asked = bad, []

    async def __call__(self, task, key):
        self.asked.append(task.id)
        bad = task.id in self.bad
        return Certificate(
            task_id=task.id,
            passed=not bad,
            reference_passes=not bad,
            nothing_fails=True,
            repeats=5,
            repeats_agree=True,
            reason="its reference does not pass" if bad else "",
        )


def look(shard):
    return lambda bank: looked_at(bank, shard, SETTINGS)


async def test_as_many_are_proved_as_will_be_looked_at():
    proofs = Proofs()
    assert await quarantine(Bank(), look(2), proofs) == {}
    assert sorted(proofs.asked) == sorted(["2-1", "2-2", "2-4", "2-5", "2-0", "2-3"])


async def test_a_failed_one_is_left_out_and_the_next_steps_in():
    proofs = Proofs("2-2", "2-3", "2-7")
    failed = await quarantine(Bank(), look(2), proofs)
    assert failed == dict.fromkeys(["2-2", "2-7", "2-3"], "its reference does not pass")
    left = Certified(Bank(), failed).tasks("sealed", 2)
    assert not {task.id for task in left} & set(failed)
    assert {"2-8", "2-6"} <= set(proofs.asked)


async def test_a_shard_may_run_out():
    every = [f"0-{n}" for n in range(12)]
    assert set(await quarantine(Bank(), look(0), Proofs(*every))) == set(every)
    assert Certified(Bank(), every).tasks("sealed", 0) == []


def taken(generation, tasks, allowed=1):
    owed = tuple(f"seed0/gen{generation}/gate/{pair}/{task}/{k}" for pair in "ab" for task in tasks for k in range(3))
    return Look(
        lineage="main",
        generation=generation,
        champion="a",
        candidate="b",
        contract="c",
        sealed="s",
        attempts=owed,
        alpha=0.01,
        spent=0.0,
        budget=0.05,
        shard_looks=allowed,
    )


def test_a_task_that_has_had_its_looks_is_retired():
    assert worn([], 1) == set()
    assert worn([taken(1, "xy"), taken(2, "yz")], 1) == set("xyz")
    assert worn([taken(1, "xy", 2), taken(2, "yz", 2)], 2) == {"y"}
    assert worn([taken(1, "xy"), taken(2, "yz", 2)], 5) == set("xyz")  # what an earlier contract allowed still binds
