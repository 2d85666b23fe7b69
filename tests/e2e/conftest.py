"""The server that goes wrong, and a home to run against it in this process."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "models"))


class NoMirror:
    """No MLflow: the mirror is for people, and takes seconds to start."""

    def __init__(self, say):
        pass

    def publish(self, chapter):
        pass

    def aliases(self, lineage, champion, candidate):
        pass

    def tag(self, head):
        pass


@pytest.fixture
def served(tmp_path, monkeypatch, capsys):
    """(folder, home, run): `run(*arguments)` is the command line, whose client waits as ever, only not as long."""
    from served_world import quicken, run_here

    quicken(monkeypatch)
    monkeypatch.setattr("rsi.wiring.results.Mirror", NoMirror)
    home = tmp_path / "home"
    home.mkdir()
    (home / "salt").write_bytes(bytes(32))
    (home / "salt").chmod(0o600)
    return tmp_path, home, lambda *arguments: run_here(monkeypatch, capsys, home, *arguments)
