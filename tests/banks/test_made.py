"""What a generator from elsewhere writes is judged instance by instance: nonsense is quarantined with its reason."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from rsi.banks.certify import certify
from rsi.banks.made import contradicted, read_instance
from rsi.banks.scaffold import scaffold
from rsi.errors import IntegrityError
from rsi.types import Recipe, Task, TaskKey

SOUND = {
    "request": "Say 1.",
    "reference": "echo 1",
    "checks": [{"kind": "output", "expected": "1"}],
    "files": {"a": "b"},
}
CALLS = {"kind": "calls", "calls": ["f(1)"], "expected": ['{"value": 1}']}
DEEP = json.loads("[" * 500 + "]" * 500)


def calls(**changes):
    return SOUND | {"checks": [CALLS | changes]}


def check(**fields):
    return SOUND | {"checks": [fields]}


NONSENSE = {
    "calls whose result is no JSON": calls(expected=["True"]),
    "calls whose result is a plain value": calls(expected=["1"]),
    "calls whose result is empty": calls(expected=[""]),
    "calls whose result has no value": calls(expected=["{}"]),
    "calls whose result has two": calls(expected=['{"value": 1, "raises": "ValueError"}']),
    "calls whose error is a number": calls(expected=['{"raises": 3}']),
    "calls whose error is no name": calls(expected=['{"raises": "no such"}']),
    "calls whose result is no number": calls(expected=['{"value": NaN}']),
    "calls whose result is deep": calls(expected=['{"value": ' + "[" * 5000 + "]" * 5000 + "}"]),
    "calls whose result is huge": calls(expected=['{"value": %s}' % ("9" * 5000)]),
    "calls that are fewer": calls(calls=["f(1)", "f(2)"]),
    "calls that are none": calls(calls=[], expected=[]),
    "calls that are no expression": calls(calls=["f(1"]),
    "calls that are a statement": calls(calls=["import os"]),
    "calls that are deep": calls(calls=["(" * 900 + ")" * 900]),
    "calls that are long": calls(calls=["f(" + "1," * 4000 + ")"]),
    "calls with a zero byte": calls(calls=["f('\0')"]),
    "a module outside": calls(module="../x.py"),
    "an unknown kind": check(kind="python", code="x"),
    "no kind": check(expected="1"),
    "a kind that is a list": check(kind=["output"], expected="1"),
    "a component": check(kind="ui", steps=[{"do": "read", "at": "(", "expected": "x"}]),
    "a number as text": check(kind="output", expected=1),
    "a mode that is none": check(kind="output", expected="1", mode="regex"),
    "a numeric answer that is a word": check(kind="output", expected="many", mode="numeric"),
    "a numeric answer that is no number": check(kind="output", expected="nan", mode="numeric"),
    "a numeric answer that is huge": check(kind="output", expected="1e999", mode="numeric"),
    "a negative mode": check(kind="file", path="a", content="x", mode=-1),
    "a mode of text": check(kind="file", path="a", content="x", mode="0644"),
    "a mode beyond bits": check(kind="file", path="a", content="x", mode=10**30),
    "a mode of truth": check(kind="file", path="a", content="x", mode=True),
    "an absolute path": check(kind="file", path="/etc/passwd", content="x"),
    "a path that leaves": check(kind="file", path="a/../../b", content="x"),
    "a path of control characters": check(kind="file", path="a\x1b[2J", content="x"),
    "a program of numbers": check(kind="program", command=["ls"], expected="x"),
    "no checks": SOUND | {"checks": []},
    "checks that are text": SOUND | {"checks": "none"},
    "too many checks": SOUND | {"checks": [{"kind": "output", "expected": "1"}] * 21},
    "no request": SOUND | {"request": ""},
    "a request of numbers": SOUND | {"request": 7},
    "a request that is null": SOUND | {"request": None},
    "a huge request": SOUND | {"request": "x" * 5000},
    "half a character": SOUND | {"request": "\ud800"},
    "half a character in a file's name": SOUND | {"files": {"\udfff": ""}},
    "a zero byte": SOUND | {"request": "Say\0it"},
    "a zero byte in a file": SOUND | {"files": {"a": "\0"}},
    "a file of numbers": SOUND | {"files": {"a": 1}},
    "files that are a list": SOUND | {"files": ["a"]},
    "a huge file": SOUND | {"files": {"a": "x" * 300_000}},
    "a file outside": SOUND | {"files": {"/etc/passwd": "x"}},
    "a key too many": SOUND | {"secret": 1},
    "a key too few": {"request": "Say 1."},
    "a list": [SOUND],
    "a word": "task",
    "nothing": None,
    "a number": 10**400,
    "depth": {"request": DEEP},
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_an_instance_with_a_reason(name):
    found = read_instance(NONSENSE[name], "f, difficulty 1, seed 3")
    assert found.problem and found.problem.isprintable() and len(found.problem) < 400
    assert found.request.encode() and "\0" not in found.problem


def test_a_sound_one_has_none():
    for value in (
        SOUND,
        calls(),
        calls(expected=['{"raises": "ValueError"}']),
        check(kind="file", path="a", content=None),
    ):
        found = read_instance(value, "f")
        assert found.problem == "" and found.request == "Say 1." and found.checks


KEYS = st.sampled_from([*SOUND, "kind", "path"]) | st.text()
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=12))
@settings(max_examples=30)
def test_any_value_is_read_or_has_a_reason(value):
    found = read_instance(value, "f")
    assert found.problem and found.problem.isprintable()


def test_contradictions_are_no_tasks():
    one, other = read_instance(SOUND, "f"), read_instance(check(kind="output", expected="2"), "f")
    assert [bool(found.problem) for found in contradicted([one, one])] == [False, False]
    assert all("expects something else" in found.problem for found in contradicted([one, other]))


class Breaking:
    """A verifier that nonsense breaks."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def verify(self, *arguments: object):
        raise self.error


ERRORS = [
    json.JSONDecodeError("no JSON", "True", 0),
    IntegrityError("no checks"),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogate"),
    OSError(36, "File name too long"),
    *(kind("\x1b[31mbroken") for kind in (TypeError, ValueError, KeyError, IndexError, AttributeError, RuntimeError)),
    *(kind("x") for kind in (RecursionError, MemoryError, OverflowError, ZeroDivisionError, EOFError, LookupError)),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_a_task_that_breaks_its_judge_is_quarantined_alone(error):
    task = Task(
        id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="x", needs_sandbox=False
    )
    key = TaskKey(task_id="t", reference="1", checks=read_instance(SOUND, "f").checks)
    found = await certify(task, key, Breaking(error), None)
    assert not found.passed and type(error).__name__ in found.reason and found.reason.isprintable()


MIXED = """
def nonsense(rng, difficulty):
    made = count_word(rng, difficulty)
    if rng.random() < 0.5:
        CHANGE
    return made

FAMILIES["count_word"] = nonsense

if __name__"""


def check_bank(tmp_path, monkeypatch, change: str, *options: str):
    from rsi.cli import app

    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("rsi.banks.elsewhere.POOL", 120)
    scaffold("mine", tmp_path / "mine")
    code = tmp_path / "mine/generator.py"
    code.write_text(code.read_text().replace("\nif __name__", MIXED.replace("CHANGE", change)))
    return CliRunner().invoke(app, ["bank", "check", str(tmp_path / "mine"), *options])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ('made["checks"] = [{"kind": "calls", "calls": ["f(1)"], "expected": ["True"]}]', "'checks.0.expected.0'"),
        ('made["files"] = {"/etc/x": "y"}; made["setup"] = 3', "no instance"),
    ],
)
def test_a_check_quarantines_the_nonsense_and_proves_the_others(tmp_path, monkeypatch, change, reason):
    result = check_bank(tmp_path, monkeypatch, change, "--sample", "3")
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.output
    lines = result.output.splitlines()
    assert any("quarantined" in line and reason in line for line in lines), result.output
    totals = [line for line in lines if " total " in line]
    assert totals and all("3 of 3 certified" in line for line in totals), result.output
    assert any("count_word" in line and " 0 of " not in line for line in lines)


@pytest.mark.slow
def test_a_task_that_breaks_its_sandbox_each_time_is_quarantined(tmp_path, monkeypatch):
    result = check_bank(tmp_path, monkeypatch, 'made["reference"] = "kill -9 -1; kill -9 $$ $PPID; exit 3"')
    assert isinstance(result.exception, SystemExit) and "total" in result.output, result.output
