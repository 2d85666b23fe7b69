"""The share of a generation's wall time that is neither model, sandbox nor training. Aim: under 5%.

A generation on the embedded model and the `reason` bank, which needs no sandbox, without training: whenever no model
call is in flight, the time is ours. The engine's start is not part of a generation.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.report import Goal, finish, mean, quick
from rsi.config import ModelSettings, RunSettings, home
from rsi.models.embedded.fetch import fetch
from rsi.ports import ModelBackend
from rsi.types import Completion, ModelRequest
from rsi.wiring.models import OpenModel, open_model
from rsi.wiring.run import open_run

SIZES = {"quick": (1, 8), "full": (3, 24)}  # generations (each a lineage of its own), tasks screened


@dataclass
class Meter:
    """ModelBackend that adds up the time in which at least one call is in flight."""

    inner: ModelBackend
    busy: float = 0.0
    flying: int = 0
    since: float = field(default=0.0)

    async def generate(self, request: ModelRequest) -> Completion:
        if self.flying == 0:
            self.since = time.perf_counter()
        self.flying += 1
        try:
            return await self.inner.generate(request)
        finally:
            self.flying -= 1
            if self.flying == 0:
                self.busy += time.perf_counter() - self.since

    async def close(self) -> None:
        await self.inner.close()


async def share(number: int, tasks: int) -> float:
    """The share of one generation's wall time with no model call in flight."""
    meters: list[Meter] = []

    @asynccontextmanager
    async def metered(settings: ModelSettings) -> AsyncIterator[OpenModel]:
        async with open_model(settings) as model:
            meters.append(Meter(model.backend))
            yield replace(model, backend=meters[0])

    settings = RunSettings.model_validate(
        {
            "lineage": f"overhead-{number}",
            "bank": "reason",
            "start": "bare",
            "discovery": {"tasks": tasks, "proposals": 2},
            "expansion": {"edits": 4, "attempts": 4 * tasks, "affected": 4, "selection": tasks, "retry_control": tasks},
            "update": {"steps": 0},
            "gate": {"tasks": tasks, "held_out_tasks": 4},
        }
    )
    async with open_run(settings, lambda line: None, opener=metered) as cycle:
        started = time.perf_counter()
        await cycle.run(1)
        wall = time.perf_counter() - started
    return 1 - meters[0].busy / wall


def main() -> int:
    rounds, tasks = SIZES["quick" if quick(__doc__ or "") else "full"]
    model = fetch(home())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "models").symlink_to(model.parent)
        os.environ["RSI_HOME"] = folder
        shares = [asyncio.run(share(number, tasks)) for number in range(rounds)]
    figure = mean("share outside model, sandbox and training", "of wall time", shares)
    return finish("overhead", [figure], [Goal(figure.name, at_most=0.05)])


if __name__ == "__main__":
    sys.exit(main())
