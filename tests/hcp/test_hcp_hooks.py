"""Hooks of every event: the compact form, short forms and a runtime's settings form all read alike."""

import pytest

from rsi.errors import UserError
from rsi.hcp import check, parse
from rsi.types import Hook

COMPACT = """version = 1
[hooks.PreToolUse.block_rm]
matcher = "bash"
command = "python ./hooks/block_rm.py"
timeout = 5
condition = "bash(*)"
run_async = false
[hooks.Stop.look]
builtin = "empty_output"
"""


def test_compact_hooks_are_records():
    harness = parse(COMPACT, "x").harness()
    assert harness.hooks[0] == Hook(
        event="PreToolUse", name="block_rm", matcher="bash", command="python ./hooks/block_rm.py", condition="bash(*)"
    )
    assert [hook.event for hook in harness.hooks] == ["PreToolUse", "Stop"]
    assert [hook.name for hook in harness.stop_hooks] == ["look"]
    assert check(parse(COMPACT, "x")) == []


@pytest.mark.parametrize("event", [
    "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop",
    "PreCompact", "PostCompact",
])  # fmt: skip
def test_every_event_is_read(event):
    (hook,) = parse(f'version = 1\n[hooks.{event}]\na = "true"\n', "x").harness().hooks
    assert (hook.event, hook.name, hook.command, hook.fail, hook.max_blocks) == (event, "a", "true", "open", 1)


def test_settings_form_is_normalised_and_keeps_its_order():
    text = """version = 1
[[hooks.PreToolUse]]
matcher = "bash|write"
[[hooks.PreToolUse.hooks]]
type = "command"
command = "one"
async = true
[[hooks.PreToolUse.hooks]]
type = "command"
command = "two"
[[hooks.PreToolUse]]
command = "three"
"""
    hooks = parse(text, "x").harness().hooks
    assert [(h.command, h.matcher, h.run_async) for h in hooks] == [
        ("one", "bash|write", True), ("two", "bash|write", False), ("three", "", False),
    ]  # fmt: skip
    assert check(parse(text, "x")) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[hooks]\nPreToolUse = 3\n", "hooks.PreToolUse"),
        ('[hooks.PreToolUse.a]\nmatcher = "x"\n', "command"),
        ('[hooks.PreToolUse.a]\ncommand = "x"\ntimeout = 999\n', "hooks.PreToolUse.a.timeout"),
        ("[[hooks.PreToolUse]]\nhooks = 3\n", "hooks.PreToolUse"),
    ],
)
def test_bad_hooks_are_one_clear_line(text, words):
    with pytest.raises(UserError, match=words):
        parse("version = 1\n" + text, "x")


def test_builtin_conditions_are_of_stop_hooks_only():
    document = "version = 1\n[hooks.PreToolUse.a]\nbuiltin = 'no_action'\ncommand = 'x'\n"
    assert check(parse(document, "x")) == ["'hooks.PreToolUse.a.builtin': not realised"]


def test_what_a_stop_hook_has_no_use_for_is_said():
    document = 'version = 1\n[hooks.Stop.a]\ncommand = "x"\nmatcher = "{}"\ncondition = "bash(x)"\nasync = true\n'
    notes = check(parse(document.format("bash"), "x"))
    assert [note.split(":")[0] for note in notes] == [
        f"'hooks.Stop.a.{key}'" for key in ("matcher", "condition", "run_async")
    ]
    assert len(check(parse(document.format("*"), "x"))) == 2
    repl = 'version = 1\n[hooks.PostToolUse.a]\ncommand = "x"\n[rsi]\nprotocol = "repl"\n'
    assert check(parse(repl, "x")) == [
        "'hooks.PostToolUse': asked after a whole block of code, not after each call in it"
    ]
