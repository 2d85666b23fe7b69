"""Starting and stopping the engine's process, from a parent that never imports torch."""

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rsi.config import ModelSettings
from rsi.errors import InfrastructureError, UserError
from rsi.models.embedded.fetch import ModelFolder

START_SECONDS = 180.0
# For a process that runs torch beside others. Threads that wait spin for some 100 microseconds, then sleep: not at all
# made the matrix products of a decode step 1.5 times slower, GNU OpenMP's default made two threads on two busy cores
# ten times slower. Freed tensors stay with the allocator: faulting their pages in again cost a third of a prefill.
ENVIRONMENT = {
    "GOMP_SPINCOUNT": "30000",
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "268435456",
}


class EngineProcess:
    """One engine on this machine. `address` is the same over all starts, so clients outlive a stop and a start."""

    def __init__(self, model: ModelFolder, adapters_root: Path, settings: ModelSettings) -> None:
        self._model, self._adapters, self._settings = model, adapters_root, settings
        self._folder = Path(tempfile.mkdtemp(prefix="rsi-engine-", dir="/tmp"))  # mode 0700; socket paths must be short
        self.address = str(self._folder / "socket")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> str:
        """Returns the address once requests are served, about 10 seconds later; at once where it runs already.

        Raises UserError (model cannot be loaded) and InfrastructureError (it died or did not come up)."""
        if self.pid is not None and self._answers():
            return self.address
        self.stop()  # what has been killed lives on for a moment, without its socket
        self._folder.mkdir(mode=0o700, exist_ok=True)
        Path(self.address).unlink(missing_ok=True)
        spec = {"socket": self.address, "folder": str(self._model.path), "digest": self._model.digest}
        spec |= {"adapters_root": str(self._adapters)}
        log = self._folder / "log"
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rsi.models.embedded.server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=os.environ | ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._greet(spec, log)
        return self.address

    def stop(self) -> None:
        """End it and give its memory back. May be called twice, and started again after."""
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as link:
            return link.connect_ex(self.address) == 0

    def _greet(self, spec: dict[str, str], log: Path) -> None:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        started, answer = time.monotonic(), b""
        try:
            process.stdin.write(json.dumps(spec | {"model": self._settings.model_dump()}).encode() + b"\n")
            process.stdin.flush()
            if select.select([process.stdout], [], [], START_SECONDS)[0]:
                answer = process.stdout.readline().strip()
        except BrokenPipeError:
            pass
        if answer == b"ready":
            return
        last = (log.read_text(errors="replace").strip().splitlines() or ["no reason given"])[-1]
        self.stop()
        if answer.startswith(b"error "):
            raise UserError(answer[6:].decode(errors="replace"))
        spent = time.monotonic() - started
        raise InfrastructureError(f"the model engine did not start within {spent:.0f} s ({last})")
