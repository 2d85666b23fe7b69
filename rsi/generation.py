"""One generation, stage by stage: each stage is an idempotent function from recorded inputs to a recorded output.

Killed anywhere, the next run finds the committed stages, takes their recorded attempts, and does only what is owed.
Knows the pure rooms and the ports; it must not know models, sandboxes, databases or Prefect.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rsi.config import RunSettings
from rsi.discovery.stage import discover
from rsi.errors import IntegrityError, ReviewPending, UserError
from rsi.expansion.stage import expand, selectable
from rsi.figures import exact
from rsi.gate.canaries import Guard, Suspect, facts, line, watch
from rsi.gate.certified import Certified, looked_at, quarantine, worn
from rsi.gate.contract import Contract
from rsi.gate.review import Standing, candidate_request, earlier_request, edit_requests, ledgered, standing, unapproved
from rsi.gate.stage import Candidate, judge
from rsi.hcp.document import recorded
from rsi.ports import Certifier, Draw, LookBook, Proposer, Prove, Registry, ReviewBook, Scene, Store, TaskBank
from rsi.results import CANARIES, STAGES, Judgement, Results
from rsi.types import Edit, OpenTask, Pair, PairRecord, Rate, Update, Verdict
from rsi.update.stage import Training, update


@dataclass(frozen=True)
class Parts:
    """Everything a cycle works with, made in `wiring`. `report(generation)` mirrors a generation to people."""

    store: Store
    registry: Registry
    looks: LookBook
    reviews: ReviewBook
    bank: TaskBank
    draw: Draw
    proposer: Callable[[Pair], Proposer]
    certify: Certifier
    sealed_scan: Callable[[OpenTask], str | None]
    catalogue: Sequence[Edit]
    forbidden: Sequence[str]  # words that no edit may hold: names of held-out families
    training: Training
    contract: Contract
    guard: Guard
    report: Callable[[int], None]
    say: Callable[[str], None]
    prove: Prove | None = None
    limits: Mapping[str, str] = field(default_factory=dict)  # of the sandbox, as they hold here
    salt: str = ""  # digest of the home's secret salt, from which the sealed tasks come


# Steps committed on their own: why tasks are left out of the selection and of the look, by task id.
SELECTABLE, CERTIFIED = "certified-selection", "certified"


class Cycle(Results):
    """The generations of one lineage, with what it takes to run them. The caller holds the lineage's lease."""

    def __init__(self, settings: RunSettings, parts: Parts) -> None:
        super().__init__(settings.lineage, parts.store, parts.registry)
        self.settings = settings
        self.parts = parts
        self._stages = {
            "start": self._start,
            "discovery": self._discover,
            "expansion": self._expand,
            "update": self._update,
            SELECTABLE: self._certify_selection,
            CERTIFIED: self._certify_sealed,
            CANARIES: self._watch,
            "gate": self._gate,
            "promotion": self._promote,
            "report": self._report,
        }

    async def stage(self, name: str, generation: int) -> None:
        """Run one stage unless its output is committed already."""
        if not self.done(generation, name):
            output = await self._stages[name](generation)
            self.store.commit_stage(self.lineage, generation, name, output)

    async def run(self, generation: int) -> None:
        """All stages of a generation, in order."""
        for name in STAGES:
            await self.stage(name, generation)

    async def _start(self, n: int) -> str:
        champion = self._now()
        if n > 1 and (first := self.bank()) != self.settings.bank:
            raise UserError(
                f"lineage '{self.lineage}' runs bank '{first}', not '{self.settings.bank}'; start another lineage"
            )
        if n > 1 and self.salt() != self.parts.salt:
            raise UserError(
                f"lineage '{self.lineage}' began under salt {self.salt()[:12]}, this home's is {self.parts.salt[:12]}: "
                "its sealed tasks would be others; restore the file 'salt' of the home, or start another lineage"
            )
        self.parts.say(f"generation {n}: champion {champion.pair.name}")
        started = {
            "salt": self.parts.salt,
            "champion": champion.pair.digest,
            "bank": self.settings.bank,
            "bank digest": self.parts.bank.digest,
        }
        settings = self.settings.model_dump(mode="json")
        return json.dumps({**started, "limits": dict(self.parts.limits), "settings": settings})

    async def _discover(self, n: int) -> str:
        parts, scene, history = self.parts, self._scene(n), [self.discovered(k) for k in range(1, n)]
        proposer = parts.proposer(scene.champion)
        found = await discover(scene, proposer, parts.certify, self.settings.discovery, parts.sealed_scan, history)
        return found.model_dump_json()

    async def _expand(self, n: int) -> str:
        await self.stage(SELECTABLE, n)
        reviews, rules = self.parts.reviews, self.parts.contract.review
        approved, rejected = self._decided()
        expanded = await expand(
            self._certified(n, SELECTABLE),
            self.discovered(n),
            [edit for edit in (*self.parts.catalogue, *self._proposed(n, approved)) if edit.digest not in rejected],
            self.settings.expansion,
            approved,
            self.parts.forbidden,
            rules.waits_for,
        )
        waiting = tuple(edit for edit in expanded.waiting if edit.digest not in rejected)
        for request in edit_requests(self.lineage, n, waiting, reviews.docket(self.lineage), rules):
            reviews.ask(request)
            self.parts.say(f"edit '{request.name}' waits: rsi review show {request.digest[:12]}, with these settings")
        return expanded.model_copy(update={"waiting": waiting}).model_dump_json()

    def _decided(self) -> tuple[set[str], set[str]]:
        """Digests of the edits that people have approved, in the ledger or in the settings, and have rejected."""
        approved, rejected = ledgered(self.parts.reviews.docket(self.lineage), self.parts.contract.review)
        return {*approved, *self.settings.approved_edits} - rejected, rejected

    def _proposed(self, n: int, approved: Collection[str]) -> list[Edit]:
        """What earlier generations proposed of saved functions and a person has approved since; by then it is tried as
        any edit is."""
        waited = {edit.digest: edit for k in range(1, n) for edit in self.expanded(k).waiting}
        known = {edit.digest for edit in self.parts.catalogue}
        return [e for key, e in waited.items() if key in approved and key not in known]

    async def _update(self, n: int) -> str:
        harness = recorded(self.expanded(n).document).harness()
        tasks = self.discovered(n).tasks
        updated = await update(self._scene(n), self.parts.training, self.settings.update, harness, tasks)
        if updated.adapter is None:
            self.parts.say(f"update: no training: {updated.reason}")
        return updated.model_dump_json()

    async def _certify_sealed(self, n: int) -> str:
        used, settings = self._used(n), self.settings.gate
        fresh = Certified(self.parts.bank, used)
        failed = await quarantine(fresh, lambda bank: looked_at(bank, n, settings), self.parts.certify)
        for task_id, reason in failed.items():
            self.parts.say(f"gate: sealed task {task_id[:12]} is left out: {reason}")
        left_out = {**used, **failed}
        look = looked_at(Certified(self.parts.bank, left_out), n, settings)
        rest = {task.id for task in self.parts.bank.tasks("sealed", n)} - {task.id for task in look} - set(left_out)
        return json.dumps({**left_out, **dict.fromkeys(sorted(rest), "not certified: more than the look was to take")})

    def _used(self, n: int) -> dict[str, str]:
        """Why sealed tasks of generation `n` are retired, by id: looked at before."""
        past = [look for look in self.parts.looks.of(self.lineage) if look.generation < n]
        retired, shard = worn(past, self.parts.contract.evaluation.shard_looks), self.parts.bank.tasks("sealed", n)
        used = [task for task in shard if task.id in retired]
        if used:
            families = ", ".join(sorted({task.recipe.family for task in used}))
            self.parts.say(
                f"gate: {len(used)} of {len(shard)} sealed tasks have had their look in an earlier generation and are "
                f"left out; fresh ones are due for {families}"
            )
        return {task.id: "looked at in an earlier generation" for task in used}

    async def _certify_selection(self, n: int) -> str:
        wanted = self.settings.expansion.selection
        return json.dumps(await quarantine(self.parts.bank, lambda bank: selectable(bank, wanted), self.parts.certify))

    async def _watch(self, n: int) -> str:
        candidate, scene = self._make_candidate(n), self._certified(n, CERTIFIED)
        written = {name: self._output(n, name) for name in ("discovery", "expansion", "update")}
        suspect = Suspect(
            candidate.pair,
            recorded(candidate.document).harness(),
            {**written, "document": candidate.document},
            self.discovered(n).tasks,
        )
        tasks = looked_at(scene.bank, n, self.settings.gate)
        proofs = await asyncio.gather(*(self.parts.certify(task, scene.bank.key(task)) for task in tasks))
        outcome = await watch(scene, suspect, self.parts.guard, proofs)
        outcome = outcome.model_copy(update={"champion": self._now().pair.digest})
        self.parts.guard.chain(outcome)
        return outcome.model_dump_json()

    async def _stopped(self, n: int) -> Verdict | None:
        """The verdict on a candidate whose canaries were hit, once a person has set the lineage back; before that a
        UserError, however often it is run. None where no canary was hit."""
        await self.stage(CANARIES, n)
        if not (outcome := self.canaries(n)).hit:
            return None
        why = line(outcome)
        if self._now().pair.digest == outcome.champion:
            raise UserError(why)
        return Verdict(decision="reject", look="", clauses=(), rates={}, two_by_two={}, reasons=(why,))

    def _now(self) -> PairRecord:
        """The pair that is the lineage's champion at this moment; a person may have set it back."""
        champion = self.registry.current(self.lineage)
        if champion is None:
            raise IntegrityError(f"lineage {self.lineage} has no champion")
        return champion

    def _certified(self, n: int, step: str) -> Scene:
        """The scene over the bank without what the step left out."""
        scene = self._scene(n)
        return replace(scene, bank=Certified(scene.bank, json.loads(self._output(n, step))))

    async def _gate(self, n: int) -> str:
        candidate = self._make_candidate(n)
        self.registry.publish(candidate)
        scene, measured = self._scene(n), _facts(self.updated(n))
        if candidate.pair != scene.champion:
            await self.stage(CERTIFIED, n)
            scene = self._certified(n, CERTIFIED)
            if (refused := await self._stopped(n)) is not None:
                return Judgement(candidate=candidate.pair.digest, verdict=refused).model_dump_json()
            measured |= facts(self.canaries(n))
            self.parts.say(f"gate: candidate {candidate.pair.name} against the champion on sealed shard {n}")
        judged = Candidate(
            pair=candidate.pair,
            harness=recorded(candidate.document).harness(),
            specialist=self.parts.training.specialist,
            facts=measured,
        )
        verdict = await judge(scene, judged, self.parts.contract, self.settings.gate, self.parts.looks)
        if verdict.look:  # a candidate that equals the champion is refused without a look
            self.parts.looks.close(verdict)
            shown = verdict.model_dump(mode="json", include={"decision", "rates", "two_by_two", "effects", "gain"})
            self.registry.publish(candidate.model_copy(update={"evidence": shown}))
        return Judgement(candidate=candidate.pair.digest, verdict=verdict).model_dump_json()

    async def _promote(self, n: int) -> str:
        verdict = self.verdict(n)
        review = self._reviewed(n) if verdict.decision == "promote" else None
        if verdict.decision == "promote" and review in (None, "approved"):
            self.registry.promote(self.lineage, self.candidate(n).pair.digest, verdict.look)
        champion = self._now()
        outcome = f"{verdict.decision}, review: {review}" if review else verdict.decision
        self.parts.say(f"generation {n}: {outcome}; the champion is {champion.pair.name}")
        return json.dumps({"champion": champion.pair.digest, "review": review})

    def _reviewed(self, n: int) -> Standing | None:
        """What people decided on the candidate; None where nothing of it waits for them. Raises ReviewPending."""
        reviews, rules = self.parts.reviews, self.parts.contract.review
        old, new = self.champion(n), self.candidate(n)
        documents = recorded(old.document), recorded(new.document)
        docket = reviews.docket(self.lineage)
        request = candidate_request(self.lineage, n, (old.pair, new.pair), documents, rules)
        asked = earlier_request(request, docket)
        if self._now().pair == new.pair:  # promoted, then killed: what people decided since comes too late
            return "approved" if asked is not None else None
        if asked is not None:
            request = asked
            if (stands := standing(request, docket, rules)) != "waiting":
                return stands
        elif not unapproved(*documents, self.expanded(n).composed, self._decided()[0], rules):
            return None
        reviews.ask(request)
        raise ReviewPending(f"generation {n} waits for review: rsi review show {request.digest[:12]}")

    async def _report(self, n: int) -> str:
        self.parts.report(n)
        return json.dumps({"reported": True})

    def _make_candidate(self, n: int) -> PairRecord:
        """The champion's successor as the committed stages made it."""
        parent, document, updated = self.champion(n), recorded(self.expanded(n).document), self.updated(n)
        adapters, paths = dict(parent.pair.adapters), dict(parent.adapter_paths)
        if updated.adapter is not None:
            adapters[self.parts.training.specialist] = updated.adapter.name
            paths[self.parts.training.specialist] = updated.adapter.path
        same = document.digest == parent.pair.hcp and adapters == parent.pair.adapters
        return parent if same else PairRecord(
            pair=Pair(base=parent.pair.base, adapters=adapters, hcp=document.digest),
            lineage=self.lineage,
            generation=n,
            parent=parent.pair.digest,
            document=document.text,
            adapter_paths=paths,
        )  # fmt: skip

    def _scene(self, n: int) -> Scene:
        record = self.champion(n)
        return Scene(
            lineage=self.lineage,
            generation=n,
            seed=self.settings.seed,
            champion=record.pair,
            document=record.document,
            harness=recorded(record.document).harness(),
            bank=self.parts.bank,
            draw=self.parts.draw,
            say=self.parts.say,
            prove=self.parts.prove,
        )


def _facts(updated: Update) -> dict[str, Rate]:
    """What a contract may ask that no sealed attempt holds. Before its first step training compares sampler and learner
    (nats a token)."""
    steps = updated.adapter.metrics if updated.adapter is not None else ()
    gaps = [step["logprob_gap"] for step in steps if "logprob_gap" in step]
    return {"sampler_learner_gap": exact(gaps[0], 1, "the first training step")} if gaps else {}
