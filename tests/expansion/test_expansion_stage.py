import asyncio
from collections.abc import Sequence

import pytest
from open_world import BARE, SECRET, TinyBank, World, certified, scene_of

from rsi.config import DiscoverySettings, ExpansionSettings
from rsi.discovery.stage import discover
from rsi.errors import UserError
from rsi.expansion.stage import expand
from rsi.hcp.document import parse
from rsi.hcp.edits import compose
from rsi.types import (
    AddExemplars,
    AddStopHook,
    Discovery,
    Edit,
    Exemplar,
    HarnessConfig,
    Locus,
    SetInstruction,
    StopHook,
    Task,
)

FAMILIES = [f"family{i}" for i in range(6)]


def exemplar_edit(family: str) -> Edit:
    exemplar = Exemplar(request=f"{family} the lines of poem.txt", response=f"```sh\n{family}\n```")
    return Edit(name=f"exemplars-{family}", families=(family,), change=AddExemplars(exemplars=(exemplar,)))


def shown(task: Task, harness: HarnessConfig) -> bool:
    return any(e.request.startswith(task.recipe.family) for e in harness.exemplars) and harness.shots > 0


def learns(task: Task, harness: HarnessConfig) -> float:
    """Like the pilot: nothing bare, something with an exemplar of the same family; family5 never."""
    return 0.6 if shown(task, harness) and task.recipe.family != "family5" else 0.0


class Nothing:
    async def propose(self, rates, n, seed):
        return [], []


async def discovered(bank: TinyBank, world: World, document: str = BARE, generation: int = 1) -> Discovery:
    settings = DiscoverySettings(tasks=12, proposals=0)
    return await discover(scene_of(bank, world, document, generation), Nothing(), certified, settings, lambda t: None)


CATALOGUE = [exemplar_edit(f) for f in FAMILIES]
SETTINGS = ExpansionSettings(attempts=200, edits=12, affected=12, draws=2, retry_control=60)


async def test_from_nothing_family_exemplars_are_accepted_composed_and_selected():
    bank, world = TinyBank(FAMILIES), World(learns)
    found = await discovered(bank, world)
    assert len(found.fails) == 12
    result = await expand(scene_of(bank, world), found, CATALOGUE, SETTINGS, ())
    accepted = {t.edit.families[0] for t in result.trials if t.accepted}
    assert accepted == set(FAMILIES[:5])
    assert all(t.affected[0] == 0 and t.affected[2] == 8 and t.control == (0, 0, 0) for t in result.trials)
    final = parse(result.document, "result")
    assert {e.request.split()[0] for e in final.harness().exemplars} == accepted
    assert final.parent == parse(BARE, "bare").digest
    before, after = result.selection_before, result.selection_after
    assert before is not None and after is not None
    assert (before.value, before.n, after.n) == (0.0, 36, 36)
    assert after.low > before.high
    # coverage: adaptive, against everything that was spent, with the retry control at the same budget or less
    assert result.tasks == 12
    assert result.coverage[-1].attempts == world.count("expansion/edit") + world.count("expansion/without") == 96
    assert result.coverage[-1].covered == 10
    assert (result.retry[-1].attempts, result.retry[-1].covered) == (60, 0)
    by_task = {a.task_id: a for a in result.attributions}
    family = {t.id: t.recipe.family for t in found.tasks}
    for task_id in found.fails:
        expected = "suspected" if family[task_id] == "family5" else "confirmed"
        assert by_task[task_id].status == expected
        assert by_task[task_id].locus is Locus.CONFIGURATION


async def test_acceptance_uses_fresh_draws_and_a_rerun_draws_nothing():
    bank, world = TinyBank(FAMILIES), World(learns)
    found = await discovered(bank, world)
    first = await expand(scene_of(bank, world), found, CATALOGUE, SETTINGS, ())
    recorded = dict(world.recorded)
    seeds = [attempt.spec.seed for attempt in recorded.values() if "expansion/selection" not in attempt.spec.purpose]
    assert len(seeds) == len(set(seeds))  # no draw of one purpose serves another
    assert await expand(scene_of(bank, world), found, CATALOGUE[::-1], SETTINGS, ()) == first
    assert world.recorded == recorded


async def test_an_edit_that_needs_a_person_waits_unrun_until_it_is_approved():
    bank, world = TinyBank(FAMILIES), World(lambda t, h: 0.9 if h.stop_hooks else 0.0)
    hook = StopHook(name="look", message="Look again.", command="test -s out.txt")
    edit = Edit(name="look", change=AddStopHook(hook=hook))
    found = await discovered(bank, world)
    waiting = await expand(scene_of(bank, world), found, [edit], SETTINGS, ())
    assert waiting.waiting == (edit,)
    assert (waiting.trials, world.count("expansion/edit"), waiting.document) == ((), 0, BARE)
    done = await expand(scene_of(bank, world), found, [edit], SETTINGS, [edit.digest])
    assert (done.waiting, done.trials[0].accepted) == ((), True)
    assert parse(done.document, "done").harness().stop_hooks


async def test_a_gain_that_breaks_passing_tasks_is_not_accepted():
    def chance(task: Task, harness: HarnessConfig) -> float:
        if "only family0" in harness.system:
            return float(task.recipe.family == "family0")
        return 0.0 if task.recipe.family == "family0" else 1.0

    bank, world = TinyBank(FAMILIES), World(chance)
    found = await discovered(bank, world)
    edit = Edit(name="narrow", families=("family0",), change=SetInstruction(text="only family0"))
    result = await expand(scene_of(bank, world), found, [edit], SETTINGS, ())
    (trial,) = result.trials
    assert trial.affected[1] == trial.affected[2]
    assert trial.control[0] == trial.control[2] > 0
    assert trial.control[1] == 0
    assert not trial.accepted
    assert result.document == BARE
    assert result.selection_after is None


async def test_a_composition_that_is_no_better_on_the_selection_split_falls_back():
    def chance(task: Task, harness: HarnessConfig) -> float:
        return 0.8 if shown(task, harness) and task.split == "train" else 0.0

    bank, world = TinyBank(FAMILIES), World(chance)
    result = await expand(scene_of(bank, world), await discovered(bank, world), CATALOGUE, SETTINGS, ())
    assert any(t.accepted for t in result.trials)
    assert result.document == BARE
    assert result.selection_after is not None and result.selection_after.value == 0


async def test_what_the_champion_has_already_is_not_tried_again():
    bank, world = TinyBank(FAMILIES), World(learns)
    document = compose(parse(BARE, "bare"), CATALOGUE[5:]).text
    found = await discovered(bank, world, document)
    result = await expand(scene_of(bank, world, document), found, CATALOGUE, SETTINGS, ())
    assert {t.edit.families[0] for t in result.trials} == set(FAMILIES[:5])


async def test_nothing_fails_nothing_is_searched():
    bank, world = TinyBank(FAMILIES), World(lambda t, h: 1.0)
    result = await expand(scene_of(bank, world), await discovered(bank, world), CATALOGUE, SETTINGS, ())
    assert (result.document, result.trials, result.tasks, len(result.coverage)) == (BARE, (), 0, 1)
    assert world.count("expansion") == 0


async def test_lost_attempts_favour_no_arm():
    bank = TinyBank(FAMILIES)
    world = World(learns)
    found = await discovered(bank, world)
    world.broken = {found.fails[0]}
    result = await expand(scene_of(bank, world), found, CATALOGUE, SETTINGS, ())
    assert sum(t.affected[2] for t in result.trials) == 8 * 5 + 4
    assert result.coverage[-1].attempts == 88


async def test_a_budget_that_ends_stops_every_trial():
    class Spent(World):
        ended = False

        async def __call__(self, tasks, pair, harness, k, purpose):
            assert not self.ended
            if "exemplars-family3" in purpose:
                self.ended = True
                raise UserError("the budget of attempts is used up")
            await asyncio.sleep(0 if "discovery" in purpose else 0.01)
            return await super().__call__(tasks, pair, harness, k, purpose)

    bank, world = TinyBank(FAMILIES), Spent(learns)
    found = await discovered(bank, world)
    with pytest.raises(UserError, match="used up"):
        await expand(scene_of(bank, world), found, CATALOGUE, SETTINGS, ())
    drawn = len(world.recorded)
    await asyncio.sleep(0.05)
    assert len(world.recorded) == drawn


async def test_an_empty_selection_split_is_refused():
    class NoSelection(TinyBank):
        def tasks(self, split, shard: int = 0) -> Sequence[Task]:
            return [] if split == "selection" else super().tasks(split, shard)

    bank, world = NoSelection(FAMILIES), World(learns)
    with pytest.raises(UserError, match="selection"):
        await expand(scene_of(bank, world), await discovered(bank, world), CATALOGUE, SETTINGS, ())


async def test_cheats_are_refused_unrun_and_nothing_secret_is_returned():
    bank, world = TinyBank(FAMILIES), World(learns)
    found = await discovered(bank, world)
    task = next(t for t in found.tasks if t.id in found.fails)
    cheat = exemplar_edit("family0").model_copy(
        update={"name": "cheat", "change": AddExemplars(exemplars=(Exemplar(request=task.request, response="x"),))}
    )
    result = await expand(scene_of(bank, world), found, [cheat, *CATALOGUE], SETTINGS, (), ["hidden_family"])
    refused = next(t for t in result.trials if t.edit.name == "cheat")
    assert refused.reason == "refused: it holds the request of a task under search"
    assert (refused.accepted, refused.affected, world.count("edit/cheat")) == (False, (0, 0, 0), 0)
    assert SECRET not in result.model_dump_json()
    assert "sealed" not in bank.asked
