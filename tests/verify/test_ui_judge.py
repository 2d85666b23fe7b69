"""What a browser showed, against what a check expects."""

import base64
import json

import pytest

from rsi.types.ui import UiCheck, UiStep
from rsi.verify.ui.drive import View
from rsi.verify.ui.judge import judge

SECRET = "zq-4417-vault"
CHECK = UiCheck(
    steps=(UiStep(do="click", at="#up"), UiStep(do="read", at="#n", expected="4")), sent=("Ada",), no_ai=(SECRET,)
)
GOOD = {"leftmost": 0, "widest": 300, "seen": (True, "4"), "to_model": ('{"name":"Ada"}',), "requests": (), "errors": 0}


def told(**changed: object) -> str:
    return judge(CHECK, tuple(View.model_validate({**GOOD, **changed, "width": width}) for width in (360, 1024)))


def test_a_good_component_passes() -> None:
    assert told() == ""


@pytest.mark.parametrize(
    ("layer", "changed"),
    [
        ("renders", {"errors": 1}),
        ("controls", {"seen": (False, "4")}),
        ("controls", {"seen": (True, "5")}),
        ("controls", {"seen": (True, None)}),
        ("controls", {"seen": ()}),
        ("controls", {"to_model": ()}),
        ("overflow", {"widest": 2000}),
        ("constraints", {"requests": ("http://a.test/",)}),
    ],
)
def test_each_layer_is_named(layer: str, changed: dict[str, object]) -> None:
    assert told(**changed).startswith(layer)


def test_no_views_is_no_pass() -> None:
    assert judge(CHECK, ()).startswith("renders")


@pytest.mark.parametrize("lead", ["", "a", "ab", "abc"])
def test_a_secret_is_found_in_its_disguises(lead: str) -> None:
    forms = [SECRET, SECRET[::-1], SECRET.upper(), SECRET.encode().hex(), " ".join(SECRET)]
    forms.append(base64.b64encode((lead + SECRET + "!").encode()).decode())
    for form in forms:
        assert told(to_model=(json.dumps({"name": "Ada", "note": lead + form}),)).startswith("NoAI"), form


@pytest.mark.parametrize(
    "messages",
    [
        [{"x": SECRET[:5]}, {"x": SECRET[5:]}],
        [{"name": "Ada", "x": piece} for piece in SECRET],
        [{"i": n, "x": [ord(piece)]} for n, piece in enumerate(SECRET)],
        [{"x": {"a": SECRET[:3], "b": SECRET[3:]}}],
        [{SECRET[:6]: 1}, {SECRET[6:]: 2}],
        [{"x": base64.b64encode(SECRET.encode()).decode()[n : n + 4]} for n in range(0, 20, 4)],
        [SECRET[:4], SECRET[4:]],
    ],
)
def test_a_secret_told_in_pieces_is_found(messages: list[object]) -> None:
    assert told(to_model=('{"name":"Ada"}', *map(json.dumps, messages))).startswith("NoAI")


def test_parts_of_a_secret_that_never_make_it_whole_are_none() -> None:
    assert told(to_model=('{"name":"Ada","club":"zq"}', '{"name":"4417"}', "no JSON")) == ""


def test_a_flood_of_messages_and_broken_text_are_faults_of_the_component() -> None:
    assert told(to_model=('{"name":"Ada"}', "x" * 20_001)).startswith("constraints")
    assert told(to_model=('{"name":"Ada"}', '{"x":"\\ud83d"}', "\ud83d", "[" * 5000)) == ""
