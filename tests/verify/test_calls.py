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
RIGHT = json.dumps([{"raises": [one["raises"]]} if "raises" in one else one for one in EXPECTED])
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


_TAIL = "\ndef g(n):\n    return (n, 'a')\ndef h():\n    return 0.5\n"
_BODY = "def f(n):\n    if n < 0:\n        raise {error}(n)\n    return {value}\n"
WAYS = {
    "an error of its own": "class TooSmall(ValueError): pass\n" + _BODY.format(error="TooSmall", value="n + 1") + _TAIL,
    "an error of the library": "import json\ndef f(n):\n    return n + 1 if n >= 0 else json.loads('{')\n" + _TAIL,
    "a number of an enumeration": "from enum import IntEnum\nclass N(IntEnum):\n    SIX = 6\n"
    + _BODY.format(error="ValueError", value="N(n + 1)")
    + _TAIL,
    "a named tuple": HONEST.replace('return (n, "a")', 'return P(n, "a")').replace(
        "def g", "from typing import NamedTuple\nclass P(NamedTuple):\n    n: int\n    s: str\ndef g"
    ),
    "a list of its own": HONEST.replace('return (n, "a")', 'return L([n, "a"])') + "class L(list): pass\n",
    "a data class": "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    "@dataclass\nclass D:\n    n: int = 0\n" + HONEST.replace("return n + 1", "return D(n + 1).n"),
    "a byte order mark": "\ufeff" + HONEST,
    "its own file": HONEST.replace("return n + 1", "return n + 1 if open(__file__).read() else 0"),
    "a main part": HONEST + "if __name__ == '__main__':\n    raise SystemExit(f(1))\n",
}


@pytest.mark.parametrize("name", WAYS)
async def test_other_honest_solutions_pass(name, sandbox_provider):
    assert await detail(WAYS[name], sandbox_provider) == ""


async def test_a_solution_may_lie_in_several_files_that_shadow_nothing(sandbox_provider):
    key = TaskKey(task_id="t", reference="true", checks=(CHECK,))
    parts = {"solution.py": b"import json, os, types\nfrom parts import f, g, h\n", "parts.py": HONEST.encode()}
    shadows = {f"{name}.py": b"raise SystemExit(0)\n" for name in ("json", "os", "types", "sitecustomize", "encodings")}
    score = await CheckVerifier(sandbox_provider).verify(TASK, key, "", {**parts, **shadows})
    assert score.passed, score.detail


@pytest.mark.parametrize(
    ("value", "passes"),
    [
        ("collections.Counter(['a', 'a'])", True), ("collections.defaultdict(int, a=2)", True),
        ("collections.OrderedDict(a=2)", True), ("types.SimpleNamespace(a=2)", False), ("{'a': 2.0}", False),
        ("{'a': 2}.items()", False), ("type('D', (dict,), {'items': lambda s: [('a', 2)]})()", False),
        ("type('D', (), {'__class__': dict})()", False), ("{1: 2}", False),
    ],
)  # fmt: skip
async def test_a_kind_of_dict_is_a_dict(value, passes, sandbox_provider):
    check = CallsCheck(calls=("f()",), expected=('{"value": {"a": 2}}',))
    source = f"import collections, types\ndef f():\n    return {value}\n".encode()
    key = TaskKey(task_id="t", reference="true", checks=(check,))
    score = await CheckVerifier(sandbox_provider).verify(TASK, key, "", {"solution.py": source})
    assert score.passed == passes, score.detail


@pytest.mark.parametrize("wanted", ["KeyError", "Exception", "BaseException", "object"])
async def test_another_error_is_not_the_one_that_is_wanted(wanted, sandbox_provider):
    check = CallsCheck(calls=("f()",), expected=(json.dumps({"raises": wanted}),))
    key = TaskKey(task_id="t", reference="true", checks=(check,))
    for source, passes in (
        ("1 / 0", False),
        (f"(_ for _ in ()).throw({wanted}())", wanted in ("KeyError", "Exception")),
    ):
        files = {"solution.py": f"def f():\n    return {source}\n".encode()}
        assert (await CheckVerifier(sandbox_provider).verify(TASK, key, "", files)).passed == passes


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


async def test_a_class_of_all_errors_at_once_is_not_each_of_them(sandbox_provider):
    wanted = ("KeyError", "ValueError", "TypeError", "IndexError")
    source = f"class E({', '.join(wanted)}): pass\ndef f(): raise E\n".encode()
    passed = 0
    for name in wanted:
        check = CallsCheck(calls=("f()",), expected=(json.dumps({"raises": name}),))
        key = TaskKey(task_id="t", reference="true", checks=(check,))
        passed += (await CheckVerifier(sandbox_provider).verify(TASK, key, "", {"solution.py": source})).passed
    assert passed <= 1
