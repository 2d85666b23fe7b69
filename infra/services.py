"""`make services`: MLflow, Prefect and a Ray head as local processes on loopback, until Ctrl-C.

Prints each address once its health page answers. Whatever way this process ends, the services end with it.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from flows import child, prepare_environment
from flows.server import START_SECONDS, healthy
from infra.catalogue import Service, mlflow, prefect, ray
from rsi.config import home
from rsi.errors import UserError

NAMES = ("mlflow", "prefect", "ray")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 after Ctrl-C or SIGTERM, 1 where a service ended by itself, 2 for a clear refusal."""
    try:
        return run(chosen(options(arguments), home()))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.services", description=__doc__)
    parser.add_argument("--only", default=",".join(NAMES), help="which, with commas (default: %(default)s)")
    parser.add_argument("--mlflow-port", type=int, default=5000, metavar="N")
    parser.add_argument("--prefect-port", type=int, default=4200, metavar="N")
    parser.add_argument("--ray-port", type=int, default=6379, metavar="N", help="where drivers connect")
    parser.add_argument("--ray-dashboard-port", type=int, default=8265, metavar="N")
    return parser.parse_args(arguments)


def chosen(choice: argparse.Namespace, place: Path) -> list[Service]:
    names = [name.strip() for name in choice.only.split(",") if name.strip()]
    if unknown := sorted(set(names) - set(NAMES)):
        raise UserError(f"--only: unknown service '{unknown[0]}'; choose from {', '.join(NAMES)}")
    makers = {
        "mlflow": lambda: mlflow(place, choice.mlflow_port),
        "prefect": lambda: prefect(place, choice.prefect_port),
        "ray": lambda: ray(place, choice.ray_port, choice.ray_dashboard_port),
    }
    return [makers[name]() for name in dict.fromkeys(names)]


def run(services: Sequence[Service], seconds: float = START_SECONDS) -> int:
    """Start all, tell each address, wait. Ends them all before it returns or raises. Call from the main thread."""
    for service in services:
        service.check()
    running: list[tuple[Service, subprocess.Popen[bytes]]] = []
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        for service in services:
            running.append((service, child.start(service.command, {**os.environ, **service.env}, service.log)))
        return _watch(running, time.monotonic() + seconds)
    except KeyboardInterrupt:
        print("ending ...", flush=True)
        return 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal must not interrupt the ending
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for _, process in reversed(running):
            child.end(process)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _watch(running: Sequence[tuple[Service, subprocess.Popen[bytes]]], deadline: float) -> int:
    waiting = [service for service, _ in running]
    while True:
        for service, process in running:
            if process.poll() is not None:
                print(
                    f"error: {service.name} ended with exit code {process.returncode}; read {service.log}", flush=True
                )
                return 1
        for service in [service for service in waiting if healthy(service.health)]:
            waiting.remove(service)
            print(f"{service.name:8} {service.page}  {service.hint}".rstrip(), flush=True)
            if not waiting:
                print("all up; Ctrl-C ends them", flush=True)
        if waiting and time.monotonic() > deadline:
            raise UserError(f"{waiting[0].name}: {waiting[0].health} did not answer in time; read {waiting[0].log}")
        time.sleep(0.1)


if __name__ == "__main__":
    prepare_environment(home())
    sys.exit(main())
