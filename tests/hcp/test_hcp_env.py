"""[env] and [model]: merged in order, required before anything starts, allowed by the operator, never written down."""

import pytest

from rsi.config import ModelSettings, RunSettings
from rsi.errors import UserError
from rsi.hcp import check, parse
from rsi.hcp.env import environment, parse_file, passed
from rsi.hcp.provider import provider
from rsi.wiring.founding import founding

MODEL = """version = 1
[model]
provider = "novita"
model = "zai/glm"
base_url_env = "T_URL"
api_key_env = "T_KEY"
context_window = 128000
max_tokens = 32
thinking_level = "off"
[model.compat]
thinkingFormat = "zai"
"""


def merged(text, tmp_path, process=None):
    return environment(parse("version = 1\n" + text, "doc.toml"), tmp_path, tmp_path, process or {})


@pytest.mark.parametrize(
    ("override", "process", "expected"),
    [("false", {"A": "p"}, "p"), ("true", {"A": "p"}, "f"), ("false", {}, "f")],
)
def test_files_merge_with_the_process(tmp_path, override, process, expected):
    (tmp_path / ".env").write_text("# words\n\nA=f\nexport B='two words'\n")
    found = merged(f'[env]\nfiles = [".env"]\noverride = {override}\nrequired = ["A", "B"]\n', tmp_path, process)
    assert (found["A"], found["B"]) == (expected, "two words")


def test_set_always_wins(tmp_path):
    (tmp_path / ".env").write_text("A=f\n")
    found = merged('[env]\nfiles = [".env"]\noverride = true\nset = { A = "s" }\n', tmp_path, {"A": "p"})
    assert found["A"] == "s"
    harness = parse('version = 1\n[env]\nset = { A = "s" }\noptional = ["C"]\n', "x").harness()
    assert harness.env_set == {"A": "s"} and harness.env_names == ("C",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[env]\nrequired = ["T_NONE"]\n', "doc.toml: 'env' needs the environment variable T_NONE"),
        ('[env]\npassthrough = ["T_NONE"]\n', "T_NONE"),
        ('[model]\napi_key_env = "T_NONE"\n', "'model' needs .*T_NONE"),
        ('[model]\nmodelEnv = "T_NONE"\n', "T_NONE"),
        ('[env]\nfiles = ["none.env"]\n', "env.files.*no such file"),
        ('[env]\nfiles = ["../x.env"]\n', "outside the project"),
        ('[env]\nfiles = ["bad.env"]\n', "line 1"),
    ],
)
def test_what_is_missing_is_said_before_anything_starts(tmp_path, text, words):
    (tmp_path / "bad.env").write_text("no equals sign, but a secret")
    with pytest.raises(UserError, match=words) as caught:
        merged(text, tmp_path)
    assert "secret" not in str(caught.value)


def test_bad_names_are_refused():
    with pytest.raises(UserError, match=r"env\.required"):
        parse('version = 1\n[env]\nrequired = ["A; rm -rf"]\n', "x")
    with pytest.raises(ValueError, match="line 2"):
        parse_file("A=1\nb c=2\n")


def test_only_allowed_names_reach_a_sandbox():
    document = parse(MODEL + '[env]\nrequired = ["A", "T_KEY"]\noptional = ["B", "C"]\n', "x")
    every = {"A": "1", "B": "2", "D": "4", "T_KEY": "k", "T_URL": "u"}
    assert passed(document, every, ["A", "B", "C", "D", "T_KEY"]) == {"A": "1", "B": "2"}
    assert passed(document, every, []) == {}
    assert "T_KEY" not in document.harness().env_names
    with pytest.raises(UserError, match=r"CI.*allow_env"):
        passed(parse('version = 1\n[env]\npassthrough = ["CI"]\n', "x"), {"CI": "1"}, [])


def test_the_registry_entry_holds_names_of_secrets():
    document = parse(MODEL, "x")
    entry = provider(document, {"T_URL": "http://127.0.0.1:9/v1", "T_KEY": "hunter2"})
    assert entry is not None and entry.model == "http://127.0.0.1:9/v1#zai/glm"
    assert (entry.api, entry.api_key_env, entry.thinking_level) == ("openai-completions", "T_KEY", "off")
    assert "hunter2" not in entry.model_dump_json() + document.harness().model_dump_json()
    assert check(document) == []
    assert provider(parse("version = 1\n", "x"), {}) is None
    with pytest.raises(UserError, match="T_URL"):
        provider(document, {})
    with pytest.raises(UserError, match=r"model\.api.*no client"):
        _ = provider(parse('version = 1\n[model]\nid = "m"\napiType = "google-vertex"\n', "x"), {}).model


def test_a_founding_document_is_made_ready(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("T_URL=http://127.0.0.1:9/v1\nT_KEY=hunter2\nT_OURS=1\nT_THEIRS=2\n")
    (tmp_path / "s.md").write_text("Be brief.")
    (tmp_path / "d.toml").write_text(
        MODEL + '[env]\nfiles = [".env"]\noptional = ["T_OURS", "T_THEIRS"]\n[resources]\nsystem_prompt_path = "s.md"\n'
    )
    for name in ("T_URL", "T_KEY", "T_OURS", "T_THEIRS"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    settings = RunSettings(allow_env=("T_OURS",), model=ModelSettings(id="document"))
    document, chosen = founding(settings, tmp_path / "d.toml")
    import os

    assert document.harness().system == "Be brief." and "hunter2" not in document.text
    assert (chosen.model.id, chosen.model.api_key_env) == ("http://127.0.0.1:9/v1#zai/glm", "T_KEY")
    assert os.environ["T_OURS"] == "1" and os.environ["T_KEY"] == "hunter2" and "T_THEIRS" not in os.environ
    assert founding(RunSettings(), tmp_path / "d.toml")[1] == RunSettings()
