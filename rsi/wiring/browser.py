"""What judging components takes on this machine: Chromium, the compiler esbuild, and sandboxes wide enough for both."""

import functools
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rsi.config import home
from rsi.errors import UserError
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.sandbox.host import DataLimits
from rsi.types import UiCheck
from rsi.verify.ui.inside.browser import BROWSER
from rsi.verify.ui.verifier import UiJudge

# Chromium reserves terabytes of address space. It takes 0.3 GB of own data in its largest process, and 0.2 GB of memory
# and 100 threads in all.
LIMITS = DataLimits(memory=1 << 30, processes=512)
PACKAGE = "esbuild@0.25"
INSTALL_SECONDS = 300.0


def tools() -> Path:
    """Where fetched tools lie."""
    return home() / "tools"


def find_esbuild() -> Path | None:
    """The compiler's binary: RSI_ESBUILD, else under RSI_HOME/tools, else on PATH. A script that starts it is none."""
    named, on_path = os.environ.get("RSI_ESBUILD"), shutil.which("esbuild")
    places = [Path(named)] if named else [*_installed(tools()), *([Path(on_path)] if on_path else [])]
    return next((place for place in places if _is_binary(place)), None)


def fetch_esbuild(folder: Path) -> Path:
    """Install esbuild with npm into `folder` and return its binary. UserError where npm is missing or fails."""
    npm = shutil.which("npm")
    if npm is None:
        raise UserError("npm is missing; install Node.js, or set RSI_ESBUILD to an esbuild binary")
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--no-save", PACKAGE]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UserError(f"`{' '.join(command)}` did not end in {INSTALL_SECONDS:.0f} s; is there a network?") from None
    found = next(filter(_is_binary, _installed(folder)), None)
    if ran.returncode or found is None:
        said = " ".join(ran.stderr.split())[:200]
        raise UserError(f"`{' '.join(command)}` exited with {ran.returncode} and left no binary: {said}")
    return found


def missing() -> str:
    """What this machine lacks for judging components and how to get it, in one line; empty where it lacks nothing."""
    lacks = []
    if not Path(BROWSER).is_file():
        lacks.append(f"Chromium at {BROWSER} (Debian, Ubuntu: apt install chromium)")
    if os.environ.get("RSI_ESBUILD") and find_esbuild() is None:
        lacks.append(f"an esbuild binary at RSI_ESBUILD={os.environ['RSI_ESBUILD']}")
    elif find_esbuild() is None:
        lacks.append(f"esbuild (`rsi bank fetch-tools` installs it into {tools()}; or set RSI_ESBUILD)")
    if os.environ.get("RSI_SANDBOX") == "docker":
        lacks.append("bubblewrap, for the Docker image holds no browser; unset RSI_SANDBOX=docker")
    return f"judging components needs {' and '.join(lacks)}" if lacks else ""


@functools.cache
def _judge(times: int) -> UiJudge:
    """This process's own: clients never travel."""
    lacks, binary = missing(), find_esbuild()
    if lacks or binary is None:
        raise UserError(lacks)
    return UiJudge(Bubblewrap(LIMITS), binary.read_bytes(), times)


def judge_limits() -> Mapping[str, str]:
    """For a run's record: the sandboxes in which components are judged, and which of their limits hold here and how."""
    provider = Bubblewrap(LIMITS)
    return {f"judge {name}": held for name, held in {"sandbox": provider.identity, **provider.limits}.items()}


class BrowserJudge:
    """Finds the tools only once a component is judged, so that banks of other kinds need none. `times`: see UiJudge."""

    def __init__(self, times: int = 1) -> None:
        self._times = times

    async def problem(self, check: UiCheck, output: str) -> str:
        """See rsi.verify.checks.UiProblem."""
        return await _judge(self._times).problem(check, output)


def _installed(folder: Path) -> list[Path]:
    return sorted((folder / "node_modules" / "@esbuild").glob("*/bin/esbuild"))


def _is_binary(place: Path) -> bool:
    if not place.is_file():
        return False
    with place.open("rb") as file:
        return file.read(4) == b"\x7fELF"
