"""The parts of a run's cycle, made from what people wrote, the store, the model and what plays attempts."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rsi.banks.near import SealedScan
from rsi.banks.salt import load_salt, planted_word
from rsi.config import RunSettings, home
from rsi.discovery.propose import ModelProposer
from rsi.expansion.promote import sandboxed
from rsi.gate.bait import Bait
from rsi.gate.canaries import Guard
from rsi.gate.contract import Contract
from rsi.generation import Parts
from rsi.ports import Executor, Trainer
from rsi.registry.champions import Champions
from rsi.registry.engine import Database
from rsi.registry.lease import Lease
from rsi.registry.ledger import Ledger
from rsi.registry.looks import Looks
from rsi.registry.reviews import Reviews
from rsi.registry.store import SqlStore
from rsi.results import Results
from rsi.rollouts.local import LocalExecutor
from rsi.rollouts.losses import Losses
from rsi.rollouts.record import Recording
from rsi.sandbox.probe import kind_of
from rsi.types import Attempt, HarnessConfig, Pair, Task
from rsi.update.stage import Training
from rsi.wiring.budget import Spending, scope, spent
from rsi.wiring.certificates import Prover
from rsi.wiring.inputs import Inputs, Place, Say
from rsi.wiring.models import OpenModel
from rsi.wiring.paths import adapters, work
from rsi.wiring.results import report
from rsi.wiring.training import LearnerSamples, Rollouts, executor_parts, learner_backend

Progress = Callable[[str, int, int], None]
AHEAD = 4  # sealed shards of later generations that no open task may come near


@dataclass(frozen=True)
class Books:
    """What a run writes in: the store, under the lineage's lease, signed with the key where there is one."""

    database: Database
    lease: Lease
    key: bytes | None


def parts(inputs: Inputs, books: Books, model: OpenModel, executor: Executor, say: Say, progress: Progress) -> Parts:
    place, settings = inputs.place, inputs.place.settings
    held = (books.database, books.lease, books.key)
    store, registry, bank = SqlStore(*held), Champions(*held), place.bank.definition
    spending, bait = spent(settings, books.database), Bait(place.bank, _word(settings), settings.gate.canaries)
    recording = Recording(
        bank=bait,
        executor=executor,
        store=store,
        sandbox=place.identity,
        specialist=bank.specialist,
        spend=spending.draw,
        progress=progress,
        losses=Losses(settings.rollouts.max_lost, settings.rollouts.concurrency),
    )
    owed = Results(settings.lineage, store, registry).next_owed()
    training = _training(place, model, recording, spending, owed)
    return Parts(
        store=store,
        registry=registry,
        looks=Looks(*held),
        reviews=Reviews(*held),
        bank=place.bank,
        draw=functools.partial(_scoped_draw, recording, scope(settings)),
        proposer=lambda pair: ModelProposer(model.backend, pair.adapters.get(training.specialist)),
        certify=training.certify,
        sealed_scan=training.sealed_scan,
        catalogue=inputs.catalogue,
        forbidden=[name for name, family in bank.families.items() if family.role == "held_out"],
        training=training,
        contract=inputs.contract,
        guard=_guard(place, bait, recording, store, Ledger(*held), inputs.contract),
        report=lambda n: report(settings, books.database, n, say),
        say=say,
        prove=sandboxed(place.provider) if place.provider is not None else None,
        limits=place.limits,
        salt=place.bank.salt_digest,
    )


def _word(settings: RunSettings) -> str:
    return planted_word(load_salt(home()), settings.lineage)


def _guard(
    place: Place, bait: Bait, recording: Recording, store: SqlStore, ledger: Ledger, contract: Contract
) -> Guard:
    prefix = scope(place.settings)
    scan = functools.cache(lambda shard: SealedScan(place.bank.tasks("sealed", shard)))
    return Guard(
        bait=bait,
        prove=Prover(place.bank, place.provider, fresh=True),
        holding=lambda word, purpose, but: store.holding(word, f"{prefix}/{purpose}", f"{prefix}/{but}"),
        near=lambda generation, task: scan(generation)(task),
        chain=lambda outcome: ledger.once(place.settings.lineage, "canary", outcome),
        replay=functools.partial(_scoped_replay, recording, prefix) if contract.asks("replay_gap") else None,
    )


def make_executor(place: Place, model: OpenModel) -> Executor:
    rollouts, kind = place.settings.rollouts, kind_of(place.identity)
    if rollouts.executor == "ray":
        from rsi.rollouts.ray import RayExecutor

        make = functools.partial(executor_parts, model.backend, kind, place.settings.allow_env)
        return RayExecutor(make, rollouts.workers, rollouts.concurrency, rollouts.retries)
    here = executor_parts(model.backend, kind, place.settings.allow_env)
    return LocalExecutor(here, rollouts.concurrency, rollouts.retries)


async def _scoped_draw(
    recording: Recording, prefix: str, tasks: Sequence[Task], pair: Pair, harness: HarnessConfig, k: int, purpose: str
) -> Sequence[Sequence[Attempt]]:
    return await recording.draw(tasks, pair, harness, k, f"{prefix}/{purpose}")


async def _scoped_replay(
    recording: Recording, prefix: str, tasks: Sequence[Task], pair: Pair, harness: HarnessConfig, purpose: str
) -> Sequence[Attempt]:
    return await recording.replay(tasks, pair, harness, f"{prefix}/{purpose}")


def _training(place: Place, model: OpenModel, recording: Recording, spending: Spending, generation: int) -> Training:
    settings = place.settings
    rollouts = settings.rollouts
    return Training(
        trainer=_trainer(model, spending, settings.model.max_batch),
        rollouts=Rollouts(
            place.bank, scope(settings), place.identity, rollouts.concurrency, rollouts.retries, settings.allow_env
        ),
        store=recording.losses.counted(recording.store, f"{scope(settings)}/update/train"),
        certify=Prover(place.bank, place.provider),
        sealed_scan=SealedScan(sealed(place, generation)),
        progress=recording.progress,
        base=str(model.folder or ""),
        adapters=str(adapters()),
        work=str(work()),
        specialist=place.bank.definition.specialist,
        dtype=settings.model.dtype,
        device=settings.model.device,
        threads=settings.model.threads,
    )


def _trainer(model: OpenModel, spending: Spending, max_batch: int) -> Trainer:
    from rsi.update.trl.trainer import TrlTrainer

    backend = functools.partial(learner_backend, max_batch=max_batch)
    return LearnerSamples(TrlTrainer(backend), model.absent, spending.train)


def sealed(place: Place, generation: int) -> list[Task]:
    """The sealed tasks of every shard that this run, and a few after it, may look at; `generation` is the one owed."""
    shards = range(max(place.settings.generations, generation) + AHEAD)
    return [task for shard in shards for task in place.bank.tasks("sealed", shard)]
