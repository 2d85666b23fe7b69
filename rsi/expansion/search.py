"""Runs planned trials on fresh draws, and composes what was accepted into one document."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rsi.expansion.evidence import gains, loses
from rsi.expansion.plan import Plan
from rsi.hcp.document import Document
from rsi.hcp.edits import apply
from rsi.ports import Scene
from rsi.types import Attempt, Edit, EditTrial, OpenTask, Pair

AT_ONCE = 6  # trials in flight: enough for full batches on one engine
SINGLE = {"instruction", "answer_format", "sampling", "budgets"}  # a later change of such a kind undoes an earlier one

Draws = Mapping[str, Sequence[Attempt]]  # task id -> draws


@dataclass(frozen=True)
class Trial:
    """One trial's record, its draws with the edit, and (passes without, passes with, n) of each affected task."""

    record: EditTrial
    attempts: tuple[Attempt, ...]
    by_task: Mapping[str, tuple[int, int, int]]


def under(champion: Pair, document: Document) -> Pair:
    """The champion's base and adapters under another document."""
    return champion.model_copy(update={"hcp": document.digest})


async def without_edit(scene: Scene, plans: Sequence[Plan]) -> Draws:
    """The champion's own fresh draws, once a task, as many as the trial that needs most."""
    need: dict[str, int] = {}
    tasks = {task.id: task for each in plans for task, _ in each.arms}
    for task, k in (arm for each in plans for arm in each.arms):
        need[task.id] = max(k, need.get(task.id, 0))
    purpose = f"gen{scene.generation}/expansion/without"
    found: dict[str, Sequence[Attempt]] = {}
    for k in sorted(set(need.values())):
        group = [tasks[name] for name, draws in need.items() if draws == k]
        drawn = await scene.draw(group, scene.champion, scene.harness, k, purpose)
        found |= {task.id: attempts for task, attempts in zip(group, drawn, strict=True)}
    return found


async def run(scene: Scene, document: Document, plans: Sequence[Plan], without: Draws) -> list[Trial]:
    """All trials, in the order of `plans`."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(plan: Plan) -> Trial:
        async with gate:
            return await _trial(scene, document, plan, without)

    running = [asyncio.ensure_future(one(plan)) for plan in plans]
    try:
        return list(await asyncio.gather(*running))
    finally:  # where one fails, the others draw no more
        for trial in running:
            trial.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _trial(scene: Scene, document: Document, plan: Plan, without: Draws) -> Trial:
    edited = apply(document, plan.edit)
    pair, harness = under(scene.champion, edited), edited.harness()
    purpose = f"gen{scene.generation}/expansion/edit/{plan.edit.name}/{plan.edit.digest[:8]}"
    with_edit: dict[str, Sequence[Attempt]] = {}
    for tasks, k in ((plan.affected, plan.draws), (plan.control, plan.control_draws)):
        if tasks:
            groups = await scene.draw(tasks, pair, harness, k, purpose)
            with_edit |= {task.id: group for task, group in zip(tasks, groups, strict=True)}
    by_task = {task.id: _both(without[task.id], with_edit[task.id]) for task, _ in plan.arms}
    affected, control = _pool(by_task, plan.affected), _pool(by_task, plan.control)
    accepted, reason = judge(affected, control)
    record = EditTrial(edit=plan.edit, affected=affected, control=control, accepted=accepted, reason=reason)
    own = {task.id: by_task[task.id] for task in plan.affected}
    return Trial(record, tuple(a for group in with_edit.values() for a in group), own)


def _both(without: Sequence[Attempt], with_edit: Sequence[Attempt]) -> tuple[int, int, int]:
    """Passes without, passes with, and n, over draws that were scored in both arms: a lost draw favours no arm."""
    pairs = [(a, b) for a, b in zip(without, with_edit, strict=False) if a.score is not None and b.score is not None]
    return sum(a.passed for a, _ in pairs), sum(b.passed for _, b in pairs), len(pairs)


def _pool(by_task: Mapping[str, tuple[int, int, int]], tasks: Sequence[OpenTask]) -> tuple[int, int, int]:
    counts = [by_task[task.id] for task in tasks]
    return sum(c[0] for c in counts), sum(c[1] for c in counts), sum(c[2] for c in counts)


def judge(affected: tuple[int, int, int], control: tuple[int, int, int]) -> tuple[bool, str]:
    """Whether an edit is accepted, and why in plain words with n of each arm."""
    without, passes, n = affected
    shown = f"affected {without} -> {passes} of {n}"
    shown += f", control {control[0]} -> {control[1]} of {control[2]}" if control[2] else ", no control slice"
    if not n:
        return False, "nothing is known of it: no draw of the affected slice was scored with it and without"
    if not gains(without, passes, n):
        return False, f"no gain beyond chance ({shown})"
    if loses(*control):
        return False, f"it breaks tasks that passed ({shown})"
    return True, f"gain on fresh draws ({shown})"


def greedy(trials: Sequence[EditTrial]) -> tuple[list[Edit], list[EditTrial]]:
    """Accepted edits, largest gain in pass rate first, without those that would undo a better one; and all trials with
    the reason of those left out. Order among equals: more passes, then name."""
    taken: list[Edit] = []
    reasons: dict[str, str] = {}
    best = sorted((t for t in trials if t.accepted), key=lambda t: (-_gain(t), -t.affected[1], t.edit.name, t.digest))
    for trial in best:
        kind = trial.edit.change.kind
        rival = next((e for e in taken if e.change.kind == kind and kind in SINGLE), None)
        if rival is None:
            taken.append(trial.edit)
        else:
            reasons[trial.digest] = f"{trial.reason}; left out of the composition: '{rival.name}' gained more"
    told = [t.model_copy(update={"reason": reasons[t.digest]}) if t.digest in reasons else t for t in trials]
    return taken, told


def _gain(trial: EditTrial) -> float:
    without, passes, n = trial.affected
    return (passes - without) / n if n else 0.0
