from collections import Counter
from collections.abc import Sequence

import pytest
from open_world import SECRET, TinyBank, World, certified, scene_of, uncertified, unproven_when_harder

from rsi.config import DiscoverySettings
from rsi.discovery.propose import ModelProposer
from rsi.discovery.source import open_task
from rsi.discovery.stage import discover
from rsi.errors import IntegrityError
from rsi.types import Completion, FamilyRate, ModelRequest, OpenTask, Recipe, Refusal, Task

FAMILIES = ["count", "head", "reverse", "sort"]


class Fixed:
    """Proposes the given recipes and remembers what it was shown."""

    def __init__(self, *recipes: Recipe) -> None:
        self.recipes, self.shown = recipes, list[FamilyRate]()

    async def propose(
        self, rates: Sequence[FamilyRate], n: int, seed: int
    ) -> tuple[Sequence[Recipe], Sequence[Refusal]]:
        self.shown = list(rates)
        return self.recipes, []


def far(task: OpenTask) -> str | None:
    return None


def by_family(**chances: float):
    return lambda task, harness: chances.get(task.recipe.family, 0.0) / task.recipe.difficulty**4


async def test_tasks_are_balanced_over_open_families_and_placed_by_their_rate():
    bank, world = TinyBank(FAMILIES), World(by_family(sort=1.0, count=0.4))
    found = await discover(scene_of(bank, world), Fixed(), certified, DiscoverySettings(tasks=10, proposals=0), far)
    assert len(found.tasks) == 10
    assert set(Counter(t.recipe.family for t in found.tasks).values()) <= {2, 3}
    recipe = {t.id: t.recipe for t in found.tasks}
    assert {recipe[i].family for i in found.solved} == {"sort"}
    assert {"head", "reverse"} <= {recipe[i].family for i in found.fails} <= {"head", "reverse", "count", "sort"}
    assert all(found.passes[i] == 0 for i in found.fails)
    assert all(0.1 <= found.passes[i] / 4 <= 0.7 for i in found.band)
    assert world.count("gen1/discovery/screen") == 40
    assert "sealed" not in bank.asked


async def test_solved_families_get_harder_variants_and_failing_ones_cannot_get_easier_than_the_bank_makes():
    found = await discover(
        scene_of(TinyBank(FAMILIES), World(by_family(sort=1.0))),
        Fixed(),
        certified,
        DiscoverySettings(tasks=8, proposals=0),
        far,
    )
    assert Counter(t.recipe.difficulty for t in found.tasks if t.recipe.family == "sort")[2] == 1
    assert all(t.recipe.difficulty == 1 for t in found.tasks if t.recipe.family != "sort")


async def test_history_sets_the_level_to_start_from():
    bank, settings = TinyBank(FAMILIES), DiscoverySettings(tasks=4, proposals=0)
    first = await discover(scene_of(bank, World(by_family(sort=1.0))), Fixed(), certified, settings, far)
    scene = scene_of(bank, World(by_family()), generation=2)
    second = await discover(scene, Fixed(), certified, settings, far, [first])
    assert {t.recipe.family: t.recipe.difficulty for t in second.tasks} == {
        "count": 1,
        "head": 1,
        "reverse": 1,
        "sort": 2,
    }
    assert not {t.id for t in first.tasks} & {t.id for t in second.tasks if t.recipe.family == "sort"}


async def test_the_models_recipes_become_tasks_once_they_are_certified():
    proposer = Fixed(Recipe(family="head", difficulty=3))
    scene = scene_of(TinyBank(FAMILIES), World(by_family()))
    found = await discover(scene, proposer, certified, DiscoverySettings(tasks=8, proposals=1), far)
    assert found.proposed == 1
    assert [t.recipe for t in found.tasks].count(Recipe(family="head", difficulty=3)) == 1
    assert {rate.recipe.family for rate in proposer.shown} == set(FAMILIES)
    assert max(rate.recipe.difficulty for rate in proposer.shown) == 3  # what the bank can make
    assert {(rate.n, rate.recipe.difficulty) for rate in proposer.shown} >= {(4, 1), (0, 2), (0, 3)}


@pytest.mark.parametrize(
    ("certify", "scan", "reason"),
    [
        (unproven_when_harder, far, "not certified: doing nothing passes"),
        (certified, lambda task: SECRET, "near a sealed task"),
    ],
)
async def test_a_new_task_is_refused_where_it_is_unproven_or_near_a_sealed_one(certify, scan, reason: str):
    scene = scene_of(TinyBank(FAMILIES), World(by_family()))
    proposer = Fixed(Recipe(family="head", difficulty=3))
    found = await discover(scene, proposer, certify, DiscoverySettings(tasks=8, proposals=1), scan)
    assert [r.reason for r in found.refusals] == [reason]
    assert len(found.tasks) == 8
    assert all(t.recipe.difficulty == 1 for t in found.tasks)


async def test_a_train_task_of_the_bank_must_prove_itself_too():
    bank = TinyBank(FAMILIES)
    bad = {task.id for task in bank.tasks("train") if task.recipe.family == "head"}

    async def certify(task: Task, key):
        return await (uncertified if task.id in bad else certified)(task, key)

    scene = scene_of(bank, World(by_family()))
    found = await discover(scene, Fixed(), certify, DiscoverySettings(tasks=8, proposals=0), far)
    assert len(found.tasks) == 8
    assert not bad & {task.id for task in found.tasks}
    assert {r.reason for r in found.refusals} == {"not certified: doing nothing passes"}


async def test_a_task_that_infrastructure_kept_from_being_scored_is_left_out():
    bank = TinyBank(FAMILIES, each=1)
    lost = bank.tasks("train")[0]
    world = World(by_family(), broken=[lost.id])
    found = await discover(scene_of(bank, world), Fixed(), certified, DiscoverySettings(tasks=4, proposals=0), far)
    assert lost.id not in found.passes
    assert lost.id not in found.fails
    assert any("infrastructure: 4 of 4" in r.reason for r in found.refusals)


async def test_the_same_inputs_draw_nothing_twice():
    world, bank = World(by_family(sort=0.5)), TinyBank(FAMILIES)
    settings = DiscoverySettings(tasks=9, proposals=2)
    runs = [
        await discover(scene_of(bank, world), Fixed(Recipe(family="sort", difficulty=2)), certified, settings, far)
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert world.count("") == 9 * 4


def test_an_open_task_cannot_be_made_of_a_sealed_or_held_out_one():
    bank = TinyBank(FAMILIES)
    task = bank.tasks("train")[0]
    assert open_task(task).id == task.id
    for closed in (bank.tasks("sealed")[0], task.model_copy(update={"held_out": True})):
        with pytest.raises(IntegrityError) as caught:
            open_task(closed)
        assert SECRET not in str(caught.value)


async def test_a_bank_that_leaks_a_sealed_task_into_train_stops_the_stage():
    class Leaky(TinyBank):
        def tasks(self, split, shard: int = 0) -> Sequence[Task]:
            return [*super().tasks(split, shard), *super().tasks("sealed")[:1]]

    with pytest.raises(IntegrityError):
        await discover(scene_of(Leaky(FAMILIES), World(by_family())), Fixed(), certified, DiscoverySettings(), far)


class Recording:
    """A backend that keeps every prompt and answers with its first choice."""

    def __init__(self) -> None:
        self.prompts: list[ModelRequest] = []

    async def generate(self, request: ModelRequest) -> Completion:
        self.prompts.append(request)
        text = request.choices[0]
        return Completion(text=text, prompt_ids=(), token_ids=(), logprobs=(), policy_version="v", finish="stop")

    async def close(self) -> None: ...


async def test_canary_nothing_of_the_sealed_split_or_of_keys_reaches_a_prompt_or_the_record():
    """Hazard 11: the secret stands in sealed tasks, keys, certificates, score details and the scan's own words."""

    async def certify(task: Task, key):
        return await (certified if task.instance % 2 else uncertified)(task, key)

    bank, model = TinyBank(FAMILIES), Recording()
    assert SECRET in bank.tasks("sealed")[0].request
    scene = scene_of(bank, World(by_family(sort=1.0, head=1.0, count=0.5)))
    found = await discover(
        scene,
        ModelProposer(model),
        certify,
        DiscoverySettings(tasks=20, proposals=6),
        lambda task: f"near {SECRET}" if task.instance % 3 else None,
    )
    assert model.prompts
    assert {r.reason.split(":")[0] for r in found.refusals} >= {"not certified", "near a sealed task"}
    for text in (found.model_dump_json(), *(p.model_dump_json() for p in model.prompts)):
        assert SECRET not in text
        assert "hidden_family" not in text
