"""The real trainer, in its own process, on a tiny random model."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import tiny_policy as tiny

from rsi.errors import IntegrityError, NothingLearned, TrainingError
from rsi.update.adapters import open_revision
from rsi.update.trl import trainer, worker
from rsi.update.trl.trainer import TrlTrainer

pytestmark = pytest.mark.model


def quiet(name, done, total):
    pass


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny.build_model(tmp_path_factory.mktemp("base"))


async def spawned(spec, rollout, store=None, progress=quiet):
    return await TrlTrainer(tiny.honest).train(spec, rollout, store or tiny.MemoryStore(), progress)


def train(spec, rollout, store=None, factory=tiny.honest):
    """In this process: the same run without the start of another one."""
    from rsi.update.trl import training

    return training.train(spec, rollout, factory, tiny.Ledger(store or tiny.MemoryStore()), quiet)


def played(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().split()


async def test_an_informative_run_exports_a_revision_with_metrics_for_each_step(base, tmp_path):
    store, steps = tiny.MemoryStore(), []
    rollout = tiny.ParityRollout(str(tmp_path / "log"))
    spec = tiny.make_spec(base, tmp_path)
    revision = await spawned(spec, rollout, store, progress=lambda *step: steps.append(step))
    assert steps == [("training", 1, 2), ("training", 2, 2)]
    assert revision == open_revision(Path(spec.out), revision.name)
    assert len(revision.metrics) == 2
    for step in revision.metrics:
        assert step["submitted"] == step["accepted"] + step["filtered"] + step["failed"]
        assert {"reward_mean", "pass_rate", "entropy", "loss", "grad_norm", "logprob_gap", "seconds"} <= step.keys()
        assert step["grad_norm"] > 0 and step["logprob_gap"] < 1e-4 and step["entropy"] > 0
    assert len(played(tmp_path)) == len(set(played(tmp_path))) == len(store.attempts)
    again = await spawned(spec, rollout, store)
    assert again == revision and len(played(tmp_path)) == len(store.attempts)


def test_steps_without_an_informative_group_change_nothing_at_all(base, tmp_path):
    one = tiny.ParityRollout(str(tmp_path / "log"))
    after_one = train(tiny.make_spec(base, tmp_path, "one", steps=1), one)
    # Momentum of the first step would move the weights in the next two, whatever their gradients.
    three = tiny.ParityRollout(str(tmp_path / "log"), never_from=1)
    after_three = train(tiny.make_spec(base, tmp_path, "three", steps=3), three)
    assert after_three.name == after_one.name
    assert [step["accepted"] for step in after_three.metrics[1:]] == [0, 0]
    assert [step["filtered"] for step in after_three.metrics[1:]] == [4, 4]  # two prompts, two back-filled
    two = train(tiny.make_spec(base, tmp_path, "two", steps=2), one)
    assert two.name != after_one.name


def test_a_run_without_any_informative_group_exports_nothing(base, tmp_path):
    with pytest.raises(NothingLearned):
        train(tiny.make_spec(base, tmp_path), tiny.ParityRollout(str(tmp_path / "log"), never_from=0))
    assert not (tmp_path / "adapters").exists()


def test_a_slot_that_fills_the_batch_does_not_leak(base, tmp_path):
    """One task's group alone, and beside an empty slot, moves the weights alike up to the token normaliser."""
    lost = tuple(range(4, 8)) + tuple(range(8, 16))  # every group but the first loses its scores
    rollout = tiny.ParityRollout(str(tmp_path / "log"), lost=lost)
    alone = train(tiny.make_spec(base, tmp_path, "alone", steps=1, prompts_per_step=1, backfill=0), rollout)
    beside = train(tiny.make_spec(base, tmp_path, "beside", steps=1, prompts_per_step=2), rollout)
    assert beside.metrics[0]["failed"] == 3 and beside.metrics[0]["accepted"] == 1
    assert beside.name == alone.name


def test_unscored_attempts_are_left_out_of_their_group(base, tmp_path):
    store = tiny.MemoryStore()
    rollout = tiny.ParityRollout(str(tmp_path / "log"), lost=(0,))
    revision = train(tiny.make_spec(base, tmp_path, steps=1), rollout, store)
    assert revision.metrics[0]["samples"] == 4 * (revision.metrics[0]["submitted"]) - 1


def test_a_sampler_that_disagrees_with_the_learner_stops_training(base, tmp_path):
    with pytest.raises(TrainingError, match=r"disagree by 0\.5"):
        train(tiny.make_spec(base, tmp_path), tiny.ParityRollout(str(tmp_path / "log")), factory=tiny.biased)
    assert not (tmp_path / "adapters").exists()


def test_an_adapter_without_effect_is_not_exported(base, tmp_path):
    with pytest.raises(TrainingError, match="the adapter has no effect"):
        train(tiny.make_spec(base, tmp_path, learning_rate=1e-30), tiny.ParityRollout(str(tmp_path / "log")))
    assert not (tmp_path / "adapters").exists()


async def test_samples_of_another_policy_are_refused_in_the_drivers_process(base, tmp_path):
    with pytest.raises(IntegrityError, match="another@0"):
        await spawned(tiny.make_spec(base, tmp_path), tiny.ParityRollout(str(tmp_path / "log"), stale=True))


def test_samples_of_another_pair_are_refused(base, tmp_path):
    with pytest.raises(IntegrityError, match="drawn under pair superseded"):
        train(tiny.make_spec(base, tmp_path), tiny.ParityRollout(str(tmp_path / "log"), pair="superseded"))


def test_training_continues_a_parent(base, tmp_path):
    rollout = tiny.ParityRollout(str(tmp_path / "log"))
    parent = train(tiny.make_spec(base, tmp_path, "parent", steps=1), rollout)
    child = train(tiny.make_spec(base, tmp_path, "child", parent=parent.path, steps=1), rollout)
    assert child.parent == parent.name and child.name != parent.name


@pytest.mark.chaos
@pytest.mark.parametrize("moment", ["after a checkpoint", "within a step"])
async def test_a_killed_training_resumes_without_losing_or_repeating_an_attempt(base, tmp_path, moment):
    undisturbed = await spawned(
        tiny.make_spec(base, tmp_path, "a", steps=3), tiny.ParityRollout(str(tmp_path / "other"))
    )

    def kill(*_):
        os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)

    store = tiny.MemoryStore(on_record=(lambda n: kill() if n == 14 else None) if moment == "within a step" else None)
    progress = quiet if moment == "within a step" else lambda name, done, total: kill() if done == 2 else None
    spec, rollout = tiny.make_spec(base, tmp_path, "b", steps=3), tiny.ParityRollout(str(tmp_path / "log"))
    with pytest.raises(TrainingError, match="ended with code -9"):
        await spawned(spec, rollout, store, progress=progress)
    before = dict(store.attempts)
    store.on_record = None
    resumed = await spawned(spec, rollout, store)
    assert resumed.name == undisturbed.name
    assert len(resumed.metrics) == 3
    assert before.items() <= store.attempts.items()
    recorded_twice = [one for one in before if played(tmp_path).count(one) > 1]
    assert recorded_twice == []


DRIVER = """
import asyncio, sys
from pathlib import Path
import tiny_policy as tiny
from rsi.update.trl import trainer, worker
from rsi.update.trl.trainer import TrlTrainer
if __name__ == "__main__":
    spec = tiny.make_spec(sys.argv[1], Path(sys.argv[2]), steps=1000)
    rollout = tiny.ParityRollout(str(Path(sys.argv[2]) / "log"))
    asyncio.run(TrlTrainer(tiny.honest).train(spec, rollout, tiny.MemoryStore(), lambda *step: None))
"""


@pytest.mark.chaos
def test_the_training_process_dies_with_a_killed_driver(base, tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    here = Path(tiny.__file__).parent
    path = os.pathsep.join([str(here), str(here.parent), str(Path.cwd())])
    driver = subprocess.Popen([sys.executable, script, base, tmp_path], env={**os.environ, "PYTHONPATH": path})
    try:
        wait_until(lambda: (tmp_path / "work" / "run" / "training.log").exists())
        children = psutil.Process(driver.pid).children(recursive=True)
        [training] = [one for one in children if "spawn_main" in " ".join(one.cmdline())]
    finally:
        driver.kill()
        driver.wait()
    wait_until(lambda: not training.is_running() or training.status() == psutil.STATUS_ZOMBIE)


def wait_until(happened, seconds=60):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.1)


async def test_a_launchers_variables_change_nothing(base, tmp_path, monkeypatch):
    for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    revision = await spawned(tiny.make_spec(base, tmp_path, steps=1), tiny.ParityRollout(str(tmp_path / "log")))
    assert len(revision.metrics) == 1


class Hanging(tiny.ParityRollout):
    """A rollout that never answers, as a process that waits for peers."""

    async def __call__(self, draws, model):
        await asyncio.Event().wait()


async def test_a_training_that_hangs_is_ended_with_one_line(base, tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "IDLE_SECONDS", 2.0)
    with pytest.raises(TrainingError, match="has done nothing for 2 seconds"):
        await spawned(tiny.make_spec(base, tmp_path), Hanging(str(tmp_path / "log")))
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("named", "visible"), [(None, "0"), ("2,3", "2"), ("", ""), ("-1", "-1"), ("GPU-8f,GPU-9", "GPU-8f")]
)
def test_training_has_one_device_and_no_peers(monkeypatch, named, visible):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if named is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    for name in ("RANK", "SLURM_JOB_ID", "OMPI_COMM_WORLD_SIZE", "ACCELERATE_MIXED_PRECISION"):
        monkeypatch.setenv(name, "1")
    with monkeypatch.context() as own:
        own.setattr(worker.os, "environ", dict(os.environ))
        worker._stand_alone()
        assert worker.os.environ["CUDA_VISIBLE_DEVICES"] == visible
        assert not {"RANK", "SLURM_JOB_ID", "OMPI_COMM_WORLD_SIZE", "ACCELERATE_MIXED_PRECISION"} & set(
            worker.os.environ
        )
