"""A Prefect API for the length of a command: the user's own, else a local server that ends with us."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from flows import child
from rsi.errors import UserError

NO_PROXY = ("no_proxy", "NO_PROXY")
START_SECONDS = 180.0  # the first start migrates its database: 12 s, but 50 s were seen on two busy cores


@contextmanager
def prefect_api() -> Iterator[str]:
    """Yields the API's URL. Call `prepare_environment` first, and from the main thread. UserError where none answers.

    Prefect's own temporary server is not used: it survives a kill -9 of its parent and gives up after 20 seconds.
    """
    reach_loopback()
    if url := os.environ.get("PREFECT_API_URL", "").rstrip("/"):
        if not healthy(f"{url}/health"):
            raise UserError(f"PREFECT_API_URL: no Prefect server answers at {url}; start it, or unset the variable")
        yield url
        return
    port, log = free_port(), Path(os.environ["PREFECT_HOME"]) / "server.log"
    server = child.start(server_command(port, "--no-ui"), os.environ, log, death=signal.SIGKILL)
    try:
        wait_until_healthy(server, f"http://127.0.0.1:{port}/api/health", log)
        yield f"http://127.0.0.1:{port}/api"
    finally:
        child.end(server)


def reach_loopback() -> None:
    """No client in this process, nor in those it starts, asks a proxy for a server on this machine. What either name
    of the variable excepts stays excepted: of the two, one alone is read."""
    known = [host.strip() for name in NO_PROXY for host in os.environ.get(name, "").split(",")]
    excepted = ",".join(dict.fromkeys(filter(None, [*known, "127.0.0.1", "localhost", "::1"])))
    os.environ.update(dict.fromkeys(NO_PROXY, excepted))


def server_command(port: int, *options: str) -> list[str]:
    return [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port), *options]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def on_loopback(url: str) -> bool:
    """Whether `url` is on this machine: no proxy leads there."""
    return httpx.URL(url).host in ("127.0.0.1", "localhost", "::1")


def healthy(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5.0, trust_env=not on_loopback(url)).status_code == 200
    except (httpx.HTTPError, ImportError, ValueError):  # also a proxy that cannot be used
        return False


def wait_until_healthy(
    process: subprocess.Popen[bytes], url: str, log: Path, seconds: float = START_SECONDS, poll: float = 0.2
) -> None:
    """Returns once `url` answers 200. UserError, with the log to read, where the process ends or time runs out."""
    deadline = time.monotonic() + seconds
    while not healthy(url):
        if process.poll() is not None:
            raise UserError(f"the server for {url} ended with exit code {process.returncode}; read {log}")
        if time.monotonic() > deadline:
            raise UserError(f"the server for {url} did not answer within {seconds:.0f} seconds; read {log}")
        time.sleep(poll)
