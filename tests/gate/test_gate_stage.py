"""The stage on a bank and a draw of the test's own: both are seams, and the outcomes must be known exactly."""

from pathlib import Path

import pytest

from rsi.config import GateSettings
from rsi.errors import UserError
from rsi.figures import exact, wilson
from rsi.gate.contract import Contract, load_contract
from rsi.gate.stage import Candidate, judge
from rsi.gate.statistics import ARMS
from rsi.ids import digest, seed_of
from rsi.ports import Scene
from rsi.types import Attempt, AttemptSpec, Cost, HarnessConfig, Look, Pair, Recipe, Score, Task, Termination

DEFAULT = load_contract(Path(__file__).resolve().parents[2] / "contracts/default.toml")
OLD = Pair(base="base", adapters={"agent": "a0"}, hcp="h0")
NEW = Pair(base="base", adapters={"agent": "a1"}, hcp="h1")
SETTINGS = GateSettings(draws=1, tasks=40, held_out_tasks=16)


class Bank:
    digest = "bank"

    def __init__(self, families=20, held_out=5, each=4):
        self.families, self.held_out, self.each = families, held_out, each

    def tasks(self, split, shard=0):
        assert split == "sealed"
        names = [(f"open{i}", False) for i in range(self.families)] + [(f"new{i}", True) for i in range(self.held_out)]
        return [self._task(name, held, shard, i) for i in range(self.each) for name, held in names]

    def _task(self, family, held, shard, i):
        name = digest([family, shard, i])
        return Task(
            id=name, bank="toy", recipe=Recipe(family=family), split="sealed", instance=i, held_out=held, request=name
        )


class Play:
    """Outcomes by rule(pair, task, seed) -> passed; `lost` and `flagged` say which attempts are lost or flagged."""

    def __init__(self, rule, lost=lambda pair, task: False, flagged=lambda pair, task: False, tokens=lambda pair: 20):
        self.rule, self.lost, self.flagged, self.tokens, self.log = rule, lost, flagged, tokens, []

    async def __call__(self, tasks, pair, harness, k, purpose):
        assert harness.document_digest == pair.hcp, "an arm must be played with its own harness"
        self.log.append((pair.digest, purpose))
        return [[self._one(task, pair, purpose, draw) for draw in range(k)] for task in tasks]

    def _one(self, task, pair, purpose, draw):
        seed = seed_of(task.id, purpose, draw)
        spec = AttemptSpec(task_id=task.id, pair=pair.digest, purpose=purpose, draw=draw, sandbox="none", seed=seed)
        lost, flags = self.lost(pair, task), ("tamper",) if self.flagged(pair, task) else ()
        passed = bool(self.rule(pair, task, seed)) and not flags
        return Attempt(
            id=spec.digest,
            spec=spec,
            family=task.recipe.family,
            split=task.split,
            held_out=task.held_out,
            termination=Termination.INFRASTRUCTURE if lost else Termination.ANSWERED,
            turns=(),
            score=None if lost else Score(reward=float(passed), passed=passed, flags=flags),
            cost=Cost(turns=1, completion_tokens=self.tokens(pair)),
        )


def scene(play, bank=None, champion=OLD):
    return Scene(
        lineage="main",
        generation=3,
        seed=0,
        champion=champion,
        document="",
        harness=HarnessConfig(document_digest=champion.hcp, system=""),
        bank=bank or Bank(),
        draw=play,
        say=lambda line: None,
    )


class Book:
    """Looks in memory. What is drawn before a look is opened is an error."""

    def __init__(self, play, looks):
        self.play, self.looks = play, looks

    def open(self, look):
        assert not self.play.log, "the look must be recorded before anything is drawn"
        self.looks.append(look)

    def of(self, lineage):
        return self.looks

    def close(self, verdict):
        raise AssertionError("the stage closes no look")


async def gate(play, candidate=NEW, contract=DEFAULT, settings=SETTINGS, bank=None, looks=None, watched=True):
    harness = HarnessConfig(document_digest=candidate.hcp, system="")
    facts = {"canary_passes": wilson(0, 4), "sealed_leaks": exact(0, 4, "")} if watched else {}
    judged = Candidate(candidate, harness, "agent", facts)
    book = Book(play, [] if looks is None else looks)
    return await judge(scene(play, bank), judged, contract, settings, book)


def clause(verdict, name):
    return next(c for c in verdict.clauses if c.name == name)


def half(pair, task, seed):
    return pair == NEW and seed % 2


def with_clause(evaluation=None, **fields):
    """One clause, judged once, at the error of a 95% interval."""
    return Contract.model_validate(
        {
            "version": 1,
            "name": "t",
            "evaluation": {"batches": 1, "held_back": 0} | (evaluation or {}),
            "error": {"lineage": 0.05, "horizon": 2},
            "clause": [{"name": "gain", "kind": "superiority", **fields}],
        }
    )


async def test_a_better_candidate_is_promoted_and_measured_on_tasks_held_back():
    play, looks = Play(half), []
    verdict = await gate(play, looks=looks)
    assert verdict.decision == "promote"
    assert {purpose for _, purpose in play.log} == {"gen3/gate"} and len({pair for pair, _ in play.log}) == 4
    assert verdict.look == looks[0].digest and len(set(looks[0].attempts)) == 4 * 56
    assert looks[0].alpha == pytest.approx(0.05 / 20) and looks[0].spent == 0
    assert set(verdict.two_by_two) == set(ARMS) and set(verdict.effects) == {"weights", "harness", "interaction"}
    assert verdict.gain.n == 8 == verdict.two_by_two[ARMS[0]].n and verdict.gain.low < verdict.gain.value
    judged = verdict.rates["candidate/all"].n
    assert judged == verdict.rates["candidate/unseen instances"].n + verdict.rates["candidate/unseen families"].n
    assert clause(verdict, "more sealed tasks pass").estimate.low > 0 and verdict.batches[0] <= verdict.batches[1] == 3
    assert len(verdict.reasons) == len(DEFAULT.clause)
    assert set(verdict.digests) == {"contract", "champion", "candidate", "sealed", "attempts", "sandbox", "code"}


async def test_a_clear_case_ends_early_and_a_bad_one_earlier():
    big = GateSettings(tasks=400, held_out_tasks=0)
    bank = Bank(families=40, held_out=0, each=5)
    good, same, bad = (
        Play(rule)
        for rule in (
            lambda p, t, s: p == NEW or s % 5 == 0,
            lambda p, t, s: seed_of(p.digest, s) % 2,
            lambda p, t, s: p == OLD or s % 5 == 0,
        )
    )
    verdicts = [await gate(play, bank=bank, settings=big) for play in (good, same, bad)]
    assert [(v.decision, v.stopped) for v in verdicts] == [
        ("promote", "success"),
        ("reject", "futility"),
        ("reject", "harm"),
    ]
    assert verdicts[0].batches[0] <= 2 and verdicts[2].batches[0] <= 2 and verdicts[1].batches[0] < 8
    assert verdicts[2].gain is None and not verdicts[2].two_by_two and "does harm" in verdicts[2].reasons[0]


async def test_each_look_spends_of_what_the_lineage_has_left():
    looks = [
        Look(lineage="main", generation=n, champion="", candidate="", contract="", sealed="", attempts=(), alpha=a,
             budget=0.04)
        for n, a in ((1, 0.01), (2, 0.01), (3, 0.5))
    ]  # fmt: skip
    await gate(Play(half), looks=looks)
    assert looks[-1].spent == pytest.approx(0.02)  # this generation's own look does not count
    assert looks[-1].budget == 0.04 and looks[-1].alpha == pytest.approx(0.02 / 20)
    spent = [looks[0].model_copy(update={"alpha": 0.05, "budget": 0.05})]
    verdict = await gate(Play(half), looks=spent)
    assert (verdict.decision, verdict.look) == ("indecisive", "") and "error budget" in verdict.reasons[0]


async def test_the_same_inputs_open_the_same_look_and_give_the_same_verdict():
    looks = []
    first, second = await gate(Play(half), looks=looks), await gate(Play(half), looks=looks)
    assert first == second and looks[0] == looks[1]
    other = await gate(Play(half), contract=with_clause(), looks=looks)
    assert other.look != first.look


async def test_an_unchanged_pair_is_rejected_without_a_look():
    play, looks = Play(half), []
    verdict = await gate(play, candidate=OLD, looks=looks)
    assert verdict.decision == "reject" and verdict.reasons == ("nothing changed",) and not play.log and not looks


@pytest.mark.parametrize(
    ("candidate", "effect"),
    [
        (Pair(base="base", adapters={"agent": "a0"}, hcp="h1"), "harness"),
        (Pair(base="base", adapters={"agent": "a1"}, hcp="h0"), "weights"),
    ],
)
async def test_a_change_of_one_factor_draws_two_arms_and_reports_its_effect_alone(candidate, effect):
    play = Play(lambda pair, task, seed: pair == candidate and seed % 2)
    verdict = await gate(play, candidate=candidate)
    assert len({pair for pair, _ in play.log}) == 2 and set(verdict.effects) == {effect}
    assert verdict.effects[effect].value == verdict.gain.value


async def test_no_gain_is_rejected_in_plain_words():
    verdict = await gate(Play(lambda *_: False))
    assert verdict.decision == "reject"
    assert "does not lie above 0" in clause(verdict, "more sealed tasks pass").reason


async def test_noise_between_equal_pairs_is_seldom_promoted():
    """A/A: both arms pass 40% of tasks, independently."""
    promoted = 0
    for run in range(20):

        def rule(pair, task, seed, run=run):
            return seed_of(run, pair.digest, seed) % 100 < 40

        promoted += (await gate(Play(rule))).decision == "promote"
    assert promoted == 0


async def test_who_met_no_canaries_is_not_promoted():
    verdict = await gate(Play(half), watched=False)
    assert verdict.decision == "reject" and clause(verdict, "nothing impossible is passed").held is False
    seen = clause(await gate(Play(half)), "nothing impossible is passed")
    assert seen.held and seen.estimate == wilson(0, 4) and seen.estimate.high > 0.4


async def test_a_clause_on_no_task_is_said_before_anything_is_spent():
    looks = []
    for slice in ("tag:nonesuch", "specialist:nobody"):
        with pytest.raises(UserError, match=f"'{slice}', so nothing could be promoted"):
            await gate(Play(half), contract=with_clause(slice=slice), looks=looks)
    assert not looks
    facts = {"name": "none leaks", "kind": "zero", "metric": "sealed_leaks", "slice": "family:nonesuch"}
    asked = with_clause().model_dump()
    verdict = await gate(Play(half), contract=Contract.model_validate(asked | {"clause": [*asked["clause"], facts]}))
    assert verdict.decision == "promote" and clause(verdict, "none leaks").held


async def test_a_family_that_is_not_among_the_tasks_held_back_is_no_cheating():
    for family in sorted({task.recipe.family for task in Bank().tasks("sealed", 1)})[::4]:
        zero = {"name": "x", "kind": "zero", "metric": "flags", "slice": f"family:{family}"}
        asked = with_clause().model_dump()
        asked |= {"evaluation": {"batches": 1, "held_back": 0.15}, "clause": [*asked["clause"], zero]}
        verdict = await gate(Play(half), contract=Contract.model_validate(asked))
        assert verdict.decision == "promote", (family, verdict.reasons)


async def test_tampering_and_waste_reject_even_with_a_gain():
    verdict = await gate(Play(lambda p, t, s: p == NEW, flagged=lambda p, t: p == NEW and t.instance == 1))
    assert verdict.decision == "reject" and clause(verdict, "no tampering").held is False
    play = Play(lambda p, t, s: p == NEW)
    play.flagged = lambda p, t: p == NEW and len(play.log) > 2  # once the decision has fallen
    verdict = await gate(play)
    assert verdict.decision == "reject" and "on the tasks held back: no tampering" in verdict.reasons[0]
    verdict = await gate(Play(half, tokens=lambda pair: 50 if pair == NEW else 20))
    assert verdict.decision == "reject" and clause(verdict, "tokens at most doubled").estimate.value == 2.5


async def test_a_solved_family_that_is_lost_vetoes_a_mean_gain():
    vetoing = Contract.model_validate(
        with_clause().model_dump() | {"clause": [{"name": "gain", "kind": "superiority"},
                                                 {"name": "kept", "kind": "veto", "min_families": 2}]}
    )  # fmt: skip

    def rule(pair, task, seed):
        return task.recipe.family == "open1" if pair == OLD else task.recipe.family != "open1"

    settings = SETTINGS.model_copy(update={"tasks": 80, "draws": 4})
    verdict = await gate(Play(rule), contract=vetoing, settings=settings)
    assert clause(verdict, "gain").held and clause(verdict, "kept").held is False
    assert verdict.decision == "reject" and "open1" in clause(verdict, "kept").reason

    def noise(pair, task, seed):
        return pair == NEW or (task.recipe.family == "open1" and seed_of(pair.digest, seed) % 20)

    assert (await gate(Play(noise), contract=vetoing, settings=settings)).decision == "promote"


async def test_unseen_families_are_reported_and_bind_only_where_there_are_enough():
    def rule(pair, task, seed):
        return not task.held_out if pair == NEW else task.recipe.family in {"new0", "new1"}

    floor = {"name": "kept", "kind": "floor", "slice": "unseen_families", "of": "difference", "limit": -0.05}
    contract = with_clause().model_dump()
    contract = Contract.model_validate(contract | {"clause": [*contract["clause"], floor]})
    verdict = await gate(Play(rule), contract=contract)
    assert verdict.decision == "promote" and clause(verdict, "kept").held is False
    assert "reported only: fewer than 25" in clause(verdict, "kept").reason
    assert any("new0 (4)" in reason for reason in verdict.reasons)
    many = GateSettings(draws=1, tasks=80, held_out_tasks=120)
    verdict = await gate(Play(rule), contract=contract, settings=many, bank=Bank(held_out=30))
    assert verdict.decision == "reject" and clause(verdict, "kept").held is False


async def test_lost_attempts_that_could_decide_leave_it_indecisive():
    """Two tasks lost; the gain is so thin that counting them against the candidate undoes it."""
    bank = Bank()
    gained = {f"open{i}" for i in range(6)}

    def thin(pair, task, seed):
        return pair == NEW and task.recipe.family in gained and task.instance == 0

    alone = with_clause()
    assert (await gate(Play(thin), contract=alone, bank=bank)).decision == "promote"

    def lost(pair, task):
        return pair == NEW and task.recipe.family in {"open8", "open9"} and task.instance == 0

    # counted as passed by the champion where the candidate failed them, they take the interval below zero
    verdict = await gate(
        Play(thin, lost=lambda p, t: p == OLD and t.recipe.family in {f"open{i}" for i in (8, 9)} and t.instance == 0),
        contract=alone,
        bank=bank,
    )
    assert verdict.decision == "indecisive" and "lost to infrastructure" in verdict.reasons[0]
    # the candidate's own, lost where the champion fails, can only have helped it: the verdict stands
    assert (await gate(Play(thin, lost=lost), contract=alone, bank=bank)).decision == "promote"


async def test_a_rejection_that_lost_attempts_could_have_turned_is_indecisive():
    def lost(pair, task):
        return pair == NEW and task.recipe.family in {f"open{i}" for i in range(8)} and task.instance == 0

    loose = with_clause(evaluation={"min_completion_rate": 0.5})
    assert (await gate(Play(lambda *_: False, lost=lost), contract=loose)).decision == "indecisive"
    assert (await gate(Play(lambda *_: False), contract=loose)).decision == "reject"


async def test_too_many_lost_attempts_are_indecisive_whatever_the_clauses_say():
    verdict = await gate(
        Play(half, lost=lambda pair, task: task.recipe.family in {"open0", "open1"}), contract=with_clause()
    )
    assert verdict.decision == "indecisive" and "of the attempts finished" in verdict.reasons[0]


async def test_missing_evidence_fails_and_too_little_is_indecisive():
    parity = {"name": "agree", "kind": "parity", "metric": "sampler_learner_gap", "limit": 0.1}
    contract = with_clause().model_dump()
    contract = Contract.model_validate(contract | {"clause": [*contract["clause"], parity]})
    verdict = await gate(Play(half), contract=contract)
    assert verdict.decision == "reject" and "was not measured" in clause(verdict, "agree").reason
    few = GateSettings(draws=1, tasks=6, held_out_tasks=0)
    verdict = await gate(Play(half), settings=few, contract=with_clause())
    assert verdict.decision == "indecisive" and "too little to decide: 6 tasks" in verdict.reasons[0]


async def test_the_contract_decides_draws_bank_and_temperature():
    looks = []
    verdict = await gate(Play(half), contract=with_clause(evaluation={"draws": 2, "bank": "toy"}), looks=looks)
    assert len(looks[0].attempts) == 2 * 4 * 56 and verdict.rates["candidate/all"].n == 56
    with pytest.raises(UserError, match="bank 'shell'"):
        await gate(Play(half), contract=with_clause(evaluation={"bank": "shell"}))
    verdict = await gate(Play(half), contract=with_clause(evaluation={"temperature": 0.25}))
    assert verdict.decision == "reject" and "temperature 0.25" in verdict.reasons[0] and not verdict.look


async def test_unusable_input_is_refused():
    with pytest.raises(UserError, match="different bases"):
        await gate(Play(half), candidate=Pair(base="other", hcp="h1"))
    with pytest.raises(UserError, match="no sealed tasks"):
        await gate(Play(half), bank=Bank(0, 0))
