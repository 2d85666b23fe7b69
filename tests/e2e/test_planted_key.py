"""A key or password that a run uses is found nowhere after the run has failed, in what is printed or in its home."""

import base64
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from faulty_server import faulty
from served_world import write_settings

pytestmark = pytest.mark.slow

KEY = "sk-Planted+7f3c/9d1e=40b2"
PASSWORD = "p4ss-Planted:7f3c"
MODEL = 'api_key_env = "PLANTED_KEY"'


def writings(secret: str) -> set[bytes]:
    """The secret as it could be written: as it is, percent-encoded, in base64 by itself and behind a user's name."""
    data = secret.encode()
    coded = (base64.b64encode(data), base64.urlsafe_b64encode(data), base64.b64encode(b"user:" + data))
    return {data, quote(secret, safe="").encode(), *(code.rstrip(b"=") for code in coded), data.hex().encode()}


def find_secrets(folder: Path, printed: str, secrets: tuple[str, ...]) -> list[str]:
    """Where a writing of a secret stands: files of the folder, by name, and what was printed."""
    places = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    places["printed"] = printed.encode()
    sought = set().union(*map(writings, secrets))
    return [place for place, data in places.items() if any(one in data for one in sought)]


def test_the_search_finds_a_planted_secret(tmp_path):
    (tmp_path / "plain").write_text(f"Bearer {KEY}")
    (tmp_path / "coded").write_bytes(base64.b64encode(f"user:{PASSWORD}".encode()))
    (tmp_path / "clean").write_text("nothing")
    found = find_secrets(tmp_path, quote(KEY, safe=""), (KEY, PASSWORD))
    assert {Path(place).name for place in found} == {"plain", "coded", "printed"}


@pytest.mark.parametrize(
    "mode",
    [
        *("wrong_key", "forbidden", "echoes_key", "echoes_key_failing", "key_expires", "payment", "teapot"),
        *("redirect", "redirect_loop", "reset", "html", "wrong_json", "unavailable", "cut_in_the_middle", "empty_body"),
    ],
)
def test_a_failing_server_brings_no_key_to_light(mode, served, monkeypatch):
    folder, home, run = served
    monkeypatch.setenv("PLANTED_KEY", KEY)
    with faulty(mode) as server:
        settings = str(write_settings(folder, server.url, MODEL))
        ended = [run("run", settings), run("doctor", settings), run("status", settings, "--json")]
        assert any(KEY in str(call.headers) for call in server.calls) or not server.calls
    assert ended[0].code != 0
    assert find_secrets(home, "".join(one.out + one.err for one in ended), (KEY,)) == []


@pytest.mark.parametrize("odd", [f"{KEY}\nX", f"{KEY}\x7f", f"{KEY}ä", f"{KEY}\u2028X", f"{KEY} inner\x01"])
def test_a_key_that_cannot_be_sent_is_named_by_its_variable(odd, served, monkeypatch):
    folder, home, run = served
    monkeypatch.setenv("PLANTED_KEY", odd)
    settings = str(write_settings(folder, "http://127.0.0.1:9/v1", MODEL))
    ended = [run("run", settings), run("doctor", settings)]
    assert ended[0].code == 2 and "PLANTED_KEY" in ended[0].err and len(ended[0].err.splitlines()) == 1
    assert find_secrets(home, "".join(one.out + one.err for one in ended), (KEY,)) == []


@pytest.mark.parametrize(
    ("name", "url"),
    [
        (None, f"http://user:{quote(PASSWORD)}@127.0.0.1:9/v1"),
        (None, f"http://127.0.0.1:9/v1?key={quote(PASSWORD)}"),
        ("HTTP_PROXY", f"http://user:{quote(PASSWORD)}@127.0.0.1:9"),
        ("ALL_PROXY", f"socks5://user:{quote(PASSWORD)}@127.0.0.1:9"),
        ("http_proxy", f"http://user:{quote(PASSWORD)}@[x"),
    ],
)
def test_a_password_in_an_address_is_not_shown(name, url, served, monkeypatch):
    folder, home, run = served
    address = url
    if name is not None:
        monkeypatch.setenv(name, url)
        address = "http://model.invalid/v1"
    settings = str(write_settings(folder, address))
    ended = [run("run", settings), run("doctor", settings), run("status", settings)]
    assert ended[0].code != 0 and len(ended[0].err.splitlines()) == 1
    assert find_secrets(home, "".join(one.out + one.err for one in ended), (PASSWORD,)) == []


PREFECT = """
import sys
from pathlib import Path
from flows import prepare_environment
from rsi.config import home
from rsi.errors import RsiError
prepare_environment(home())
from flows.generation import run_generations
from rsi.cli.cycle import load
from rsi.wiring.run import settle
try:
    run_generations(settle(load(Path(sys.argv[-1])), print), 1, print)
except RsiError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize(
    ("mode", "command", "databases"),
    [
        ("well", ["-m", "rsi", "run"], {"mlflow.db"}),
        ("not_found_later", ["-m", "rsi", "run"], set()),
        ("not_found_later", ["-c", PREFECT], {"prefect.db"}),
    ],
    ids=["MLflow", "fails", "fails under Prefect"],
)
def test_a_run_keeps_every_secret_whoever_records_it(mode, command, databases, tmp_path):
    """All secrets that a run can hold at once, and the records of MLflow and of Prefect's own server."""
    home, salt = tmp_path / "home", bytes(range(100, 132))
    home.mkdir()
    (home / "salt").write_bytes(salt)
    (home / "salt").chmod(0o600)
    secrets = {"PLANTED_KEY": KEY, "PLANTED_SIGN": "sign-Planted/5b21" * 3, "PLANTED_ENV": "env-Planted/91ce"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_", "RSI_"))}
    with faulty(mode) as server:
        settings = write_settings(tmp_path, server.url.replace("//", f"//user:{quote(PASSWORD)}@"), MODEL)
        own = 'ledger_key_env = "PLANTED_SIGN"\nallow_env = ["PLANTED_ENV"]\n'
        settings.write_text(own + settings.read_text())
        env = {**kept, **secrets, "RSI_HOME": str(home)}
        asked = [sys.executable, *command, str(settings)]
        run = subprocess.run(asked, env=env, capture_output=True, text=True, check=False)
        assert server.calls, run.stderr
    assert (run.returncode == 0) == (mode == "well"), run.stderr
    assert {"store.db", *databases} <= {path.name for path in home.rglob("*.db")}
    assert find_secrets(home, run.stdout + run.stderr, (*secrets.values(), PASSWORD)) == []
    salted = [path for path in home.rglob("*") if path.is_file() and holds(path.read_bytes(), salt)]
    assert salted == [home / "salt"]


def holds(data: bytes, salt: bytes) -> bool:
    return any(writing in data for writing in (salt, salt.hex().encode(), base64.b64encode(salt).rstrip(b"=")))
