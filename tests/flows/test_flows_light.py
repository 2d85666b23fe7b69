"""The room stays out of the way: parsed, light to import, Prefect kept inside the home and offline."""

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from flows import prepare_environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", sorted((ROOT / "flows").glob("*.py")), ids=lambda p: p.name)
def test_parses_and_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_importing_flows_loads_no_prefect():
    code = "import sys, flows, flows.child, flows.server; sys.exit('prefect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


@pytest.mark.slow
def test_prefect_lives_in_the_home_and_calls_nobody(tmp_path, monkeypatch):
    if find_spec("prefect") is None:
        pytest.skip("needs the extra flows")
    for name in ("PREFECT_HOME", "PREFECT_SERVER_ANALYTICS_ENABLED", "DO_NOT_TRACK"):
        monkeypatch.delenv(name, raising=False)
    code = (
        "import pathlib, sys, flows; flows.prepare_environment(pathlib.Path(sys.argv[1]))\n"
        "from prefect.settings import get_current_settings as current\n"
        "s = current(); print(s.home, s.server.analytics_enabled, s.logging.level, s.server.database.connection_url)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    home, analytics, level, *_ = done.stdout.split()
    assert (home, analytics, level) == (str(tmp_path / "prefect"), "False", "WARNING"), done.stderr
    assert (tmp_path / "prefect").is_dir()


def test_a_setting_of_the_user_stands(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "mine"))
    prepare_environment(tmp_path)
    assert (tmp_path / "mine").is_dir()
    assert not (tmp_path / "prefect").exists()
