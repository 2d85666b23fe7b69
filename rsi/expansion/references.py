"""Held-out references of a saved function: calls with the right value, from tasks of the selection split.

They are keys: they go to the proof and nowhere else, neither to a proposer nor to an agent."""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rsi.expansion.promote import Reference
from rsi.ids import digest
from rsi.ports import TaskBank
from rsi.types import CallsCheck, OutputCheck, StagedTool, Task

MOST = 12  # references of one proof


def references(staged: StagedTool, family: str, bank: TaskBank) -> list[Reference]:
    """At most MOST references with different inputs, from selection tasks of `family`.

    Two kinds of function can be proven. One that a task's hidden calls name is called as they call it. One whose only
    parameters are `request`, or `request` and `files` (text by path), is to return the task's output: a number where
    the task compares numbers, else the text without space at its end. There are none for any other function."""
    names = _parameters(staged)
    found: dict[str, Reference] = {}
    for task in bank.tasks("selection"):
        if names and task.recipe.family == family:
            for reference in _of_task(staged.name, names, task, bank):
                found.setdefault(digest(dict(reference.arguments)), reference)
    return list(found.values())[:MOST]


def _parameters(staged: StagedTool) -> tuple[str, ...]:
    """Of the function of that name; none where the code cannot be read."""
    try:
        tree = ast.parse(staged.code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == staged.name]
    return tuple(argument.arg for function in functions[-1:] for argument in function.args.args)


def _of_task(name: str, names: Sequence[str], task: Task, bank: TaskBank) -> Iterator[Reference]:
    seen: Mapping[str, Any] = {"request": task.request, "files": dict(task.files)}
    for check in bank.key(task).checks:
        match check:
            case CallsCheck(calls=calls, expected=expected):
                for call, value in zip(calls, expected, strict=True):
                    yield from _of_call(name, names, call, value)
            case OutputCheck() if "request" in names and set(names) <= set(seen):
                yield Reference({each: seen[each] for each in names}, _output(check))


def _of_call(name: str, names: Sequence[str], call: str, expected: str) -> Iterator[Reference]:
    """The reference of a call such as `total([1, 2])`; none where it is of another name, or no plain call of data."""
    try:
        node, value = ast.parse(call, mode="eval").body, json.loads(expected)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != name:
            return
        given = dict(zip(names, map(ast.literal_eval, node.args), strict=False))
        given |= {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
        plain = json.loads(json.dumps(given, allow_nan=False)) == given
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return
    if plain and len(given) == len(node.args) + len(node.keywords) and "value" in value:
        yield Reference(given, value["value"])


def _output(check: OutputCheck) -> Any:
    """What the function is to return."""
    text = check.expected.rstrip()
    try:
        number = json.loads(text) if check.mode == "numeric" else None
    except ValueError:
        number = None
    return text if number is None else number
