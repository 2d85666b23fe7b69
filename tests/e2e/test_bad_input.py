"""A user's mistake: one line that says what, where and what to do; exit code 2; no traceback; nothing half-written."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_world import ROOT, finish, make_world, rsi

from rsi.cli import main


@pytest.fixture
def refused(monkeypatch, capsys):
    """The one line with which the command line refuses; in this process, for a start costs a second."""

    def line(home: Path, *arguments: str) -> str:
        monkeypatch.setenv("RSI_HOME", str(home))
        monkeypatch.setattr(sys, "argv", ["rsi", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        err = capsys.readouterr().err
        lines = err.strip().splitlines()
        assert ended.value.code == 2, err
        assert len(lines) == 1 and lines[0].startswith("rsi: "), err
        return lines[0]

    return line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("generations = 'two'", "generations"),
        ("generatons = 2", "unknown key 'generatons'"),
        ("[model\nid = 1", "line 1"),
        ("[gate]\ndraws = 0", "gate.draws"),
        ("bank = 'no-such-bank'", "no-such-bank"),
        ("start = 'no-such-document.toml'", "no-such-document"),
        ("contract = 'contracts/none.toml'", "contracts/none.toml"),
        ("[model]\nid = '/no/such/model'", "/no/such/model"),
    ],
)
def test_settings(tmp_path, refused, text, says):
    settings = tmp_path / "settings.toml"
    settings.write_text(text)
    assert says in refused(tmp_path / "home", "run", str(settings))


def test_a_ledger_that_is_not_here_is_not_called_whole(tmp_path, refused):
    settings, _ = make_world(tmp_path)
    assert "has no ledger in" in refused(tmp_path / "home", "ledger", "verify", str(settings))


def test_a_missing_settings_file(tmp_path, refused):
    assert "no such file" in refused(tmp_path / "home", "run", str(tmp_path / "none.toml"))


def test_a_malformed_document(tmp_path, refused):
    document = tmp_path / "bad.toml"
    document.write_text("version = 1\n[resources\n")
    line = refused(tmp_path / "home", "hcp", "check", str(document))
    assert str(document) in line and "line 2" in line


def test_a_store_of_a_newer_version(tmp_path, refused):
    settings, table = make_world(tmp_path)
    home = tmp_path / "home"
    refused(home, "status", str(settings))  # makes the store; there is no generation yet
    with sqlite3.connect(home / "store.db") as connection:
        connection.execute("update alembic_version set version_num = '9999'")
    assert "newer" in refused(home, "run", str(settings), "--model", f"scripted:{table}")


def test_a_sandbox_is_needed_and_none_starts(tmp_path, refused, monkeypatch):
    monkeypatch.setenv("RSI_SANDBOX", "none")
    settings = tmp_path / "settings.toml"
    settings.write_text("bank = 'shell'")
    line = refused(tmp_path / "home", "run", str(settings))
    assert "needs a sandbox" in line and "RSI_SANDBOX" in line


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
@pytest.mark.slow
def test_a_full_disk(tmp_path, refused):
    settings, table = make_world(tmp_path)
    home = tmp_path / "small"
    home.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(home)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this machine mounts nothing")
    try:
        line = refused(home, "run", str(settings), "--model", f"scripted:{table}")
        assert "full" in line or "space" in line
        (home / "salt").read_bytes()
    finally:
        subprocess.run(["umount", "-l", str(home)], check=True)


def test_it_is_the_same_in_a_process_of_its_own(tmp_path):
    code, out, err = finish(rsi(tmp_path / "home", "hcp", "check", str(tmp_path / "none.toml")))
    assert (code, out) == (2, "") and err.startswith("rsi: ") and err.count("\n") == 1


def test_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['rsi', '--help']\n"
        "from rsi.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'ray', 'prefect', 'mlflow', 'trl', 'sqlalchemy', 'pydantic'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"
