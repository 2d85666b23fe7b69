"""The keeper of local services, on small real servers: told when up, ended together, nothing left behind."""

import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from flows.server import free_port
from infra import catalogue, services
from rsi.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
KEEPER = """
import pathlib, sys
from infra import services
from infra.catalogue import Service
def page(port, seconds):
    code = f"import http.server as h, threading, os; threading.Timer({seconds}, os._exit, [3]).start();" \\
        f"h.HTTPServer(('127.0.0.1', {port}), h.SimpleHTTPRequestHandler).serve_forever()"
    url = f"http://127.0.0.1:{port}/"
    log = pathlib.Path(sys.argv[1]) / f"{port}.log"
    return Service(f"page{port}", "json", (sys.executable, "-c", code), url, url, log, {"--page-port": port})
lives = {lives}
sys.exit(services.run([page(int(p), s) for p, s in zip(sys.argv[2:], lives)], seconds=20))
"""


@pytest.fixture
def keeper(tmp_path):
    started = []

    def start(*lives):
        ports = [free_port() for _ in lives]
        code = KEEPER.replace("{lives}", repr(list(lives)))
        arguments = [sys.executable, "-c", code, str(tmp_path), *map(str, ports)]
        process = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        return process, ports

    yield start
    for process in started:
        process.kill()
        process.wait()


def read_until(process, text):
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError("".join(lines))


def wait_until_free(ports, seconds=5.0):
    deadline = time.monotonic() + seconds
    while any(listening(port) for port in ports):
        assert time.monotonic() < deadline, "a service was left behind"
        time.sleep(0.02)


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_each_address_is_told_and_a_signal_ends_all(keeper, number):
    process, ports = keeper(60, 60)
    told = "".join(read_until(process, "all up"))
    assert all(f"http://127.0.0.1:{port}/" in told for port in ports)
    assert all(map(listening, ports))
    process.send_signal(number)
    assert process.wait(10) == 0
    wait_until_free(ports, 0.5)


@pytest.mark.slow
def test_a_dead_service_is_told_and_ends_the_rest(keeper):
    process, ports = keeper(60, 1.0)
    told = "".join(read_until(process, "ended with exit code 3"))
    assert f"page{ports[1]} ended with exit code 3" in told
    assert f"{ports[1]}.log" in told
    assert process.wait(10) == 1
    wait_until_free(ports, 0.5)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the tie to the parent is the Linux kernel's")
def test_kill_nine_leaves_no_orphan(keeper):
    process, ports = keeper(60, 60)
    read_until(process, "all up")
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) == 2
    process.kill()
    process.wait()
    wait_until_free(ports)
    assert not psutil.wait_procs(children, timeout=5)[1]


@pytest.mark.skipif(find_spec("prefect") is None, reason="needs the extra flows")
def test_a_taken_port_is_one_line_with_the_remedy(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("RSI_HOME", str(tmp_path))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert services.main(["--only", "prefect", "--prefect-port", str(port)]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"port {port}" in message
    assert "--prefect-port N" in message


def test_a_missing_package_is_named_with_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"Prefect: not installed; run: pip install 'rsi\[flows\]'"):
        catalogue.prefect(tmp_path, free_port()).check()


def test_only_what_was_asked_for(tmp_path):
    asked = services.chosen(services.options(["--only", "prefect, mlflow"]), tmp_path)
    assert [service.name for service in asked] == ["Prefect", "MLflow"]
    with pytest.raises(UserError, match="--only: unknown service 'airflow'; choose from mlflow, prefect, ray"):
        services.chosen(services.options(["--only", "airflow"]), tmp_path)


def test_loopback_alone_and_silent_towards_the_makers(tmp_path):
    made = services.chosen(services.options([]), tmp_path)
    for service in made:
        assert service.page.startswith("http://127.0.0.1:")
        assert "127.0.0.1" in service.command
        assert "0.0.0.0" not in " ".join(service.command)
    env = {name: value for service in made for name, value in service.env.items()}
    assert env["MLFLOW_DISABLE_TELEMETRY"] == "true"
    assert env["RAY_USAGE_STATS_ENABLED"] == "0"


def test_the_ray_token_is_private_and_stays(tmp_path):
    token = tmp_path / "ray.token"
    catalogue.ray(tmp_path, 1, 2)
    first = token.read_text()
    catalogue.ray(tmp_path, 1, 2)
    assert token.read_text() == first
    assert len(first) == 64
    assert token.stat().st_mode & 0o077 == 0


def test_rays_sockets_fit_whatever_the_home(tmp_path):
    assert catalogue.ray_folder(Path("/home/ann/.rsi")) == Path("/home/ann/.rsi/ray")
    deep, other = (catalogue.ray_folder(Path("/home") / (name * 30)) for name in ("deep", "other"))
    assert deep != other
    assert max(len(str(deep)), len(str(other))) <= catalogue.RAY_FOLDER_CHARS


def test_the_deployment_file_names_a_flow_that_exists():
    yaml = pytest.importorskip("yaml")
    document = yaml.safe_load((ROOT / "infra" / "prefect.yaml").read_text())
    [deployment] = document["deployments"]
    path, _, name = deployment["entrypoint"].partition(":")
    assert f"async def {name}(settings_path: str)" in (ROOT / path).read_text()
    assert list(deployment["parameters"]) == ["settings_path"]
