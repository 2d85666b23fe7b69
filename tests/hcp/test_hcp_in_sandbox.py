"""What a document brings into a real sandbox: files, environment, hooks' scripts, MCP servers."""

import hashlib
from pathlib import Path

import pytest

from rsi.errors import InfrastructureError, UserError
from rsi.harness.exported import Exported
from rsi.harness.mcp import call, mcp_tools, start
from rsi.harness.place import RUNTIME, place
from rsi.hcp import realise
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.types import McpServer, PlacedFile

SERVER = (Path(__file__).parent / "mcp_server.py").read_text()
FILES = [PlacedFile(path="mcp_server.py", content=SERVER, place="runtime")]


@pytest.fixture
async def sandbox():
    try:
        opened = await Bubblewrap().open()
    except InfrastructureError as error:
        pytest.skip(f"no bubblewrap sandbox here: {error}")
    yield opened
    await opened.close()


def server(*args, command="python3", **env):
    return McpServer(name="s", command=command, args=("/tmp/hcp/mcp_server.py", *args), env=env)


async def test_files_stand_where_they_belong(sandbox):
    files = [
        PlacedFile(path="in/a.txt", content="a"),
        PlacedFile(path="run", content="IyEvYmluL3NoCmVjaG8gaGkK", encoding="base64", mode=0o755),
        PlacedFile(path="big ' name", content="x" * 300_000, place="runtime"),
    ]
    await place(files, sandbox)
    result = await sandbox.exec('cat in/a.txt; ./run; wc -c < "/tmp/hcp/big \' name"; ls', 5)
    assert result.stdout == "ahi\n300000\nin\nrun\n"
    assert sorted(await sandbox.get()) == ["in/a.txt", "run"]


async def test_environment_reaches_commands_and_stays_out_of_the_workspace(sandbox):
    exported = Exported(sandbox, {"A": "it's $HOME", "B": "2"})
    assert (await exported.exec('printf "%s %s" "$A" "$B"', 5)).stdout == "it's $HOME 2"
    assert (await sandbox.exec('printf "%s" "$A"', 5)).stdout == ""


@pytest.mark.slow
async def test_tools_of_a_server_in_the_sandbox(sandbox):
    await place(FILES, sandbox)
    tools = await start(Exported(sandbox, {"FROM_DOCUMENT": "d"}), [server(FROM_SERVER="s")])
    assert [tool.called for tool in tools][:2] == ["mcp__s__add", "mcp__s__slow"]
    assert tools[0].description == "Adds." and tools[0].schema["type"] == "object"
    assert await call(sandbox, "s", "add", {"a": 2, "b": 3}, 5) == "5\n[image content]"
    assert (await call(sandbox, "s", "env", {}, 5)).startswith("s d /task")
    assert (await call(sandbox, "s", "broken", {}, 5)).startswith("[error] it broke")
    assert len(await call(sandbox, "s", "long", {}, 5)) > 300_000
    assert "longer than" in await call(sandbox, "s", "add", {"a": "x" * 100_000}, 5)
    assert await call(sandbox, "other", "add", {}, 5) == "[error] the server does not run"
    assert await call(sandbox, "s", "slow", {}, 1.2) == "[error] the server does not answer in time"


async def test_a_server_that_ends_is_an_error_of_the_call(sandbox):
    await place(FILES, sandbox)
    await start(sandbox, [server()])
    assert await call(sandbox, "s", "die", {}, 5) == "[error] the server has ended"
    assert (await call(sandbox, "s", "add", {"a": 1, "b": 2}, 2)).startswith("[error]")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (server("--fail"), "cannot find my database"),
        (server(command="no-such-program"), "no-such-program"),
        (McpServer(name="s", command="true"), "has ended"),
    ],
)
async def test_a_server_that_does_not_start_fails_fast(sandbox, wrong, why):
    await place(FILES, sandbox)
    with pytest.raises(UserError, match=f"'s' does not start in the sandbox.*{why}"):
        await start(sandbox, [wrong])


async def test_an_episode_has_what_its_document_brings(sandbox, monkeypatch):
    from rsi.harness import run_episode
    from rsi.hcp import parse
    from rsi.models.scripted import Rule, ScriptedModel, Table
    from rsi.types import Recipe, Task

    assert realise.RUNTIME == RUNTIME
    sha = hashlib.sha256(b"hello").hexdigest()
    text = (
        'version = 1\n[env]\nset = { A = "1" }\n[[workspace.entries]]\nname = "e"\nsource = "local:x"\ntarget = "x"\n'
        f'mode = "copy"\n[[rsi.files]]\nentry = "e"\npath = "."\ncontent = "hello"\nsha256 = "{sha}"\n'
    )
    task = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="go")
    model = ScriptedModel(Table(rules=(Rule(contains="go", replies=(("```sh\ncat x; echo $A\n```", 1),)),)))
    episode = await run_episode(task, parse(text, "x").harness(), model, sandbox, 0, None)
    assert episode.output == "hello1\n"


async def test_tools_as_a_protocol_takes_them(sandbox):
    await place(FILES, sandbox)
    tools = {tool.name: tool for tool in await mcp_tools(sandbox, [server()])}
    add = tools["mcp__s__add"]
    assert "Adds." in add.text and '"a"' in add.text
    assert await add.run({"a": 1, "b": 2}) == "3\n[image content]"
    with pytest.raises(UserError, match="it broke"):
        await tools["mcp__s__broken"].run({})
    assert await mcp_tools(None, []) == ()
    with pytest.raises(UserError, match="needs a sandbox"):
        await mcp_tools(None, [server()])


async def test_a_documents_server_is_called_in_an_episode(sandbox, tmp_path):
    from rsi.harness import run_episode
    from rsi.hcp import parse
    from rsi.hcp.pack import pack
    from rsi.models.scripted import Rule, ScriptedModel, Table
    from rsi.types import Recipe, Task

    pytest.importorskip("rsi.harness.protocols")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/mcp_server.py").write_text(SERVER)
    text = (
        'version = 1\n[mcp.servers.s]\ncommand = "python3"\nargs = ["./tools/mcp_server.py"]\nplacement = "sandbox"\n'
        '[rsi]\nprotocol = "repl"\n[rsi.budgets]\nturns = 2\n'
    )
    harness = pack(parse(text, "x"), tmp_path, tmp_path).harness()
    assert harness.mcp[0].args == ("/tmp/hcp/.pi/mcp/s/mcp_server.py",)
    task = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="go")
    call_add = "```call mcp__s__add\n" + '{"a": 20, "b": 22}\n' + "```"
    rules = (Rule(contains="go", replies=((call_add, 1),)), Rule(replies=(("<answer>done</answer>", 1),)))
    episode = await run_episode(task, harness, ScriptedModel(Table(rules=rules)), sandbox, 0, None)
    assert "42" in (episode.turns[0].observation or "")
