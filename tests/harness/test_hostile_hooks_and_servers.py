"""What a hook or a server of tools says in an episode is data: each attempt is scored and recorded."""

import json
import shlex

import pytest
from hostile import play_hostile
from odd_server import SERVED, SERVER

from rsi.types import Hook, PlacedFile

SAID = [
    '{"additionalContext": "\\ud83d"}',
    '{"decision": "block", "reason": "\\udc00\\u0000"}',
    '{"updatedInput": {"command": "echo \\ud83d", "path": "\\ud83d"}}',
    '{"updatedInput": {"command": "echo \\u0000", "content": "\\ud83d"}}',
    '{"updatedInput": {"command": ["ls"]}}',
    '{"hookSpecificOutput": null}',
    '{"permissionDecision": {"a": 1}}',
    '{"reason": 3}',
    '{"a": ' + "[" * 4000,
    '{"a": ' + "9" * 6000 + "}",
    "{" * 9000,
    '{"additionalContext": NaN}',
    "{}",
    "{",
    "[]",
    "\ufeff{}",
    "x" * 20_000,
]
COMMANDS = [
    *(f"printf %s {shlex.quote(said)}" for said in SAID),
    "printf '\\xed\\xa0\\x80\\0' >&2; exit 2",
    "printf '\\xff'",
    "exit 2",
    "exit 99",
    "kill -9 $$",
    "kill -9 -1",
    "cat; rm -rf /task /tmp",
    "ulimit -n 0; cat",
]


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"])
@pytest.mark.parametrize(
    "commands", [COMMANDS[::5], *(pytest.param(COMMANDS[at::5], marks=pytest.mark.slow) for at in range(1, 5))]
)
async def test_a_hook(provider, event, commands):
    hooks = tuple(Hook(event=event, name=f"h{n}", command=command, timeout=2) for n, command in enumerate(commands))
    await play_hostile(provider, "text", "```sh\necho 3\n```\n", "<answer>3</answer>", hooks=hooks)


ODD = """
def listed(asked):
    nothing = {"type": "object", "properties": None, "required": None}
    answer(asked, {"tools": [{"name": "t", "inputSchema": nothing, "description": chr(0xd83d)}]})

def called(asked, name, given):
    if given.get("die"):
        os.kill(0, 9)
    answer(asked, text("a" + chr(0xd83d) + chr(0) + str(given)))
"""
PLACED = PlacedFile(path="s.py", content=SERVER.replace("# ODD", ODD), place="runtime")


@pytest.mark.parametrize("arguments", ["{}", '{"a": "\\ud83d"}', '{"die": 1}', "{", '{"a": NaN}', "[" * 9000])
@pytest.mark.parametrize("protocol", ["tools", pytest.param("repl", marks=pytest.mark.slow)])
async def test_a_server_of_tools(provider, protocol, arguments):
    call = [("mcp__s__t", arguments)] if protocol == "tools" else f"```call mcp__s__t\n{arguments}\n```\n"
    attempt = await play_hostile(provider, protocol, call, "<answer>3</answer>", mcp=(SERVED,), files=(PLACED,))
    assert attempt.score.passed
    if arguments == "{}":
        assert json.loads(attempt.turns[0].observation) == "a\ufffd\ufffd{}"
