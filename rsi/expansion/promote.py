"""From a function that an agent staged to a helper of the document, and back where it does harm.

Promotion is proof by held-out references: the code gets the inputs in a sandbox of its own; the expected outputs never
go in, and the comparison is made here. One mismatch refuses it. The result is a typed edit that a person must review.
A helper may use the standard library only: the tools of an episode are not there when it is proven.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rsi.gate.statistics import mean_difference
from rsi.ids import digest
from rsi.ports import Prove, SandboxProvider
from rsi.types import AddTool, Edit, Helper, Rate, RemoveTool, StagedTool

LEAST = 3  # references that a proof needs, each with its own input
BOUND = 0.02  # of the mean reward: harm that is surely greater removes a helper
SECONDS = 10.0

_PROGRAM = """
import json as _json
_inputs = _json.loads({inputs!r})
exec(compile({code!r}, "<helper>", "exec"), globals())
print("\\n" + _json.dumps([{name}(**_given) for _given in _inputs]))
"""


@dataclass(frozen=True)
class Reference:
    """A call with keyword arguments and the value that is right, both JSON data. Held out: no attempt has seen it."""

    arguments: Mapping[str, Any]
    expected: Any


@dataclass(frozen=True)
class Promotion:
    """`edit` is None where the proof failed; `reason` is one line for a person and names no expected value."""

    edit: Edit | None
    passed: int
    reason: str


async def promote(staged: StagedTool, source: str, references: Sequence[Reference], run: Prove) -> Promotion:
    """Prove `staged`, which attempt `source` saved. Raises what `run` raises (InfrastructureError)."""
    if len({digest(dict(reference.arguments)) for reference in references}) < LEAST:
        return Promotion(None, 0, f"{staged.name}: a proof needs {LEAST} references with different inputs")
    inputs = json.dumps([dict(reference.arguments) for reference in references])
    given = _results(await run(_PROGRAM.format(inputs=inputs, code=staged.code, name=staged.name)))
    if len(given) != len(references):
        return Promotion(None, 0, f"{staged.name}: it did not run to its end on {len(references)} references")
    passed = sum(_same(value, reference.expected) for value, reference in zip(given, references, strict=True))
    if passed < len(references):
        return Promotion(None, passed, f"{staged.name}: {passed} of {len(references)} references agree")
    helper = Helper(name=staged.name, code=staged.code, code_digest=digest(staged.code), source=source)
    edit = Edit(name=f"add helper {staged.name}"[:60], change=AddTool(helper=helper))
    return Promotion(edit, passed, f"{staged.name}: all {passed} references agree")


def sandboxed(provider: SandboxProvider, seconds: float = SECONDS) -> Prove:
    """A Prove that opens one sandbox a program and closes it."""

    async def run(program: str) -> str:
        sandbox = await provider.open()
        try:
            await sandbox.put({"helper.py": program.encode(errors="replace")})
            result = await sandbox.exec("python3 -I helper.py", seconds, 1_000_000)
        finally:
            await sandbox.close()
        return result.stdout if result.exit_code == 0 and not result.truncated else ""

    return run


def demote(
    name: str, draws: Sequence[tuple[float, float]], families: Sequence[str], bound: float = BOUND
) -> tuple[Edit | None, Rate]:
    """Measured outcome of a helper: one pair a task, mean reward with it and without it, n = tasks. A RemoveTool edit
    where all of the interval of the difference lies below -`bound`; one bad pair proves nothing."""
    measured = mean_difference([with_it - without for with_it, without in draws], families)
    if measured.high >= -bound:
        return None, measured
    figures = (
        f"reward {measured.value:+.3f} [{measured.low:+.3f}, {measured.high:+.3f}] with it, n={measured.n} tasks, "
        f"bound -{bound:g}"
    )
    return Edit(name=f"remove helper {name}"[:60], change=RemoveTool(name=name, figures=figures)), measured


def _results(printed: str) -> list[Any]:
    """The values on the last line; none where it is no list. The code is hostile: it may print what it likes, but the
    values are compared with what it has not seen."""
    lines = printed.strip().splitlines()
    try:
        values = json.loads(lines[-1]) if lines else []
    except (ValueError, RecursionError):
        return []
    return values if isinstance(values, list) else []


def _same(value: Any, expected: Any) -> bool:
    """Equal as JSON: true is not 1, and 1.0 is not 1."""
    try:
        return json.dumps(value, sort_keys=True) == json.dumps(expected, sort_keys=True)
    except RecursionError:
        return False
