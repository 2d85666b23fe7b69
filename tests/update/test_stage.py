"""The stage over a bank of two words and a trainer that is asked, not run (the real one is tested beside it)."""

from dataclasses import dataclass, field, replace

import pytest
from tiny_policy import MemoryStore

from rsi.errors import NothingLearned, TrainingError
from rsi.ids import digest, seed_of
from rsi.ports import Scene
from rsi.types import (
    AdapterRevision,
    Attempt,
    AttemptSpec,
    Certificate,
    HarnessConfig,
    OpenTask,
    Pair,
    Recipe,
    Sampling,
    Score,
    TaskKey,
    Termination,
    TrainSettings,
)
from rsi.update.stage import Training, update

HARNESS = HarnessConfig(document_digest="new", system="be brief", sampling=Sampling(temperature=0.0, top_p=0.5))
SETTINGS = TrainSettings(steps=2, prompts_per_step=2, group_size=4, backfill=1)
OUTCOMES = {"easy": "PPPP", "mixed": "PFPF", "rare": "PFFF", "hard": "FFFF", "lost": "----"}


class Bank:
    digest = "bank"

    def make(self, recipe, seed, split):
        name = digest([recipe.family, seed])[:8]
        request = f"{recipe.family}: {name}"
        return OpenTask(id=name, bank="bank", recipe=recipe, split=split, instance=seed, request=request)

    def key(self, task):
        return TaskKey(task_id=task.id, reference="", checks=())


def task(family, number=0, split="train"):
    return Bank().make(Recipe(family=family), number, split)


@dataclass
class Asked:
    """Records what the stage asks for; serves as draw, rollout factory and trainer. `raises` instead of training."""

    raises: Exception | None = None
    drawn: list = field(default_factory=list)
    rollouts: list = field(default_factory=list)
    specs: list = field(default_factory=list)

    async def draw(self, tasks, pair, harness, k, purpose):
        self.drawn.append((tuple(t.id for t in tasks), pair, harness, k, purpose))
        return [[self.attempt(t, pair, purpose, n) for n in range(k)] for t in tasks]

    def attempt(self, task, pair, purpose, n):
        outcome = OUTCOMES[task.recipe.family][n]
        spec = AttemptSpec(
            task_id=task.id, pair=pair.digest, purpose=purpose, draw=n, sandbox="none", seed=seed_of(task.id, n)
        )
        return Attempt(
            id=spec.digest,
            spec=spec,
            family=task.recipe.family,
            split="train",
            held_out=False,
            termination=Termination.ANSWERED,
            turns=(),
            score=None if outcome == "-" else Score(reward=float(outcome == "P"), passed=outcome == "P"),
        )

    def make_rollout(self, pair, harness, tasks, purpose):
        self.rollouts.append((pair, harness, tuple(tasks), purpose))
        return "rollout"

    async def train(self, spec, rollout, store, progress):
        self.specs.append(spec)
        if self.raises:
            raise self.raises
        step = {"submitted": 3.0, "accepted": 2.0, "filtered": 1.0, "failed": 0.0}
        return AdapterRevision(name="revision", path="/a/revision", parent=None, steps=2, metrics=(step, step))


def stage(asked, sealed_scan=lambda task: None, adapters=None):
    champion = Pair(base="base", adapters=adapters or {}, hcp="old")
    scene = Scene(
        lineage="main",
        generation=3,
        seed=0,
        champion=champion,
        document="",
        harness=HARNESS,
        bank=Bank(),
        draw=asked.draw,
        say=lambda line: None,
    )
    training = Training(
        trainer=asked,
        rollouts=asked.make_rollout,
        store=MemoryStore(),
        certify=proved,
        sealed_scan=sealed_scan,
        progress=lambda *step: None,
        base="/models/base",
        adapters="/adapters",
        work="/work",
    )
    return scene, training


async def proved(task, key):
    agree = {"reference_passes": True, "nothing_fails": True, "repeats": 1, "repeats_agree": True}
    return Certificate(task_id=task.id, passed=True, **agree)


async def test_trains_on_informative_families_under_the_new_harness():
    asked = Asked()
    scene, training = stage(asked, adapters={"main": "old-revision", "other": "x"})
    tasks = [task("easy"), task("mixed"), task("mixed"), task("rare"), task("hard"), task("lost")]
    result = await update(scene, training, SETTINGS, HARNESS, [*tasks, task("mixed", 5, "selection")])
    pair = Pair(base="base", adapters={"main": "old-revision", "other": "x"}, hcp="new")
    [(ids, drawn_pair, harness, k, purpose)] = asked.drawn
    assert (drawn_pair, k, purpose) == (pair, 4, "gen3/update/screen")
    assert ids == tuple(t.id for t in (*tasks[:2], *tasks[3:]))  # once each, train only
    assert harness.sampling == Sampling(temperature=0.5, top_p=1.0)
    [(_, _, chosen, purpose)], [spec] = asked.rollouts, asked.specs
    assert {t.recipe.family for t in chosen} == {"mixed", "rare"}
    assert chosen[:2] == (task("mixed"), task("rare"))
    assert len(chosen) == 6 and all(t.split == "train" for t in chosen)
    assert purpose == f"gen3/update/train/{spec.run}"
    assert spec.tasks == tuple(t.id for t in chosen) and spec.pair == pair.digest
    assert (spec.parent, spec.parent_revision) == ("/adapters/old-revision", "old-revision")
    assert result.adapter.name == "revision"
    assert result.groups == {"submitted": 6, "accepted": 4, "filtered": 2, "failed": 0}


async def test_the_run_is_a_digest_of_what_decides_the_result_and_of_nothing_else():
    runs = {}
    for name, change in {
        "same": {},
        "moved": {"work": "/elsewhere", "threads": 1},
        "dtype": {"dtype": "float32"},
    }.items():
        asked = Asked()
        scene, training = stage(asked)
        await update(scene, replace(training, **change), SETTINGS, HARNESS, [task("mixed")])
        runs[name] = asked.specs[0].run
    asked = Asked()
    scene, training = stage(asked)
    await update(scene, training, SETTINGS.model_copy(update={"seed": 1}), HARNESS, [task("mixed")])
    runs["seed"] = asked.specs[0].run
    assert runs["same"] == runs["moved"]
    assert len({runs["same"], runs["dtype"], runs["seed"]}) == 3


@pytest.mark.parametrize("families", [["easy", "hard"], ["lost"], []])
async def test_without_an_informative_family_nothing_is_trained_and_the_reason_is_given(families):
    asked = Asked()
    result = await update(*stage(asked), SETTINGS, HARNESS, [task(family) for family in families])
    assert result.adapter is None and "no informative family" in result.reason and not asked.specs


async def test_training_that_is_off_draws_nothing():
    asked = Asked()
    result = await update(*stage(asked), SETTINGS.model_copy(update={"steps": 0}), HARNESS, [task("mixed")])
    assert result.adapter is None and "steps = 0" in result.reason and not asked.drawn


async def test_fresh_tasks_near_a_sealed_one_are_left_out():
    asked, discovered = Asked(), task("mixed")
    near = lambda one: None if int(one.id, 16) % 2 else "near"  # noqa: E731
    await update(*stage(asked, near), SETTINGS, HARNESS, [discovered])
    fresh = [t for t in asked.rollouts[0][2] if t.id != discovered.id]
    assert fresh and not any(near(t) for t in fresh)


async def test_nothing_learned_is_a_result_and_a_training_error_is_not():
    asked = Asked(raises=NothingLearned("none of 2 steps had an informative group"))
    result = await update(*stage(asked), SETTINGS, HARNESS, [task("mixed")])
    assert result.adapter is None and result.reason == "none of 2 steps had an informative group"
    with pytest.raises(TrainingError):
        await update(*stage(Asked(raises=TrainingError("no effect"))), SETTINGS, HARNESS, [task("mixed")])
