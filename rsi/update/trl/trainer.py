"""ports.Trainer over TRL: the driver's side. Spawns the training process, answers it, alone writes the store."""

import asyncio
import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rsi.errors import RsiError, TrainingError
from rsi.ports import ModelBackend, Rollout, Store
from rsi.types import AdapterRevision, TrainSpec
from rsi.update.trl.worker import Ended, Get, Record, Step, log_file, work


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
            outcome = await _converse(ours, store, progress)
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


async def _converse(
    pipe: Connection, store: Store, progress: Callable[[str, int, int], None]
) -> AdapterRevision | RsiError:
    """Answer the process until it has ended. The store is used on this thread only; only the waiting is elsewhere."""
    while True:
        message = await asyncio.to_thread(pipe.recv)
        match message:
            case Get(ids):
                pipe.send(store.get(ids))
            case Record(attempts):
                for attempt in attempts:
                    store.record(attempt)
                pipe.send(True)
            case Step(name, done, total):
                progress(name, done, total)
            case Ended(outcome):
                result: AdapterRevision | RsiError = outcome
                return result
