"""What a run may use, enforced where attempts are drawn, and what it did use."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from rsi.config import BudgetSettings, RunSettings
from rsi.errors import UserError
from rsi.registry.champions import Champions
from rsi.registry.engine import Database
from rsi.registry.store import SqlStore
from rsi.report.data import BudgetFigure
from rsi.results import Results

GATE = "/gate"  # a purpose of sealed draws ends so


@dataclass
class Spending:
    """Attempts, sealed draws and training steps of a lineage, over all its runs. `recorded` counts the attempts in the
    store: those of training get there without being announced here."""

    limits: BudgetSettings
    recorded: Callable[[], int]
    attempts: int
    sealed: int
    steps: int

    def draw(self, purpose: str, n: int) -> None:
        """Count `n` attempts before they are played. UserError where they would pass the budget."""
        sealed = n if purpose.endswith(GATE) else 0
        attempts = max(self.attempts, self.recorded()) + n
        self._allow("attempts", attempts, self.limits.attempts)
        self._allow("sealed_draws", self.sealed + sealed, self.limits.sealed_draws)
        self.attempts = attempts
        self.sealed += sealed

    def train(self, steps: int) -> None:
        self._allow("train_steps", self.steps + steps, self.limits.train_steps)
        self.steps += steps

    @staticmethod
    def _allow(name: str, wanted: int, limit: int) -> None:
        if wanted > limit:
            raise UserError(
                f"the budget is spent: {wanted} {name} would pass [budget] {name} = {limit}; "
                "what is recorded stays; raise the budget and run again to continue"
            )


def scope(settings: RunSettings) -> str:
    """What the purposes of a lineage's attempts begin with: other lineages and seeds draw on their own."""
    return f"{settings.lineage}/seed{settings.seed}"


def spent(settings: RunSettings, database: Database) -> Spending:
    """What the lineage has spent so far, from what is recorded."""
    store, prefix = SqlStore(database), scope(settings)
    results = Results(settings.lineage, store, Champions(database))

    def recorded() -> int:
        return store.counts(f"{prefix}/gen")[0]  # a calibration is no part of a run

    sealed, steps, n = 0, 0, 1
    while results.done(n, "update"):
        adapter = results.updated(n).adapter
        steps += adapter.steps if adapter is not None else 0
        sealed += store.counts(f"{prefix}/gen{n}{GATE}")[0]
        n += 1
    return Spending(settings.budget, recorded, recorded(), sealed, steps)


def drawn(settings: RunSettings, database: Database) -> Sequence[BudgetFigure]:
    """The first three lines of a budget, from what is recorded."""
    used, limits = spent(settings, database), settings.budget
    return (
        BudgetFigure(name="attempts", used=used.attempts, limit=limits.attempts),
        BudgetFigure(name="training steps", used=used.steps, limit=limits.train_steps),
        BudgetFigure(name="sealed draws", used=used.sealed, limit=limits.sealed_draws),
    )


@dataclass
class Usage:
    """Wall time and the peak of memory of this process and all its children (proportional set size), while watched."""

    started: float = field(default_factory=time.monotonic)
    peak: int = 0

    def figures(self, limits: BudgetSettings) -> Sequence[BudgetFigure]:
        minutes = (time.monotonic() - self.started) / 60
        return (
            BudgetFigure(name="minutes", used=round(minutes, 1), limit=limits.minutes),
            BudgetFigure(name="memory, GB", used=round(self.peak / 1e9, 2), limit=limits.memory_gb),
        )


@contextmanager
def watched() -> Iterator[Usage]:
    """Measure what runs inside the block."""
    usage, done = Usage(), threading.Event()
    thread = threading.Thread(target=_sample, args=(usage, done), daemon=True)
    thread.start()
    try:
        yield usage
    finally:
        done.set()
        thread.join()


def _sample(usage: Usage, done: threading.Event) -> None:
    me = psutil.Process(os.getpid())
    while not done.wait(2.0):
        total = 0
        for process in [me, *me.children(recursive=True)]:
            try:
                total += process.memory_full_info().pss
            except psutil.Error:
                continue  # it has ended, or is another user's
        usage.peak = max(usage.peak, total)
