"""A started server ends with its parent, whatever ends the parent, and takes its own children along."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from flows import child, server
from rsi.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]
FAMILY = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"


def wait_for(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value


def gone(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="the tie to the parent is the Linux kernel's")
def test_kill_nine_of_the_parent_ends_the_child(tmp_path):
    code = (
        "import os, pathlib, sys, time; from flows import child\n"
        f"p = child.start({SLEEPER!r}, os.environ, pathlib.Path(sys.argv[1])); print(p.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "log")], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    pid = int(parent.stdout.readline())
    wait_for(lambda: "sleep(60)" in " ".join(psutil.Process(pid).cmdline()[-1:]))  # it has become the command
    assert not gone(pid)
    parent.kill()
    parent.wait()
    wait_for(lambda: gone(pid))


def test_a_parent_that_died_first_leaves_nothing(tmp_path):
    wrapper = [sys.executable, child.__file__, "1" if os.getpid() != 1 else "2", str(int(signal.SIGTERM))]
    done = subprocess.run([*wrapper, "touch", str(tmp_path / "ran")])
    assert done.returncode == 1
    assert not (tmp_path / "ran").exists()


def test_end_takes_the_whole_group(tmp_path):
    log = tmp_path / "log"
    process = child.start([sys.executable, "-c", FAMILY], os.environ, log)
    grandchild = int(wait_for(lambda: log.read_text().strip()))
    child.end(process)
    wait_for(lambda: gone(grandchild))
    assert process.returncode is not None
    child.end(process)  # twice is fine


def test_end_kills_what_does_not_listen(tmp_path):
    log = tmp_path / "log"
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    process = child.start([sys.executable, "-c", deaf], os.environ, log)
    wait_for(log.read_text)
    child.end(process, seconds=0.2)
    assert process.returncode == -signal.SIGKILL


def test_a_server_that_dies_is_named_with_its_log(tmp_path):
    log = tmp_path / "log"
    process = child.start([sys.executable, "-c", "raise SystemExit(7)"], os.environ, log)
    with pytest.raises(UserError, match=rf"exit code 7; read {log}"):
        server.wait_until_healthy(process, f"http://127.0.0.1:{server.free_port()}/health", log, poll=0.02)


def test_a_server_that_stays_silent_is_given_up(tmp_path):
    log = tmp_path / "log"
    process = child.start(SLEEPER, os.environ, log)
    with pytest.raises(UserError, match=r"did not answer within 0 seconds"):
        server.wait_until_healthy(process, f"http://127.0.0.1:{server.free_port()}/h", log, seconds=0.1, poll=0.02)
    child.end(process)


def test_a_named_api_that_is_down_is_a_user_error(monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server.free_port()}/api")
    with pytest.raises(UserError, match="PREFECT_API_URL: no Prefect server answers"), server.prefect_api():
        raise AssertionError("unreachable")
