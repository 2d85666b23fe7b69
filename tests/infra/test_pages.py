"""The real services, by their health pages, on free ports and in a home of their own."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import httpx
import psutil
import pytest

from flows.server import free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not all(map(find_spec, ("mlflow", "prefect", "ray"))), reason="needs mlflow, prefect and ray"),
]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def start(tmp_path):
    started = []

    def begin(*only):
        ports = {name: free_port() for name in ("mlflow", "prefect", "ray", "ray-dashboard")}
        options = [word for name, port in ports.items() for word in (f"--{name}-port", str(port))]
        arguments = [sys.executable, "-m", "infra.services", "--only", ",".join(only), *options]
        env = {
            name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "RAY_", "MLFLOW_"))
        }
        env["RSI_HOME"] = str(tmp_path)
        process = subprocess.Popen(
            arguments, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(process)
        told = []
        for line in process.stdout:
            told.append(line)
            if "all up" in line:
                return process, ports, "".join(told)
        raise AssertionError("".join(told))

    yield begin
    for process in started:
        process.kill()
        process.wait()


def family(process):
    return psutil.Process(process.pid).children(recursive=True)


def addresses(processes):
    return {
        connection.laddr.ip
        for process in processes
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }


def test_every_page_answers_and_a_signal_ends_all(start, tmp_path):
    process, ports, told = start("mlflow", "prefect", "ray")
    assert all(f"http://127.0.0.1:{ports[name]}" in told for name in ("mlflow", "prefect", "ray-dashboard"))
    for url in (
        f"http://127.0.0.1:{ports['mlflow']}/health",
        f"http://127.0.0.1:{ports['prefect']}/api/health",
        f"http://127.0.0.1:{ports['ray-dashboard']}/api/gcs_healthz",
    ):
        assert httpx.get(url, timeout=20).status_code == 200
    assert (tmp_path / "mlflow" / "mlflow.db").exists()
    assert (tmp_path / "prefect" / "prefect.db").exists()
    started = family(process)
    assert addresses(started) <= {"127.0.0.1", "::ffff:127.0.0.1"}
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert not psutil.wait_procs(started, timeout=5)[1]


def test_kill_nine_leaves_no_orphan_of_the_real_ones(start):
    process, _, _ = start("mlflow", "ray")
    started = family(process)
    assert len(started) > 4
    process.kill()
    process.wait()
    assert not psutil.wait_procs(started, timeout=20)[1]


def test_the_page_shows_what_the_registry_wrote(start, tmp_path):
    code = """
import mlflow, pathlib, sys
home = pathlib.Path(sys.argv[1]) / "mlflow"
home.mkdir()
mlflow.set_tracking_uri(f"sqlite:///{home / 'mlflow.db'}")
mlflow.create_experiment("lab", (home / "artifacts").as_uri())
mlflow.set_experiment("lab")
with mlflow.start_run() as run:
    mlflow.log_text("the document", "hcp.toml")
print(run.info.run_id)
"""
    env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=env, capture_output=True, text=True)
    run = done.stdout.split()[-1]
    _, ports, _ = start("mlflow")
    query = {"path": "hcp.toml", "run_uuid": run}
    page = httpx.get(f"http://127.0.0.1:{ports['mlflow']}/get-artifact", params=query, timeout=20)
    assert page.text == "the document"


def test_a_driver_needs_the_token_of_the_head(start, tmp_path):
    _, ports, _ = start("ray")
    code = (
        "import ray; ray.init(log_to_driver=False)\n"
        "@ray.remote\ndef seven(): return 7\n"
        "print(ray.get(seven.remote()), ray.get_runtime_context().gcs_address)"
    )
    shell = f". {tmp_path}/ray.env && exec {sys.executable} -c '{code}'"
    done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["7", f"127.0.0.1:{ports['ray']}"], done.stderr
    assert httpx.get(f"http://127.0.0.1:{ports['ray-dashboard']}/api/version", timeout=20).status_code == 401
