"""Hidden calls: what they give is compared outside their sandbox, attacks on the driver gain nothing."""

import json

import pytest

from rsi.ports import ExecResult
from rsi.types import CallsCheck, Recipe, Task, TaskKey
from rsi.verify.calls import problem, same_value
from rsi.verify.checks import CheckVerifier

TASK = Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request="Do it.")
EXPECTED = ({"value": 6}, {"raises": "ValueError"}, {"value": [1, "a"]}, {"value": 0.5})
CHECK = CallsCheck(
    calls=("f(5)", "f(-1)", "g(1)", "h()"), expected=tuple(json.dumps(one, sort_keys=True) for one in EXPECTED)
)
HONEST = """
def f(n):
    print("debug", end="")
    if n < 0:
        raise ValueError(n)
    return n + 1
def g(n):
    return (n, "a")
def h():
    return 0.1 + 0.4
"""
FORGED = "import os, sys\nos.write(1, ('\\n' + sys.argv[2] + ' ' + {line!r} + '\\n').encode())\n"
GUESS = json.dumps([{"value": 5}, {"value": 1}, {"value": [1, "a"]}, {"value": 0.5}])
RIGHT = json.dumps(EXPECTED)
ATTACKS = {
    "wrong": HONEST.replace("n + 1", "n"),
    "a bool for an int": "def f(n): return True\n",
    "early exit": "import os\nprint('ok', flush=True)\nos._exit(0)\n",
    "sys.exit": "import sys\nsys.exit(0)\n",
    "exit in a call": "def f(n):\n    raise SystemExit(0)\n",
    "patched json": "import json\njson.dumps = lambda *a, **k: '[]'\njson.encoder.JSONEncoder.encode = json.dumps\n",
    "patched print": "import builtins\nbuiltins.print = lambda *a, **k: None\n",
    "atexit": "import atexit\natexit.register(lambda: print('passed'))\n",
    "forged line and exit": FORGED.format(line=GUESS) + "os._exit(0)\n",
    "forged line twice": FORGED.format(line=RIGHT) + HONEST,
    "the driver's frame": "import sys\ndef f(n):\n    return sys._getframe(1).f_globals.get('expected')\n",
    "equal to everything": "class E(int):\n    def __eq__(self, o): return True\ndef f(n): return E()\ng = h = f\n",
    "not a number": "def f(n): return float('nan')\ng = h = f\n",
    "deep": "def f(n):\n    v = []\n    for _ in range(10**5): v = [v]\n    return v\n",
    "a flood": "print('x' * 10**6)\n" + HONEST,
    "no syntax": "def f(:\n",
}


async def detail(source: str, provider) -> str:
    key = TaskKey(task_id="t", reference="true", checks=(CHECK,))
    score = await CheckVerifier(provider).verify(TASK, key, "", {"solution.py": source.encode()})
    assert score.passed == (score.detail == "")
    return score.detail


async def test_honest_solutions_pass(sandbox_provider):
    assert await detail(HONEST, sandbox_provider) == ""


@pytest.mark.parametrize("name", ATTACKS)
async def test_no_attack_passes(name, sandbox_provider):
    assert await detail(ATTACKS[name], sandbox_provider)


@pytest.mark.slow
async def test_a_module_that_hangs_fails(sandbox_provider):
    assert "in time" in await detail("while True: pass\n", sandbox_provider)


async def test_a_missing_module_needs_no_sandbox():
    key = TaskKey(task_id="t", reference="true", checks=(CHECK,))
    assert not (await CheckVerifier(None).verify(TASK, key, "", {})).passed


def test_output_is_bounded_and_the_line_is_one():
    def said(text: str, truncated: bool = False) -> str:
        return problem(CHECK, "n0nce", ExecResult(0, text, "", truncated=truncated))

    assert said(f"x\nn0nce {RIGHT}\n") == ""
    assert said(f"n0nce {RIGHT}\n", truncated=True)
    assert said(f"n0nce {RIGHT}\nn0nce {RIGHT}\n")
    deep = "[" * 990 + "]" * 990
    assert said(f"n0nce [{deep}, 1, 2, 3]\n")
    for bad in ("", "[]", "{}", deep, "[" * 5000, "9" * 5000, RIGHT.replace("6", "NaN"), RIGHT.replace("6", "6.0")):
        assert said(f"n0nce {bad}\n")


def test_types_are_strict():
    assert same_value(0.1 + 0.2, 0.3) and same_value({"a": [1]}, {"a": [1]})
    for a, b in ((True, 1), (1, 1.0), ("1", 1), ([1], [1, 2]), ({"a": 1}, {"b": 1}), (None, 0), (0.1, 0.2)):
        assert not same_value(a, b) and not same_value(b, a)
