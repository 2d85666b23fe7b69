"""The discovery stage: screen the champion on open tasks, let levels and the model's recipes follow what was measured.

It returns open tasks and counts. It must not read the sealed split, and no text of a key, a certificate or the sealed
scan goes into what it returns: reasons are worded here, from what those say as yes or no.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from math import ceil

from rsi.config import DiscoverySettings
from rsi.discovery.band import levels_from, place, rates_of, shifted
from rsi.discovery.source import TaskSource
from rsi.ids import seed_of
from rsi.ports import Certifier, Proposer, Scene
from rsi.types import Certificate, Discovery, FamilyRate, OpenTask, Recipe, Refusal

NOT_CERTIFIED = "not certified"
FIRST_ROUND = 2 / 3  # of the tasks, screened before levels are shifted; every open family comes first if it can

SealedScan = Callable[[OpenTask], str | None]


async def discover(
    scene: Scene,
    proposer: Proposer,
    certify: Certifier,
    settings: DiscoverySettings,
    sealed_scan: SealedScan,
    history: Sequence[Discovery] = (),
) -> Discovery:
    """Screen `settings.tasks` open tasks, `settings.draws` draws each, under the champion.

    `sealed_scan` says why a task is near a sealed one, or None. `history`: earlier generations of the lineage, oldest
    first; families start at the level that follows from them. A task with a draw that could not be scored is left out.
    """
    work = _Screening(scene, certify, settings, sealed_scan, TaskSource(scene))
    families = sorted(work.source.start)
    random.Random(seed_of(scene.lineage, scene.generation, scene.seed, "families")).shuffle(families)
    wished = levels_from(history, settings.band)
    level = work.source.start
    level |= {f: d for f, d in wished.items() if f in level and work.source.can(Recipe(family=f, difficulty=d))}
    base = [Recipe(family=f, difficulty=level[f]) for f in families]
    await work.screen(base, min(settings.tasks, max(ceil(settings.tasks * FIRST_ROUND), len(families))))

    proposed = await _proposals(work, proposer, families)
    measured = work.rates()
    moved = shifted(measured, settings.band)
    variants = [Recipe(family=f, difficulty=moved[f]) for f in families if f in moved and moved[f] != level[f]]
    mixed = [r for r in dict.fromkeys(chain(*zip_longest(proposed, variants))) if r is not None]
    await work.screen(mixed, min(len(mixed), settings.tasks - len(work.tasks)))
    screened = Counter(task.recipe.family for task in work.tasks)
    base.sort(key=lambda recipe: screened[recipe.family])
    await work.screen(base, settings.tasks - len(work.tasks))
    result = work.result(len(proposed))
    scene.say(
        f"discovery: {len(result.tasks)} tasks screened ({len(work.source.made & {t.id for t in result.tasks})} new), "
        f"{len(result.fails)} fail, {len(result.band)} in the band, {len(result.solved)} above it; "
        f"{len(proposed)} recipes of the model taken, {len(result.refusals)} refusals"
    )
    return result


async def _proposals(work: "_Screening", proposer: Proposer, families: Sequence[str]) -> list[Recipe]:
    """The model's recipes, for as many tasks as are left."""
    scene, wanted = work.scene, min(work.settings.proposals, work.settings.tasks - len(work.tasks))
    if wanted <= 0:
        return []
    measured = work.rates()
    every = [Recipe(family=f, difficulty=d) for f in sorted(families) for d in range(1, 6)]
    rates = [measured.get(r, FamilyRate(recipe=r, passes=0, n=0)) for r in every if work.source.can(r)]
    seed = seed_of(scene.lineage, scene.generation, scene.seed, "propose")
    recipes, refusals = await proposer.propose(rates, wanted, seed)
    work.refusals.extend(refusals)
    return list(recipes[:wanted])


@dataclass
class _Screening:
    scene: Scene
    certify: Certifier
    settings: DiscoverySettings
    sealed_scan: SealedScan
    source: TaskSource
    tasks: list[OpenTask] = field(default_factory=list)
    passes: dict[str, int] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)

    def rates(self) -> dict[Recipe, FamilyRate]:
        return rates_of(self.tasks, self.passes, self.settings.draws)

    async def screen(self, recipes: Sequence[Recipe], count: int) -> None:
        """Screen up to `count` tasks, taken round the `recipes`; recipes that yield no task drop out."""
        chosen: list[OpenTask] = []
        ring = list(recipes)
        while ring and len(chosen) < count:
            taken = [(recipe, self.source.take(recipe)) for recipe in ring[: count - len(chosen)]]
            tasks = [task for _, task in taken if task is not None]
            admitted = await asyncio.gather(*(self._admit(task) for task in tasks))
            chosen += [task for task, ok in zip(tasks, admitted, strict=True) if ok]
            bad = {recipe for recipe, task in taken if task is None}
            bad |= {task.recipe for task, ok in zip(tasks, admitted, strict=True) if not ok}
            ring = [r for r in ring[len(taken) :] + ring[: len(taken)] if r not in bad]
        await self._draw(chosen)

    async def _admit(self, task: OpenTask) -> bool:
        """Every task must prove itself; a new one must be far from every sealed task too."""
        certificate = await self.certify(task, self.scene.bank.key(task))
        reason = "" if certificate.passed else f"{NOT_CERTIFIED}: {_failing(certificate)}"
        if not reason and task.id in self.source.made and self.sealed_scan(task) is not None:
            reason = "near a sealed task"
        if reason:
            self.refusals.append(Refusal(recipe=task.recipe, text=f"task {task.id}", reason=reason))
        return not reason

    async def _draw(self, tasks: Sequence[OpenTask]) -> None:
        scene, k = self.scene, self.settings.draws
        if not tasks:
            return
        groups = await scene.draw(tasks, scene.champion, scene.harness, k, screen_purpose(scene.generation))
        for task, attempts in zip(tasks, groups, strict=True):
            scored = sum(attempt.score is not None for attempt in attempts)
            if scored == k:
                self.tasks.append(task)
                self.passes[task.id] = sum(attempt.passed for attempt in attempts)
            else:
                reason = f"infrastructure: {k - scored} of {k} draws could not be scored"
                self.refusals.append(Refusal(recipe=task.recipe, text=f"task {task.id}", reason=reason))

    def result(self, proposed: int) -> Discovery:
        k, band = self.settings.draws, self.settings.band
        at = {task_id: place(passes, k, band) for task_id, passes in self.passes.items()}
        return Discovery(
            tasks=tuple(self.tasks),
            draws=k,
            passes=self.passes,
            fails=tuple(i for i, passes in self.passes.items() if passes == 0),
            band=tuple(i for i, where in at.items() if where == "band" and self.passes[i]),
            solved=tuple(i for i, where in at.items() if where == "above"),
            proposed=proposed,
            refusals=tuple(self.refusals),
        )


def screen_purpose(generation: int) -> str:
    """The purpose under which a generation's screening draws are recorded."""
    return f"gen{generation}/discovery/screen"


def _failing(certificate: Certificate) -> str:
    if not certificate.reference_passes:
        return "its reference solution fails"
    if not certificate.nothing_fails:
        return "doing nothing passes"
    if not certificate.instruction_fails:
        return "answering with the request passes"
    if not certificate.probes_fail:
        return "a hack passes"
    if not certificate.repeats_agree:
        return f"{certificate.repeats} repeated checks disagree"
    return "its certificate failed"
