"""One job becomes one attempt. This is the one place where a rollout's failure turns into data."""

import asyncio
import functools
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from rsi.errors import IntegrityError, TamperError, UserError
from rsi.harness import Episode, run_episode
from rsi.harness.exported import Exported
from rsi.ids import canonical, digest_tree
from rsi.ports import Deeds, ModelBackend, Sandbox, SandboxProvider, Verifier, Workspace
from rsi.rollouts.outputs import collected, keep
from rsi.text import clean
from rsi.turns import judge
from rsi.types import Attempt, Completion, Cost, Job, Score, Termination

MOST = 2000  # characters of what is recorded of a failure


async def nothing() -> None:
    """Where parts hold nothing that has to be ended."""


@dataclass(frozen=True)
class Parts:
    """What playing needs besides the job. `provider` is None where no sandbox can be had. `allow_env`: the names of
    this process's environment variables that a document may have in its sandbox. `outputs`: the folder on this machine
    for what documents want kept of a workspace (None: it is recorded, its files are not kept). `close` ends what was
    made for these parts alone; the executor that plays with them calls it."""

    model: ModelBackend
    provider: SandboxProvider | None
    verifier: Verifier
    allow_env: tuple[str, ...] = ()
    outputs: Path | None = None
    close: Callable[[], Awaitable[None]] = nothing


async def play(job: Job, parts: Parts, retries: int = 0) -> Attempt:
    """Play a job; after an infrastructure failure again, up to `retries` times, then yield it unscored.

    Bad work is a score, a broken machine an unscored attempt. UserError (a wrong set-up) and IntegrityError (a broken
    promise) propagate: who plays many (`local.Player`) knows whether it is this job's trouble alone."""
    failure: Exception
    for _ in range(retries + 1):
        try:
            return storable(await _play_once(job, parts))
        except (UserError, IntegrityError):
            raise
        except Exception as error:  # noqa: BLE001 the boundary that turns a rollout's failure into data
            failure = error
    return unscored(job, failure)


def unscored(job: Job, failure: BaseException) -> Attempt:
    """The attempt of a job that `failure` kept from being played."""
    error = clean(f"{type(failure).__name__}: {failure}")[:MOST]
    return _attempt(job, Episode((), "", Termination.INFRASTRUCTURE, Cost(), False), None, error)


def storable(attempt: Attempt) -> Attempt:
    """The attempt as a store can take it: text that is no Unicode is replaced, and log-probabilities that are no
    numbers are left out, which costs no score. ValueError where that does not help."""
    try:
        canonical(attempt)
    except ValueError:
        turns = tuple(turn.model_copy(update={"completion": _finite(turn.completion)}) for turn in attempt.turns)
        attempt = Attempt.model_validate(_clean(attempt.model_copy(update={"turns": turns}).model_dump()))
        canonical(attempt)
    return attempt


def _finite(completion: Completion) -> Completion:
    known = all(map(isfinite, completion.logprobs))
    return completion if known else completion.model_copy(update={"logprobs": ()})


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value


async def _play_once(job: Job, parts: Parts) -> Attempt:
    sandbox = await _open(job, parts.provider)
    try:
        seen = _with_environment(sandbox, job, parts.allow_env)
        episode = await run_episode(job.task, job.harness, parts.model, seen, job.spec.seed, job.adapter)
        files: Mapping[str, bytes] = {}
        try:
            files = await sandbox.get() if sandbox is not None else {}
            await _close(sandbox)  # before a verifier opens its own
            score = await judge(parts.verifier, job.task, job.key, episode.outputs, files)
        except TamperError as tampering:
            score = Score(reward=0.0, passed=False, flags=(f"tampering: {tampering}",))
        flags = parts.verifier.flags(job.task, job.key, _deeds(job, episode, files))
        if flags:
            score = score.model_copy(update={"reward": 0.0, "passed": False, "flags": (*score.flags, *flags)})
    finally:
        await _close(sandbox)
    outputs, kept = collected(job.harness.outputs if sandbox is not None else (), files)
    if kept and parts.outputs is not None:
        await asyncio.to_thread(keep, parts.outputs, job.spec.digest, kept)
    score = score.model_copy(update={"form": 1.0 if episode.well_formed else 0.0})
    return _attempt(job, episode, score).model_copy(update={"outputs": outputs})


def _deeds(job: Job, episode: Episode, files: Mapping[str, bytes]) -> Deeds:
    """What the agent did; an action without an exit code was never taken. A document's MCP servers and a repl live on
    between actions, so there what outlives them is not told apart."""
    alone = not job.harness.mcp and job.harness.protocol == "text"
    return Deeds(
        actions=tuple(turn.action or "" for turn in episode.turns if turn.exit_code is not None),
        output="\n".join(episode.outputs),
        files=files,
        outlived=files.outlived if isinstance(files, Workspace) and alone else 0,
        own=frozenset(file.path for file in job.harness.files if file.place == "agent"),
    )


async def _open(job: Job, provider: SandboxProvider | None) -> Sandbox | None:
    if not job.task.needs_sandbox:
        return None
    if provider is None:
        raise UserError(f"bank '{job.task.bank}': its tasks need a sandbox and this machine has none; see `rsi doctor`")
    if job.spec.sandbox != provider.identity:
        raise UserError(
            f"task {job.task.id[:12]}: its attempt is recorded as of sandbox '{job.spec.sandbox}' and this process has "
            f"'{provider.identity}'; run all workers on one set-up, or the whole run anew"
        )
    return await provider.open()


def _with_environment(sandbox: Sandbox | None, job: Job, allowed: tuple[str, ...]) -> Sandbox | None:
    """The sandbox with the variables that the document asks for and the operator allows. Values are read here and
    recorded nowhere."""
    names = [name for name in job.harness.env_names if name in allowed and name in os.environ]
    return Exported(sandbox, {name: os.environ[name] for name in names}) if sandbox is not None and names else sandbox


async def _close(sandbox: Sandbox | None) -> None:
    """Close to the end even where this task is cancelled meanwhile: a sandbox left behind holds memory."""
    if sandbox is None:
        return
    closing = asyncio.ensure_future(sandbox.close())
    try:
        await asyncio.shield(closing)
    except asyncio.CancelledError:
        await closing
        raise


def _attempt(job: Job, episode: Episode, score: Score | None, error: str = "") -> Attempt:
    task = job.task
    return Attempt(
        id=job.spec.digest,
        spec=job.spec,
        family=task.recipe.family,
        split=task.split,
        held_out=task.held_out,
        termination=episode.termination,
        turns=episode.turns,
        output=episode.output,
        score=score,
        cost=episode.cost,
        error=error,
        staged=episode.staged,
        hook_failures=episode.hook_failures,
        code_version=code_version(),
    )


@functools.cache
def code_version() -> str:
    """Digest of this package's own source tree, as it was when first asked."""
    return digest_tree(Path(__file__).resolve().parent.parent, "*.py")
