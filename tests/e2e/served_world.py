"""A small run on the reason bank against a server of our own: one generation, the harness alone."""

import json
import re
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

SETTINGS = """
bank = "reason"
start = "bare"
generations = 1
[model]
id = "{url}"
{model}
[discovery]
tasks = 8
proposals = {proposals}
[expansion]
edits = 4
attempts = 60
affected = 2
control = 0
selection = 8
retry_control = 4
[update]
steps = 0
[rollouts]
retries = 0
concurrency = {concurrency}
"""


@dataclass(frozen=True)
class Ended:
    """How `rsi` ended: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def decision(self) -> str | None:
        found = re.search(r"Generation 1: (no candidate|promote|reject|indecisive)", self.out)
        return found[1] if found else None


def quicken(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("rsi.models.openai.PAUSE", 0.005)
    patch.setattr("rsi.models.served.channel.TIMEOUT", httpx.Timeout(0.4, connect=1.0))
    patch.setattr("rsi.models.served.channel.LIMIT", 2.0)
    patch.setattr("rsi.models.served.pacing.MOST_WAIT", 0.5)


def write_settings(folder: Path, url: str, model: str = "", proposals: int = 0, concurrency: int = 48) -> Path:
    path = folder / "settings.toml"
    path.write_text(SETTINGS.format(url=url, model=model, proposals=proposals, concurrency=concurrency))
    return path


def run_here(patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path, *arguments: str) -> Ended:
    """`rsi ARGUMENTS` in this process. Any exception but its exit comes out: that would be a traceback."""
    from rsi.cli import main

    patch.setenv("RSI_HOME", str(home))
    patch.setattr("sys.argv", ["rsi", *arguments])
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    out, err = capsys.readouterr()
    return Ended(code, out, err)


def recorded(home: Path) -> list[dict]:
    """The scored attempts in a home's store."""
    return [json.loads(body) for (body,) in _rows(home, "select body from attempts")]


def lost(home: Path) -> Counter[str]:
    """Why attempts were lost."""
    return Counter(error for (error,) in _rows(home, "select error from failures"))


def stages(home: Path) -> set[str]:
    return {name for (name,) in _rows(home, "select name from stages")}


def _rows(home: Path, query: str) -> list[tuple]:
    if not (home / "store.db").exists():
        return []
    connection = sqlite3.connect(home / "store.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()
