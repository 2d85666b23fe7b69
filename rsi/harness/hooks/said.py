"""What one hook answered. Its output may hold text that a model wrote, so nothing in it is trusted to have a shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rsi.harness.hooks.occasion import Event
from rsi.ports import ExecResult
from rsi.text import clean, parse_json

LIMIT = 10_000  # characters of a hook's output that are read
SHOWN = 2000  # characters of a hook's text that may enter a prompt
_BLOCK = 2  # the exit code that blocks
_REWRITABLE = frozenset({"command", "path", "content"})


@dataclass(frozen=True)
class Said:
    """`failure` says why the hook gave no answer; the rest is then empty and its fail mode decides."""

    blocks: bool = False
    reason: str = ""
    updated: Mapping[str, str] = field(default_factory=dict)
    context: str = ""
    failure: str = ""


def heard(result: ExecResult, event: Event) -> Said:
    """Read exit code and output. Exit 0 goes on (with a JSON object's decision, if there is one), exit 2 blocks and
    standard error says why, any other exit is a failure (of a Stop hook: the work's failure, which blocks). Plain
    output is context where a session or a request begins."""
    if result.timed_out:
        return Said(failure="timed out")
    if result.exit_code == _BLOCK or (result.exit_code and event == "Stop"):
        return Said(blocks=True, reason=_shown(result.stderr) if result.exit_code == _BLOCK else "")
    if result.exit_code:
        return Said(failure=f"exit code {result.exit_code}")
    if not result.stdout.lstrip().startswith("{"):
        return Said(context=_shown(result.stdout)) if event in ("SessionStart", "UserPromptSubmit") else Said()
    if result.truncated:
        return Said(failure="said too much")
    try:
        spoken = parse_json(result.stdout)
        return _decided(spoken) if isinstance(spoken, dict) else Said(failure="printed no JSON object")
    except ValueError:
        return Said(failure="printed malformed JSON")


def _decided(spoken: Mapping[str, object]) -> Said:
    """The decision, in the flat form or the one that wraps it in `hookSpecificOutput`. ValueError for a wrong shape."""
    inner = spoken.get("hookSpecificOutput", {})
    if not isinstance(inner, dict):
        raise ValueError("hookSpecificOutput is no object")
    said = {**spoken, **inner}
    decision = said.get("permissionDecision", said.get("decision", "approve"))
    if decision not in ("approve", "allow", "block", "deny", "ask"):
        raise ValueError("unknown decision")
    updated = said.get("updatedInput", {})
    if not isinstance(updated, dict) or not all(isinstance(v, str) for v in updated.values()):
        raise ValueError("updatedInput holds something else than strings")
    return Said(
        # Nobody can be asked in an episode, so `ask` is a denial; so is `continue: false`.
        blocks=decision in ("block", "deny", "ask") or said.get("continue") is False,
        reason=_shown(said.get("permissionDecisionReason", said.get("reason", said.get("stopReason", "")))),
        updated={key: value for key, value in updated.items() if key in _REWRITABLE},
        context=_shown(said.get("additionalContext", "")),
    )


def _shown(text: object) -> str:
    if not isinstance(text, str):
        raise ValueError("a text is expected")
    return clean(text).strip()[:SHOWN]
