"""The route bank: listed requests, exact labels, paraphrases that stay together, a held-out part written apart."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from rsi.banks.catalogue import load_catalogue
from rsi.banks.certify import certify
from rsi.banks.generated import open_bank
from rsi.banks.listed import quoted
from rsi.banks.near import SealedScan
from rsi.errors import UserError
from rsi.hcp import load
from rsi.types import AddExemplars, Recipe
from rsi.verify.checks import CheckVerifier

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "task_banks" / "route"
SPLITS = ("train", "selection", "sealed")
LABELS = {"chat", "agent", "coding", "genui"}


def listed(name):
    data = tomllib.loads((FOLDER / name).read_text())
    frame = "<request>{request}</request>"
    return [
        (family, label, [quoted(frame, wording) for wording in group])
        for family, labels in data["families"].items()
        for label, groups in labels.items()
        for group in groups
    ]


OPEN, HELD_OUT = listed("requests.toml"), listed("held_out.toml")


@pytest.fixture(scope="module")
def route():
    return open_bank(FOLDER, b"s" * 32)


def test_it_is_as_large_and_as_balanced_as_it_says():
    requests = [wording for _, _, group in OPEN + HELD_OUT for wording in group]
    assert len(requests) == len({wording.lower() for wording in requests}) == 624
    for part in (OPEN, HELD_OUT):
        shares = Counter(label for _, label, group in part for _ in group)
        assert set(shares) == LABELS
        assert max(shares.values()) / shares.total() == 0.25  # the majority-class baseline
    assert all(len(group) >= 3 for _, _, group in OPEN + HELD_OUT)  # paraphrases
    families = {family for family, _, _ in OPEN}, {family for family, _, _ in HELD_OUT}
    assert len(families[0]) == 20
    assert 0.2 <= len(families[1]) / (len(families[0]) + len(families[1])) <= 0.25


def test_a_group_of_paraphrases_never_straddles_splits(route):
    place = {t.request: t.split for split in SPLITS for shard in range(6) for t in route.tasks(split, shard)}
    for _, _, group in OPEN + HELD_OUT:
        assert len({place[wording] for wording in group if wording in place}) <= 1
    made = [
        route.make(Recipe(family=name, difficulty=route.definition.families[name].difficulty[0]), seed, split)
        for name in route.open_families
        for seed in range(4)
        for split in ("train", "selection")
    ]
    sealed = {request for request, split in place.items() if split == "sealed"}
    assert not {task.request for task in made} & sealed
    assert all(route.key(task).task_id == task.id for task in made)


def test_splits_are_whole_and_the_salt_decides_what_is_sealed(route):
    other = open_bank(FOLDER, b"t" * 32)
    assert [len(route.tasks(split)) for split in SPLITS] == [180, 120, 104]
    assert {t.recipe.family for t in route.tasks("sealed")} == set(route.definition.families)
    assert route.digest == other.digest and route.tasks("sealed") != other.tasks("sealed")
    shards = [{t.id for t in route.tasks("sealed", shard)} for shard in (0, 1)]
    assert not shards[0] & shards[1]
    held_out = {wording for _, _, group in HELD_OUT for wording in group}
    assert {t.held_out for t in route.tasks("sealed") if t.request in held_out} == {True}
    assert not held_out & {t.request for split in ("train", "selection") for t in route.tasks(split)}


def test_no_open_request_is_near_a_sealed_one_nor_to_the_held_out_part(route):
    scan = SealedScan([task for shard in range(6) for task in route.tasks("sealed", shard)])
    near = [task.request for split in ("train", "selection") for task in route.tasks(split) if scan(task)]
    assert not near


async def test_every_request_is_certified(route):
    for task in (task for split in SPLITS for task in route.tasks(split)):
        certificate = await certify(task, route.key(task), CheckVerifier(None), None)
        assert certificate.passed, (task.request, certificate.reason)
        assert route.key(task).reference in LABELS


def test_a_request_cannot_close_its_quotation(route):
    shown = [t.request for split in SPLITS for shard in range(6) for t in route.tasks(split, shard)]
    assert any("&lt;/request&gt;" in wording for _, _, group in OPEN for wording in group)
    assert all(text.count("<request>") == text.count("</request>") == 1 for text in shown)


def test_documents_and_catalogue_show_no_request_of_the_bank():
    requests = {wording.lower() for _, _, group in OPEN + HELD_OUT for wording in group}
    bare, default = (load(ROOT / "harness_configs/route" / f"{n}.toml").harness() for n in ("bare", "default"))
    assert bare.system == default.system and not bare.exemplars and default.shots == 4
    edits = load_catalogue(FOLDER)
    shown = [e for edit in edits if isinstance(edit.change, AddExemplars) for e in edit.change.exemplars]
    for exemplar in (*shown, *default.exemplars):
        assert exemplar.request.lower() not in requests
        assert exemplar.response.removeprefix("<answer>").removesuffix("</answer>") in LABELS


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[families.small_talk]", "[families.smalltalk]", "'families.small_talk'.*bank.toml names"),
        ("What is the distance from here to the Moon?", "How far away is the Moon?", "twice"),
        ("Rust code for an LRU cache, please.", "How far away is the Moon?", "twice"),
        ('"<request>{request}</request>"', '"<request></request>"', "'frame'"),
        ("[families.small_talk]\nchat", "[families.small_talk]\nchatty", ""),
    ],
)
def test_a_bad_list_is_one_line(tmp_path, old, new, message):
    for name in ("bank.toml", "requests.toml", "held_out.toml"):
        (tmp_path / name).write_text((FOLDER / name).read_text().replace(old, new, 1))
    if not message:  # any word may be an answer: the lists are not the router's alone
        assert open_bank(tmp_path, b"s" * 32)
        return
    with pytest.raises(UserError, match=message) as caught:
        open_bank(tmp_path, b"s" * 32)
    assert "\n" not in str(caught.value) and "requests.toml" in str(caught.value)
