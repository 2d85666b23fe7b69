"""What this machine can do, found by doing it: each check is one line, each failure carries its remedy in one line."""

import asyncio
import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from rsi.config import ModelSettings, RunSettings, home
from rsi.errors import RsiError

NEED_DISK_GB = 3.0
NEED_MEMORY_GB = 6.0
PARTS = {
    "train": ("torch", "transformers", "trl", "peft"),
    "ray": ("ray",),
    "flows": ("prefect",),
    "mlflow": ("mlflow",),
}


@dataclass(frozen=True)
class Finding:
    name: str
    ok: bool
    found: str
    remedy: str = ""
    required: bool = True


async def examine(settings: RunSettings, load_model: bool = True) -> list[Finding]:
    """All findings. The sandbox is really started, the model really loaded and asked for a token."""
    findings = [_python(), *_versions(), _disk(home()), _memory(), await _sandbox(settings)]
    if load_model:
        findings.append(await examine_model(settings.model))
    return findings


def ready(findings: Sequence[Finding]) -> bool:
    return all(finding.ok for finding in findings if finding.required)


def as_rows(findings: Sequence[Finding]) -> list[dict[str, object]]:
    return [asdict(finding) for finding in findings]


def _python() -> Finding:
    ok = sys.version_info >= (3, 11)
    return Finding("python", ok, platform.python_version(), "" if ok else "use Python 3.11 or newer")


def _versions() -> list[Finding]:
    rows = []
    for extra, packages in PARTS.items():
        versions, missing = [], []
        for package in packages:
            try:
                versions.append(f"{package} {importlib.metadata.version(package)}")
            except importlib.metadata.PackageNotFoundError:
                missing.append(package)
        remedy = f"pip install 'rsi[{extra}]'" if missing else ""
        found = ", ".join(versions) if not missing else f"missing: {', '.join(missing)}"
        rows.append(Finding(extra, not missing, found, remedy, required=extra == "train"))
    return rows


def _disk(folder: Path) -> Finding:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free / 1e9
    writable = os.access(existing, os.W_OK)
    remedy = "" if writable else "set RSI_HOME to a folder that you may write"
    if free < NEED_DISK_GB:
        remedy = f"free {NEED_DISK_GB:.0f} GB, or set RSI_HOME to another disk"
    return Finding("disk", not remedy, f"{free:.0f} GB free at {folder}", remedy)


def _memory() -> Finding:
    free = psutil.virtual_memory().available / 1e9
    ok = free >= NEED_MEMORY_GB
    return Finding(
        "memory", ok, f"{free:.1f} GB available", "" if ok else f"close programs: {NEED_MEMORY_GB:.0f} GB are needed"
    )


async def _sandbox(settings: RunSettings) -> Finding:
    from rsi.sandbox.probe import kind_of, probe

    provider, reasons = await probe(settings.sandbox)
    if provider is None:
        found = "none starts here; only banks that need none can run"
        return Finding("sandbox", False, found, "; ".join(reasons), required=settings.fallback_bank is None)
    tree = provider.limits.get("memory", "")
    kind, name = kind_of(provider.identity), provider.identity
    return Finding("sandbox", True, f"{kind} ({name}) started and ran a command (memory: {tree})")


async def examine_model(settings: ModelSettings) -> Finding:
    from rsi.text import show_url
    from rsi.types import Message, ModelRequest, Sampling
    from rsi.wiring.models import open_model

    messages = (Message(role="system", content="Be brief."), Message(role="user", content="Say hello."))
    request = ModelRequest(messages=messages, sampling=Sampling(max_new_tokens=4), seed=0)
    try:
        async with open_model(settings) as model:
            completion = await asyncio.wait_for(model.backend.generate(request), 180)
    except (RsiError, TimeoutError) as error:
        return Finding("model", False, str(error) or "no answer within 180 s", _remedy(settings.id))
    found = f"{show_url(settings.id)} ({model.base_digest[:12]}) loaded and answered {len(completion.text)} characters"
    return Finding("model", True, "; ".join([found, *model.notes]))


def _remedy(id: str) -> str:
    """What helps where a model cannot be used; `rsi model fetch` fetches the embedded one alone."""
    kind = id.partition(":")[0].lower()
    if kind in ("http", "https"):
        return "start the server, check the URL, the name after '#' and model.api_key_env, or choose another --model"
    if kind in ("scripted", "replay"):
        return f"give a file that {kind}: can read, or choose another --model"
    return "rsi model fetch, or choose another --model"
