"""The repl protocol in the one episode loop: code, discrete calls, the shell, and what the model is shown."""

import json

from test_loop import TASK, Replies, config, sh

from benchmarks.plain_sandbox import PlainProvider
from rsi.harness import run_episode
from rsi.harness.repl import Tool
from rsi.types import Hook, Termination


async def play(*replies, tools=(), sandboxed=True, **fields):
    model, sandbox = Replies(*replies), await PlainProvider().open() if sandboxed else None
    try:
        return model, await run_episode(
            TASK, config(turns=9, protocol="repl", **fields), model, sandbox, 7, None, tools
        )
    finally:
        if sandbox:
            await sandbox.close()


def python(code):
    return f"```python\n{code}\n```"


def add(seen, **fields):
    async def run(arguments):
        seen.append(arguments["n"])
        return {"next": arguments["n"] + 1, "pin": "secret-4711"}

    return Tool("add", "the next number", run, **fields)


async def test_code_calls_and_shell_share_one_episode():
    seen = []
    replies = (
        python("n = 1\nfor _ in range(4):\n    n = add(n=n)['next']\nprint(n)"),
        '```call add\n{"n": 5}\n```', sh("echo shell"), python("print(n)"), "<answer>6</answer>",
    )  # fmt: skip
    model, episode = await play(*replies, tools=[add(seen, no_ai=("pin",))])
    assert (episode.output, episode.termination, seen) == ("6", Termination.ANSWERED, [1, 2, 3, 4, 5])
    shown = [turn.observation for turn in episode.turns]
    assert shown == ["5", '{"next": 6, "pin": "[hidden]"}', "shell", "5", None]
    assert "add: the next number" in model.requests[0].messages[0].content
    assert episode.turns[1].action == 'call add\n{"n": 5}\n'


async def test_a_hidden_value_does_not_come_back_through_the_shell():
    write = python("open('pin', 'w').write(add(n=1)['pin'])")
    _, episode = await play(write, sh("cat pin; echo; rev pin"), "<answer>x</answer>", tools=[add([], no_ai=("pin",))])
    assert episode.turns[1].observation == "[hidden]\n[hidden]"


async def test_bad_calls_are_data():
    replies = ("```call add\nno json\n```", "```call add\n[1]\n```", "```call none\n{}\n```", "<answer>x</answer>")
    _, episode = await play(*replies, tools=[add([])])
    shown = [turn.observation for turn in episode.turns[:3]]
    assert "not JSON" in shown[0] and "JSON object" in shown[1] and "there is no tool 'none'" in shown[2]


async def test_without_a_sandbox_tools_are_called_but_no_code_runs():
    seen = []
    _, episode = await play('```call add\n{"n": 1}\n```', python("1"), tools=[add(seen)], sandboxed=False)
    assert seen == [1] and episode.termination == Termination.NO_ACTION


async def test_code_is_prose_to_the_text_protocol():
    model = Replies(python("1"))
    sandbox = await PlainProvider().open()
    try:
        episode = await run_episode(TASK, config(), model, sandbox, 7, None)
    finally:
        await sandbox.close()
    assert episode.termination == Termination.NO_ACTION and model.requests[0].messages[0].content == "S"


def guard(command, **fields):
    return Hook(event="PreToolUse", name="guard", command=command, matcher="add", **fields)


async def test_a_hook_denies_a_call_that_a_block_makes():
    seen = []
    code = "for n in (1, 13, 2):\n    try: print(add(n=n)['next'])\n    except ToolError as e: print(e)"
    hooks = (guard("echo 'an unlucky number' >&2; exit 2", condition="add(*13*)"),)
    _, episode = await play(python(code), "<answer>x</answer>", tools=[add(seen)], hooks=hooks)
    assert episode.turns[0].observation == "2\nadd: the call was denied: an unlucky number\n3"
    assert seen == [1, 2] and episode.hook_failures == ()


async def test_a_hook_rewrites_what_a_block_hands_to_a_tool_and_fails_as_it_declares():
    seen = []
    told = json.dumps({"updatedInput": {"content": json.dumps({"n": 40})}})
    replies = (python("print(add(n=1)['next'])"), "<answer>x</answer>")
    _, episode = await play(*replies, tools=[add(seen)], hooks=(guard(f"echo '{told}'"),))
    assert (episode.turns[0].observation, seen) == ("41", [40])
    bad = json.dumps({"updatedInput": {"content": "[1]"}})
    _, episode = await play(*replies, tools=[add(seen)], hooks=(guard(f"echo '{bad}'"),))
    assert "to no JSON object" in episode.turns[0].observation and seen == [40]
    _, episode = await play(*replies, tools=[add(seen)], hooks=(guard("exit 3", fail="closed"),))
    assert "denied" in episode.turns[0].observation and seen == [40]
    assert episode.hook_failures == ("PreToolUse guard: exit code 3",)
    assert episode.cost.sandbox_seconds <= episode.cost.seconds  # a hook's time counts once


async def test_a_saved_function_has_unix_lines():
    code = "def twice(x):\\r\\n    return 2 * x\\r\\n"
    _, episode = await play('```python\nsave_tool(name="twice", code="' + code + '")\n```', "<answer>1</answer>")
    assert [staged.code for staged in episode.staged] == ["def twice(x):\n    return 2 * x\n"]
