"""A kernel, or a view of /proc, without the files that limits and leases read: less is known, nothing breaks."""

import os
from pathlib import Path

import pytest

from rsi.sandbox import cgroup
from rsi.sandbox.docker import lease


def test_without_control_groups_there_are_no_candidates(tmp_path, monkeypatch):
    monkeypatch.setattr(cgroup, "_OWN", tmp_path / "none")
    assert list(cgroup._candidates()) == []


@pytest.mark.parametrize(
    "left", [(), ("boot",), ("boot", "namespace"), ("boot", "stat"), ("namespace", "stat"), ("stat",)]
)
def test_no_living_owner_is_taken_for_dead_whatever_proc_hides(tmp_path, monkeypatch, left):
    whole = lease.mine()
    monkeypatch.setattr(lease, "_PROC", tmp_path)
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "self/ns").mkdir(parents=True)
    (tmp_path / str(os.getpid())).mkdir()
    if "boot" in left:
        (tmp_path / "sys/kernel/random/boot_id").write_text(whole.partition(".")[0])
    if "namespace" in left:
        (tmp_path / "self/ns/pid").symlink_to(Path("/proc/self/ns/pid").readlink())
    if "stat" in left:
        (tmp_path / str(os.getpid()) / "stat").write_text(Path("/proc/self/stat").read_text())
    assert not lease.dead(whole)
    assert not lease.dead(lease.mine())


def test_an_owner_that_ended_is_dead():
    boot, _, rest = lease.mine().partition(":")
    assert lease.dead(f"{boot}:999999999:1") and lease.dead(f"{boot}:{os.getpid()}:1")
    assert lease.dead(f"another.1:{rest}") and not lease.dead("")
