"""A lineage's run: everything opened once, in order, and closed again."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass

from rsi.banks.catalogue import load_catalogue
from rsi.banks.definition import load_definition
from rsi.banks.generated import GeneratedBank, open_bank
from rsi.banks.near import SealedScan
from rsi.banks.salt import load_salt, planted_word, salt_digest
from rsi.config import ModelSettings, RunSettings, home, project_root
from rsi.discovery.propose import ModelProposer
from rsi.errors import UserError
from rsi.expansion.promote import sandboxed
from rsi.gate.bait import Bait
from rsi.gate.binding import check_bound
from rsi.gate.canaries import Guard
from rsi.gate.contract import Contract, load_contract
from rsi.generation import Cycle, Parts
from rsi.hcp.document import Document
from rsi.ports import Executor, SandboxProvider, Trainer
from rsi.registry.champions import Champions
from rsi.registry.engine import open_database
from rsi.registry.lease import acquire
from rsi.registry.ledger import Ledger
from rsi.registry.looks import Looks
from rsi.registry.reviews import Reviews
from rsi.registry.store import SqlStore
from rsi.results import Results
from rsi.rollouts.local import LocalExecutor
from rsi.rollouts.record import Recording
from rsi.sandbox.host import check_not_bound
from rsi.sandbox.probe import kind_of, probe
from rsi.types import Attempt, Edit, HarnessConfig, Pair, PairRecord, Task
from rsi.update.stage import Training
from rsi.wiring.browser import judge_limits, missing
from rsi.wiring.budget import Spending, scope, spent
from rsi.wiring.certificates import Prover
from rsi.wiring.founding import founding
from rsi.wiring.ledger import hold, key_of
from rsi.wiring.models import OpenModel, open_model
from rsi.wiring.paths import adapters, bank_folder, inside, start_document, work
from rsi.wiring.results import report
from rsi.wiring.training import LearnerSamples, Rollouts, executor_parts, learner_backend

Say = Callable[[str], None]
Progress = Callable[[str, int, int], None]
Opener = Callable[[ModelSettings], AbstractAsyncContextManager[OpenModel]]

AHEAD = 4  # sealed shards of later generations that no open task may come near


def no_progress(purpose: str, done: int, total: int) -> None:
    return None


@dataclass(frozen=True)
class Place:
    """Where a run takes place: its settings as they hold here, the bank, the sandbox."""

    settings: RunSettings
    bank: GeneratedBank
    provider: SandboxProvider | None

    @property
    def identity(self) -> str:
        return self.provider.identity if self.provider is not None else "none"

    @property
    def limits(self) -> Mapping[str, str]:
        """For the run's record: the sandbox, and which of its limits hold on this machine and how."""
        held = self.provider.limits if self.provider is not None else {}
        judging = judge_limits() if self.bank.definition.in_browser else {}
        return {"sandbox": self.identity, **held, **judging}


async def find_place(settings: RunSettings, say: Say) -> Place:
    """Probe the sandbox and open the bank; without a sandbox, the fallback bank in a lineage of its own, said aloud."""
    folder = bank_folder(settings.bank)
    definition = load_definition(folder, settings.difficulty)
    if definition.in_browser and (lacks := missing()):
        raise UserError(f"bank '{settings.bank}': {lacks}")
    provider, reasons = None, list[str]()
    needed = definition.needs_sandbox or definition.elsewhere or definition.in_browser
    if needed:
        check_not_bound([project_root(), home(), folder])
        provider, reasons = await probe(settings.sandbox, browser=definition.in_browser)
    if provider is not None or not needed:
        bank = open_bank(folder, load_salt(home()), settings.difficulty, provider)
        return Place(settings, bank, provider if definition.needs_sandbox else None)
    if settings.fallback_bank is None:
        raise UserError(f"bank '{settings.bank}' needs a sandbox and none starts here: {'; '.join(reasons)}")
    say(f"no sandbox ({'; '.join(reasons)}): bank '{settings.fallback_bank}' alone is run, not '{settings.bank}'")
    lineage = f"{settings.lineage}-{settings.fallback_bank}"
    chosen = {"bank": settings.fallback_bank, "fallback_bank": None, "lineage": lineage}
    return await find_place(settings.model_copy(update=chosen), say)


def settle(settings: RunSettings, say: Say) -> RunSettings:
    """The settings as they hold on this machine: those of the fallback bank where the bank cannot be run. UserError,
    before a model is fetched or loaded, where a file that they name is missing or malformed."""
    place = asyncio.run(find_place(settings, say))
    return _inputs(place)[3]


def _inputs(place: Place) -> tuple[Contract, Sequence[Edit], Document, RunSettings]:
    """Contract, catalogue, founding document, and the settings with the model that the document names, where they
    leave it to the document."""
    folder = bank_folder(place.settings.bank)
    contract = load_contract(inside(place.settings.contract))
    document, settings = founding(place.settings, start_document(place.settings.start, folder))
    salt, name = salt_digest(load_salt(home())), place.bank.definition.name
    check_bound(contract, name, salt, settings.seed, settings.model.id, settings.gate.canaries)
    known = set(place.bank.definition.families)  # the run may have cut the bank
    edits = [edit for edit in load_catalogue(folder) if set(edit.families) <= known]
    return contract, edits, document, settings


@asynccontextmanager
async def open_run(
    settings: RunSettings, say: Say, progress: Progress = no_progress, opener: Opener = open_model
) -> AsyncIterator[Cycle]:
    """The cycle of a lineage, under its lease. UserError or LeaseHeld before anything is drawn."""
    place = await find_place(settings, say)
    contract, catalogue, document, settings = _inputs(place)
    place = Place(settings, place.bank, place.provider)
    key = key_of(settings)
    with ExitStack() as stack:
        database = open_database()
        stack.callback(database.close)
        lease = stack.enter_context(acquire(database, settings.lineage))
        hold(settings, database, key, say)
        async with AsyncExitStack() as resources:
            model = await resources.enter_async_context(opener(settings.model))
            executor = _executor(place, model)
            resources.push_async_callback(executor.close)
            start(settings, model, document, Champions(database, lease, key))
            spending = spent(settings, database)
            word = planted_word(load_salt(home()), settings.lineage)
            bait = Bait(place.bank, word, settings.gate.canaries)
            store = SqlStore(database, lease)
            recording = Recording(
                bank=bait,
                executor=executor,
                store=store,
                sandbox=place.identity,
                specialist=place.bank.definition.specialist,
                spend=spending.draw,
                progress=progress,
            )
            owed = Results(settings.lineage, recording.store, Champions(database)).next_owed()
            training = _training(place, model, recording, spending, owed)
            families = place.bank.definition.families
            if model.folder is None and settings.update.steps:
                say(f"model '{settings.model.id}' cannot be trained: the harness alone is searched")
            yield Cycle(
                settings,
                Parts(
                    store=recording.store,
                    registry=Champions(database, lease, key),
                    looks=Looks(database, lease, key),
                    reviews=Reviews(database, lease, key),
                    bank=place.bank,
                    draw=functools.partial(_scoped_draw, recording, scope(settings)),
                    proposer=lambda pair: ModelProposer(model.backend, pair.adapters.get(training.specialist)),
                    certify=training.certify,
                    sealed_scan=training.sealed_scan,
                    catalogue=catalogue,
                    forbidden=[name for name, family in families.items() if family.role == "held_out"],
                    training=training,
                    contract=contract,
                    guard=_guard(place, bait, recording, store, Ledger(database, lease, key), contract),
                    report=lambda n: report(settings, database, n, say),
                    say=say,
                    prove=sandboxed(place.provider) if place.provider is not None else None,
                    limits=place.limits,
                ),
            )


async def run_plain(settings: RunSettings, say: Say, progress: Progress = no_progress) -> None:
    """Run what generations 1..`settings.generations` owe, without Prefect."""
    async with open_run(settings, say, progress) as cycle:
        owed = cycle.owed(settings.generations)
        if not owed:
            say(f"nothing is owed: all {settings.generations} generations are done; --generations asks for more")
        for generation in owed:
            await cycle.run(generation)


def start(settings: RunSettings, model: OpenModel, document: Document, champions: Champions) -> None:
    """Make the founding pair champion where the lineage has none. UserError where it stands on another base."""
    champion = champions.current(settings.lineage)
    if champion is None:
        pair = Pair(base=model.base_digest, hcp=document.digest)
        champions.start(
            PairRecord(pair=pair, lineage=settings.lineage, generation=0, parent=None, document=document.text)
        )
    elif champion.pair.base != model.base_digest:
        raise UserError(
            f"lineage '{settings.lineage}' stands on base {champion.pair.base[:12]}, model '{settings.model.id}' is "
            f"{model.base_digest[:12]}; use that model, or another lineage"
        )


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


def _executor(place: Place, model: OpenModel) -> Executor:
    rollouts, kind = place.settings.rollouts, kind_of(place.identity)
    if rollouts.executor == "ray":
        from rsi.rollouts.ray import RayExecutor

        parts = functools.partial(executor_parts, model.backend, kind, place.settings.allow_env)
        return RayExecutor(parts, rollouts.workers, rollouts.concurrency, rollouts.retries)
    parts_here = executor_parts(model.backend, kind, place.settings.allow_env)
    return LocalExecutor(parts_here, rollouts.concurrency, rollouts.retries)


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
        store=recording.store,
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
