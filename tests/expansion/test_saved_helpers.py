"""Saved functions in the expansion stage: proven on the selection split, reviewed, composed; harmful ones removed."""

import subprocess
import sys
from dataclasses import replace

import pytest
from open_world import TinyBank, World, certified, scene_of

from rsi.config import DiscoverySettings, ExpansionSettings
from rsi.discovery.stage import discover
from rsi.expansion.references import references
from rsi.expansion.stage import expand
from rsi.hcp import parse
from rsi.hcp.edits import apply
from rsi.ids import digest
from rsi.types import (
    AddTool,
    CallsCheck,
    Completion,
    Edit,
    Expansion,
    Helper,
    OutputCheck,
    RemoveTool,
    StagedTool,
    TaskKey,
    Turn,
)

FAMILIES = [f"family{i}" for i in range(6)]
BARE = 'version = 1\n\n[resources]\nsystem_prompt = "Write code."\n\n[rsi]\nprotocol = "repl"\n'
SETTINGS = ExpansionSettings(attempts=48, draws=2, retry_control=12)
NAMES = "def names(request):\n    return request.split()[-1]\n"
WRONG = "def names(request):\n    return request.split()[0]\n"


class NamesBank(TinyBank):
    """The answer of a task is the last word of its request."""

    def key(self, task):
        return TaskKey(task_id=task.id, reference="", checks=(OutputCheck(expected=f"{task.request.split()[-1]}\n"),))


class Saving(World):
    """Every attempt of the champion saves `codes`, and calls `called` in its one action."""

    codes, called = (), ""

    def _play(self, spec, task, harness):
        attempt = super()._play(spec, task, harness)
        said = Completion(text="", prompt_ids=(), token_ids=(), logprobs=(), policy_version="p", finish="stop")
        turn = Turn(completion=said, action=self.called or None)
        return attempt.model_copy(
            update={"staged": tuple(StagedTool(name="names", code=code) for code in self.codes), "turns": (turn,)}
        )


class Nothing:
    async def propose(self, rates, n, seed):
        return [], []


async def run_here(program: str) -> str:
    """Stands for a sandbox: the code is this file's own."""
    result = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else ""


async def never(program: str) -> str:
    raise AssertionError("nothing is to be proven")


async def expanded(world, document=BARE, approved=(), prove=run_here, catalogue=()):
    bank = NamesBank(FAMILIES)
    scene = replace(scene_of(bank, world, document), prove=prove)
    found = await discover(scene, Nothing(), certified, DiscoverySettings(tasks=12, proposals=0), lambda t: None)
    result = await expand(scene, found, catalogue, SETTINGS, approved)
    assert "sealed" not in bank.asked
    assert Expansion.model_validate_json(result.model_dump_json()) == result
    return result


def helped(task, harness):
    return 1.0 if harness.helpers else 0.2


async def test_a_proven_function_waits_for_a_person_then_is_composed_and_selected():
    world = Saving(helped)
    world.codes = (WRONG, NAMES)
    result = await expanded(world)
    (edit,) = result.waiting
    assert isinstance(edit.change, AddTool) and edit.change.helper.code == NAMES
    assert edit.change.helper.source in world.recorded and result.document == BARE
    assert [proof.proven for proof in result.helpers].count(True) == 1
    words = {task.request.split()[-1] for task in NamesBank(FAMILIES).tasks("selection")}
    assert not any(word in result.model_dump_json() for word in words)  # references are told to nobody
    assert await expanded(world) == result

    done = await expanded(world, approved=[edit.digest])
    assert done.waiting == () and done.selection_after.value > done.selection_before.value
    assert parse(done.document, "x").harness().helpers == (edit.change.helper,)
    again = await expanded(world, done.document)
    assert not any(isinstance(edit.change, AddTool) and edit.change.helper.code == NAMES for edit in again.waiting)


async def test_a_wrong_function_is_recorded_and_proposed_to_nobody():
    world = Saving(lambda t, h: 0.5)
    world.codes = (WRONG,)
    result = await expanded(world)
    assert result.waiting == () and [proof.proven for proof in result.helpers] == [False]
    assert "0 of 3 references agree" in result.helpers[0].reason


async def test_where_nothing_is_saved_nothing_is_proven_or_drawn():
    world = Saving(lambda t, h: 1.0)
    result = await expanded(world, prove=never)
    assert (result.helpers, world.count("expansion")) == ((), 0)
    assert "helpers" not in result.model_dump_json()


@pytest.mark.parametrize(("with_it", "proven"), [(0.0, False), (0.9, True)])
async def test_a_helper_that_does_harm_is_to_be_removed(with_it, proven):
    helper = Helper(name="names", code=WRONG, code_digest=digest(WRONG), source="attempt-1")
    document = apply(parse(BARE, "x"), Edit(name="add", change=AddTool(helper=helper))).text
    world = Saving(lambda t, h: with_it if h.helpers else 1.0 if not proven else 0.9)
    assert (await expanded(world, document)).helpers == ()  # nobody called it: nothing is measured
    world = Saving(world.chance)
    world.called = "print(names(request='a b'))"
    result = await expanded(world, document)
    assert [(p.name, p.source, p.proven) for p in result.helpers] == [("names", "attempt-1", proven)]
    if proven:
        assert result.waiting == ()
        return
    (edit,) = result.waiting
    assert isinstance(edit.change, RemoveTool) and "n=12 tasks" in edit.change.figures
    done = await expanded(world, document, [edit.digest])
    assert parse(done.document, "x").harness().helpers == ()


def test_references_of_a_function_that_hidden_calls_name():
    class Calls(NamesBank):
        def key(self, task):
            calls = ("add(1, b=[2])", f"add({task.instance}, [3])", "add(open('x'), 1)", "other(1, 2)", "add(1, 2, 3)")
            values = ('{"value": 3}', '{"value": 4}', '{"value": 5}', '{"value": 6}', '{"raises": "TypeError"}')
            return TaskKey(task_id=task.id, reference="", checks=(CallsCheck(calls=calls, expected=values),))

    add = StagedTool(name="add", code="def add(a, b):\n    return 0\n")
    found = references(add, "family0", Calls(FAMILIES))
    assert [(dict(r.arguments), r.expected) for r in found[:2]] == [
        ({"a": 1, "b": [2]}, 3),
        ({"a": 0, "b": [3]}, 4),
    ]
    assert len(found) == 4 and references(add, "hidden_family", Calls(FAMILIES)) == []
    assert references(StagedTool(name="add", code="def add("), "family0", Calls(FAMILIES)) == []
