"""The training process: starts quiet, dies with its parent, talks to the driver over one pipe.

Imported by the driver too (to name the process's entry), so nothing heavy is imported before the process runs.
"""

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rsi.errors import RsiError, TrainingError, reason
from rsi.ports import ModelBackend, Rollout
from rsi.types import AdapterRevision, Attempt, TrainSpec

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Get:
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Record:
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True)
class Step:
    name: str
    done: int
    total: int


@dataclass(frozen=True)
class Ended:
    outcome: AdapterRevision | RsiError


class Driver:
    """The driver as the training process reaches it: groups.Ledger, and progress. EOFError where it is gone."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def get(self, ids: Sequence[str]) -> Mapping[str, Attempt]:
        self._pipe.send(Get(tuple(ids)))
        found: Mapping[str, Attempt] = self._pipe.recv()
        return found

    def record(self, attempts: Sequence[Attempt]) -> None:
        self._pipe.send(Record(tuple(attempts)))
        self._pipe.recv()

    def progress(self, name: str, done: int, total: int) -> None:
        self._pipe.send(Step(name, done, total))


def work(
    pipe: Connection, spec: TrainSpec, rollout: Rollout, make_backend: Callable[[Any, Any, Any], ModelBackend]
) -> None:
    """The process's entry. Any error is sent to the driver; the trace of one that is not ours is in the log."""
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides
    _log_to(Path(spec.workdir))
    _stand_alone()
    os.environ |= {"OMP_NUM_THREADS": str(spec.threads), "GOMP_SPINCOUNT": "30000"}  # long spinning starves other cores
    os.environ |= {"TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1"}
    from rsi.update.trl.training import train  # here: loads torch, which the driver must not

    driver = Driver(pipe)
    outcome: AdapterRevision | RsiError
    try:
        outcome = train(spec, rollout, make_backend, driver, driver.progress)
    except RsiError as error:
        outcome = error
    except Exception as error:  # noqa: BLE001 the driver is told in one line, the log has the trace
        traceback.print_exc()
        outcome = TrainingError(f"training failed: {reason(error)} (its log: {log_file(Path(spec.workdir))})")
    pipe.send(Ended(outcome))


# A launcher's variables (torchrun, Slurm, MPI, accelerate) make a trainer wait for peers that are not there.
_LAUNCHED = ("TORCHELASTIC_", "ACCELERATE_", "FSDP_", "SLURM_", "PMI_", "PMIX_", "OMPI_", "DEEPSPEED_", "PARALLELISM_")
_PLACES: tuple[str, ...] = (
    "RANK",
    "LOCAL_RANK",
    "GROUP_RANK",
    "ROLE_RANK",
    "NODE_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
)
_PLACES += ("MASTER_ADDR", "MASTER_PORT", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_RANK")


def _stand_alone() -> None:
    """No peers, and one device: with several visible ones the trainer would divide each batch among them."""
    for name in list(os.environ):
        if name in _PLACES or name.startswith(_LAUNCHED):
            del os.environ[name]
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]


def _die_with_parent() -> None:
    """A killed driver takes this process with it. Elsewhere than on Linux the pipe's end does, at the next message."""
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _log_to(workdir: Path) -> None:
    """All that the libraries print goes to `workdir`/training.log."""
    workdir.mkdir(parents=True, exist_ok=True)
    log = os.open(log_file(workdir), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)


def log_file(workdir: Path) -> Path:
    return workdir / "training.log"
