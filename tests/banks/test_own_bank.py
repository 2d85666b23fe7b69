"""A bank that brings its own generator: the page in the README holds, and hostile generators get nowhere."""

import re
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from rsi.banks.catalogue import load_catalogue
from rsi.banks.check import NONE_MADE, check_bank
from rsi.banks.generated import open_bank
from rsi.banks.near import SealedScan
from rsi.banks.scaffold import FILES, TEMPLATE, scaffold
from rsi.config import load_settings
from rsi.errors import UserError
from rsi.hcp.document import load
from rsi.types import Recipe
from rsi.wiring.certificates import Prover
from rsi.wiring.check import check_whole_bank
from rsi.wiring.paths import bank_folder, start_document

ROOT = Path(__file__).resolve().parents[2]
SALT = b"s" * 32


@pytest.fixture
def mine(tmp_path) -> Path:
    scaffold("mine", tmp_path / "mine")
    return tmp_path / "mine"


def cli() -> typer.Typer:
    from rsi.cli import app

    return app


@pytest.mark.slow
def test_the_readmes_page_holds(tmp_path, monkeypatch):
    """The commands of "Bring your own tasks", as far as they need no model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    page = (ROOT / "README.md").read_text().split("## Bring your own tasks")[1].split("\n## ")[0]
    commands = re.findall(r"^    (?:\.venv/bin/)?rsi (bank .*?)(?: +#.*)?$", page, re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["new", "check", "check"]
    for command in commands[:2]:
        result = CliRunner().invoke(cli(), command.split())
        assert result.exit_code == 0, result.output
    assert "7 of 7 tasks certified, 0 quarantined" in result.output
    (file,) = (tmp_path / "home/certificates/mine").glob("*.jsonl")
    assert len(file.read_text().splitlines()) == 7
    settings = load_settings(tmp_path / "mine/run.toml")
    assert settings.bank == "mine"
    assert load_catalogue(tmp_path / "mine")
    for name in ("bare", "default"):
        assert load(start_document(name, tmp_path / "mine")).harness().tools == ("shell",)
    for name in FILES[:3]:
        assert name.split("/")[-1] in page


def test_new_refuses_what_is_there_and_bad_names(mine):
    with pytest.raises(UserError, match="is there already"):
        scaffold("mine", mine)
    with pytest.raises(UserError, match="is no name of a bank"):
        scaffold("../mine", mine / "other")


def test_its_splits_are_as_those_of_any_bank(mine, sandbox_provider):
    bank = open_bank(mine, SALT, provider=sandbox_provider)
    twin = open_bank(mine, SALT, provider=sandbox_provider)
    assert [len(bank.tasks(split)) for split in ("train", "selection", "sealed")] == [12, 8, 24]
    assert bank.tasks("sealed", 1) == twin.tasks("sealed", 1)
    assert not {t.id for t in bank.tasks("sealed")} & {t.id for t in bank.tasks("sealed", 1)}
    made = bank.make(Recipe(family="count_word", difficulty=3), 5, "train")
    assert twin.key(made) == bank.key(made)
    scan = SealedScan([task for shard in (0, 1) for task in bank.tasks("sealed", shard)])
    assert not [scan(task) for task in (*bank.tasks("train"), *bank.tasks("selection"), made) if scan(task)]


def test_the_digest_covers_the_generator(mine, sandbox_provider):
    before = open_bank(mine, SALT, provider=sandbox_provider).digest
    code = mine / "generator.py"
    code.write_text(code.read_text().replace("Print the number.", "Print how many."))
    assert open_bank(mine, SALT, provider=sandbox_provider).digest != before


def test_without_a_sandbox_it_is_refused(mine):
    with pytest.raises(UserError, match="code from elsewhere, which runs in a sandbox only"):
        open_bank(mine, SALT)


ONE = """
import json, sys
wanted = json.load(sys.stdin)
def one(family, difficulty, seed):
    made = {"request": f"Say {seed}.", "reference": f"echo {seed}", "files": {"a.txt": f"{family} {seed}"},
            "checks": [{"kind": "output", "expected": str(seed)}]}
    CHANGE
    return made
print(json.dumps([one(*w) for w in wanted]))
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('made["files"] = {"/etc/passwd": "x"}', "relative and stay in the workspace"),
        ('made["files"] = {"a/../../b": "x"}', "relative and stay in the workspace"),
        ('made["checks"] = [{"kind": "file", "path": "../b", "content": "x"}]', "relative and stay in the workspace"),
        ('made["files"] = {"a": 1}', "valid string"),
        ('made["files"] = {"a": "x" * 30000}', "prints more than"),
        ('made["request"] = ""', "at least 1 character"),
        ('made["secret"] = "x"', "unknown key"),
        ('made["checks"] = []', "at least 1 item"),
        ('made["checks"] = [{"kind": "python", "code": "x"}]', "does not match any of the expected tags"),
        ('made["request"] = "\\ud800"', "no list of instances"),
        ("import os; made['request'] = str(os.urandom(8))", "another instance when it is asked again"),
        ("made['request'] = ' '.join({'apple', 'pear', 'plum', str(seed)})", "another instance when it is asked again"),
        ("raise ValueError('no idea')", "exits with 1: ValueError: no idea"),
        ("wanted.clear()", "gives 1 instances, not"),
        ("open('/etc/shadow').read()", "exits with 1"),
        ("import urllib.request as u; u.urlopen('http://127.0.0.1:1')", "exits with 1"),
    ],
)
def test_a_hostile_generator_is_one_line_that_names_file_and_family(
    tmp_path, sandbox_provider, monkeypatch, change: str, message: str
):
    monkeypatch.setattr("rsi.banks.elsewhere.POOL", 120)
    monkeypatch.setattr("rsi.banks.elsewhere.MOST_OUTPUT", 2_000_000)
    bank = (TEMPLATE / "bank.toml").read_text()
    (tmp_path / "bank.toml").write_text(bank)
    (tmp_path / "generator.py").write_text(ONE.replace("CHANGE", change))
    with pytest.raises(UserError, match=message) as caught:
        open_bank(tmp_path, SALT, provider=sandbox_provider)
    assert f"{tmp_path / 'generator.py'}: family '" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_generator_that_hangs_or_prints_no_json(mine, sandbox_provider, monkeypatch):
    monkeypatch.setattr("rsi.banks.elsewhere.SECONDS", 0.5)
    (mine / "generator.py").write_text("while True: pass")
    begun = time.monotonic()
    with pytest.raises(UserError, match=r"generator.py: family 'count_word'.*does not end within"):
        open_bank(mine, SALT, provider=sandbox_provider)
    assert time.monotonic() - begun < 10
    (mine / "generator.py").write_text("print('[' * 100000)")
    with pytest.raises(UserError, match="no list of instances"):
        open_bank(mine, SALT, provider=sandbox_provider)


def test_the_family_at_fault_is_named_with_its_line(mine, sandbox_provider):
    code = (mine / "generator.py").read_text()
    (mine / "generator.py").write_text(code.replace('"total": total', '"total": lambda rng, level: undefined'))
    with pytest.raises(UserError, match=r"family 'total'.*exits with 1: NameError: name 'undefined'.*, line \d+$"):
        open_bank(mine, SALT, provider=sandbox_provider)


async def test_a_family_of_which_nothing_can_be_made_is_no_silence(mine, sandbox_provider):
    code = (mine / "generator.py").read_text()
    idle = 'lambda rng, level: count_word(rng, level) | {"checks": [{"kind": "output", "expected": ""}]}'
    same = "lambda rng, level: longest_line(random.Random(1), level)"
    code = code.replace('"count_word": count_word', f'"count_word": {idle}')
    (mine / "generator.py").write_text(code.replace('"longest_line": longest_line', f'"longest_line": {same}'))
    bank = open_bank(mine, SALT, provider=sandbox_provider)
    rows = await check_bank(bank, Prover(bank, sandbox_provider, fresh=True), 1)
    found = {(row.split, row.family): row for row in rows}
    for split in ("train", "selection", "sealed"):
        assert found[split, "count_word"].problems == (NONE_MADE,) and found[split, "count_word"].made == 0
    assert sorted(found[split, "longest_line"].made for split in ("train", "selection", "sealed")) == [0, 0, 1]
    assert found["sealed", "total"].problems == ()


@pytest.mark.parametrize(
    ("file", "text"),
    [("catalogue.toml", "version = 1\n[[edit]]\nname = 1"), ("harness/bare.toml", "version = 1\nmodel = 3")],
)
async def test_what_a_run_would_refuse_the_check_refuses(mine, monkeypatch, tmp_path, file, text):
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    (mine / file).write_text(text)
    with pytest.raises(UserError, match=file):
        await check_whole_bank(str(mine), 1, lambda done, total: None)


def test_a_path_is_never_a_bank_that_ships(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scaffold("shell", tmp_path / "shell")
    assert bank_folder("./shell").resolve() == tmp_path / "shell" != bank_folder("shell")
    result = CliRunner().invoke(cli(), ["bank", "new", "reason"])
    assert "ships with the project" in str(result.exception)


@pytest.mark.parametrize("name", ["../generator.py", "/tmp/generator.py", "link.py", "missing.py"])
def test_the_generator_is_a_file_inside_the_folder(mine, sandbox_provider, name: str):
    (mine / "link.py").symlink_to("/etc/passwd")
    (mine.parent / "generator.py").write_text("")
    text = (mine / "bank.toml").read_text()
    (mine / "bank.toml").write_text(text.replace('"generator.py"', f'"{name}"'))
    with pytest.raises(UserError, match="'generator'"):
        open_bank(mine, SALT, provider=sandbox_provider)


@pytest.mark.slow
def test_a_bank_of_forty_families_opens_in_a_few_seconds(mine, sandbox_provider):
    text, code = (mine / "bank.toml").read_text(), (mine / "generator.py").read_text()
    more = "".join(f'f{n} = {{ role = "train" }}\n' for n in range(40))
    (mine / "bank.toml").write_text(text + more)
    extra = "FAMILIES |= {f'f{n}': count_word for n in range(40)}\n\nif __name__"
    (mine / "generator.py").write_text(code.replace("if __name__", extra))
    begun = time.monotonic()
    open_bank(mine, SALT, provider=sandbox_provider)
    assert time.monotonic() - begun < 8
