"""The services a person may start, as data: command, health page, what to check before."""

import hashlib
import os
import secrets
import shlex
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from flows.server import free_port, server_command
from rsi.errors import UserError
from rsi.registry.pairs import file_uri

LOOPBACK = "127.0.0.1"
# Ray keeps sockets below its folder, some 64 characters deep, and a socket's path may have 107.
RAY_FOLDER_CHARS = 40


@dataclass(frozen=True)
class Service:
    """`ports` maps the option that moves a port to the port, all on loopback. `health` answers 200 once it is up."""

    name: str
    package: str
    command: tuple[str, ...]
    health: str
    page: str
    log: Path
    ports: Mapping[str, int]
    env: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""

    def check(self) -> None:
        """UserError with the remedy where the package is missing or a port is taken."""
        if find_spec(self.package) is None:
            raise UserError(f"{self.name}: not installed; run: pip install 'rsi[{_extra(self.package)}]'")
        for option, port in self.ports.items():
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just left is free
                try:
                    probe.bind((LOOPBACK, port))
                except (OSError, OverflowError):
                    raise UserError(
                        f"{self.name}: port {port} cannot be had on {LOOPBACK}; end what uses it, or choose another "
                        f"with {option} N"
                    ) from None


def _extra(package: str) -> str:
    return "flows" if package == "prefect" else package


def mlflow(home: Path, port: int) -> Service:
    """On the store that the registry writes to: `mlflow/mlflow.db`, artifacts beside it."""
    place = home / "mlflow"
    place.mkdir(parents=True, exist_ok=True)
    options = {
        "--backend-store-uri": file_uri(place / "mlflow.db"),
        "--default-artifact-root": (place / "artifacts").as_uri(),
        "--host": LOOPBACK,
        "--port": str(port),
        "--workers": "1",
    }
    return Service(
        name="MLflow",
        package="mlflow",
        command=(sys.executable, "-m", "mlflow", "server", *(word for pair in options.items() for word in pair)),
        health=f"http://{LOOPBACK}:{port}/health",
        page=f"http://{LOOPBACK}:{port}",
        log=place / "server.log",
        ports={"--mlflow-port": port},
        env={"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
    )


def prefect(home: Path, port: int) -> Service:
    url = f"http://{LOOPBACK}:{port}"
    return Service(
        name="Prefect",
        package="prefect",
        command=tuple(server_command(port)),
        health=f"{url}/api/health",
        page=url,
        log=home / "prefect" / "services.log",
        ports={"--prefect-port": port},
        hint=f"(PREFECT_API_URL={url}/api makes rsi use this server)",
    )


def ray(home: Path, port: int, dashboard_port: int) -> Service:
    """A head that ends when its `ray start --block` ends: Ray ties its processes to it.

    It runs code for whoever reaches it: so it listens on loopback alone, and other users of the machine lack the token.
    """
    access = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(_secret(home / "ray.token")),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # the switch that keeps Ray on loopback, on Linux too
    }
    options = {
        "--port": str(port),
        "--node-ip-address": LOOPBACK,
        "--dashboard-host": LOOPBACK,
        "--dashboard-port": str(dashboard_port),
        "--dashboard-agent-listen-port": "0",
        "--ray-client-server-port": str(free_port()),  # unused, but cannot be left out
        "--object-store-memory": str(256 * 2**20),
        "--temp-dir": str(ray_folder(home)),
    }
    words = (word for pair in options.items() for word in pair)
    driver = home / "ray.env"
    lines = {"RAY_ADDRESS": f"{LOOPBACK}:{port}", **access}.items()
    driver.write_text("".join(f"export {name}={shlex.quote(value)}\n" for name, value in lines), encoding="utf8")
    return Service(
        name="Ray",
        package="ray",
        command=(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", *words),
        health=f"http://{LOOPBACK}:{dashboard_port}/api/gcs_healthz",
        page=f"http://{LOOPBACK}:{dashboard_port}",
        log=home / "ray.log",
        ports={"--ray-port": port, "--ray-dashboard-port": dashboard_port},
        env={**access, "RAY_USAGE_STATS_ENABLED": "0", "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0"},
        hint=f"(the page asks for the token in {home / 'ray.token'}; '. {driver}' makes rsi use this head)",
    )


def _secret(path: Path) -> Path:
    """A token that only this user can read, made once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        suppress(FileExistsError),
        os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle,
    ):
        handle.write(secrets.token_hex(32))
    return path


def ray_folder(home: Path) -> Path:
    folder = home / "ray"
    if len(str(folder)) <= RAY_FOLDER_CHARS:
        return folder
    return Path(tempfile.gettempdir()) / f"rsi-ray-{hashlib.sha256(str(home).encode()).hexdigest()[:8]}"
