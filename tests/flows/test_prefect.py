"""The flow and the schedule on a real local Prefect server."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx
import psutil
import pytest

from flows import prepare_environment, server
from rsi.config import RunSettings
from rsi.errors import LeaseHeld, OutageError, ReviewPending, UserError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(find_spec("prefect") is None, reason="needs the extra flows"),
]

ROOT = Path(__file__).resolve().parents[2]
STAGES = ["start", "discovery", "expansion", "update", "gate", "promotion", "report"]
SETTINGS = RunSettings(lineage="lab")


class Ledger:
    """Stands in for a cycle: stages run, in order; `broken` stages raise."""

    def __init__(self, done=(), broken=None):
        self.done, self.broken, self.calls, self.open = set(done), broken or {}, [], 0

    def owed(self, generations):
        return [n for n in range(1, generations + 1) if n not in self.done]

    def next_owed(self):
        return min(set(range(1, 99)) - self.done)

    async def stage(self, name, generation):
        assert self.open == 1, "the run is open, once, while stages run"
        if error := self.broken.get((generation, name)):
            raise error
        self.calls.append((generation, name))

    @asynccontextmanager
    async def opener(self, settings, say):
        self.open += 1
        say(f"opened {settings.lineage}")
        yield self
        self.open -= 1


@asynccontextmanager
async def held(settings, say):
    raise LeaseHeld("held by process 7 on this machine since 10:00")
    yield


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with a real server; the variables are put back at the end."""
    before, place = dict(os.environ), tmp_path_factory.mktemp("home")
    os.environ.pop("PREFECT_API_URL", None)
    os.environ["PREFECT_HOME"] = str(place / "prefect")
    prepare_environment(place)
    with server.prefect_api() as url:
        os.environ["PREFECT_API_URL"] = url
        from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

        with temporary_settings({PREFECT_API_URL: url, PREFECT_HOME: place / "prefect"}):
            yield place
    os.environ.clear()
    os.environ.update(before)


def query(home, sql):
    with sqlite3.connect(home / "prefect" / "prefect.db") as database:
        return database.execute(sql).fetchall()


def post(path, body):
    return httpx.post(os.environ["PREFECT_API_URL"] + path, json=body).raise_for_status().json()


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)
    return value


def test_what_is_owed_runs_stage_by_stage_and_is_recorded(home):
    from flows.generation import run_generations

    ledger, lines = Ledger(done=[1]), []
    run_generations(SETTINGS, 3, lines.append, ledger.opener)
    assert ledger.calls == [(n, name) for n in (2, 3) for name in STAGES]
    assert lines == ["opened lab"]
    assert ledger.open == 0
    wanted = sorted(f"{name} of generation {n}" for n in (2, 3) for name in STAGES)
    read = "select name from task_run where state_type = 'COMPLETED' order by name"
    assert [name for (name,) in query(home, read)] == wanted
    assert ("lab to generation 3", "COMPLETED") in query(home, "select name, state_type from flow_run")


ERRORS = [UserError("bank.toml: 'tasks': is missing"), OutageError("7 of 32 attempts were lost"), ValueError("a fault")]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_the_first_failure_comes_out_as_itself_and_quietly(home, error, capfd):
    from flows.generation import run_generations

    ledger = Ledger(broken={(1, "update"): error})
    with pytest.raises(type(error), match=str(error)) as caught:
        run_generations(SETTINGS, 2, lambda line: None, ledger.opener)
    assert caught.value is error
    assert ledger.calls == [(1, name) for name in STAGES[:3]]
    out, err = capfd.readouterr()
    assert out + err == ""
    assert ("update of generation 1",) in query(home, "select name from task_run where state_type = 'FAILED'")


def test_a_run_that_waits_for_people_ends_so_and_the_next_goes_on(home):
    from flows.generation import run_generations

    ledger = Ledger(broken={(1, "promotion"): ReviewPending("generation 1 waits for review: rsi review show abc")})
    settings = SETTINGS.model_copy(update={"lineage": "reviewed"})
    with pytest.raises(ReviewPending, match="rsi review show abc"):
        run_generations(settings, 2, lambda line: None, ledger.opener)
    assert ledger.calls == [(1, name) for name in STAGES[:5]] and ledger.open == 0
    named = "select name from {} where state_type = 'COMPLETED' and state_name = 'WaitsForReview'"
    assert query(home, named.format("flow_run")) == [("reviewed to generation 2",)]
    assert query(home, named.format("task_run")) == [("promotion of generation 1",)]
    ledger.broken = {}
    run_generations(settings, 1, lambda line: None, ledger.opener)
    assert ledger.calls[5:] == [(1, name) for name in STAGES]


def test_a_tick_that_waits_for_people_says_so_and_a_later_one_goes_on(home, tmp_path, capfd):
    from prefect import flow

    from flows.schedule import run_tick

    path = tmp_path / "rsi.toml"
    path.write_text("lineage = 'lab'")
    ledger = Ledger(broken={(1, "promotion"): ReviewPending("generation 1 waits for review: rsi review show abc")})
    for _ in range(2):
        state = asyncio.run(flow(name="ticking")(run_tick)(path, ledger.opener, return_state=True))
        assert (state.type.value, state.name) == ("COMPLETED", "WaitsForReview")
        assert "rsi review show abc" in state.message and "rsi review show abc" in capfd.readouterr().out
    ledger.broken = {}
    state = asyncio.run(flow(name="ticking")(run_tick)(path, ledger.opener, return_state=True))
    assert state.name == "Completed" and ledger.calls[-1] == (1, STAGES[-1])


def test_a_held_lease_comes_out_as_itself_on_the_command_line(home):
    from flows.generation import run_generations

    with pytest.raises(LeaseHeld, match="held by process 7"):
        run_generations(SETTINGS, 1, lambda line: None, held)


@pytest.mark.parametrize(
    ("opener", "text", "kind", "message"),
    [
        (held, "lineage = 'lab'", "CANCELLED", "skipped: held by process 7 on this machine since 10:00"),
        (held, "linage = 'lab'", "FAILED", "unknown key 'linage'"),
    ],
    ids=["lease held", "bad settings"],
)
def test_a_tick_that_cannot_run_ends_in_plain_words(home, tmp_path, capfd, opener, text, kind, message):
    from prefect import flow

    from flows.schedule import run_tick

    path = tmp_path / "rsi.toml"
    path.write_text(text)
    state = asyncio.run(flow(name="ticking")(run_tick)(path, opener, return_state=True))
    assert state.type.value == kind
    assert message in state.message
    assert message in capfd.readouterr().out


def test_a_tick_finishes_the_generation_under_way_and_does_one_at_most(home, tmp_path):
    from prefect import flow

    from flows.schedule import run_tick

    path, ledger = tmp_path / "rsi.toml", Ledger(done=[1, 2, 4])
    path.write_text("lineage = 'lab'")
    asyncio.run(flow(name="ticking")(run_tick)(path, ledger.opener))
    assert ledger.calls == [(3, name) for name in STAGES]


@pytest.mark.parametrize("cron", ["every night", "61 * * * *", "* * *", ""])
def test_a_bad_cron_expression_is_a_user_error(cron, tmp_path):
    from flows.schedule import serve

    with pytest.raises(UserError, match=r"--cron '.*': not a cron expression"):
        serve(tmp_path / "unread.toml", cron)


def serve(path, cron):
    code = "import sys, pathlib; from flows.schedule import serve; serve(pathlib.Path(sys.argv[1]), sys.argv[2])"
    return subprocess.Popen([sys.executable, "-c", code, str(path), cron], cwd=ROOT)


def schedules():
    return [
        (found["name"], schedule["schedule"]["cron"], schedule["active"])
        for found in post("/deployments/filter", {})
        for schedule in found["schedules"]
    ]


def test_serving_again_leaves_one_deployment_with_one_schedule(home, tmp_path):
    path = tmp_path / "rsi.toml"
    path.write_text("lineage = 'lab'")
    for cron, ending in [("0 3 * * *", signal.SIGINT), ("0 3 * * *", signal.SIGKILL), ("0 4 * * *", signal.SIGTERM)]:
        process = serve(path, cron)
        try:
            until(lambda wanted=cron: schedules() == [("rsi-lab", wanted, True)])
            time.sleep(1.0)
            assert schedules() == [("rsi-lab", cron, True)]
        finally:
            process.send_signal(ending)
            process.wait(30)
    assert len(post("/deployments/filter", {})) == 1
    assert [entry[:2] for entry in schedules()] == [("rsi-lab", "0 4 * * *")]


def test_a_served_run_meets_the_real_lease_and_blocks_no_later_one(home, tmp_path, monkeypatch):
    """Hazard 23: the lease in our own store decides; neither a skipped nor a failed run keeps a slot."""
    from rsi.registry.engine import open_database
    from rsi.registry.lease import acquire

    monkeypatch.setenv("RSI_HOME", str(tmp_path))
    path = tmp_path / "rsi.toml"
    path.write_text("lineage = 'lease-lab'\nbank = 'reason'\n[model]\nid = 'scripted:missing.json'\n")
    process = serve(path, "0 3 1 1 *")
    try:
        until(lambda: any(name == "rsi-lease-lab" for name, *_ in schedules()))
        [deployment] = [found for found in post("/deployments/filter", {}) if found["name"] == "rsi-lease-lab"]
        with acquire(open_database(), "lease-lab", holder="rsi run by Ann"):
            assert "skipped" in (skipped := ended_run(deployment["id"], "CANCELLED"))
            assert "rsi run by Ann" in skipped
        for _ in range(3):  # more than the runner's limit
            assert "missing.json" in ended_run(deployment["id"], "FAILED")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def ended_run(deployment, kind):
    """Start a run of a deployment; its message once it has ended."""
    run = post(f"/deployments/{deployment}/create_flow_run", {})["id"]
    url = f"{os.environ['PREFECT_API_URL']}/flow_runs/{run}"
    final = ("COMPLETED", "FAILED", "CANCELLED", "CRASHED")
    state = until(lambda: (state := httpx.get(url).json()["state"])["type"] in final and state, 120)
    assert state["type"] == kind, state
    return state["message"]


def test_kill_nine_of_a_flow_ends_its_server(tmp_path):
    code = """
import pathlib, sys, time
from flows import prepare_environment
from flows.server import prefect_api
prepare_environment(pathlib.Path(sys.argv[1]))
with prefect_api() as url:
    print(url, flush=True)
    time.sleep(60)
"""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    arguments = [sys.executable, "-c", code, str(tmp_path)]
    process = subprocess.Popen(arguments, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    url = process.stdout.readline().strip()
    assert server.healthy(f"{url}/health")
    [child] = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    child.wait(5)
    assert not server.healthy(f"{url}/health")
