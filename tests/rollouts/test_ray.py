"""Rollouts on a real Ray of this machine: the same attempts as locally, and none lost or doubled by a death."""

import asyncio
import functools
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from rollout_fakes import (
    HARNESS,
    PAIR,
    ToyBank,
    always_dying_parts,
    dying_parts,
    make_task,
    slow_parts,
    toy_parts,
    wrong_parts,
)

from rsi.errors import UserError
from rsi.rollouts import LocalExecutor, make_spec
from rsi.rollouts.ray import RayExecutor, _check_answers
from rsi.types import Job, Termination

pytestmark = [pytest.mark.slow]


def jobs(n):
    tasks = [make_task(i) for i in range(n)]
    return [
        Job(
            spec=make_spec(t, PAIR, "ray", 0, "plain"),
            task=t,
            key=ToyBank().key(t),
            harness=HARNESS,
            adapter="revision",
        )
        for t in tasks
    ]


@pytest.fixture(scope="module", autouse=True)
def machine():
    """One Ray for all tests, started by the first executor, which closes at once, and stopped by the last."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), str(Path.cwd())]))
        first, last = (RayExecutor(toy_parts, workers=1, concurrency=1, retries=0) for _ in range(2))
        asyncio.run(first.close())
        yield
        assert ray.is_initialized()
        asyncio.run(last.close())
        assert not ray.is_initialized()


async def collect(executor, jobs):
    try:
        return [attempt async for attempt in executor.run(jobs)]
    finally:
        await executor.close()


def told(attempts):
    return {a.id: (a.score, a.turns[0].completion, a.output) for a in attempts}


async def test_ray_plays_what_local_plays():
    owed = jobs(30)
    on_ray = await collect(RayExecutor(toy_parts, workers=2, concurrency=8, retries=1), owed)
    here = await collect(LocalExecutor(toy_parts(), concurrency=8, retries=1), owed)
    assert len(on_ray) == len(owed) and told(on_ray) == told(here)


async def test_a_wrong_setup_is_told_as_it_is():
    with pytest.raises(UserError) as caught:
        await collect(RayExecutor(wrong_parts, workers=1, concurrency=2, retries=0), jobs(3))
    assert type(caught.value) is UserError and str(caught.value) == "model 'x': no such folder; run `rsi model fetch`"


async def test_code_that_a_worker_has_not_is_told_at_once(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def parts():\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    from only_here import parts

    with pytest.raises(UserError, match=r"cannot start.*only_here"):
        await collect(RayExecutor(parts, workers=1, concurrency=2, retries=0), jobs(3))


@pytest.mark.chaos
async def test_a_worker_that_dies_loses_nothing_and_doubles_nothing(tmp_path):
    owed = jobs(60)
    factory = functools.partial(dying_parts, tmp_path / "died")
    attempts = await collect(RayExecutor(factory, workers=2, concurrency=12, retries=1), owed)
    assert (tmp_path / "died").exists()
    assert sorted(a.id for a in attempts) == sorted(job.spec.digest for job in owed)
    here = await collect(LocalExecutor(toy_parts(), concurrency=8, retries=0), owed)
    assert told(attempts) == told(here)


@pytest.mark.chaos
async def test_killed_from_outside_every_worker_is_replaced():
    owed = jobs(60)
    executor = RayExecutor(slow_parts, workers=2, concurrency=8, retries=2)
    before = await executor.pids()

    async def kill_all():
        for pid in before:
            await asyncio.sleep(0.2)
            os.kill(pid, signal.SIGKILL)

    killing = asyncio.create_task(kill_all())
    attempts = [attempt async for attempt in executor.run(owed)]
    await killing
    after = await executor.pids()
    await executor.close()
    assert not set(before) & set(after)
    assert sorted(a.id for a in attempts) == sorted(job.spec.digest for job in owed)
    assert all(a.score is not None for a in attempts)


@pytest.mark.chaos
async def test_a_job_that_kills_its_workers_ends_unscored():
    attempts = await collect(RayExecutor(always_dying_parts, workers=1, concurrency=1, retries=1), jobs(2))
    assert [a.termination for a in attempts] == [Termination.INFRASTRUCTURE] * 2
    assert all(a.score is None and "worker died" in a.error for a in attempts)


async def test_a_reader_that_leaves_early_can_go_on_with_the_same_workers():
    executor = RayExecutor(slow_parts, workers=2, concurrency=6, retries=0)
    attempts = executor.run(jobs(20))
    await anext(attempts)
    await attempts.aclose()
    assert len([a async for a in executor.run(jobs(5))]) == 5
    await executor.close()


CONNECT = """
from rsi.errors import UserError
from rsi.rollouts.ray import _connect
try:
    ray, ours = _connect(1)
    print("started", ours, int(ray.cluster_resources()["CPU"]))
    ray.shutdown()
except UserError as error:
    print("refused", error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "said"),
    [("leftover", "started True 1"), ("file", "RAY_TMPDIR"), ("x" * 120, "RAY_TMPDIR")],
    ids=["a cluster's leftover address", "no folder", "too long for a socket"],
)
def test_without_an_address_it_is_ones_own_ray_or_one_line(folder, said):
    with tempfile.TemporaryDirectory(prefix="r") as short:  # Ray's sockets lie in it
        check_start(Path(short) / folder, said)


def check_start(place, said):
    if place.name == "file":
        place.touch()
    else:
        (place / "ray").mkdir(parents=True)
        (place / "ray" / "ray_current_cluster").write_text("127.0.0.1:1")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    env = {**kept, "RAY_TMPDIR": str(place)}
    done = subprocess.run([sys.executable, "-c", CONNECT], env=env, capture_output=True, text=True, timeout=120)
    assert said in done.stdout and "Traceback" not in done.stderr, done.stderr[-2000:]


@pytest.mark.parametrize("kind", ["silent", "closed", "ray://silent", "ray://closed"])
def test_a_cluster_that_does_not_answer_is_one_line(monkeypatch, kind):
    monkeypatch.setattr("rsi.rollouts.ray.CONNECT_SECONDS", 1.0)
    scheme, _, listens = kind.rpartition("//")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if listens == "silent":
            listener.listen(50)  # takes connections, says nothing
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(UserError, match=f"RAY_ADDRESS: nothing at {place} answered"):
            _check_answers(f"{scheme}//{place}" if scheme else place)


def test_a_running_cluster_answers(machine):
    import ray

    _check_answers(ray.get_runtime_context().gcs_address)
