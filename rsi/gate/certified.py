"""Only tasks that have proved themselves are used. What is left out is decided and recorded before it is drawn."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from rsi.config import GateSettings
from rsi.ports import Certifier, TaskBank
from rsi.types import Look, OpenTask, Recipe, Split, Task, TaskKey


class Certified:
    """A bank without its quarantined tasks. Implements ports.TaskBank."""

    def __init__(self, bank: TaskBank, quarantined: Collection[str]) -> None:
        self._bank, self._quarantined = bank, frozenset(quarantined)

    @property
    def digest(self) -> str:
        return self._bank.digest

    def tasks(self, split: Split, shard: int = 0) -> Sequence[Task]:
        return [task for task in self._bank.tasks(split, shard) if task.id not in self._quarantined]

    def key(self, task: Task) -> TaskKey:
        return self._bank.key(task)

    def make(self, recipe: Recipe, seed: int, split: Split) -> OpenTask:
        return self._bank.make(recipe, seed, split)


Choose = Callable[[TaskBank], Sequence[Task]]


def looked_at(bank: TaskBank, shard: int, settings: GateSettings) -> Sequence[Task]:
    """What a look at a sealed shard takes: its first unseen instances of open families, then of unseen families."""
    sealed = bank.tasks("sealed", shard)
    seen = [task for task in sealed if not task.held_out][: settings.tasks]
    return [*seen, *[task for task in sealed if task.held_out][: settings.held_out_tasks]]


def worn(looks: Sequence[Look], allowed: int) -> set[str]:
    """Ids of the sealed tasks that have had as many looks as a contract allows, this one (`allowed`) or an earlier one.
    A family that has little to draw from comes up with the same task again."""
    counts = Counter(task for look in looks for task in {attempt.split("/")[-2] for attempt in look.attempts})
    most = min([allowed, *(look.shard_looks for look in looks)])
    return {task for task, looked in counts.items() if looked >= most}


async def quarantine(bank: TaskBank, choose: Choose, certify: Certifier) -> Mapping[str, str]:
    """Certify what `choose` takes of the bank, then what it takes in place of those that failed, until all of them are
    proved. Returns the reasons of those that failed, by task id."""
    failed, proved = dict[str, str](), set[str]()
    while True:
        owed = [task for task in choose(Certified(bank, failed)) if task.id not in proved]
        if not owed:
            return failed
        certificates = await asyncio.gather(*(certify(task, bank.key(task)) for task in owed))
        failed |= {c.task_id: c.reason for c in certificates if not c.passed}
        proved |= {c.task_id for c in certificates if c.passed}
