"""A whole episode of native calls: a served model with token ids, a document's MCP server in a real sandbox."""

import json
from pathlib import Path

import pytest
from openai_server import serving

from rsi.config import ModelSettings
from rsi.errors import InfrastructureError
from rsi.harness import run_episode
from rsi.models.openai import OpenAIModel
from rsi.models.scripted import ScriptedModel, Table
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.types import Budgets, HarnessConfig, McpServer, PlacedFile, Recipe, Sampling, Task

SERVER = (Path(__file__).parent.parent / "hcp/mcp_server.py").read_text()
HARNESS = HarnessConfig(
    document_digest="d",
    system="S",
    protocol="tools",
    sampling=Sampling(max_new_tokens=200),
    budgets=Budgets(turns=4, tokens=2000),
    files=(PlacedFile(path="mcp_server.py", content=SERVER, place="runtime"),),
    mcp=(McpServer(name="s", command="python3", args=("/tmp/hcp/mcp_server.py",)),),
)
TASK = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="go")


def call(name, **arguments):
    return json.dumps({"name": name, "arguments": json.dumps(arguments)})


async def test_an_episode_of_native_calls_keeps_the_sampled_tokens():
    try:
        sandbox = await Bubblewrap().open()
    except InfrastructureError as error:
        pytest.skip(f"no bubblewrap sandbox here: {error}")
    rules = [
        {"contains": "go", "replies": [[call("mcp__s__add", a=20, b=22), 1]]},
        {"contains": "42", "lacks": "shell", "replies": [[call("shell", command="echo shell"), 1]]},
        {"replies": [["<answer>42</answer>", 1]]},
    ]
    try:
        with serving(ScriptedModel(Table.model_validate({"rules": rules}))) as server:
            model = OpenAIModel(ModelSettings(id=server.url))
            episode = await run_episode(TASK, HARNESS, model, sandbox, 0, None)
            await model.close()
    finally:
        await sandbox.close()
    assert "42" in episode.turns[0].observation and episode.turns[1].observation == "shell"
    assert episode.output == "42"
    for before, after in zip(episode.turns, episode.turns[1:], strict=False):
        seen = before.completion.prompt_ids + before.completion.token_ids
        assert seen and after.completion.prompt_ids[: len(seen)] == seen
    assert {tool["function"]["name"] for tool in server.bodies[0]["tools"]} >= {"shell", "mcp__s__add"}
