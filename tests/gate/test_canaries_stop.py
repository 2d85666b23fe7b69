"""What a hit of a canary does to a generation: it stops, says so again, and a rolled-back lineage goes on."""

import json
from types import SimpleNamespace

import pytest
from canary_world import (
    NEW,
    OLD,
    PURPOSE,
    ROOT,
    WORD,
    Bank,
    Leaky,
    World,
)

from rsi.config import GateSettings, RunSettings
from rsi.errors import UserError
from rsi.gate.certified import looked_at
from rsi.gate.contract import load_contract
from rsi.generation import Cycle, Parts
from rsi.hcp.document import parse
from rsi.registry.champions import Champions
from rsi.registry.looks import Looks
from rsi.types import (
    Discovery,
    Expansion,
    Look,
    Pair,
    PairRecord,
    Update,
)


def cycle(world, count=4):
    """A generation whose stages before the gate are committed: the document was replaced by the default one."""
    champions = Champions(world.database, world.lease)
    pair = Pair(base="base", hcp=parse(OLD, "test").digest)
    champions.start(PairRecord(pair=pair, lineage="main", generation=0, parent=None, document=OLD))
    world.store.commit_stage("main", 1, "start", json.dumps({"champion": pair.digest, "bank": "toy"}))
    for name, output in (
        ("discovery", Discovery(tasks=(), draws=4, passes={}, fails=(), band=(), solved=(), proposed=0)),
        ("expansion", Expansion(document=NEW, trials=())),
        ("update", Update(adapter=None)),
    ):
        world.store.commit_stage("main", 1, name, output.model_dump_json())
    parts = Parts(
        store=world.store,
        registry=champions,
        looks=Looks(world.database, world.lease),
        bank=Bank(),
        draw=world.draw,
        proposer=None,
        certify=world.prove,
        sealed_scan=lambda task: None,
        catalogue=(),
        forbidden=(),
        training=SimpleNamespace(specialist="agent"),
        contract=load_contract(ROOT / "contracts/default.toml"),
        guard=world.guard(),
        reviews=None,  # nothing gets so far
        report=lambda n: None,
        say=world.said.append,
    )
    return Cycle(RunSettings(bank="toy", gate=GateSettings(canaries=count)), parts)


async def test_a_hit_stops_the_generation_before_its_look_and_again(tmp_path):
    world = World(tmp_path, "cat key.txt", executor=Leaky)
    run = cycle(world)
    with pytest.raises(UserError) as first:
        await run.stage("gate", 1)
    assert not run.done(1, "gate") and Looks(world.database).of("main") == []
    assert world.store.counts("main/seed0/gen1/gate") == (0, 0)
    said = str(first.value)
    assert said.startswith("generation 1 is stopped") and "family 'count'" in said and "\n" not in said
    assert "another lineage" in said and "rsi rollback" in said and WORD not in said
    assert [run.canaries(1)] == world.chained and run.canaries(1).hit
    world.model.text = "```sh\ncat n.txt\n```"  # honest only now
    with pytest.raises(UserError) as again:
        await run.stage("gate", 1)
    assert str(again.value) == said and len(world.model.asked) == 4


async def test_after_a_rollback_the_candidate_is_refused_without_a_look(tmp_path):
    world = World(tmp_path, "cat key.txt", executor=Leaky)
    run = cycle(world)
    with pytest.raises(UserError):
        await run.stage("gate", 1)
    other = PairRecord(pair=Pair(base="base", hcp="other"), lineage="main", generation=0, parent=None, document=OLD)
    run.registry = _RolledBack(run.registry, other)
    await run.stage("gate", 1)
    verdict = run.verdict(1)
    assert verdict.decision == "reject" and verdict.look == "" and "stopped" in verdict.reasons[0]
    await run.stage("promotion", 1)
    assert world.said[-1] == f"generation 1: reject; the champion is {other.pair.name}"
    assert Looks(world.database).of("main") == []


class _RolledBack:
    """A registry whose lineage a person has set back to another champion."""

    def __init__(self, registry, champion):
        self._registry, self._champion = registry, champion

    def __getattr__(self, name):
        return getattr(self._registry, name)

    def current(self, lineage):
        return self._champion


async def test_an_honest_candidate_gets_its_look(tmp_path):
    world = World(tmp_path)
    run = cycle(world)
    await run.stage("gate", 1)
    assert run.verdict(1).look and not run.canaries(1).hit
    assert world.store.counts(PURPOSE) == (4, 0)


async def test_an_unchanged_pair_meets_no_canary(tmp_path):
    world = World(tmp_path)
    run = cycle(world)
    run._make_candidate = lambda n: run.champion(n)
    await run.stage("gate", 1)
    assert run.verdict(1).reasons == ("nothing changed",) and not world.model.asked


async def test_a_look_takes_no_task_that_was_not_certified_for_it(tmp_path):
    """Also where the settings ask for more once the tasks are certified."""
    run = cycle(World(tmp_path))
    run.settings = run.settings.model_copy(update={"gate": GateSettings(tasks=4)})
    await run.stage("certified", 1)
    run.settings = run.settings.model_copy(update={"gate": GateSettings(tasks=8)})
    assert len(looked_at(run._certified(1, "certified").bank, 1, run.settings.gate)) == 4


async def test_a_sealed_task_that_was_looked_at_before_is_left_out_and_said_so(tmp_path):
    world = World(tmp_path)
    run, tasks = cycle(world), Bank().tasks("sealed", 1)
    before = Look(
        lineage="main",
        generation=0,
        champion="a",
        candidate="b",
        contract="c",
        sealed="s",
        attempts=(f"seed0/gen0/gate/a/{tasks[0].id}/0",),
        alpha=0.0025,
        spent=0.0,
        budget=0.05,
    )
    run.parts.looks.open(before)
    await run.stage("certified", 1)
    assert json.loads(world.store.stage("main", 1, "certified")) == {tasks[0].id: "looked at in an earlier generation"}
    assert f"fresh ones are due for {tasks[0].recipe.family}" in " ".join(world.said)
