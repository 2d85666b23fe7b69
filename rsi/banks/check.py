"""`rsi bank check`: every task of a bank proves itself, a bounded number at once."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rsi.banks.certify import certify
from rsi.banks.near import SealedScan
from rsi.ports import SandboxProvider, TaskBank, Verifier
from rsi.types import Split, Task

SPLITS: tuple[Split, ...] = ("train", "selection", "sealed")


@dataclass(frozen=True)
class CheckRow:
    """One family in one split. `problems` names quarantined tasks with their reasons; empty where all passed."""

    split: Split
    family: str
    held_out: bool
    tasks: int
    passed: int
    problems: tuple[str, ...] = ()


async def check_bank(
    bank: TaskBank,
    verifier: Verifier,
    provider: SandboxProvider | None,
    concurrency: int = 4,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Sequence[CheckRow]:
    """Certify all tasks of all splits (sealed: shard 0); open tasks are scanned for nearness to sealed ones too.

    Raises InfrastructureError where a sandbox breaks: a machine's fault quarantines no task."""
    tasks = [task for split in SPLITS for task in bank.tasks(split)]
    scan, gate, done = SealedScan(bank.tasks("sealed")), asyncio.Semaphore(concurrency), 0

    async def problem(task: Task) -> str:
        nonlocal done
        async with gate:
            certificate = await certify(task, bank.key(task), verifier, provider)
        done += 1
        progress(done, len(tasks))
        return certificate.reason or (scan(task) or "" if task.split != "sealed" else "")

    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(problem(task)) for task in tasks]
    except ExceptionGroup as failures:  # one broken sandbox tells as much as all of them
        raise failures.exceptions[0] from None
    return _rows(tasks, [job.result() for job in running])


def _rows(tasks: Sequence[Task], problems: Sequence[str]) -> list[CheckRow]:
    rows: dict[tuple[Split, str], list[tuple[Task, str]]] = {}
    for task, problem in zip(tasks, problems, strict=True):
        rows.setdefault((task.split, task.recipe.family), []).append((task, problem))
    return [
        CheckRow(
            split=split,
            family=family,
            held_out=found[0][0].held_out,
            tasks=len(found),
            passed=sum(not problem for _, problem in found),
            problems=tuple(f"{task.id[:12]}: {problem}" for task, problem in found if problem),
        )
        for (split, family), found in sorted(rows.items(), key=lambda item: (SPLITS.index(item[0][0]), item[0][1]))
    ]
