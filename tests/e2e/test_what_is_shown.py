"""Names and texts that others wrote reach the terminal and the page escaped, whichever command shows them."""

import ast
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from rsi.banks.scaffold import scaffold
from rsi.cli import main
from rsi.cli.machine import show_findings
from rsi.cli.progress import Progress
from rsi.doctor import Finding
from rsi.report.console import EscapingConsole
from rsi.report.page import _escaped
from rsi.report.words import single_line
from rsi.text import escape

ROOT = Path(__file__).resolve().parents[2]
NASTY = "\x1b[31m\x9b2J\u202e\u2066\u200b\ufeff\u2028\x07\x7f\U000e0041"
QUOTED = NASTY.encode("unicode_escape").decode()  # as TOML and Python write it
TOML = "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}" for c in NASTY)
DOCUMENT = 'version = 1\n[resources]\nsystem_prompt = "x"\n'


def unseen(text: str) -> list[str]:
    return [c for c in text if c not in "\n" and escape(c) != c]


@pytest.fixture
def shown(tmp_path, monkeypatch, capsys):
    """All that a command prints, which shows something of NASTY, and nothing of it raw."""
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stderr", sys.stderr)

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["rsi", *arguments])
        with pytest.raises(SystemExit):
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err and not unseen(out + err), (out, err)
        assert "x1b" in out + err or "u001b" in out + err, (out, err)
        return out + err

    return run


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf8")
    return name


CONTRACT = (ROOT / "contracts/default.toml").read_text()
BANK = (ROOT / "rsi/banks/template/bank.toml").read_text()
FILES = {  # arguments, with FILE for a file of this text
    "a document's name": (["hcp", "check", "FILE"], f"a{NASTY}.toml", DOCUMENT),
    "a document's name, broken": (["hcp", "check", "FILE"], f"a{NASTY}.toml", "version = ="),
    "a document's key": (["hcp", "check", "FILE"], "a.toml", DOCUMENT + f'["a{TOML}"]\nb = 1\n'),
    "a document's key, as JSON": (["hcp", "check", "--json", "FILE"], "a.toml", DOCUMENT + f'["a{TOML}"]\nb = 1\n'),
    "a document's value": (["hcp", "show", "FILE"], "a.toml", DOCUMENT.replace('"x"', f'"x{TOML}"')),
    "a document's tool": (["hcp", "check", "FILE"], "a.toml", DOCUMENT + f'[tools]\nallow = ["{TOML}"]\n'),
    "a document's path": (["hcp", "check", "FILE"], "a.toml", DOCUMENT + f'[skills]\npaths = ["{TOML}"]\n'),
    "a document's difference": (["hcp", "diff", "FILE", "FILE2"], "a.toml", DOCUMENT.replace('"x"', f'"x{TOML}"')),
    "a document's differing key": (["hcp", "diff", "FILE", "FILE2"], "a.toml", DOCUMENT + f'["a{TOML}"]\nb = 1\n'),
    "where a document is packed": (["hcp", "pack", "FILE", "-o", f"b{NASTY}.toml"], "a.toml", DOCUMENT),
    "where it cannot be": (["hcp", "pack", "FILE", "-o", f"none/b{NASTY}.toml"], "a.toml", DOCUMENT),
    "a contract's name": (["contract", "check", "FILE"], f"c{NASTY}.toml", CONTRACT),
    "a contract's name inside": (["contract", "check", "FILE"], "c.toml", f'version = 1\nname = "x{TOML}"\n'),
    "a contract's key": (["contract", "explain", "FILE"], "c.toml", f'"{TOML}" = 1\n' + CONTRACT),
    "a setting's key": (["run", "FILE"], "run.toml", f'"{TOML}" = 1\n'),
    "a setting's value": (["run", "FILE"], "run.toml", f'lineage = "{TOML}"\n'),
    "a bank": (["run", "FILE"], "run.toml", f'bank = "{TOML}"\n'),
    "a starting document": (["run", "FILE"], "run.toml", f'bank = "reason"\nstart = "{TOML}"\n'),
    "a contract to run by": (["run", "FILE"], "run.toml", f'bank = "reason"\ncontract = "{TOML}"\n'),
    "a table": (["run", "FILE", "--model", f"scripted:t{NASTY}"], "run.toml", 'bank = "reason"\nstart = "bare"\n'),
    "a tape": (["run", "FILE", "--model", f"replay:t{NASTY}"], "run.toml", 'bank = "reason"\nstart = "bare"\n'),
    "settings that are not there": (["run", f"none{NASTY}"], "a", ""),
    "a file's name as an argument": (["status", "a", f"b{NASTY}"], "a", ""),
    "a command": ([f"x{NASTY}"], "a", ""),
    "an option": (["status", f"--x{NASTY}"], "a", ""),
    "a bank that is not there": (["bank", "check", f"./b{NASTY}"], "a", ""),
    "a new bank's name": (["bank", "new", f"b{NASTY}"], "a", ""),
    "a new bank's folder": (["bank", "new", "b", "--folder", f"f{NASTY}"], "a", ""),
    "malformed TOML": (["hcp", "check", "FILE"], "a.toml", "version = 1\na = '\x1b[31m'\n"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_command_shows_it_escaped(tmp_path, shown, name):
    arguments, file, text = FILES[name]
    names = {"FILE": written(tmp_path, file, text), "FILE2": written(tmp_path, "other.toml", DOCUMENT)}
    out = shown(*(names.get(one, one) for one in arguments))
    if "--json" in arguments:
        assert json.loads(out)["notes"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import json\n", f'import json, sys\nsys.exit("no idea {QUOTED}")\n'),
        ("import json\n", f'import json\nraise ValueError("{QUOTED}")\n'),
    ],
)
def test_a_generators_error_is_escaped(tmp_path, shown, old, new):
    scaffold("mine", tmp_path / "mine")
    code, bank = tmp_path / "mine/generator.py", tmp_path / "mine/bank.toml"
    code.write_text(code.read_text().replace(old, new))
    bank.write_text(bank.read_text() + f'"x{TOML}" = {{ role = "train" }}\n')
    shown("bank", "check", str(tmp_path / "mine"))


@pytest.mark.slow
def test_a_familys_name_and_a_tasks_reason_are_escaped(tmp_path, shown):
    scaffold("mine", tmp_path / "mine")
    code, bank = tmp_path / "mine/generator.py", tmp_path / "mine/bank.toml"
    odd = f'"x\\n{QUOTED}": lambda rng, level: total(rng, level) | {{"k{QUOTED}": 1}}'
    code.write_text(code.read_text().replace('"total": total', f'"total": total, {odd}'))
    bank.write_text(bank.read_text() + f'"x\\n{TOML}" = {{ role = "train" }}\n')
    out = shown("bank", "check", str(tmp_path / "mine"))
    assert "unknown key" in out and not [line for line in out.splitlines() if line.startswith("\\x1b")]


def test_what_is_coloured_is_escaped_too(monkeypatch, capsys):
    out = io.StringIO()
    console = EscapingConsole()
    console.file = out
    table = Table(title=NASTY)
    table.add_column(f"[/b]{NASTY}")
    table.add_row(f"[red]{NASTY}")
    console.print(table)
    console.print(Text(NASTY), f"[bold]{NASTY}", NASTY)
    assert "[red]" in out.getvalue() and not unseen(out.getvalue())
    progress = Progress()
    progress.say(f"one{NASTY}\nline")
    show_findings([Finding(NASTY, False, f"[/x]{NASTY}", NASTY)])
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == 3 and not unseen(shown) and "x1b[31m" in shown


def test_a_page_and_a_reason_show_it_escaped():
    assert not unseen(str(_escaped(f"a{NASTY}"))) and not unseen(single_line(f"a\n{NASTY}"))
    assert _escaped(3) == 3


def test_no_command_prints_past_the_one_place():
    """Nor can a new one."""
    for path in sorted((ROOT / "rsi").rglob("*.py")):
        here = path.relative_to(ROOT).as_posix()
        called = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        names = {node.id for node in called if isinstance(node, ast.Name)}
        names |= {f"{ast.unparse(node.value)}.{node.attr}" for node in called if isinstance(node, ast.Attribute)}
        if here.startswith("rsi/cli/") and here != "rsi/cli/out.py":
            assert not names & {"print", "typer.echo", "typer.secho", "click.echo", "sys.stdout.write"}, here
        if here != "rsi/report/console.py":
            assert "Console" not in names, here


@pytest.mark.slow
def test_a_reader_that_leaves_early_and_a_terminal_that_is_not_utf8(tmp_path):
    (tmp_path / "a.toml").write_text(DOCUMENT.replace('"x"', '"\u00e4"'), encoding="utf8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    command = (
        f"{sys.executable} -m rsi hcp schema | head -n 1; {sys.executable} -m rsi hcp check {tmp_path}/\u00e4.toml"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert "Traceback" not in done.stderr and "xe4.toml" in done.stderr, done.stderr
