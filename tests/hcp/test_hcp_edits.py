"""Typed edits, differences and risk classes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_hcp_document import BARE, FULL

from rsi.hcp import parse
from rsi.hcp.diff import diff, render
from rsi.hcp.edits import apply, compose
from rsi.hcp.risk import needs_review, risk, risk_of
from rsi.ids import digest
from rsi.types import (
    AddExemplars,
    AddSkill,
    AddStopHook,
    AddTool,
    Budgets,
    Edit,
    Exemplar,
    Helper,
    RemoveTool,
    Sampling,
    SetAnswerFormat,
    SetBudgets,
    SetInstruction,
    SetSampling,
    Skill,
    StopHook,
)


def edit(change, name="e"):
    return Edit(name=name, change=change)


SHOT = Exemplar(request='Say "hi"\n', response="```sh\necho 'hi' # \\n\n```")
CODE = 'def f(n):\n    """Says "n"."""\n    return n\n'
EDITS = [
    edit(SetInstruction(text="Think.\nAct.")),
    edit(SetAnswerFormat(text='Use "```sh"')),
    edit(AddExemplars(exemplars=(SHOT,), shots=2)),
    edit(AddSkill(skill=Skill(name="sort", triggers=("sort",), text="new text"))),
    edit(SetSampling(sampling=Sampling(temperature=0.5, top_p=0.8, max_new_tokens=20))),
    edit(AddStopHook(hook=StopHook(name="a b.c", message="again", builtin="no_action"))),
    edit(SetBudgets(budgets=Budgets(turns=4, tokens=300, seconds=9))),
    edit(AddTool(helper=Helper(name="f", code=CODE, code_digest=digest(CODE), source="a"))),
]


@pytest.mark.parametrize("text", [BARE, FULL])
@pytest.mark.parametrize("change", EDITS, ids=lambda e: e.change.kind)
def test_every_edit_applies_once_and_says_its_parent(text, change):
    before = parse(text, "x.toml")
    after = apply(before, change)
    assert after.digest != before.digest and after.parent == before.digest
    assert apply(before, change).text == after.text
    assert apply(after, change) is after
    harness, edited = before.harness(), change.change
    match edited:
        case SetInstruction():
            assert after.harness().system.startswith("Think.\nAct.")
        case SetAnswerFormat():
            assert after.harness().answer_format == edited.text
        case AddExemplars():
            assert after.harness().exemplars == (*harness.exemplars, SHOT) and after.harness().shots == 2
        case AddSkill():
            assert edited.skill in after.harness().skills
            assert [s.name for s in after.harness().skills].count("sort") == 1
        case SetSampling():
            assert after.harness().sampling == edited.sampling
        case AddStopHook():
            # in the order of their names: the order of keys is no part of a document's identity
            assert after.harness().stop_hooks == (edited.hook, *harness.stop_hooks)
        case AddTool():
            assert after.harness().helpers == (edited.helper,)
            removed = apply(after, edit(RemoveTool(name="f", figures="-")))
            assert removed.harness().helpers == () and removed.parent == after.digest
        case SetBudgets():
            assert after.harness().budgets == edited.budgets


@pytest.mark.parametrize("text", [BARE, FULL])
def test_composition_is_one_step_that_keeps_what_it_does_not_touch(text):
    before = parse(text, "x.toml")
    after = compose(before, EDITS)
    assert after.parent == before.digest
    assert after.harness().budgets.turns == 4 and after.harness().answer_format == 'Use "```sh"'
    assert compose(after, EDITS) is after
    step = before
    for one in EDITS:
        step = apply(step, one)
    assert step.harness().model_copy(update={"document_digest": after.digest}) == after.harness()
    if text is FULL:
        assert "# a comment" in after.text and after.content["themes"] == before.content["themes"]


def test_shots_never_fall():
    text = BARE + "[rsi.exemplars]\nshots = 3\n"
    assert apply(parse(text, "x"), edit(AddExemplars(exemplars=(SHOT,), shots=1))).harness().shots == 3


def test_tables_out_of_order_are_edited_right():
    text = (
        BARE
        + '[rsi.answer]\nformat = "a"\n[model]\nid = "m"\n[rsi.exemplars]\nshots = 0\n[js]\n[rsi]\nlist_files = true\n'
    )
    after = compose(parse(text, "x"), EDITS)
    assert after.harness().budgets.turns == 4 and after.harness().list_files
    assert after.content["model"]["id"] == "m" and after.content["js"] == {}


def test_inline_tables_are_edited_right():
    text = BARE + 'rsi = { answer = { format = "a" }, exemplars = { shots = 1, pool = [] } }\nmodel = { id = "m" }\n'
    after = compose(parse(text, "x"), EDITS)
    assert after.harness().exemplars == (SHOT,) and after.content["model"] == {"id": "m", "max_tokens": 20}


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=60, deadline=None)
@given(words, words, words, words.filter(bool))
def test_any_text_survives(a, b, c, name):
    changes = [
        edit(SetInstruction(text=a)),
        edit(AddExemplars(exemplars=(Exemplar(request=b, response=c),))),
        edit(AddStopHook(hook=StopHook(name=name, message=c, command=b + "x"))),
    ]
    harness = compose(parse(BARE, "x"), changes).harness()
    assert (harness.system, harness.exemplars[0].request, harness.exemplars[0].response) == (a, b, c)
    assert (harness.stop_hooks[0].name, harness.stop_hooks[0].command) == (name, b + "x")


def test_risk_and_review():
    classes = {one.change.kind: risk(one) for one in EDITS}
    assert classes == {
        "instruction": "text",
        "answer_format": "text",
        "exemplars": "text",
        "skill": "text",
        "sampling": "sampling",
        "stop_hook": "hook",
        "budgets": "budgets",
        "tool": "code",
    }
    assert [one.change.kind for one in EDITS if needs_review(one)] == ["tool"]
    command = edit(AddStopHook(hook=StopHook(name="x", message="m", command="ls")))
    assert risk(command) == "command_hook" and needs_review(command)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("tools.allow[0]", "tools"),
        ("tools[1]", "tools"),
        ("hooks.Stop.a.command", "command_hook"),
        ("hooks.Stop.a.message", "hook"),
        ('hooks.Stop."a.message"', "command_hook"),
        ("hooks.PreToolUse.a.message", "command_hook"),
        ("provider_options.temperature", "sampling"),
        ("provider_options.other", "unknown"),
        ("model.max_tokens", "sampling"),
        ("model.base_url", "network"),
        ("env.files[0]", "environment"),
        ("model.id", "model"),
        ("model.baseUrl", "network"),
        ("model.api_key_env", "environment"),
        ("env.required[0]", "environment"),
        ("run.cwd", "workspace"),
        ("workspace.entries[0].visibility", "workspace"),
        ("workspace.outputs[0].destination", "network"),
        ("mcp.servers.a.command", "code"),
        ("mcp.servers.a.transport", "network"),
        ("mcp.servers.a.env.TOKEN", "environment"),
        ('mcp.servers."a.env".command', "code"),
        ("resources.system_prompt", "text"),
        ("resources.embedded[0].content", "code"),
        ("resources.system_prompt_path", "workspace"),
        ("workspace.entries[0].source", "workspace"),
        ("rsi.files[0].content", "workspace"),
        ("session.snapshot.content", "workspace"),
        ("prompt_templates.paths[0]", "workspace"),
        ('"rsi.skills"', "unknown"),
        ("rsi.skills[0].text", "text"),
        ("rsi.skillsets", "unknown"),
        ("rsi.parent", "lineage"),
    ],
)
def test_risk_of_a_key(key, expected):
    assert risk_of(key) == expected


def test_every_edit_agrees_with_the_keys_it_changes():
    for one in EDITS:
        classes = {item.risk for item in diff(parse(BARE, "a"), apply(parse(BARE, "a"), one))}
        assert classes == {risk(one), "lineage"}


def test_diff_names_each_change_and_cannot_be_fooled():
    a, b = parse(BARE + '[model]\nid = "m"\n', "a"), parse(BARE + '[model]\nid = "n"\n[tools]\nallow = ["bash"]\n', "b")
    lines = render(diff(a, b)).splitlines()
    assert lines == ['~ model.id: "m" -> "n"  (model)', '+ tools.allow[0] = "bash"  (tools)']
    assert diff(a, parse(a.text + "# words", "x")) == [] and render([]) == "no difference"
    quoted = parse(BARE + '"model.id" = "m"\n', "q")
    assert quoted.digest != a.digest and len(diff(a, quoted)) == 2
    hostile = render(diff(parse(BARE, "a"), parse(BARE + 'x = "\\u001b[2J\\u202e"\n"\\u001b" = 1\n', "h")))
    assert hostile.isascii() and "\x1b" not in hostile


def test_diff_sees_types():
    assert len(diff(parse(BARE + "x = 1\n", "a"), parse(BARE + "x = true\n", "b"))) == 1
    assert len(diff(parse(BARE + "x = {}\n", "a"), parse(BARE + "x = []\n", "b"))) == 1
