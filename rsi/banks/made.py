"""Instances as a generator from elsewhere writes them: each is read, and judged, by itself.

One that is malformed, or can never be played, stays in its place as an instance with a `problem`: its task is
quarantined with that reason, and the others are as good as ever. It runs nothing.
"""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rsi.banks.instance import Instance
from rsi.config import first_problem
from rsi.text import escape_line, parse_json
from rsi.types import CallsCheck, FileCheck, OutputCheck, ProgramCheck
from rsi.types.tasks import FilePath

MOST_TEXT = 200_000  # characters of one instance
MOST_CALL = 2000  # of a call
MALFORMED = "no instance: "
_NUMBER = re.compile(r"[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,2})?|[+-]?\d{1,40}/\d{1,40}")
_NAME = re.compile(r"[A-Za-z_][\w.]{0,100}")


class Made(BaseModel):
    model_config = ConfigDict(extra="forbid")

    request: str = Field(min_length=1, max_length=4000)
    reference: str = Field(min_length=1, max_length=20_000)
    checks: tuple[Annotated[OutputCheck | FileCheck | ProgramCheck | CallsCheck, Field(discriminator="kind")], ...] = (
        Field(min_length=1, max_length=20)
    )
    files: dict[FilePath, str] = Field(default_factory=dict, max_length=100)
    setup: str = Field("", max_length=20_000)

    @model_validator(mode="after")
    def _bounded(self) -> "Made":
        if sum(map(len, self.files.values())) + sum(len(check.model_dump_json()) for check in self.checks) > MOST_TEXT:
            raise ValueError(f"files and checks hold more than {MOST_TEXT} characters")
        return self


def read_instance(value: Any, name: str) -> Instance:
    """The instance that `value`, of JSON, describes. `name` is what a task is called that has no request to show."""
    try:
        text = json.dumps(value)
        made = Made.model_validate_json(text, strict=True)
        problem = next(_problems(made), "")
    except ValidationError as error:
        problem = MALFORMED + first_problem(error)
    except (ValueError, RecursionError):
        problem = MALFORMED + "it is nested too deeply"
    else:
        instance = Instance(made.request, made.reference, made.checks, made.files, made.setup)
        return replace(instance, problem=problem)
    return Instance(f"({name})", "", (), problem=escape_line(problem))


def contradicted(instances: Sequence[Instance]) -> list[Instance]:
    """The instances, of which those that ask the same and expect something else are no tasks."""
    expected = dict[str, set[str]]()
    asked = [json.dumps([one.request, sorted(one.files.items()), one.setup]) for one in instances]
    for key, one in zip(asked, instances, strict=True):
        expected.setdefault(key, set()).add(json.dumps([check.model_dump(mode="json") for check in one.checks]))
    told = "another instance asks the same and expects something else"
    return [
        one if one.problem or len(expected[key]) == 1 else replace(one, problem=told)
        for key, one in zip(asked, instances, strict=True)
    ]


def _problems(made: Made) -> Iterator[str]:
    """Why no workspace and no answer could ever pass."""
    if any("\0" in text for text in _texts(made.model_dump())):
        yield "it holds a zero byte, which no request, command or text file does"
    for number, check in enumerate(made.checks):
        where = f"'checks.{number}"
        if isinstance(check, OutputCheck) and check.mode == "numeric" and not _NUMBER.fullmatch(check.expected.strip()):
            yield f"{where}.expected': {check.expected[:60]!r} is no number, and its mode is numeric"
        if isinstance(check, FileCheck) and check.mode is not None and not 0 <= check.mode <= 0o7777:
            yield f"{where}.mode': {check.mode} are no permission bits; write 0 to 0o7777"
        if isinstance(check, CallsCheck):
            for at, (call, expected) in enumerate(zip(check.calls, check.expected, strict=True)):
                if not _is_expression(call):
                    yield f"{where}.calls.{at}': {call[:60]!r} is no expression of at most {MOST_CALL} characters"
                if not _is_result(expected):
                    yield (
                        f'{where}.expected.{at}\': {expected[:60]!r} is not JSON of {{"value": ...}} or '
                        '{"raises": "NameOfAnError"}'
                    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _is_expression(call: str) -> bool:
    if len(call) > MOST_CALL:
        return False
    try:
        ast.parse(call, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_result(text: str) -> bool:
    try:
        result = parse_json(text)
        json.dumps(result, allow_nan=False)
    except ValueError:
        return False
    if not isinstance(result, dict) or len(result) != 1:
        return False
    raised = result.get("raises")
    return "value" in result or (isinstance(raised, str) and _NAME.fullmatch(raised) is not None)
