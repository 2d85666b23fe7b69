"""ports.Trainer over TRL: the driver's side. Spawns the training process, answers it, alone writes the store."""

import asyncio
import multiprocessing
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from rsi.errors import RsiError, TrainingError
from rsi.ports import ModelBackend, Rollout, Store
from rsi.types import AdapterRevision, TrainSpec
from rsi.update.trl.worker import Ended, Get, Record, Step, log_file, work

IDLE_SECONDS = 900.0  # of a process that neither says nor computes anything; no wait of a rollout is longer


class TrlTrainer:
    """Trains in a spawned process: its memory comes back, and a kill at any moment leaves a state that resumes.

    `make_backend(model, tokenizer, policy_version)` must pickle (a module-level function or a partial of one). It is
    called once, on the event loop of the training process, with the learner's own PEFT model, its tokenizer, and a
    callable that names the weights as they stand. Its backend samples from that model, whatever adapter a request
    names, and puts `policy_version()` of the moment of sampling into each completion."""

    def __init__(self, make_backend: Callable[[Any, Any, Callable[[], str]], ModelBackend]) -> None:
        self._make_backend = make_backend

    async def train(
        self, spec: TrainSpec, rollout: Rollout, store: Store, progress: Callable[[str, int, int], None]
    ) -> AdapterRevision:
        """As ports.Trainer. TrainingError where the process ended without a result; a later call resumes."""
        if not spec.tasks or spec.settings.steps < 1:
            raise TrainingError("nothing to train: the specification has no tasks or no steps")
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, spec, rollout, self._make_backend), daemon=True)
        process.start()
        theirs.close()
        try:
            outcome = await _converse(_Child(ours, psutil.Process(process.pid)), store, progress)
        except (EOFError, ConnectionError):
            process.join(timeout=10)
            raise TrainingError(
                f"the training process ended with code {process.exitcode}; run again to continue from its last "
                f"checkpoint (its log: {log_file(Path(spec.workdir))})"
            ) from None
        finally:
            process.kill()
            process.join()
            ours.close()
        if isinstance(outcome, RsiError):
            raise outcome
        return outcome


class _Child:
    """The training process as the driver hears it."""

    def __init__(self, pipe: Connection, process: psutil.Process) -> None:
        self.send, self._pipe, self._process = pipe.send, pipe, process

    def receive(self) -> Any:
        """Its next message. TrainingError where it hangs: it waits for something that does not come."""
        deadline, computed = time.monotonic() + IDLE_SECONDS, -1.0
        while not self._pipe.poll(min(5.0, IDLE_SECONDS)):
            if (now := self._computed()) > computed + 0.01 * IDLE_SECONDS:  # a waiting interpreter computes a little
                deadline, computed = time.monotonic() + IDLE_SECONDS, now
            elif time.monotonic() > deadline:
                raise TrainingError(
                    f"the training process has done nothing for {IDLE_SECONDS:.0f} seconds and was ended; run again to "
                    "continue from its last checkpoint"
                )
        return self._pipe.recv()

    def _computed(self) -> float:
        """Processor time of it and its children so far, in seconds."""
        total = 0.0
        with suppress(psutil.Error):
            for one in (self._process, *self._process.children(recursive=True)):
                with suppress(psutil.Error):
                    times = one.cpu_times()
                    total += times.user + times.system
        return total


async def _converse(
    child: _Child, store: Store, progress: Callable[[str, int, int], None]
) -> AdapterRevision | RsiError:
    """Answer the process until it has ended. The store is used on this thread only; only the waiting is elsewhere."""
    while True:
        message = await asyncio.to_thread(child.receive)
        match message:
            case Get(ids):
                child.send(store.get(ids))
            case Record(attempts):
                for attempt in attempts:
                    store.record(attempt)
                child.send(True)
            case Step(name, done, total):
                progress(name, done, total)
            case Ended(outcome):
                result: AdapterRevision | RsiError = outcome
                return result
