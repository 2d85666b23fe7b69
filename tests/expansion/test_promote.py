"""A saved function becomes a helper by proof alone, is called in later episodes, and leaves where it does harm."""

from typing import get_args

import pytest

from rsi.errors import InfrastructureError, UserError
from rsi.expansion.plan import BY_LOCUS
from rsi.expansion.promote import LEAST, Reference, demote, promote, sandboxed
from rsi.harness import run_episode
from rsi.hcp import parse
from rsi.hcp.edits import apply
from rsi.hcp.risk import needs_review
from rsi.models.scripted import Rule, ScriptedModel, Table
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.types import Edit, Recipe, RemoveTool, StagedTool, Task
from rsi.types.edits import Change

DOUBLE = "def double(n):\n    return 2 * n\n"
TASK = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="go")
REFERENCES = [Reference({"n": n}, 2 * n) for n in (1, 5, -3)]
DOCUMENT = parse('version = 1\n[rsi]\nprotocol = "repl"\n[rsi.budgets]\nturns = 3\n', "x")


@pytest.fixture
async def provider():
    try:
        await (await Bubblewrap().open()).close()
    except InfrastructureError as error:
        pytest.skip(f"no bubblewrap sandbox here: {error}")
    return Bubblewrap()


async def play(provider, harness, *replies):
    rules = [Rule(contains="go", replies=((replies[0], 1),))]
    rules += [Rule(replies=((reply, 1),)) for reply in replies[1:]]
    sandbox = await provider.open()
    try:
        return await run_episode(TASK, harness, ScriptedModel(Table(rules=tuple(rules))), sandbox, 0, None)
    finally:
        await sandbox.close()


def python(code):
    return f"```python\n{code}\n```"


async def test_saved_proven_reviewed_and_called_in_a_later_episode(provider):
    harness = DOCUMENT.harness().model_copy(update={"sampling": DOCUMENT.harness().sampling.model_copy(
        update={"max_new_tokens": 400})})  # fmt: skip
    budgets = harness.budgets.model_copy(update={"tokens": 2000})
    harness = harness.model_copy(update={"budgets": budgets})
    saving = python(f"save_tool(name='double', code={DOUBLE!r})")
    first = await play(provider, harness, saving, "<answer>x</answer>")
    assert first.staged == (StagedTool(name="double", code=DOUBLE),), first.turns[0].observation
    proof = await promote(first.staged[0], "attempt-1", REFERENCES, sandboxed(provider))
    assert proof.edit is not None and proof.passed == 3 and needs_review(proof.edit)
    document = apply(DOCUMENT, proof.edit)
    helper = document.harness().helpers[0]
    assert (helper.name, helper.code, helper.source) == ("double", DOUBLE, "attempt-1")
    later = document.harness().model_copy(update={"sampling": harness.sampling, "budgets": budgets})
    episode = await play(provider, later, python("print(double(n=21))"), "<answer>x</answer>")
    assert episode.turns[0].observation == "42" and episode.staged == ()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def double(n):\n    return 2 * abs(n)\n", "2 of 3"),
        ("def double(n):\n    return True\n", "0 of 3"),
        ("def double(n):\n    raise ValueError\n", "did not run"),
        ("print('[2, 10, -6, 0]')\nimport os\nos._exit(0)\ndef double(n): pass\n", "did not run"),
        ("def double(n):\n    while True: pass\n", "did not run"),
    ],
)
async def test_code_that_is_not_right_on_every_reference_is_refused(provider, code, why):
    run = sandboxed(provider, 0.5)
    proof = await promote(StagedTool(name="double", code=code), "a", REFERENCES, run)
    assert proof.edit is None and why in proof.reason


async def test_the_expected_values_never_reach_the_code():
    programs = []

    async def run(program):
        programs.append(program)
        return "[]"

    secret = [Reference({"n": n}, f"expected-{n}") for n in range(LEAST)]
    assert (await promote(StagedTool(name="f", code="def f(n): pass"), "a", secret, run)).edit is None
    assert "expected-" not in programs[0]
    same = await promote(StagedTool(name="f", code="def f(n): pass"), "a", [secret[0]] * 9, run)
    assert "different inputs" in same.reason and len(programs) == 1


FAMILIES = [f"f{n % 6}" for n in range(24)]


def test_a_helper_that_does_harm_is_removed_with_its_figures():
    harm = [(0.3 + 0.01 * (n % 5), 0.8) for n in range(24)]
    edit, measured = demote("double", harm, FAMILIES)
    assert isinstance(edit.change, RemoveTool) and measured.high < -0.02
    assert "n=24 tasks" in edit.change.figures and "-0.4" in edit.change.figures
    assert demote("double", [(0.5, 0.5)] * 24, FAMILIES)[0] is None
    assert demote("double", harm[:1], FAMILIES[:1])[0] is None, "one pair proves nothing"


async def test_removal_and_a_helper_changed_in_place(provider):
    proof = await promote(StagedTool(name="double", code=DOUBLE), "a", REFERENCES, sandboxed(provider))
    document = apply(DOCUMENT, proof.edit)
    removal = Edit(name="r", change=RemoveTool(name="double", figures="-"))
    assert apply(document, removal).harness().helpers == () and apply(DOCUMENT, removal) is DOCUMENT
    with pytest.raises(UserError, match="prove it again"):
        _ = parse(document.text.replace("2 * n", "3 * n"), "x").form


async def test_what_cannot_be_saved(provider):
    harness = DOCUMENT.harness()
    harness = harness.model_copy(
        update={
            "sampling": harness.sampling.model_copy(update={"max_new_tokens": 900}),
            "budgets": harness.budgets.model_copy(update={"tokens": 2000}),
        }
    )
    calls = [
        "name='a b', code='x'",
        "name='if', code='def if(): 0'",
        "name='f', code='f = 1'",
        "name='save_tool', code='x'",
    ]
    tried = "\n".join(f"try: save_tool({c})\nexcept ToolError as e: print(e)" for c in calls)
    episode = await play(provider, harness, python(tried), "<answer>x</answer>")
    said = episode.turns[0].observation
    assert said.count("taken") == 2 and "no 'def f('" in said and "name" in said and episode.staged == ()


def test_the_search_knows_where_every_kind_of_edit_stands():
    kinds = {kind.model_fields["kind"].default for kind in get_args(get_args(Change)[0])}
    assert {"tool", "remove_tool", "skill"} <= kinds
    assert all(set(order) == kinds for order in BY_LOCUS.values())
