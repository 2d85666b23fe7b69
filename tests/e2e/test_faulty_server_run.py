"""A whole generation against a server that goes wrong in each of its ways: a verdict or one clear line, and nothing
is recorded that the server did not say."""

import json

import httpx
import pytest
from faulty_modes import MODES
from faulty_server import faulty
from served_world import recorded, run_here, stages, write_settings

pytestmark = pytest.mark.slow


def quicken(patch):
    """The client waits as ever, only not as long."""
    patch.setattr("rsi.models.openai.PAUSE", 0.005)
    patch.setattr("rsi.models.openai.TIMEOUT", httpx.Timeout(0.4, connect=1.0))


@pytest.fixture
def world(tmp_path, monkeypatch, capsys):
    quicken(monkeypatch)
    monkeypatch.setattr("rsi.wiring.results.Mirror", Silent)
    home = tmp_path / "home"
    home.mkdir()
    (home / "salt").write_bytes(bytes(32))
    (home / "salt").chmod(0o600)

    def run(*arguments):
        return run_here(monkeypatch, capsys, home, *arguments)

    return tmp_path, home, run


class Silent:
    """No MLflow: the mirror is for people, and takes seconds to start."""

    def __init__(self, say):
        pass

    def publish(self, chapter):
        pass

    def aliases(self, lineage, champion, candidate):
        pass

    def tag(self, head):
        pass


@pytest.mark.parametrize("mode", MODES)
def test_a_run_ends_well_or_with_one_line(mode, world):
    folder, home, run = world
    with faulty(mode) as server:
        ended = run("run", str(write_settings(folder, server.url)))
        good = server.good
    print(json.dumps({"mode": mode, "code": ended.code, "decision": ended.decision, "line": ended.err.strip()}))
    scored = recorded(home)
    if ended.code == 0:
        assert ended.decision is not None and ended.err == ""
    else:
        assert ended.err.startswith("rsi: ") and len(ended.err.splitlines()) == 1 and "Traceback" not in ended.err
        assert "gate" not in stages(home)
    answered = [a for a in scored if a["termination"] not in ("refused", "context")]
    assert len(answered) <= good
