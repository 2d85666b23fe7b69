"""Hooks of every event, asked in a plain folder (the sandbox's isolation is tested elsewhere)."""

import json
from collections import Counter

import pytest
from test_loop import TASK, Replies, config, run, sh

from benchmarks.plain_sandbox import PlainProvider
from rsi.harness.hooks.matching import holds, matches
from rsi.harness.hooks.occasion import MOST_BYTES, Occasion
from rsi.harness.hooks.run import run as ask
from rsi.harness.hooks.said import heard
from rsi.ports import ExecResult
from rsi.types import Hook, StopHook, Termination


def hook(event, command, name="h", **fields):
    return Hook(event=event, name=name, command=command, **fields)


def says(**spoken):
    return f"echo '{json.dumps(spoken)}'"


async def decided(occasion, *hooks, seconds=5.0, blocks=None):
    sandbox = await PlainProvider().open()
    try:
        return await ask(hooks, occasion, sandbox, seconds, Counter() if blocks is None else blocks)
    finally:
        await sandbox.close()


@pytest.mark.parametrize(
    ("matcher", "tool", "fits"),
    [("", "shell", True), ("*", "read", True), ("Bash", "shell", True), ("read|write", "write", True),
     ("read|write", "shell", False), ("w*", "write", True), ("(a+)+$", "a" * 5000, False)],
)  # fmt: skip
def test_matchers_are_globs_of_names(matcher, tool, fits):
    assert matches(matcher, tool) == fits


def test_conditions_look_at_the_argument_and_a_huge_one_is_always_looked_at():
    assert holds("bash(rm *)", "shell", "rm -r x") and not holds("bash(rm *)", "shell", "ls")
    assert holds("bash(*)", "shell", "") and not holds("bash(*)", "read", "a") and holds("", "read", "a")
    assert holds("read", "read", "a") and not holds("write", "read", "a")
    assert holds("bash(rm *)", "shell", "ls " + "x" * 50_000)
    assert not holds("bash(" + "*a" * 50 + "b)", "shell", "a" * 19_000)  # ends at once


@pytest.mark.parametrize(
    ("result", "event", "blocks", "failure"),
    [
        (ExecResult(0, "", ""), "PreToolUse", False, ""),
        (ExecResult(2, "", "no"), "PreToolUse", True, ""),
        (ExecResult(1, "", "no"), "PreToolUse", False, "exit code 1"),
        (ExecResult(1, "", ""), "Stop", True, ""),
        (ExecResult(124, "", "", timed_out=True), "Stop", False, "timed out"),
        (ExecResult(0, '{"decision": "deny"}', ""), "PreToolUse", True, ""),
        (ExecResult(0, '{"hookSpecificOutput": {"permissionDecision": "ask"}}', ""), "PreToolUse", True, ""),
        (ExecResult(0, '{"continue": false}', ""), "UserPromptSubmit", True, ""),
        (ExecResult(0, '{"decision": "maybe"}', ""), "PreToolUse", False, "printed malformed JSON"),
        (ExecResult(0, '{"decision": ["deny"]}', ""), "PreToolUse", False, "printed malformed JSON"),
        (ExecResult(0, '{"updatedInput": {"command": 3}}', ""), "PreToolUse", False, "printed malformed JSON"),
        (ExecResult(0, '{"a":' * 9000, ""), "PreToolUse", False, "printed malformed JSON"),
        (ExecResult(0, '{"reason": 3}', ""), "PreToolUse", False, "printed malformed JSON"),
        (ExecResult(0, "{", "", truncated=True), "PreToolUse", False, "said too much"),
    ],
)
def test_answers_are_read_without_trust(result, event, blocks, failure):
    said = heard(result, event)
    assert (said.blocks, said.failure) == (blocks, failure)


async def test_the_payload_is_json_on_standard_input_and_bounded():
    told = Occasion("PreToolUse", session="s", tool="shell", tool_input={"command": "echo 'ü\n$x'"})
    stdin = await decided(told, hook("PreToolUse", "cat >&2; exit 2"))
    assert json.loads(stdin.reason) == {
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/task",
        "tool_name": "shell", "tool_input": {"command": "echo 'ü\n$x'"},
    }  # fmt: skip
    huge = Occasion("PreToolUse", tool="write", tool_input={"path": "a", "content": "\0" * 100_000})
    text, cut = huge.payload()
    assert cut and len(text) < MOST_BYTES
    assert (await decided(huge, hook("PreToolUse", "true"))).hook is None
    closed = await decided(huge, hook("PreToolUse", "true", fail="closed"))
    assert closed.hook is not None and "more than it can be told" in closed.failures[0]


@pytest.mark.parametrize("bad", [{"command": "sleep 5", "timeout": 0.1}, {"command": "exit 7"}, {"command": "echo {"}])
async def test_a_hook_without_an_answer_fails_as_it_declares(bad):
    told = Occasion("PreToolUse", tool="shell", tool_input={"command": "ls"})
    opened = await decided(told, Hook(event="PreToolUse", name="h", **bad))
    assert opened.hook is None and len(opened.failures) == 1
    assert (await decided(told, Hook(event="PreToolUse", name="h", fail="closed", **bad))).hook is not None


async def test_hooks_share_the_time_that_is_left_and_rewrite_one_after_another():
    told = Occasion("PreToolUse", tool="shell", tool_input={"command": "a"})
    late = await decided(told, hook("PreToolUse", "true", fail="closed"), seconds=0)
    assert late.hook is not None and late.failures == ("h: no time was left",)
    again = 'grep -q \'"b"\' && echo \'{"updatedInput": {"command": "c", "tool": "x"}}\''
    first = hook("PreToolUse", says(updatedInput={"command": "b"}))
    assert (await decided(told, first, hook("PreToolUse", again, name="i"))).updated == {"command": "c"}


async def test_an_asynchronous_hook_is_not_waited_for():
    slow = hook("PostToolUse", "sleep 3; exit 2", run_async=True)
    done = await decided(Occasion("PostToolUse", tool="shell"), slow, seconds=1.0)
    assert done.hook is None and not done.failures


async def test_a_call_is_denied_and_gives_its_turn_back_within_the_cap():
    guard = hook("PreToolUse", "echo 'not that' >&2; exit 2", condition="bash(rm *)")
    model = Replies(sh("rm in/a.txt"), sh("cat in/a.txt"))
    episode = await run(model, config(hooks=(guard,)))
    assert (episode.output, episode.termination) == ("1\n2\n", Termination.ANSWERED)
    assert model.requests[1].messages[-1].content == "The call was denied: not that"
    stubborn = await run(Replies(*[sh("rm in/a.txt")] * 4), config(hooks=(guard.model_copy(update={"max_blocks": 2}),)))
    assert len(stubborn.turns) == 3 and all("denied" in turn.observation for turn in stubborn.turns)


async def test_a_call_is_rewritten():
    rewrite = hook("PreToolUse", says(hookSpecificOutput={"updatedInput": {"command": "echo safe"}}), matcher="Bash")
    assert (await run(Replies(sh("echo risky")), config(hooks=(rewrite,)))).output == "safe\n"


async def test_what_hooks_say_after_a_call_stands_behind_its_observation():
    hooks = (
        hook("PostToolUse", says(additionalContext="went well")),
        hook("PostToolUseFailure", says(decision="block", reason="read the error")),
    )
    model = Replies(sh("echo 1"), sh("exit 3"), sh("echo 2"))
    await run(model, config(turns=3, hooks=hooks))
    shown = [request.messages[-1].content for request in model.requests[1:]]
    assert shown == ["1\n\nwent well", "[exit code 3]\n\nread the error"]


async def test_requests_are_added_to_or_refused_and_a_session_ends_once():
    hooks = (
        hook("SessionStart", "echo Today is Monday."),
        hook("UserPromptSubmit", says(additionalContext="Be brief.")),
    )
    end = hook("SessionEnd", "touch ended")
    model = Replies(sh("ls"))
    await run(model, config(hooks=(*hooks, end)))
    assert model.requests[0].messages[-1].content == "Go.\n\nToday is Monday.\n\nBe brief."
    refused = await run(Replies(), config(hooks=(hook("UserPromptSubmit", "exit 2"),)))
    assert (refused.turns, refused.termination) == ((), Termination.NO_ACTION)


async def test_without_a_sandbox_no_command_runs():
    reasoning = TASK.model_copy(update={"needs_sandbox": False, "files": {}})
    model = Replies("<answer>1</answer>")
    opened = await run(model, config(hooks=(hook("SessionStart", "echo x"),)), reasoning, sandboxed=False)
    assert opened.output == "1" and model.requests[0].messages[-1].content == "Go."


async def test_hooks_without_an_answer_are_recorded_each_once():
    hooks = (
        hook("PreToolUse", "exit 7", name="crash"),
        hook("SessionStart", "sleep 5", name="slow", timeout=0.1),
        hook("PostToolUse", "head -c 20000 /dev/zero | tr '\\0' '{'", name="flood"),
    )
    stop = StopHook(name="look", message="Again.", builtin="error_exit")
    failing = await run(Replies(*[sh("exit 1")] * 2), config(stop, hooks=hooks))
    assert failing.hook_failures == (
        "SessionStart slow: timed out",
        "PreToolUse crash: exit code 7",
        "Stop look: not asked again, it has blocked 1 times",
    )
    fine = await run(Replies(sh("ls")), config(turns=1, hooks=hooks[2:]))
    assert fine.hook_failures == ("PostToolUse flood: said too much",)
    many = tuple(hook("PreToolUse", "exit 7", name=f"h{n}") for n in range(30))
    assert len((await run(Replies(sh("ls")), config(turns=1, hooks=many))).hook_failures) == 20
