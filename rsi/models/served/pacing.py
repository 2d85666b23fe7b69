"""How long to wait for a server that says it is busy or down. One gate a client: all its requests hold off together."""

import asyncio
import math
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MOST_WAIT = 120.0  # seconds that one wait takes, whatever the server asks for
MOST_WAITS = 300.0  # seconds that one request waits in all
SPREAD = 0.25  # of a wait, added at random, so that those who waited together do not come back together


def read_retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for: a number, or a date. None where it says nothing that makes sense."""
    text = (value or "").strip()
    try:
        seconds = float(text)
    except ValueError:
        seconds = _until(text)
    return seconds if 0 <= seconds < math.inf else None


def _until(text: str) -> float:
    """Seconds until a date, 0 where it is past; negative where `text` is none."""
    try:
        moment: datetime = parsedate_to_datetime(text)
        return max(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, IndexError, OverflowError):
        return -1.0


def choose_pause(base: float, tried: int, told: float | None) -> float:
    """Seconds before the next try: doubled with each, at least what the server `told`, within the bound, spread."""
    pause = base * 2.0 ** min(tried - 1, 10)
    return min(max(pause, told or 0.0), MOST_WAIT) * (1 + SPREAD * random.random())


class Gate:
    """Closed while the server asked to be left alone."""

    def __init__(self) -> None:
        self._opens = 0.0

    def close(self, seconds: float) -> None:
        self._opens = max(self._opens, time.monotonic() + seconds)

    async def enter(self, most: float) -> float:
        """Wait until it is open, `most` seconds at the longest; returns the seconds waited."""
        began = time.monotonic()
        while (left := self._opens - time.monotonic()) > 0 and time.monotonic() - began < most:
            await asyncio.sleep(min(left * (1 + SPREAD * random.random()), most))
        return time.monotonic() - began


class Once:
    """Says each line once, to whom the run gave it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._said = say, set[str]()

    def __call__(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self._say(line)
