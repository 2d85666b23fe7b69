"""An outage in the middle of a run: no stage is committed over it, no look is spent, what is owed is played later."""

import asyncio
import json

import pytest
from faulty_modes import MODES, Call, Mode, Reply, answered, refused
from faulty_server import faulty
from scripted_world import SETTINGS, make_world
from served_world import lost, recorded, stages, write_settings

from rsi.banks.generated import open_bank
from rsi.banks.salt import load_salt
from rsi.config import project_root
from rsi.models.scripted import ScriptedModel, load_table
from rsi.types import ModelRequest, Sampling

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mode", ["unavailable_later", "reset_later"])
def test_the_next_run_plays_only_what_is_owed(mode, served):
    folder, home, run = served
    with faulty(mode) as server:
        settings = str(write_settings(folder, server.url, concurrency=4))
        ended = run("run", settings)
        assert ended.code == 1 and "attempts were lost to infrastructure" in ended.err
        ended = run("run", settings)  # now it is found out before anything is played
        assert ended.code == 1 and "no answer after" in ended.err and len(ended.err.splitlines()) == 1
        kept = len(recorded(home))
        assert 0 < kept == server.good and "gate" not in stages(home)
        told = json.loads(run("status", settings, "--json").out)
        assert sum(told["losses"][0]["lost"].values()) >= 4 and told["generations"] == []
        assert "lost" in run("status", settings).out
        server.mode, before = MODES["well"], server.asked
        ended = run("run", settings)
        again = server.asked - before
    assert ended.code == 0 and ended.decision == "no candidate"
    assert again == len(recorded(home)) - kept
    assert json.loads(run("status", settings, "--json").out)["losses"][0]["lost"] == {}


@pytest.mark.parametrize("mode", ["nothing", "unavailable", "reset", "html"])
def test_a_server_that_is_down_from_the_start_ends_the_run_before_anything_is_played(mode, served):
    folder, home, run = served
    with faulty(mode if mode in MODES else "well") as server:
        settings = str(write_settings(folder, "http://127.0.0.1:9/v1" if mode == "nothing" else server.url))
        ended = run("run", settings)
        assert ended.code == 1 and len(ended.err.splitlines()) == 1 and "127.0.0.1:" in ended.err
        assert stages(home) == set() and recorded(home) == [] and not lost(home)


def test_a_few_lost_attempts_among_many_are_left_unscored_and_told(served):
    folder, home, run = served

    def chat(call: Call) -> Reply:
        return refused(503, "overloaded") if call.one_in(10) else answered(call)

    with faulty("well") as server:
        server.mode = Mode(chat)
        settings = str(write_settings(folder, server.url))
        ended = run("run", settings)
    assert ended.code == 0 and len(recorded(home)) == server.good
    told = json.loads(run("status", settings, "--json").out)["losses"][0]["lost"]
    assert sum(told.values()) == len({*lost_attempts(home)})
    assert ("Lost and refused" in ended.out) == bool(told)


def lost_attempts(home):
    from served_world import _rows

    return [name for (name,) in _rows(home, "select attempt from failures")]


def test_an_outage_at_the_gate_spends_no_look(served, tmp_path_factory):
    """What the champion and the candidate are asked at the gate is not answered: the look stays open and is judged by
    the next run, on the attempts that it owed."""
    folder, home, run = served
    world = tmp_path_factory.mktemp("world")
    _, table = make_world(world)
    model = ScriptedModel(load_table(table))
    settings = folder / "settings.toml"
    bank = open_bank(project_root() / "task_banks" / "reason", load_salt(home))
    sealed = {task.request for task in bank.tasks("sealed", 1)}

    def answer(body):
        sampling = Sampling(temperature=body["temperature"], top_p=body["top_p"], max_new_tokens=128)
        request = ModelRequest(messages=body["messages"], sampling=sampling, seed=body["seed"])
        return asyncio.run(model.generate(request)).text

    def chat(call: Call) -> Reply:
        asked = call.messages[-1]["content"]
        return refused(503, "gone") if asked in sealed else answered(call)

    with faulty("well", answer) as server:
        well, server.mode = server.mode, Mode(chat)
        text = SETTINGS.format(generations=1).replace("proposals = 2", "proposals = 0")
        settings.write_text(f'{text}\n[model]\nid = "{server.url}"\n')
        ended = run("run", str(settings))
        assert ended.code == 1 and "gen1/gate" in ended.err and "status 503" in ended.err
        assert {"expansion", "canaries"} <= stages(home) and "gate" not in stages(home)
        server.mode = well
        ended = run("run", str(settings))
    assert ended.code == 0 and ended.decision in ("promote", "reject") and "after " in ended.out
    assert run("ledger", "verify", str(settings)).code == 0
