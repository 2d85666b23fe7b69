"""HCP documents: identity, round trips, what is refused, what is kept and named."""

import base64
import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.errors import UserError
from rsi.hcp import check, load, parse
from rsi.types import Sampling, Skill

FULL = '''# a comment
version = 1

[run]
cwd = "."

[model]
max_tokens = 48

[provider_options]
temperature = 0.7
top_p = 0.9
tool_choice = "auto"

[tools]
allow = ["bash", "read", "grep"]

[resources]
system_prompt = "Do it."
append_system_prompts = ["Be brief."]

[[resources.embedded]]
kind = "skill"
path = ".pi/skills/count/SKILL.md"
encoding = "utf-8"
content = "wc -l counts"
sha256 = "SHA"
triggers = ["count"]

[hooks.Stop.look]
builtin = "empty_output"
message = "Print it."
max_blocks = 2
fail = "closed"

[rsi]
parent = "0123"
protocol = "text"

[rsi.answer]
format = "One command."

[rsi.budgets]
turns = 3
tokens = 96
seconds = 20
output_chars = 500

[rsi.exemplars]
shots = 1

[[rsi.exemplars.pool]]
request = "Count the lines of a.txt"
response = """```sh
wc -l < a.txt
```"""

[[rsi.skills]]
name = "sort"
triggers = ["sort", "order"]
text = "sort -n sorts numbers"

[themes]
paths = ["a.json"]
'''.replace("SHA", hashlib.sha256(b"wc -l counts").hexdigest())
BARE = "version = 1\n"


def embedded(path="a/SKILL.md", content="x", sha=None, encoding="utf-8", kind="skill"):
    sha = sha or hashlib.sha256(content.encode()).hexdigest()
    return (
        f'version = 1\n[[resources.embedded]]\nkind = "{kind}"\npath = "{path}"\nencoding = "{encoding}"\n'
        f'content = "{content}"\nsha256 = "{sha}"\n'
    )


def test_a_full_document_says_its_harness():
    harness = parse(FULL, "full.toml").harness()
    assert harness.system == "Do it.\n\nBe brief." and harness.answer_format == "One command."
    assert harness.tools == ("shell", "read")
    assert harness.sampling == Sampling(temperature=0.7, top_p=0.9, max_new_tokens=48)
    assert (harness.budgets.turns, harness.budgets.tokens, harness.budgets.seconds) == (3, 96, 20.0)
    assert harness.shots == 1 and harness.exemplars[0].response == "```sh\nwc -l < a.txt\n```"
    assert [skill.name for skill in harness.skills] == ["sort", "count"]
    assert harness.skills[1] == Skill(name="count", triggers=("count",), text="wc -l counts")
    assert harness.stop_hooks[0].name == "look" and harness.stop_hooks[0].fail == "closed"
    assert harness.document_digest == parse(FULL, "elsewhere").digest
    assert parse(FULL, "x").parent == "0123"


def test_digest_ignores_form_and_sees_content():
    one = parse('version = 1\nother = 2\n[model]\nmax_tokens = 5\nid = "m"\n', "one")
    same = parse('# words\nother   = 2\nversion=1\n\nmodel = { id = "m", max_tokens = 5 } # words\n', "two")
    assert one.digest == same.digest
    assert one.digest != parse(one.text.replace("other = 2", "other = 3"), "x").digest
    assert one.digest != parse(one.text.replace("other = 2", "others = 2"), "x").digest
    date = parse(BARE + "when = 2026-01-02\n", "x")
    assert date.digest != parse(BARE + 'when = "2026-01-02"\n', "x").digest


def test_unknown_keys_and_sections_are_kept_and_named():
    document = parse(FULL, "full.toml")
    assert document.content["themes"] == {"paths": ["a.json"]}
    notes = check(document)
    assert any(note.startswith("'themes'") for note in notes)
    assert any(note.startswith("'provider_options.tool_choice'") for note in notes)
    assert any("'grep' is no tool" in note for note in notes)
    assert len(notes) == 3
    ours = check(parse(BARE + "[rsi.budgets]\nturnz = 3\n[[rsi.skills]]\nname='a'\ntriggers=[]\ntext=''\nx=1\n", "x"))
    assert [note.split(":")[0] for note in ours] == ["'rsi.budgets.turnz'", "'rsi.skills[0].x'"]
    assert all("unknown key of our own" in note for note in ours)
    assert check(parse(BARE, "bare.toml")) == []


def test_check_names_unread_keys_of_hooks_and_clamped_values():
    text = BARE + '[model]\nmax_tokens = 32000\n[hooks.Notification.no]\ncommand="x"\n[hooks.Stop.a]\n'
    document = parse(text + 'command = "true"\nmatchers = "*"\n', "x")
    assert document.harness().sampling.max_new_tokens == 8192
    notes = check(document)
    assert {note.split(":")[0] for note in notes} == {
        "'hooks.Notification'",
        "'hooks.Stop.a.matchers'",
        "'model.max_tokens'",
    }


@pytest.mark.parametrize(
    ("line", "tools"),
    [
        ("", ("shell",)),
        ('tools = ["bash", "write"]', ("shell", "write")),
        ('tools = "read, bash"', ("shell", "read")),
        ("tools = []", ()),
        ('no_tools = "all"', ()),
        ("[tools]\nenabled = false", ()),
        ("[tools]\nbuiltin = false", ()),
        ('[tools]\nmode = "none"', ()),
        ('[tools]\nnames = ["shell"]', ("shell",)),
        ('[tools]\nenabled = false\nallow = ["read"]', ("read",)),  # a non-empty list wins
    ],
)
def test_tool_policy(line, tools):
    assert parse(BARE + line + "\n", "x").harness().tools == tools


def test_allow_list_against_disabling_is_named():
    assert "the list wins" in check(parse(BARE + '[tools]\nenabled = false\nallow = ["read"]\n', "x"))[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version = 1\n[model\n", ["line 2"]),
        ("[model]\nmax_tokens = 3\n", ["version", "missing"]),
        ("version = 2\n", ["newer"]),
        ('version = "1"\n', ["version", "whole number"]),
        ("version = true\n", ["version"]),
        (BARE + '[model]\nmax_tokens = "48"\n', ["model.max_tokens", "integer"]),
        (BARE + "[model]\nmax_tokens = 0\n", ["model.max_tokens"]),
        (BARE + "[provider_options]\ntemperature = 9.5\n", ["provider_options.temperature"]),
        (BARE + "[provider_options]\ntemperature = nan\n", ["provider_options.temperature", "finite"]),
        (BARE + "resources = 3\n", ["resources"]),
        (BARE + "[resources]\nsystem_prompt = 3\n", ["resources.system_prompt", "string"]),
        (BARE + '[rsi]\nprotocol = "json"\n', ["rsi.protocol"]),
        (BARE + "[rsi.budgets]\nturns = 99\n", ["rsi.budgets.turns"]),
        (BARE + "[rsi.exemplars]\nshots = 9\n", ["rsi.exemplars.shots"]),
        (BARE + '[[rsi.exemplars.pool]]\nrequest = "a"\n', ["rsi.exemplars.pool.0.response"]),
        (BARE + '[hooks.Stop.a]\nmessage = "x"\n', ["hooks.Stop.a", "exactly one"]),
        (BARE + '[hooks.Stop.a]\ncommand = "x"\nbuiltin = "no_action"\n', ["exactly one"]),
        (BARE + '[hooks.Stop.a]\ncommand = "x"\nmax_blocks = 50\n', ["hooks.Stop.a.max_blocks"]),
        (BARE + "x = " + "[" * 5000, ["malformed TOML"]),
        (BARE + "x = " + "9" * 5000, ["malformed TOML"]),
        (BARE + ".".join("a" * 5000) + " = 1", ["nested too deeply"]),
        (BARE + "tools = [1]", ["tools", "strings"]),
        (BARE + "tools = 3", ["tools", "list of names"]),
        (BARE + '[tools]\nallow = ["bash", 1]', ["tools", "strings"]),
        (BARE + "#" * 1_000_001, ["characters"]),
        (embedded(path="../x"), ["resources.embedded.0", "relative"]),
        (embedded(path="/etc/x"), ["relative"]),
        (embedded(sha="0" * 64), ["sha256"]),
        (embedded(encoding="rot13"), ["encoding"]),
        (embedded(encoding="base64", content="!"), ["base64"]),
        (BARE + '[model]\napi_key = "sk-1"\n', ["model.api_key", "secret", "environment variable"]),
        (BARE + '[env.set]\nMY_TOKEN = "x"\n', ["env.set.MY_TOKEN", "secret"]),
        (BARE + '[mcp.servers.a]\n"x.apiKey" = "x"\n', ["apiKey", "secret"]),
    ],
)
def test_bad_documents_are_one_clear_line(text, words):
    with pytest.raises(UserError) as caught:
        parse(text, "some/file.toml")
    message = str(caught.value)
    assert message.startswith("some/file.toml: ") and "\n" not in message and len(message) < 300
    for word in words:
        assert word in message, message


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["[", "]", "=", ".", '"', "\n", "1", "rsi", "tools", "hooks", "Stop", "{", "}", "a", "version"])
    )
)
def test_any_text_is_a_document_or_one_clear_error(parts):
    try:
        document = parse(BARE + "".join(parts), "x")
    except UserError as error:
        assert str(error).startswith("x: ")
    else:
        assert document.harness().document_digest == document.digest
        check(document)


def test_names_of_secrets_are_no_secrets():
    parse(BARE + '[model]\napi_key_env = "KEY"\nmax_tokens = 4\n[mcp.servers.a]\nbearerTokenEnv = "T"\n', "x")


def test_embedded_base64_is_decoded():
    data = base64.b64encode(b"text").decode()
    document = parse(embedded(content=data, encoding="base64", sha=hashlib.sha256(b"text").hexdigest()), "x")
    assert document.harness().skills == (Skill(name="a", triggers=("a",), text="text"),)


def test_other_embedded_kinds_are_verified_and_named():
    assert "kind 'hook'" in check(parse(embedded(kind="hook", path="a.sh"), "x"))[0]


def test_load_says_what_to_do(tmp_path: Path):
    with pytest.raises(UserError, match="no such HCP document"):
        load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"version = 1 # \xe9\n")
    with pytest.raises(UserError, match="UTF-8"):
        load(tmp_path / "latin.toml")
    with pytest.raises(UserError, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "good.toml").write_text(FULL)
    assert load(tmp_path / "good.toml").digest == parse(FULL, "").digest
