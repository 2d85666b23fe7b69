import pytest
from open_world import SECRET, TinyBank
from scipy.stats import fisher_exact

from rsi.config import ExpansionSettings
from rsi.expansion.attribute import suspect, symptom
from rsi.expansion.check import cheating, forbidden_literals
from rsi.expansion.coverage import at, curve, equal_budget
from rsi.expansion.evidence import gains, loses, tail
from rsi.expansion.plan import EVIDENCE, cost, plan, ranked
from rsi.expansion.search import greedy, judge
from rsi.types import (
    AddExemplars,
    AddSkill,
    Attempt,
    AttemptSpec,
    Attribution,
    Completion,
    Edit,
    EditTrial,
    Exemplar,
    Locus,
    Sampling,
    Score,
    SetAnswerFormat,
    SetInstruction,
    SetSampling,
    Skill,
    Termination,
    Turn,
)

BANK = TinyBank(["count", "head", "sort"])


def attempt(task: str = "t", passed: bool = False, end: str = "answered", **more) -> Attempt:
    spec = AttemptSpec(task_id=task, pair="p", purpose="x", draw=0, sandbox="s", seed=0)
    score = Score(reward=float(passed), passed=passed, form=more.pop("form", 1.0))
    exit_code = more.pop("exit_code", 0)
    done = Completion(text="", prompt_ids=(), token_ids=(), logprobs=(), policy_version="v", finish="stop")
    fields = {"score": score, "output": "wrong", "turns": (Turn(completion=done, exit_code=exit_code),), **more}
    return Attempt(id="i", spec=spec, family="f", split="train", held_out=False, termination=Termination(end), **fields)


@pytest.mark.parametrize(
    ("trace", "locus"),
    [
        (attempt(end="no_action"), Locus.CONFIGURATION),
        (attempt(end="tokens"), Locus.CONFIGURATION),
        (attempt(end="seconds"), Locus.CONFIGURATION),
        (attempt(form=0.0), Locus.CONFIGURATION),
        (attempt(exit_code=2), Locus.CONFIGURATION),
        (attempt(output=" \n"), Locus.CONFIGURATION),
        (attempt(), Locus.MODEL),
        (attempt(end="infrastructure", score=None), Locus.INFRASTRUCTURE),
    ],
)
def test_a_locus_is_suspected_from_the_trace(trace: Attempt, locus: Locus):
    assert symptom(trace)[0] is locus
    assert suspect("t", [trace]).locus is locus
    assert suspect("t", [trace]).status == "suspected"


def test_infrastructure_never_outvotes_what_was_scored():
    lost = attempt(end="infrastructure", score=None)
    assert suspect("t", [lost, lost, lost, attempt()]).locus is Locus.MODEL
    assert suspect("t", [attempt(), attempt(end="turns"), attempt()]).evidence.endswith("in 2 of 3 failed attempts")


def test_the_tail_is_fishers_exact_one_sided_test():
    for n in (1, 4, 8, 24):
        for with_edit in range(n + 1):
            for without in range(0, n + 1, 3):
                table = [[with_edit, n - with_edit], [without, n - without]]
                assert tail(with_edit, without, n) == pytest.approx(fisher_exact(table, alternative="greater").pvalue)


def test_two_of_eight_against_none_is_enough_and_one_is_not():
    assert gains(0, 2, 8)
    assert not gains(0, 1, 8)
    assert not gains(5, 6, 24)
    assert not gains(0, 0, 0)
    assert loses(11, 5, 12)
    assert not loses(11, 10, 12)


def test_an_edit_that_breaks_the_control_slice_is_not_accepted():
    assert judge((0, 6, 8), (0, 0, 0))[0]
    assert judge((0, 6, 8), (12, 11, 12))[0]
    accepted, reason = judge((0, 6, 8), (12, 3, 12))
    assert not accepted
    assert "control 12 -> 3 of 12" in reason


def exemplars(family: str, request: str = "count the words of poem.txt", response: str = "```sh\nwc\n```") -> Edit:
    change = AddExemplars(exemplars=(Exemplar(request=request, response=response),))
    return Edit(name=f"exemplars-{family}", families=(family,), change=change)


def test_family_edits_come_first_each_family_once_before_any_twice():
    tasks = BANK.tasks("train")
    fails = [t for t in tasks if t.recipe.family == "sort"][:2] + [t for t in tasks if t.recipe.family == "count"][:1]
    general = Edit(name="a-format", change=SetAnswerFormat(text="Answer in a block."))
    cold = Edit(name="b-cold", change=SetSampling(sampling=Sampling(temperature=0.3)))
    skill = Edit(name="skill", families=("sort",), change=AddSkill(skill=Skill(name="s", triggers=("sort",), text="x")))
    catalogue = [cold, general, skill, exemplars("head"), exemplars("count"), exemplars("sort")]
    loci = [Attribution(task_id="t", locus=Locus.CONFIGURATION, status="suspected", evidence="")]
    names = [edit.name for edit in ranked(catalogue, fails, loci)]
    assert names == ["exemplars-sort", "exemplars-count", "skill", "a-format", "b-cold"]
    assert names == [edit.name for edit in ranked(catalogue[::-1], fails, loci)]
    model = [Attribution(task_id="t", locus=Locus.MODEL, status="suspected", evidence="")]
    assert [e.name for e in ranked(catalogue, fails, model)][-2:] == ["b-cold", "a-format"]


def test_twenty_families_at_zero_fit_a_demo_budget():
    bank = TinyBank([f"family{i}" for i in range(20)], each=1)
    fails = bank.tasks("train")
    settings = ExpansionSettings(attempts=300, edits=20)
    plans = plan([exemplars(f) for f in bank.families], fails, [], settings)
    assert len(plans) == 20
    assert all(each.draws in (7, 8) and not each.control for each in plans)
    assert 280 <= sum(cost(each, {}) for each in plans) <= 300


def test_plans_stay_within_the_budget_and_share_the_arm_without():
    fails, solved = BANK.tasks("train"), TinyBank(["tail", "uniq"]).tasks("train")
    edits = [exemplars("sort"), Edit(name="all", change=SetInstruction(text="x")), exemplars("sort", "other")]
    for attempts in (0, 3, 20, 60, 300):
        drawn: dict[str, int] = {}
        spent = 0
        for each in plan(edits, fails, solved, ExpansionSettings(attempts=attempts, control=2)):
            spent += cost(each, drawn)
            drawn |= {task.id: max(k, drawn.get(task.id, 0)) for task, k in each.arms}
            assert len(each.control) <= 2
            assert not {t.recipe.family for t in each.control} & set(each.edit.families)
        assert spent <= attempts
    assert len(plan(edits, fails, solved, ExpansionSettings(attempts=300))) == 3
    first = plan(edits[:1], fails, [], ExpansionSettings(attempts=300))[0]
    assert cost(first, {}) == 2 * cost(first, {task.id: first.draws for task in fails})
    assert first.draws * len(first.affected) >= EVIDENCE


def test_cheating_edits_are_refused_by_the_program():
    tasks = BANK.tasks("train")
    literals = forbidden_literals(tasks, BANK, ["hidden_family"])
    content = next(iter(tasks[0].files.values()))
    bad = {
        "it holds the request": exemplars("sort", request=tasks[0].request.upper().replace(" ", "  ")),
        "it holds a file": exemplars("sort", response=f"echo '{content}'"),
        "it holds the answer": Edit(name="x", change=SetInstruction(text=f"Say {SECRET} {tasks[1].id[::-1]}")),
        "it names a task": Edit(name="x", change=SetInstruction(text=f"In {tasks[2].id} be careful.")),
        "it names a held-out family": Edit(name="hidden_family-hint", change=SetInstruction(text="x")),
        "1 of the families it is meant for are not open": exemplars("hidden_family"),
    }
    for reason, edit in bad.items():
        assert cheating(edit, BANK.families, literals).startswith(reason)
        assert SECRET not in cheating(edit, BANK.families, literals)
    assert cheating(exemplars("sort"), BANK.families, literals) == ""
    assert cheating(exemplars("sort", "not_hidden_families at all"), BANK.families, literals) == ""


def test_a_request_that_all_instances_share_hints_at_none():
    class Shared(TinyBank):
        def _open(self, recipe, instance, split):
            return super()._open(recipe, instance, split).model_copy(update={"request": "Name the largest file."})

    bank = Shared(["sort"])
    literals = forbidden_literals(bank.tasks("train")[:1], bank, [])
    assert cheating(exemplars("sort", "Name the largest file."), bank.families, literals) == ""


def test_short_answers_do_not_refuse_honest_texts():
    class Short(TinyBank):
        def key(self, task):
            key = super().key(task)
            return key.model_copy(update={"checks": (key.checks[0].model_copy(update={"expected": "3"}),)})

    bank = Short(["sort"])
    literals = forbidden_literals(bank.tasks("train"), bank, [])
    assert cheating(exemplars("sort", response="head -n 3 a.txt"), bank.families, literals) == ""


def test_a_curve_counts_what_was_spent_pooled_and_unique():
    lost = attempt("a", end="infrastructure", score=None)
    points = curve([attempt("a"), attempt("a", True), lost, attempt("b", True), attempt("a", True), attempt("c", True),
                    attempt("b")], {"a", "b"})  # fmt: skip
    assert [(p.attempts, p.passes, p.covered) for p in points] == [
        (0, 0, 0),
        (2, 1, 1),
        (3, 2, 2),
        (4, 3, 2),
        (6, 3, 2),
    ]
    assert (at(points, 3).covered, at(points, 5).passes, at(points, 99).attempts) == (2, 3, 6)
    search, retry = equal_budget(points, curve([attempt("a"), attempt("a"), attempt("b", True)], {"a", "b"}))
    assert (search.attempts, retry.attempts) == (3, 3)
    assert (search.covered, retry.covered) == (2, 1)
    assert curve([], {"a"})[0].attempts == 0


def trial(name: str, passes: int, kind: str = "exemplars") -> EditTrial:
    change = SetInstruction(text=name) if kind == "instruction" else exemplars("sort", name).change
    edit = Edit(name=name, change=change)
    return EditTrial(edit=edit, affected=(0, passes, 8), control=(0, 0, 0), accepted=passes > 1, reason="gain")


def test_the_composition_takes_the_better_of_edits_that_undo_each_other():
    trials = [trial("a", 3, "instruction"), trial("b", 5, "instruction"), trial("c", 2), trial("d", 1), trial("e", 2)]
    chosen, told = greedy(trials)
    assert [edit.name for edit in chosen] == ["b", "c", "e"]
    assert "'b' gained more" in told[0].reason
    assert [t.edit.name for t in told] == ["a", "b", "c", "d", "e"]
    assert greedy(trials[::-1])[0] == chosen
