"""The shapes that code tasks share: a file with a signature and a docstring that states the rule, and hidden calls.

In a rule and a body TEXT, MORE, ITEMS, NUM and OTHER stand for parameters, whose names vary. Difficulty 1 states the
rule and what is done with its result, 2 adds an error for some arguments, 3 a second thing done with the result."""

import json
import random
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rsi.banks.content import words
from rsi.banks.instance import Generator, Instance, Table
from rsi.types import CallsCheck

CODE: Table = {}
PARAMETERS = {
    "TEXT": ("text", "phrase", "message", "label"),
    "MORE": ("more", "second", "extra"),
    "ITEMS": ("items", "entries", "elements"),
    "NUM": ("number", "amount", "quantity"),
    "OTHER": ("other", "limit", "step"),
}
ERRORS = ("ValueError", "LookupError", "RuntimeError")


class Spec(NamedTuple):
    """One function. `body` ends with its only return; `expect` derives the same in another way, raising where it must.
    An entry of `args` that is no tuple is a single argument."""

    params: str
    rule: str
    body: str
    expect: Callable[..., Any]
    args: Sequence[Any]


class Module(NamedTuple):
    """Several functions or a class: the given file, the solution and pairs of a call and its value. NAME and OTHER_NAME
    stand for names that vary."""

    what: str  # "class 'NAME'"
    given: str
    solution: str
    calls: Sequence[tuple[str, Any]]


def pure(make: Callable[[random.Random], Spec]) -> Callable[[random.Random], Spec]:
    """Register a family of single functions under the name of `make`."""
    _register(make.__name__, lambda rng, difficulty: _function(rng, difficulty, make.__name__, make(rng)))
    return make


def module(make: Callable[[random.Random], Module]) -> Callable[[random.Random], Module]:
    """Register a family of small modules under the name of `make`."""
    _register(make.__name__, lambda rng, difficulty: _module(rng, make.__name__, make(rng)))
    return make


def raised(name: str) -> "Raised":
    """A value of a Module's call: the call raises this error."""
    return Raised(name)


class Raised(NamedTuple):
    error: str


def _register(name: str, generator: Generator) -> None:
    if name in CODE:
        raise ValueError(f"family {name} is registered twice")
    CODE[name] = generator


def _function(rng: random.Random, difficulty: int, name: str, spec: Spec) -> Instance:
    called = f"{name}_{words(rng, 1)[0]}"
    calls = [args if isinstance(args, tuple) else (args,) for args in spec.args]
    rules, body = [*spec.rule.split("\n")], spec.body.split("\n")
    refused: Callable[[Any], bool] | None = None
    error = rng.choice(ERRORS)
    if difficulty >= 2:
        refused, guard, said = _guard(spec.params.split(",")[0], calls, error)
        body = [f"if {guard}:", f"    raise {error}", *body]
        rules.append(said)
    results = [_result(spec.expect, args, error if refused and refused(args[0]) else "") for args in calls]
    body[-1] = body[-1].replace("return ", "result = ", 1)
    for _ in range(2 if difficulty >= 3 else 1):  # so varied that two instances hardly ever state the same rules
        said, after, expression = _after(rng, [result for result in results if not isinstance(result, Raised)])
        if said:
            rules.append(said)
            results = [result if isinstance(result, Raised) else after(result) for result in results]
            body.append(f"result = {expression}")
    body.append("return result")
    head = f"def {called}({spec.params}):"
    given = [
        head,
        '    """' + rules[0],
        *(f"    {rule}" for rule in rules[1:]),
        '    """',
        "    raise NotImplementedError",
    ]
    solution = [head, *(f"    {line}" for line in body)]
    naming = {slot: rng.choice(pool) for slot, pool in PARAMETERS.items()}
    shown = [f"{called}({', '.join(map(repr, args))})" for args in calls]
    return _task(rng, f"function '{called}'", _named(given, naming), _named(solution, naming), shown, results)


def _module(rng: random.Random, name: str, made: Module) -> Instance:
    first, second = words(rng, 2)
    title = "".join(part.title() for part in [*name.split("_"), first]) if made.what.startswith("class") else ""
    naming = {"NAME": title or f"{name}_{first}", "OTHER_NAME": f"{second}_helper"}
    what, *calls = _named([made.what, *(call for call, _ in made.calls)], naming)
    given, solution = (_named(text.split("\n"), naming) for text in (made.given, made.solution))
    return _task(rng, what, given, solution, calls, [value for _, value in made.calls])


def _named(lines: Sequence[str], naming: dict[str, str]) -> list[str]:
    return [re.sub(r"\b[A-Z_]+\b", lambda found: naming.get(found[0], found[0]), line) for line in lines]


def _task(
    rng: random.Random, what: str, given: list[str], solution: list[str], calls: list[str], results: list[Any]
) -> Instance:
    examples = _examples(rng, calls, results)
    hidden = [pair for pair in zip(calls, results, strict=True) if pair[0] not in examples]
    shown = [f"# {call} is {value!r}" for call, value in examples.items()]
    size = len(" ".join([*given, *shown]).split())
    purpose = f"# For lists of {' '.join(words(rng, 4 + size // 6))}."
    expected = tuple(
        json.dumps({"raises": result.error} if isinstance(result, Raised) else {"value": result}, sort_keys=True)
        for _, result in hidden
    )
    reference = "printf '%s\\n' " + " ".join(shlex.quote(line) for line in [purpose, *solution]) + " > solution.py"
    verb = "as the docstrings say" if " and " in what else "as its docstring says"
    request = f"Complete the {what} in solution.py, {verb}."
    files = {"solution.py": "\n".join([purpose, *shown, *given]) + "\n"}
    return Instance(
        request, reference, (CallsCheck(calls=tuple(call for call, _ in hidden), expected=expected),), files
    )


def _examples(rng: random.Random, calls: list[str], results: list[Any]) -> dict[str, Any]:
    """Up to two short calls with their values, to be shown and not hidden, where nine or more hidden ones are left."""
    known = dict(zip(calls, results, strict=True))
    short = [call for call in known if len(call) + len(repr(known[call])) < 110 and not isinstance(known[call], Raised)]
    return {call: known[call] for call in rng.sample(short, max(0, min(2, len(short), len(known) - 9)))}


def _result(expect: Callable[..., Any], args: tuple[Any, ...], error: str) -> Any:
    if error:
        return Raised(error)
    try:
        return expect(*args)
    except (ValueError, LookupError) as problem:  # the rule asks for it
        return Raised(type(problem).__name__)


def _guard(slot: str, calls: list[tuple[Any, ...]], error: str) -> tuple[Callable[[Any], bool], str, str]:
    """What is refused, as a function, as a condition and as a rule. Adds a call that meets it where none does."""
    firsts = [args[0] for args in calls]
    if all(isinstance(value, int | float) for value in firsts):
        limit = max(firsts)
        return (lambda value: bool(value >= limit)), f"{slot} >= {limit}", f"Raise {error} where {slot} >= {limit}."
    if all(firsts):
        calls.append((type(firsts[0])(), *calls[0][1:]))
    return (lambda value: not value), f"not {slot}", f"Raise {error} where {slot} is empty."


def _after(rng: random.Random, results: list[Any]) -> tuple[str, Callable[[Any], Any], str]:
    """What is done with a result of one type: as a rule, as a function and as an expression over `result`."""
    factor, add, (word, other) = rng.randint(2, 9), rng.randint(1, 99), words(rng, 2)
    kinds = {type(result) for result in results}
    if kinds <= {int, float}:
        said = f"Multiply the result by {factor} and add {add}."
        return said, lambda result: add + factor * result, f"result * {factor} + {add}"
    if kinds == {bool}:
        said = f'In the end return "{word}" for True and "{other}" for False.'
        return said, lambda result: word if result else other, f'("{other}", "{word}")[result]'
    if kinds == {str}:
        return f'Put "{word}:" in front of the result.', lambda result: f"{word}:{result}", f'"{word}:" + result'
    if kinds == {list}:
        said = f'In the end reverse the resulting list and put "{word}" last.'
        return said, lambda result: [*result[::-1], word], f'list(reversed(result)) + ["{word}"]'
    if kinds == {dict}:
        said = f'Add the key "{word}" with the value {add} to the result.'
        return said, lambda result: {**result, word: add}, f'{{**result, "{word}": {add}}}'
    return "", lambda result: result, "result"
