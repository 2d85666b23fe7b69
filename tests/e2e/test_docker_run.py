"""`rsi run` whole in Docker through Ray: what the record says of the sandbox, and that no container is left."""

import json
import sqlite3
import time

import pytest
from scripted_world import ROOT, finish, rsi
from test_own_bank_run import make_table

from rsi.errors import InfrastructureError

SETTINGS = """
lineage = "contained"
bank = "shell"
difficulty = [1, 1]
start = "{start}"
sandbox = "docker"
[rollouts]
executor = "ray"
workers = 2
concurrency = 6
[discovery]
tasks = 3
proposals = 0
[expansion]
edits = 1
attempts = 16
affected = 1
control = 0
retry_control = 1
selection = 1
[update]
steps = 0
[gate]
tasks = 2
held_out_tasks = 1
"""

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def standing():
    """Ids of all containers with our label."""
    from rsi.sandbox.docker import Docker, lease

    try:
        client = Docker()._client
    except InfrastructureError as error:
        pytest.skip(str(error))
    return lambda: {
        one.id for one in client.containers.list(all=True, filters={"label": lease.LABEL}, ignore_removed=True)
    }


def attempts(home):
    with sqlite3.connect(home / "store.db", timeout=30) as store:
        try:
            return [json.loads(body) for (body,) in store.execute("select body from attempts")]
        except sqlite3.OperationalError:  # before its first migration
            return []


def test_a_run_that_is_killed_and_run_again_leaves_no_container(tmp_path, standing):
    settings, home, before = tmp_path / "settings.toml", tmp_path / "home", standing()
    bare = (ROOT / "harness_configs" / "shell" / "bare.toml").read_text()
    (tmp_path / "start.toml").write_text(bare.replace("tokens = 36", "tokens = 90"))  # the scripted model's are bytes
    settings.write_text(SETTINGS.format(start=tmp_path / "start.toml"))
    home.mkdir()
    (home / "salt").write_bytes(bytes(32))
    (home / "salt").chmod(0o600)
    table = make_table(tmp_path, ROOT / "task_banks" / "shell", None)
    command = ("run", str(settings), "--model", f"scripted:{table}")
    process = rsi(home, *command)
    while not attempts(home):
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.kill()
    process.communicate()
    code, out, err = finish(rsi(home, *command), timeout=500)
    assert code == 0, err
    assert "Generation 1:" in out
    assert standing() <= before

    with sqlite3.connect(home / "store.db") as store:
        ((start,),) = store.execute("select output from stages where name = 'start'").fetchall()
    limits, played = json.loads(start)["limits"], attempts(home)
    assert limits["sandbox"].startswith("docker-")
    assert "in all, Docker" in limits["memory"] and limits["network"] == "none, Docker"
    assert {one["spec"]["sandbox"] for one in played} == {limits["sandbox"]}
    assert all(one["score"] is not None for one in played)
    purposes = ("discovery/screen", "expansion/edit/", "expansion/retry")
    assert all(any(purpose in one["spec"]["purpose"] for one in played) for purpose in purposes)
    assert any(one["score"]["passed"] for one in played)  # an exemplar was shown, its command ran
