"""The update stage: measure what the old weights do under the new harness, choose tasks, train, report.

Pure: knows records and ports. It must not know torch, TRL, or how a rollout is played.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rsi.errors import NothingLearned
from rsi.ids import digest, seed_of
from rsi.ports import Certifier, RolloutFactory, Scene, Store, Trainer
from rsi.types import AdapterRevision, HarnessConfig, Message, OpenTask, Pair, Recipe, TrainSettings, TrainSpec, Update
from rsi.update.select import Screened, choose_tasks, informative_recipes, unique_tasks

SCREEN_DRAWS = 4
COLDEST = 0.5  # of training draws


@dataclass(frozen=True)
class Training:
    """What the stage trains with, made in `wiring`. `adapters` is the folder of all revisions, `work` holds a run's
    checkpoints; `sealed_scan` says why a fresh task is near a sealed one, or None."""

    trainer: Trainer
    rollouts: RolloutFactory
    store: Store
    certify: Certifier
    sealed_scan: Callable[[OpenTask], str | None]
    progress: Callable[[str, int, int], None]
    base: str  # model folder; empty for what cannot be trained
    adapters: str
    work: str
    specialist: str = "main"
    dtype: str = "bfloat16"
    device: str = "auto"
    threads: int = 2


async def update(
    scene: Scene, training: Training, settings: TrainSettings, harness: HarnessConfig, tasks: Sequence[OpenTask]
) -> Update:
    """Train the specialist under `harness`, the candidate's. `tasks` are the discovered ones; only split train is used.

    Update.adapter is None, with a reason, where training is off, no family is informative, or nothing was learned.
    Raises what Trainer.train raises."""
    if settings.steps == 0:
        return Update(adapter=None, reason="training is off (update.steps = 0)")
    if not training.base:
        return Update(adapter=None, reason="this model cannot be trained here, so the harness alone was searched")
    pair = Pair(base=scene.champion.base, adapters=scene.champion.adapters, hcp=harness.document_digest)
    exploring = exploration(harness)
    screened = await _screen(scene, pair, exploring, tasks)
    recipes = informative_recipes(screened)
    if not recipes:
        return Update(adapter=None, reason=f"no informative family: {_told(screened)} under the new harness")
    wanted = settings.steps * (settings.prompts_per_step + settings.backfill)
    chosen = choose_tasks(screened, await _fresh(scene, training, recipes, wanted), wanted)
    if not chosen:
        return Update(adapter=None, reason="no train task of an informative family is away from the sealed ones")
    spec = _spec(scene, training, settings, exploring, pair, chosen)
    scene.say(
        f"update: {settings.steps} steps on {len(chosen)} tasks of {len({t.recipe.family for t in chosen})} families"
    )
    rollout = training.rollouts(pair, exploring, chosen, f"gen{scene.generation}/update/train/{spec.run}")
    try:
        revision = await training.trainer.train(spec, rollout, training.store, training.progress)
    except NothingLearned as error:
        return Update(adapter=None, reason=str(error))
    return Update(adapter=revision, groups=group_counts(revision))


def exploration(harness: HarnessConfig) -> HarnessConfig:
    """The harness as training drives it: the same document at its own temperature, but never so cold that draws stop to
    differ (GRPO learns from differences), and over the whole distribution: its log-probabilities are the learner's."""
    temperature = max(harness.sampling.temperature, COLDEST)
    return harness.model_copy(
        update={"sampling": harness.sampling.model_copy(update={"temperature": temperature, "top_p": 1.0})}
    )


def group_counts(revision: AdapterRevision) -> dict[str, int]:
    """Groups over all steps; submitted = accepted + filtered + failed."""
    names = ("submitted", "accepted", "filtered", "failed")
    return {name: int(sum(step.get(name, 0) for step in revision.metrics)) for name in names}


async def _screen(scene: Scene, pair: Pair, harness: HarnessConfig, tasks: Sequence[OpenTask]) -> list[Screened]:
    """`SCREEN_DRAWS` fresh draws of each train task; unscored attempts are not counted."""
    candidates = unique_tasks(tasks)
    groups = await scene.draw(candidates, pair, harness, SCREEN_DRAWS, f"gen{scene.generation}/update/screen")
    return [
        Screened(task, sum(a.passed for a in group), sum(a.score is not None for a in group))
        for task, group in zip(candidates, groups, strict=True)
    ]


async def _fresh(scene: Scene, training: Training, recipes: Sequence[Recipe], wanted: int) -> list[OpenTask]:
    """About `wanted` new train instances, as many of each recipe. What is near a sealed task, or does not prove itself,
    is left out."""
    made = []
    each = -(-wanted // len(recipes))
    for recipe in recipes:
        for number in range(each):
            seed = seed_of("update", scene.seed, scene.lineage, scene.generation, recipe, number)
            task = scene.bank.make(recipe, seed, "train")
            if training.sealed_scan(task) is None:
                made.append(task)
    proofs = await asyncio.gather(*(training.certify(task, scene.bank.key(task)) for task in made))
    return [task for task, proof in zip(made, proofs, strict=True) if proof.passed]


def _spec(
    scene: Scene,
    training: Training,
    settings: TrainSettings,
    harness: HarnessConfig,
    pair: Pair,
    tasks: Sequence[OpenTask],
) -> TrainSpec:
    """`run` is a digest of all that decides the result; folders and threads are where it runs, not what it is."""
    parent = pair.adapters.get(training.specialist)
    canary = (Message(role="system", content=harness.system), Message(role="user", content=tasks[0].request))
    contents = [task.digest for task in tasks]
    run = digest(
        [pair, parent, harness, scene.bank.digest, contents, settings, canary, training.dtype, scene.generation]
    )
    return TrainSpec(
        run=run,
        base=training.base,
        base_digest=pair.base,
        parent=str(Path(training.adapters) / parent) if parent else None,
        parent_revision=parent,
        pair=pair.digest,
        tasks=tuple(task.id for task in tasks),
        canary=canary,
        settings=settings,
        temperature=harness.sampling.temperature,
        workdir=str(Path(training.work) / run),
        out=training.adapters,
        dtype=training.dtype,
        device=training.device,
        threads=training.threads,
    )


def _told(screened: Sequence[Screened]) -> str:
    passes, draws = sum(item.passes for item in screened), sum(item.n for item in screened)
    return f"{passes} of {draws} draws of {len(screened)} train tasks passed"
