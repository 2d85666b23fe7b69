"""One job becomes one attempt: what is scored, what is retried, what is left unscored, what is cleaned up."""

import asyncio
import pickle

import pytest
from rollout_fakes import HARNESS, PAIR, Failing, Forging, ToyBank, ToyModel, Tracking, make_task, toy_parts

from benchmarks.plain_sandbox import PlainSandbox
from rsi.errors import InfrastructureError, IntegrityError, UserError
from rsi.rollouts import LocalExecutor, Parts, code_version, make_spec, play
from rsi.types import Budgets, Job, OutputCheck, StopHook, TaskKey, Termination


def job(n=1, draw=0, needs_sandbox=True):
    task = make_task(n, needs_sandbox)
    spec = make_spec(task, PAIR, "test", draw, "plain")
    return Job(spec=spec, task=task, key=ToyBank().key(task), harness=HARNESS, adapter="revision")


async def test_an_attempt_says_all_that_identifies_it():
    parts = toy_parts()
    attempts = [await play(job(draw=n), parts) for n in range(8)]
    assert {a.passed for a in attempts} == {True, False}
    for n, attempt in enumerate(attempts):
        assert attempt.id == attempt.spec.digest == job(draw=n).spec.digest
        assert (attempt.family, attempt.split, attempt.held_out) == ("family-1", "train", False)
        assert attempt.turns[0].completion.policy_version == "revision"
        assert attempt.score.form == (1.0 if attempt.passed else 0.0)
        assert attempt.termination == (Termination.ANSWERED if attempt.passed else Termination.NO_ACTION)
        assert attempt.code_version == code_version() and attempt.cost.turns == 1 and attempt.error == ""
    assert all(sandbox.closed for sandbox in parts.provider.opened)


async def test_the_same_job_gives_the_same_attempt():
    one, two = [await play(job(), toy_parts()) for _ in range(2)]
    assert one.turns == two.turns and one.output == two.output and one.score == two.score


async def test_well_formed_but_wrong_keeps_its_form():
    class Wrong(ToyModel):
        async def generate(self, request):
            completion = await super().generate(request)
            return completion.model_copy(update={"text": "```sh\necho 99\n```"})

    attempt = await play(job(), toy_parts(Wrong()))
    assert (attempt.score.reward, attempt.score.passed, attempt.score.form) == (0.0, False, 1.0)


async def test_infrastructure_is_retried_within_a_bound_and_never_scored():
    attempt = await play(job(), toy_parts(provider=Tracking(broken=2)), retries=2)
    assert attempt.score is not None and attempt.termination != Termination.INFRASTRUCTURE
    model = Failing(InfrastructureError("engine gone"), times=9)
    attempt = await play(job(), toy_parts(model), retries=2)
    assert attempt.termination == Termination.INFRASTRUCTURE and attempt.score is None and not attempt.passed
    assert attempt.error == "InfrastructureError: engine gone" and model.calls == 3 and attempt.id == job().spec.digest


async def test_an_unforeseen_error_is_data_too():
    attempt = await play(job(), toy_parts(Failing(ZeroDivisionError("oops"), times=1)))
    assert attempt.termination == Termination.INFRASTRUCTURE and "ZeroDivisionError" in attempt.error


async def test_a_verifier_that_fails_leaves_the_attempt_unscored():
    class Broken:
        async def verify(self, task, key, output, files):
            raise InfrastructureError("verifier down")

    attempt = await play(job(), Parts(ToyModel(), Tracking(), Broken()))
    assert attempt.score is None and attempt.termination == Termination.INFRASTRUCTURE


@pytest.mark.parametrize("error", [UserError("no such adapter"), IntegrityError("prefix broken")])
async def test_a_wrong_setup_is_no_rollout(error):
    parts = toy_parts(Failing(error, times=9))
    with pytest.raises(type(error), match=str(error)):
        await play(job(), parts, retries=3)
    assert parts.model.calls == 1 and all(sandbox.closed for sandbox in parts.provider.opened)


async def test_tampering_earns_nothing_and_is_flagged():
    parts = toy_parts(provider=Tracking(Forging))
    attempts = [await play(job(draw=n), parts) for n in range(4)]
    for attempt in attempts:
        assert attempt.score.reward == 0 and not attempt.passed and "link leaves" in attempt.score.flags[0]
    assert all(sandbox.closed for sandbox in parts.provider.opened)


async def test_a_task_without_sandbox_opens_none():
    provider = Tracking()
    attempt = await play(job(needs_sandbox=False), toy_parts(provider=provider))
    assert provider.opened == [] and attempt.score is not None and attempt.spec.sandbox == "none"
    with pytest.raises(UserError, match="need a sandbox"):
        await play(job(), Parts(ToyModel(), None, toy_parts().verifier))


class SlowClose(PlainSandbox):
    async def close(self):
        await asyncio.sleep(0.05)
        await super().close()


async def test_teardown_survives_cancellation_twice():
    parts = toy_parts(ToyModel(seconds=60), Tracking(SlowClose))
    playing = asyncio.create_task(play(job(), parts))
    await asyncio.sleep(0.05)
    playing.cancel()
    await asyncio.sleep(0.01)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert [sandbox.closed for sandbox in parts.provider.opened] == [True]


async def test_local_runs_all_bounded_and_in_completion_order():
    class Busy(ToyModel):
        now = most = 0

        async def generate(self, request):
            Busy.now += 1
            Busy.most = max(Busy.most, Busy.now)
            try:
                return await super().generate(request)
            finally:
                Busy.now -= 1

    jobs = [job(n) for n in range(20)]
    executor = LocalExecutor(toy_parts(Busy(0.01)), concurrency=4, retries=0)
    attempts = [attempt async for attempt in executor.run(jobs)]
    assert sorted(a.id for a in attempts) == sorted(j.spec.digest for j in jobs)
    assert Busy.most == 4
    assert [a async for a in executor.run([])] == []


async def test_a_reader_that_leaves_early_leaves_nothing_behind():
    parts = toy_parts(ToyModel(0.05), Tracking())
    attempts = LocalExecutor(parts, concurrency=5, retries=0).run([job(n) for n in range(20)])
    await anext(attempts)
    await attempts.aclose()
    assert 5 <= len(parts.provider.opened) < 20 and all(sandbox.closed for sandbox in parts.provider.opened)
    assert len(asyncio.all_tasks()) == 1


async def test_nothing_of_a_key_reaches_the_model_or_the_sandbox():
    seen = []

    class Spy(ToyModel):
        async def generate(self, request):
            seen.append(request.model_dump_json())
            return await super().generate(request)

    class Watched(PlainSandbox):
        async def exec(self, command, timeout, limit=100_000):
            seen.append(command)
            return await super().exec(command, timeout, limit)

        async def put(self, files):
            seen.append(repr(dict(files)))
            await super().put(files)

    canary = "canary-5f2c"
    hook = StopHook(name="h", message="Again.", command="true")
    task = make_task(1)
    key = TaskKey(task_id=task.id, reference=f"echo {canary}", checks=(OutputCheck(expected=canary),))
    harness = HARNESS.model_copy(update={"stop_hooks": (hook,), "budgets": Budgets(turns=3, tokens=500)})
    played = job().model_copy(update={"key": key, "harness": harness})
    attempts = [
        await play(
            played.model_copy(update={"spec": make_spec(task, PAIR, "c", n, "plain")}),
            toy_parts(Spy(), Tracking(Watched)),
        )
        for n in range(3)
    ]
    assert len(seen) > 6 and not any(canary in text for text in seen)
    for attempt in attempts:
        assert canary in attempt.score.detail  # it reached the verifier, and what people read
        assert canary not in attempt.model_copy(update={"score": None}).model_dump_json()


def test_what_travels_pickles():
    assert pickle.loads(pickle.dumps(job())) == job()


async def test_a_job_of_another_sandbox_is_refused():
    """An attempt must not be recorded under a sandbox that it was not played in."""
    other = job()
    other = other.model_copy(update={"spec": other.spec.model_copy(update={"sandbox": "docker-1/runc/x"})})
    with pytest.raises(UserError, match=r"'docker-1/runc/x' and this process has 'plain'"):
        await play(other, toy_parts())
