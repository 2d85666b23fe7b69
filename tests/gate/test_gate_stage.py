"""The stage on a bank and a draw of the test's own: both are seams, and the outcomes must be known exactly."""

from pathlib import Path

import pytest

from rsi.config import GateSettings
from rsi.errors import UserError
from rsi.gate.contract import Contract, load_contract
from rsi.gate.stage import judge
from rsi.gate.statistics import ARMS
from rsi.ids import digest, seed_of
from rsi.ports import Scene
from rsi.types import Attempt, AttemptSpec, Cost, HarnessConfig, Pair, Recipe, Score, Task, Termination

DEFAULT = load_contract(Path(__file__).resolve().parents[2] / "contracts/default.toml")
OLD = Pair(base="base", adapters={"agent": "a0"}, hcp="h0")
NEW = Pair(base="base", adapters={"agent": "a1"}, hcp="h1")
SETTINGS = GateSettings(draws=1, seen_instances=40, unseen_families=16)


class Bank:
    digest = "bank"

    def __init__(self, families=20, held_out=5):
        self.families, self.held_out = families, held_out

    def tasks(self, split, shard=0):
        assert split == "sealed"
        names = [(f"open{i}", False) for i in range(self.families)] + [(f"new{i}", True) for i in range(self.held_out)]
        return [self._task(name, held, shard, i) for i in range(4) for name, held in names]

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


async def gate(play, candidate=NEW, contract=DEFAULT, settings=SETTINGS, bank=None, looks=None):
    looks = [] if looks is None else looks

    def open_look(look):
        assert not play.log, "the look must be recorded before anything is drawn"
        looks.append(look)

    harness = HarnessConfig(document_digest=candidate.hcp, system="")
    return await judge(scene(play, bank), candidate, harness, contract, settings, open_look)


def clause(verdict, name):
    return next(c for c in verdict.clauses if c.name == name)


def half(pair, task, seed):
    return pair == NEW and seed % 2


def with_clause(**fields):
    return Contract.model_validate(
        {"version": 1, "name": "t", "clause": [{"name": "gain", "kind": "superiority", **fields}]}
    )


async def test_a_better_candidate_is_promoted_on_four_arms_with_equal_seeds():
    play, looks = Play(half), []
    verdict = await gate(play, looks=looks)
    assert verdict.decision == "promote"
    assert len(play.log) == 4 and len({purpose for _, purpose in play.log}) == 1
    assert verdict.look == looks[0].digest and len(set(looks[0].attempts)) == 4 * 56
    assert set(verdict.two_by_two) == set(ARMS) and set(verdict.effects) == {"weights", "harness", "interaction"}
    assert verdict.rates["candidate/all"].n == 56 and verdict.rates["candidate/unseen families"].n == 16
    assert verdict.rates["champion/unseen instances"].value == 0 and verdict.rates["champion/unseen instances"].n == 40
    gain = clause(verdict, "more sealed tasks pass").estimate
    assert gain.value == verdict.rates["candidate/all"].value and gain.low > 0
    assert len(verdict.reasons) == len(DEFAULT.clause)


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
    assert len(play.log) == 2 and set(verdict.effects) == {effect}
    assert verdict.effects[effect].value == clause(verdict, "more sealed tasks pass").estimate.value


async def test_no_gain_is_rejected_in_plain_words():
    verdict = await gate(Play(lambda *_: False))
    assert verdict.decision == "reject"
    assert "does not lie above 0" in clause(verdict, "more sealed tasks pass").reason


async def test_noise_between_equal_pairs_is_seldom_promoted():
    """A/A: both arms pass 40% of tasks, independently. At most a few of 20 may slip through at 95%."""
    promoted = 0
    for run in range(20):

        def rule(pair, task, seed, run=run):
            return seed_of(run, pair.digest, seed) % 100 < 40

        promoted += (await gate(Play(rule))).decision == "promote"
    assert promoted <= 2


async def test_tampering_and_waste_reject_even_with_a_gain():
    verdict = await gate(Play(lambda p, t, s: p == NEW, flagged=lambda p, t: p == NEW and t.recipe.family == "open1"))
    assert verdict.decision == "reject" and clause(verdict, "no tampering").held is False
    verdict = await gate(Play(half, tokens=lambda pair: 50 if pair == NEW else 20))
    assert verdict.decision == "reject" and clause(verdict, "tokens at most doubled").estimate.value == 2.5


async def test_a_loss_on_unseen_families_vetoes_a_mean_gain_and_is_reported():
    broken = {"new0", "new1"}
    verdict = await gate(Play(lambda p, t, s: not t.held_out if p == NEW else t.recipe.family in broken))
    assert clause(verdict, "more sealed tasks pass").held
    assert verdict.decision == "reject" and clause(verdict, "no visible loss on unseen families").held is False
    assert any("new0 (4)" in reason for reason in verdict.reasons)


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

    loose = Contract.model_validate(
        {**with_clause().model_dump(), "evaluation": {"min_completion_rate": 0.5}},
    )
    assert (await gate(Play(lambda *_: False, lost=lost), contract=loose)).decision == "indecisive"
    assert (await gate(Play(lambda *_: False), contract=loose)).decision == "reject"


async def test_too_many_lost_attempts_are_indecisive_whatever_the_clauses_say():
    verdict = await gate(Play(half, lost=lambda pair, task: task.recipe.family in {"open0", "open1"}))
    assert verdict.decision == "indecisive" and "of the attempts finished" in verdict.reasons[0]


async def test_missing_evidence_fails_and_too_little_is_indecisive():
    none = GateSettings(draws=1, seen_instances=40, unseen_families=0)
    verdict = await gate(Play(half), settings=none)
    assert verdict.decision == "reject" and clause(verdict, "no visible loss on unseen families").held is False
    few = GateSettings(draws=1, seen_instances=6, unseen_families=0)
    verdict = await gate(Play(half), settings=few, contract=with_clause())
    assert verdict.decision == "indecisive" and "too little to decide: 6 tasks" in verdict.reasons[0]


async def test_the_contract_decides_draws_and_bank():
    looks = []
    contract = Contract.model_validate(
        {**with_clause().model_dump(), "evaluation": {"draws": 2, "bank": "toy"}},
    )
    verdict = await gate(Play(half), contract=contract, looks=looks)
    assert len(looks[0].attempts) == 2 * 4 * 56 and verdict.rates["candidate/all"].n == 56
    other = Contract.model_validate({**with_clause().model_dump(), "evaluation": {"bank": "shell"}})
    with pytest.raises(UserError, match="bank 'shell'"):
        await gate(Play(half), contract=other)


async def test_unusable_input_is_refused():
    with pytest.raises(UserError, match="different bases"):
        await gate(Play(half), candidate=Pair(base="other", hcp="h1"))
    with pytest.raises(UserError, match="no sealed tasks"):
        await gate(Play(half), bank=Bank(0, 0))
