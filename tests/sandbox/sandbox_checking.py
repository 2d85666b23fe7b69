"""What checks of sandboxes are made with: one opened, a command in one, a look at this machine's processes."""

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rsi.ports import ExecResult, Sandbox, SandboxProvider


@asynccontextmanager
async def opened(provider: SandboxProvider) -> AsyncIterator[Sandbox]:
    sandbox = await provider.open()
    try:
        yield sandbox
    finally:
        await sandbox.close()


async def run(provider: SandboxProvider, command: str, timeout: float = 10) -> ExecResult:
    async with opened(provider) as sandbox:
        return await sandbox.exec(command, timeout)


async def python(provider: SandboxProvider, code: str, timeout: float = 20) -> ExecResult:
    """Run Python inside; skips where the sandbox has none."""
    async with opened(provider) as sandbox:
        if (await sandbox.exec("command -v python3", 10)).exit_code:
            pytest.skip("no python3 in the sandbox to attack with")
        await sandbox.put({"attack.py": code.encode()})
        return await sandbox.exec("python3 attack.py", timeout)


def alive(marker: str) -> list[int]:
    """Processes of this machine whose command line holds `marker`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


async def gone(marker: str, seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while alive(marker):
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.02)
    return True


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)


def sleeper() -> tuple[str, str]:
    """A marker and a command that sleeps under it."""
    marker = f"marker-{uuid.uuid4().hex}"
    return marker, f"exec -a {marker} sleep 100"
