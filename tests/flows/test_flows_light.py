"""The room stays out of the way: parsed, light to import, Prefect kept inside the home and offline."""

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.request import proxy_bypass_environment

import pytest

from flows import prepare_environment
from flows.server import reach_loopback

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


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (None, None),
        (None, "model.corp"),
        ("model.corp", None),
        ("a.b, model.corp", "model.corp,c.d"),
        ("127.0.0.1", "model.corp,localhost"),
        ("", "model.corp"),
    ],
)
def test_loopback_is_never_proxied_and_what_was_excepted_stays_so(monkeypatch, lower, upper):
    for name, value in (("no_proxy", lower), ("NO_PROXY", upper)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    reach_loopback()
    excepted = [host for host in (lower, upper) if host and "model.corp" in host]
    for host in ("127.0.0.1", "localhost", *(["model.corp"] if excepted else [])):
        assert proxy_bypass_environment(host), host
    assert not proxy_bypass_environment("elsewhere.org")
    assert os.environ["no_proxy"] == os.environ["NO_PROXY"]


SERVED = """
import asyncio, pathlib, sys
from flows import prepare_environment
prepare_environment(pathlib.Path(sys.argv[1]))
from flows.server import prefect_api
with prefect_api() as url:
    import os
    os.environ["PREFECT_API_URL"] = url
    from prefect.client.orchestration import get_client

    async def ask():
        async with get_client() as client:
            return await client.api_healthcheck()

    print("healthy", asyncio.run(ask()))
"""


@pytest.mark.slow
def test_prefects_server_is_reached_whatever_proxy_the_environment_names(tmp_path):
    if find_spec("prefect") is None:
        pytest.skip("needs the extra flows")
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    dead = {spelled: "http://127.0.0.1:9" for name in names for spelled in (name, name.lower())}
    kept = {
        name: value for name, value in os.environ.items() if name.lower() != "no_proxy" and name != "PREFECT_API_URL"
    }
    done = subprocess.run(
        [sys.executable, "-c", SERVED, tmp_path],
        cwd=ROOT,
        env={**kept, **dead},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert "healthy None" in done.stdout, done.stderr[-2000:]
