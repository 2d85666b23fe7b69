"""Progress of long work: a bar on a terminal, now and then a plain line elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from rsi.report.console import EscapingConsole

EVERY = 30.0  # seconds between plain lines


class Progress:
    """Call it with (name, done, total). `say` prints a line without breaking the bars."""

    def __init__(self) -> None:
        self._console = EscapingConsole()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bars = Bars(*columns, console=self._console, transient=True) if self._console.is_terminal else None
        self._tasks: dict[str, int] = {}
        self._told = time.monotonic()

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def say(self, line: str) -> None:
        self._console.print(line.replace("\n", "\\n"))

    def __call__(self, name: str, done: int, total: int) -> None:
        if self._bars is None:
            if time.monotonic() - self._told >= EVERY:
                self._told = time.monotonic()
                self.say(f"  {name}: {done} of {total}")
            return
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=total)
        self._bars.update(self._tasks[name], completed=done, total=total, visible=done < total)  # type: ignore[arg-type]
