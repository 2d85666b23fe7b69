"""[mcp]: which servers a document may start, and where."""

import json

import pytest

from rsi.errors import UserError
from rsi.hcp import check, parse
from rsi.hcp.pack import pack
from rsi.types import McpServer

SERVER = 'command = "python3"\nargs = ["s.py"]\nenv = { A = "1" }\nplacement = "sandbox"\n'
EXPECTED = McpServer(name="time", command="python3", args=("s.py",), env={"A": "1"})


@pytest.mark.parametrize("key", ["servers", "mcpServers"])
def test_servers_is_an_alias(key):
    document = parse(f"version = 1\n[mcp.{key}.time]\n{SERVER}", "x")
    assert document.harness().mcp == (EXPECTED,)
    assert [note.split(":")[0] for note in check(document)] == ["'mcp.servers'"]  # of the text protocol


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[mcp.servers.a]\ncommand = "x"\n', "host"),
        ('[mcp.servers.a]\ncommand = "x"\nplacement = "bridge"\n', r"mcp\.servers\.a\.placement.*write 'sandbox'"),
        ('[mcp.servers.a]\nurl = "http://x"\ntransport = "http"\nplacement = "sandbox"\n', "no network"),
        ('[mcp.servers.a]\nplacement = "sandbox"\n', "command"),
        ('[mcp.servers.a]\ncommand = "x"\nplacement = "cloud"\n', "placement"),
        ('[mcp.servers."a b"]\ncommand = "x"\nplacement = "sandbox"\n', r"mcp\.servers"),
        ("mcp = 3\n", "mcp"),
        ('mcp = "mcp.json"\n', "not embedded"),
    ],
)
def test_a_server_on_the_host_or_the_network_is_refused(text, words):
    with pytest.raises(UserError, match=words):
        parse("version = 1\n" + text, "x").harness()


@pytest.mark.parametrize("line", ['mcp = "./mcp.json"', '[mcp]\nconfigPath = "mcp.json"'])
def test_a_file_of_servers_is_packed(tmp_path, line):
    server = {"command": "python3", "args": ["s.py"], "env": {"A": "1"}, "placement": "sandbox"}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"time": server}}))
    assert pack(parse(f"version = 1\n{line}\n", "x"), tmp_path, tmp_path).harness().mcp == (EXPECTED,)
    for bad in ("{", "[" * 100_000, '{"mcpServers": {"a": {"command": 3}}}'):
        (tmp_path / "mcp.json").write_text(bad)
        with pytest.raises(UserError, match=r"mcp\.json"):
            pack(parse(f"version = 1\n{line}\n", "x"), tmp_path, tmp_path).harness()


def test_values_of_tokens_are_refused_and_their_names_are_not():
    parse('version = 1\n[mcp.servers.a]\nbearerTokenEnv = "T"\n', "x")
    with pytest.raises(UserError, match="secret"):
        parse('version = 1\n[mcp.servers.a]\nbearerToken = "abc"\n', "x")
