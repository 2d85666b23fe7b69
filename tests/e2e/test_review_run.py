"""Review by people, as they type it: edits that wait, and a candidate that waits."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from scripted_world import ROOT, make_world

from rsi import cli
from rsi.config import load_settings
from rsi.wiring.run import open_run

pytestmark = pytest.mark.slow
DEFAULT = re.sub(r"\[review\]\n(.+\n)+", "", (ROOT / "contracts/default.toml").read_text())


@pytest.fixture
def world(tmp_path, monkeypatch):
    settings, table = make_world(tmp_path)
    contract = tmp_path / "contract.toml"
    contract.write_text(DEFAULT)
    text = settings.read_text().replace("generations", f'contract = "{contract}"\ngenerations', 1)
    settings.write_text(f'{text}\n[model]\nid = "scripted:{table}"\n')
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    return settings, contract


@pytest.fixture
def rsi(world, monkeypatch, capsys):
    """One command line; its exit code and what it printed."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["rsi", *map(str, arguments)])
        capsys.readouterr()
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        return code, out + err

    return run


def demand(contract: Path, **rules):
    body = "".join(f"{key} = {json.dumps(value)}\n" for key, value in rules.items())
    contract.write_text(f"{DEFAULT}\n[review]\n{body}")


async def until_gate(settings):
    async with open_run(load_settings(settings), lambda line: None) as cycle:
        for stage in ("start", "discovery", "expansion", "update", "gate"):
            await cycle.stage(stage, 1)


def requests(rsi, settings):
    return json.loads(rsi("review", "list", settings, "--json")[1])


def test_a_candidate_waits_for_two_people_and_is_then_promoted(world, rsi):
    settings, contract = world
    asyncio.run(until_gate(settings))
    demand(contract, classes=["text"], reviewers=2)
    code, out = rsi("run", settings)
    [case] = requests(rsi, settings)
    name = case["id"][:12]
    assert code == 0 and f"generation 1 waits for review: rsi review show {name} {settings}" in out
    code, page = rsi("review", "show", name, settings)
    assert code == 0 and page.isascii()
    for part in ("text (waits for people)", "rsi.exemplars", "verdict: promote", "failed without, passed with"):
        assert part in page
    assert "never shown" not in page
    for reviewer in ("ann", "Ann"):
        assert "still waits" in rsi("review", "approve", name, settings, "--reviewer", reviewer)[1]
        assert "waits for review" in rsi("run", settings)[1]
        contract.write_text(DEFAULT)  # rules that are edited away let nobody through
        assert "waits for review" in rsi("run", settings)[1]
        demand(contract, classes=["text"], reviewers=1)
        assert "waits for review" in rsi("run", settings)[1]
        demand(contract, classes=["text"], reviewers=2)
    assert "is approved" in rsi("review", "approve", name, settings, "--reviewer", "bea", "--reason", "read it")[1]
    code, out = rsi("run", settings)
    assert code == 0 and "Generation 1: promote" in out and "not carried out" not in out
    code, out = rsi("review", "reject", name, settings)
    assert code == 2 and "generation 1 is finished" in out


def test_a_rejected_candidate_is_not_promoted_and_it_is_said(world, rsi):
    settings, contract = world
    asyncio.run(until_gate(settings))
    demand(contract, classes=["text"])
    rsi("run", settings)
    [case] = requests(rsi, settings)
    assert "is rejected" in rsi("review", "reject", case["id"][:8], settings, "--reviewer", "ann")[1]
    assert rsi("review", "approve", case["id"][:8], settings)[0] == 2
    code, out = rsi("run", settings)
    assert code == 0 and "promote (review: rejected)" in out
    _, out = rsi("lineage", settings, "--json")
    assert [pair["role"] for pair in json.loads(out)] == ["champion", "candidate"]


def test_what_is_decided_after_a_crash_just_behind_the_promotion_comes_too_late(world, rsi, monkeypatch):
    settings, contract = world
    asyncio.run(until_gate(settings))
    demand(contract, classes=["text"])
    rsi("run", settings)
    [case] = requests(rsi, settings)
    rsi("review", "approve", case["id"], settings, "--reviewer", "ann")

    async def killed_behind_the_promotion():
        async with open_run(load_settings(settings), lambda line: None) as cycle:
            monkeypatch.setattr(cycle.store, "commit_stage", None)
            with pytest.raises(TypeError):
                await cycle.stage("promotion", 1)

    asyncio.run(killed_behind_the_promotion())
    code, out = rsi("review", "reject", case["id"], settings, "--reviewer", "bea")
    assert code == 2 and "use `rsi rollback`" in out
    demand(contract, classes=["text"], reviewers=2)
    code, out = rsi("run", settings)
    assert code == 0 and "Generation 1: promote" in out and "waits" not in out
    assert "0 faults" in rsi("ledger", "verify", settings)[1]
    _, out = rsi("lineage", settings, "--json")
    assert [pair["role"] for pair in json.loads(out)] == ["former champion", "champion"]


def test_edits_wait_are_approved_and_their_composition_does_not_wait_twice(world, rsi):
    settings, contract = world
    demand(contract, classes=["text"])
    code, out = rsi("run", settings)
    assert code == 0 and "Generation 1: no candidate" in out
    asked = requests(rsi, settings)
    assert asked and {case["standing"] for case in asked} == {"waiting"}
    assert "it has not been tried" in rsi("review", "show", asked[0]["id"], settings)[1]
    rsi("review", "reject", asked[0]["id"], settings)
    for case in asked[1:]:
        rsi("review", "approve", case["id"], settings, "--reviewer", "ann")
    code, out = rsi("run", settings, "--generations", 2)
    assert code == 0 and "Generation 2: promote" in out and "not carried out" not in out
    assert [case["id"] for case in requests(rsi, settings)[: len(asked)]] == [case["id"] for case in asked]
    _, out = rsi("status", settings, "--json")
    second = json.loads(out)["generations"][1]["expansion"]
    tried = [trial["edit"]["name"] for trial in second["trials"]] + [edit["name"] for edit in second["waiting"]]
    assert asked[0]["request"]["name"] not in tried
