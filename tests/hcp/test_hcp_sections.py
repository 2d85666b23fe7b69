"""Every section survives load, dump, load; the schema is current and true; problems come in RFC-0002's load order."""

import json
import tomllib
from pathlib import Path
from typing import get_args

import pytest
import tomlkit
from test_hcp_document import FULL

from rsi.errors import UserError
from rsi.hcp import check, load, parse
from rsi.hcp.diff import diff
from rsi.hcp.form import Form
from rsi.hcp.pack import pack
from rsi.hcp.risk import AUTOMATIC, risk_of
from rsi.hcp.schema import schema
from rsi.hcp.snapshot import encode
from rsi.types import Hook, Message

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "harness_configs").rglob("*.toml"))
SNAPSHOT = "".join(
    f"{key} = {json.dumps(value)}\n" for key, value in encode([Message(role="user", content="a")]).items()
)
SECTIONS = {
    "run": '[run]\ncwd = "."\nagent_dir = ".pi/agent"\nbackend = "node"\noffline = true\n',
    "js": '[js]\nruntime = "node"\nrequest_timeout_sec = 30\n',
    "env": '[env]\nfiles = [".env"]\nrequired = ["A"]\noptional = ["B"]\nset = { C = "0" }\n',
    "auth": '[auth]\npath = "auth.json"\n',
    "model": '[model]\nprovider = "p"\nid = "m"\napi_key_env = "K"\ninput = ["text"]\n[model.compat]\nx = false\n',
    "provider_options": '[provider_options]\ntemperature = 0\ntop_p = 1\nseed = 3\ntool_choice = "auto"\n',
    "tools": '[tools]\nallow = ["bash", "read", "grep"]\n',
    "tools as text": 'tools = "bash, read"\n',
    "extensions": '[extensions]\npaths = ["a.ts"]\nsources = ["npm:x"]\n',
    "skills": '[skills]\npaths = ["s"]\nsources = [{ source = "a/b", skills = ["c"] }]\n',
    "prompts": '[prompts]\npaths = ["p"]\n',
    "themes": '[themes]\npaths = ["t.json"]\n',
    "resources": '[resources]\nagents_files = ["AGENTS.md"]\ncontext_files = false\nsystem_prompt = "é\\n"\n',
    "workspace": '[workspace]\nroot = "/w"\n[[workspace.entries]]\nname = "e"\nsource = "local:a"\ntarget = "a"\n'
    'mode = "copy"\nvisibility = "runtime"\n[[workspace.outputs]]\nname = "o"\npath = "/w/o"\n',
    "mcp": '[mcp.servers.t]\ncommand = "uvx"\nargs = ["x"]\nplacement = "sandbox"\nbearerTokenEnv = "T"\n',
    "hooks": '[hooks.PreToolUse.a]\nmatcher = "bash"\ncommand = "x"\ncondition = "bash(*)"\nrun_async = false\n',
    "session": f"[session]\nmode = 'in_memory'\n[session.snapshot]\n{SNAPSHOT}",
    "unknown": '[future]\nwhen = 2026-01-02\nlist = [1, "a", [true]]\n',
}


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_survives_load_dump_load(name):
    one = parse("version = 1\n" + SECTIONS[name], "x")
    two = parse(tomlkit.dumps(one.content), "x")
    assert two.digest == one.digest and two.form == one.form and diff(one, two) == []
    assert check(two) == check(one)


@pytest.mark.parametrize("name", ["js", "auth", "extensions", "themes", "unknown"])
def test_what_is_not_realised_is_kept_and_named(name):
    document = parse("version = 1\n" + SECTIONS[name], "x")
    (section,) = document.content.keys() - {"version"}
    assert check(document) == [f"'{section}': not realised"]


def test_every_section_of_the_draft_has_a_risk_class():
    for text in SECTIONS.values():
        for key in tomllib.loads(text):
            if key != "future":
                assert risk_of(key) != "unknown" or key == "provider_options", key
    assert not {risk_of(key) for key in Form.model_fields if key not in ("rsi", "provider_options")} & AUTOMATIC


def test_the_committed_schema_is_current():
    committed = json.loads((ROOT / "harness_configs/schema.json").read_text())
    assert committed == json.loads(json.dumps(schema())), "run: rsi hcp schema > harness_configs/schema.json"


def test_the_schema_takes_what_the_parser_takes():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema())
    validator = jsonschema.Draft202012Validator(schema())
    texts = [*(path.read_text() for path in SHIPPED), FULL, *("version = 1\n" + text for text in SECTIONS.values())]
    texts.append('version = 1\nmcp = "m.json"\n[hooks]\nStop = { a = "true" }\nPreToolUse = [{ command = "x" }]\n')
    for text in texts:
        parse(text, "x")
        validator.validate(json.loads(json.dumps(tomllib.loads(text), default=str)))
    for bad in ({}, {"version": 2}, {"version": 1, "tools": 3}, {"version": 1, "model": {"max_tokens": "a"}}):
        assert not validator.is_valid(bad), bad


def test_schema_and_records_name_the_same_events():
    events = get_args(Hook.model_fields["event"].annotation)
    assert set(schema()["$defs"]["Hooks"]["properties"]) == set(events)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_shipped_document_is_portable_already(path):
    document = load(path)
    assert pack(document, path.parent, ROOT) is document


def test_problems_are_told_in_the_order_of_loading(tmp_path):
    """parse, cwd, resources, workspace, session; the environment last (see rsi.wiring.founding)."""
    from rsi.config import RunSettings
    from rsi.wiring.founding import founding

    steps = [
        ("version", "version = 1\n", ""),
        ("run.cwd", 'cwd = "."', 'cwd = "none"'),
        ("skills.paths", 'paths = ["s.md"]', 'paths = ["none.md"]'),
        ("workspace.entries", 'source = "local:a"', 'source = "local:none"'),
        ("session", 'snapshot_path = "old.json"', 'snapshot_path = "none.json"'),
        ("env", 'optional = ["T_NONE"]', 'required = ["T_NONE"]'),
    ]
    good = """version = 1
run = { cwd = "." }
skills = { paths = ["s.md"] }
env = { optional = ["T_NONE"] }
session = { snapshot_path = "old.json" }
[[workspace.entries]]
name = "e"
source = "local:a"
target = "a"
mode = "copy"
"""
    (tmp_path / "s.md").write_text("s")
    (tmp_path / "a").write_text("a")
    (tmp_path / "old.json").write_text('[{"role": "user", "content": "a"}]')
    path = tmp_path / "d.toml"
    path.write_text(good)
    founding(RunSettings(), path)
    for first in range(len(steps)):
        text = good
        for _, right, wrong in steps[first:]:
            text = text.replace(right, wrong)
        path.write_text(text)
        with pytest.raises(UserError, match=f"'{steps[first][0]}'"):
            founding(RunSettings(), path)
