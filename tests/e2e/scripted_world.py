"""A home with a known salt, a small run on the reason bank, and a scripted model that solves it only where an exemplar
is shown: so the harness is what there is to improve, and logic can be tested without weights."""

import json
import os
import subprocess
import sys
from pathlib import Path

from rsi.banks.catalogue import load_catalogue
from rsi.banks.generated import open_bank
from rsi.banks.salt import load_salt

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = """
lineage = "scripted"
bank = "reason"
start = "bare"
generations = {generations}
[rollouts]
executor = "local"
[discovery]
tasks = 24
proposals = 2
[expansion]
edits = 24
attempts = 500
affected = 4
control = 0
selection = 24
retry_control = 16
[update]
steps = 0
[gate]
tasks = 90
held_out_tasks = 10
"""


def make_world(folder: Path, generations: int = 1) -> tuple[Path, Path]:
    """Settings and table for the home `folder`/home."""
    home = folder / "home"
    home.mkdir()
    (home / "salt").write_bytes(bytes(32))
    (home / "salt").chmod(0o600)
    bank = open_bank(ROOT / "task_banks" / "reason", load_salt(home))
    shown = {
        edit.families[0]: edit.change.exemplars[0].request
        for edit in load_catalogue(ROOT / "task_banks" / "reason")
        if edit.name.startswith("exemplars-")
    }
    rules = []
    for task in [t for s in ("train", "selection", "sealed") for shard in range(3) for t in bank.tasks(s, shard)]:
        answer = bank.key(task).reference
        solved = [[f"<answer>{answer}</answer>", 8.0], ["<answer>none</answer>", 2.0]]
        rules.append(
            {"contains": task.request, "needs": shown.get(task.recipe.family, "never shown"), "replies": solved}
        )
    rules.sort(key=lambda rule: -len(str(rule["contains"])))
    rules.append({"replies": [["I do not know.", 1.0]]})
    table, settings = folder / "table.json", folder / "settings.toml"
    table.write_text(json.dumps({"rules": rules}))
    settings.write_text(SETTINGS.format(generations=generations))
    return settings, table


def rsi(home: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "rsi", *arguments],
        cwd=ROOT,
        env={**os.environ, "RSI_HOME": str(home), **more},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], timeout: float = 240) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err
