"""Only tasks that have proved themselves are looked at. What is left out is decided, and recorded, before the look."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from rsi.config import GateSettings
from rsi.ports import Certifier, TaskBank
from rsi.types import OpenTask, Recipe, Split, Task, TaskKey


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


async def quarantine(bank: TaskBank, shard: int, settings: GateSettings, certify: Certifier) -> Mapping[str, str]:
    """Certify what a look at the sealed shard would take; others step in for those that fail, while there are any.
    Returns the reasons of those that failed, by task id."""
    sealed, failed = bank.tasks("sealed", shard), dict[str, str]()
    for held_out, wanted in ((False, settings.seen_instances), (True, settings.unseen_families)):
        waiting, proved = [task for task in sealed if task.held_out == held_out], 0
        while waiting and proved < wanted:
            batch, waiting = waiting[: wanted - proved], waiting[wanted - proved :]
            certificates = await asyncio.gather(*(certify(task, bank.key(task)) for task in batch))
            failed |= {c.task_id: c.reason for c in certificates if not c.passed}
            proved += sum(certificate.passed for certificate in certificates)
    return failed
