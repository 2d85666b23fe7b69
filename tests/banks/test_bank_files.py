"""bank.toml and catalogue.toml are strict, and the four HCP documents that ship say what the catalogues say."""

from pathlib import Path

import pytest

from rsi.banks.catalogue import load_catalogue
from rsi.banks.generated import GeneratedBank, open_bank
from rsi.errors import UserError
from rsi.harness.prompt import chosen_exemplars
from rsi.hcp.document import load
from rsi.types import AddExemplars, Recipe, Sampling, SetBudgets, SetSampling

ROOT = Path(__file__).resolve().parents[2]

GOOD = """version = 1
name = "mine"
generator = "reason"
specialist = "chat"
needs_sandbox = false
[splits]
train = { instances = 2 }
selection = { instances = 2 }
sealed = { instances = 2, difficulties = [1, 2] }
[families]
add = { role = "train", difficulty = [1, 2] }
double = { role = "held_out" }
"""


def write(folder: Path, text: str, name: str = "bank.toml") -> Path:
    (folder / name).write_text(text)
    return folder


def test_a_bank_of_ones_own(tmp_path):
    bank = open_bank(write(tmp_path, GOOD), b"s" * 32)
    assert bank.open_families == ("add",)
    assert [len(bank.tasks(split)) for split in ("train", "selection", "sealed")] == [2, 2, 4]
    assert {task.recipe.difficulty for task in bank.tasks("sealed")} == {1, 2}
    with pytest.raises(UserError, match="difficulties 1 to 2"):
        bank.make(Recipe(family="add", difficulty=3), 1, "train")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 1", "version = 2", "'version'"),
        ('specialist = "chat"', 'specialist = "poet"', "'specialist'"),
        ("needs_sandbox", "needs_sandbx", "'needs_sandbx'"),
        ("[families]", "[families]\nhalve = {}", "'families.halve'.*no such family"),
        ('generator = "reason"', 'generator = "mine"', "'generator'.*no such table 'mine'"),
        ('role = "train"', 'role = "held_out"', "'families'.*all are held out"),
        ("[1, 2] }\ndouble", "[2, 1] }\ndouble", "'families.add'.*upside down"),
        ("instances = 2 }", "instances = 0 }", "'splits.train.instances'"),
        ("instances = 2 }", "instances = 2, seed = 3 }", "unknown key 'splits.train.seed'"),
        ("[splits]", "[splits", "malformed TOML.*line"),
    ],
)
def test_a_bad_bank_is_one_line_with_file_and_key(tmp_path, old: str, new: str, message: str):
    with pytest.raises(UserError, match=message) as caught:
        open_bank(write(tmp_path, GOOD.replace(old, new, 1)), b"s" * 32)
    assert str(tmp_path / "bank.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_bank(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        open_bank(tmp_path / "nowhere", b"s" * 32)


EDIT = """version = 1
[[edit]]
name = "one"
families = ["add"]
change = { kind = "answer_format", text = "Be short." }
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"add"', '"double"', "'edit.0.families'.*'double' is held out"),
        ('"add"', '"halve"', "'edit.0.families'.*no family 'halve'"),
        ("text =", "txt =", "'edit.0.change.answer_format.*'"),
        ("families", "familys", "unknown key 'edit.0.familys'"),
        ("version = 1\n", "version = 1\n" + EDIT.removeprefix("version = 1\n"), "'one' is given twice"),
    ],
)
def test_a_bad_catalogue_is_one_line_with_file_and_key(tmp_path, old: str, new: str, message: str):
    write(tmp_path, GOOD)
    assert [edit.name for edit in load_catalogue(write(tmp_path, EDIT, "catalogue.toml"))] == ["one"]
    write(tmp_path, EDIT.replace(old, new, 1), "catalogue.toml")
    with pytest.raises(UserError, match=message) as caught:
        load_catalogue(tmp_path)
    assert str(tmp_path / "catalogue.toml") in str(caught.value)


def documents(bank: GeneratedBank):
    folder = ROOT / "harness_configs" / bank.definition.name
    return load(folder / "bare.toml").harness(), load(folder / "default.toml").harness()


def catalogue(bank: GeneratedBank):
    return load_catalogue(ROOT / "task_banks" / bank.definition.name)


def easy(bank: GeneratedBank) -> set[str]:
    """The open families that begin at difficulty 1: what the documents that ship are made for."""
    return {name for name in bank.open_families if bank.definition.families[name].difficulty[0] == 1}


def test_bare_is_the_instruction_alone(bank: GeneratedBank):
    bare, default = documents(bank)
    assert bare.system
    assert not (bare.exemplars or bare.shots or bare.skills or bare.stop_hooks or bare.answer_format)
    assert bare.model_copy(update={"exemplars": default.exemplars, "shots": 2}).model_dump(
        exclude={"document_digest"}
    ) == default.model_dump(exclude={"document_digest"})
    assert bare.tools == (("shell",) if bank.definition.needs_sandbox else ())


def test_default_has_two_exemplars_an_open_family_from_the_catalogue(bank: GeneratedBank):
    _, default = documents(bank)
    first: dict[str, AddExemplars] = {}
    for edit in catalogue(bank):
        if isinstance(edit.change, AddExemplars):
            first.setdefault(edit.families[0], edit.change)
    assert set(first) >= easy(bank)
    assert all(change.shots == 2 and len(change.exemplars) == 2 for change in first.values())
    assert list(default.exemplars) == [exemplar for change in first.values() for exemplar in change.exemplars]
    assert default.shots == 2


def test_default_shows_every_open_task_its_own_familys_exemplars(bank: GeneratedBank):
    _, default = documents(bank)
    family = {
        exemplar.request: edit.families[0]
        for edit in catalogue(bank)
        if isinstance(edit.change, AddExemplars)
        for exemplar in edit.change.exemplars
    }
    for split in ("train", "selection", "sealed"):
        for task in [task for task in bank.tasks(split) if task.recipe.difficulty == 1][:80]:
            shown = {family[e.request] for e in chosen_exemplars(task.request, default.exemplars, 2)}
            assert task.held_out or shown == {task.recipe.family}, task.request


def test_catalogue_offers_every_kind_of_edit(bank: GeneratedBank):
    edits = catalogue(bank)
    kinds = {edit.change.kind for edit in edits}
    assert kinds == {"exemplars", "answer_format", "instruction", "skill", "sampling", "stop_hook", "budgets"}
    for edit in edits:
        if isinstance(edit.change, SetSampling):
            assert edit.change.sampling != Sampling()
        if isinstance(edit.change, SetBudgets):
            assert edit.change.budgets.turns > 1


def test_exemplars_are_no_tasks_and_fit_none(bank: GeneratedBank):
    """Copying an exemplar's response never answers a task: it names what no task holds, or is another answer."""
    tasks = [task for split in ("train", "selection", "sealed") for task in bank.tasks(split)]
    requests = {task.request for task in tasks}
    shown = [e for edit in catalogue(bank) if isinstance(edit.change, AddExemplars) for e in edit.change.exemplars]
    assert len({exemplar.request for exemplar in shown}) == len(shown)
    assert not {exemplar.request for exemplar in shown} & requests
    if bank.definition.needs_sandbox:
        used = " ".join(" ".join([task.request, *task.files]) for task in tasks)
        assert not [name for name in ("song", "team", "poem", "tale", "cfg", ".ini") if name in used]
        assert all(any(name in e.response for name in ("song", "poem", ".cfg", ".ini")) for e in shown)
    for exemplar in shown:
        start, end = ("```sh\n", "\n```") if bank.definition.needs_sandbox else ("<answer>", "</answer>")
        assert exemplar.response.startswith(start)
        assert exemplar.response.endswith(end)


def test_no_reference_of_a_task_stands_in_what_is_shown(bank: GeneratedBank):
    """Hazard 11: requests, files, catalogue and documents hold no reference command and no sealed content."""
    shown = "\n".join(
        path.read_text()
        for path in (*(ROOT / "harness_configs").rglob("*.toml"), *(ROOT / "task_banks").rglob("catalogue.toml"))
    )
    sealed = bank.tasks("sealed")
    assert not [task.request for task in sealed if task.request in shown]
    assert not [body for task in sealed for body in task.files.values() if body.strip() and body.strip() in shown]
    if bank.definition.needs_sandbox:
        for task in (*bank.tasks("train"), *bank.tasks("selection"), *sealed):
            reference = bank.key(task).reference
            assert reference not in task.model_dump_json()
            assert reference not in shown
