"""Ask the hooks of an event, in the document's order, inside the sandbox. The first that blocks is the last asked.

A hook shares the sandbox with the agent: it guards against mistakes and enforces a routine; nothing is scored by it.
One that cannot be asked (time-out, bad output, no sandbox, a payload that had to be cut) fails as it declares: `open`
goes on, `closed` blocks."""

import base64
import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rsi.harness.hooks.matching import holds, matches
from rsi.harness.hooks.occasion import Occasion
from rsi.harness.hooks.said import LIMIT, Said, heard
from rsi.ports import Sandbox
from rsi.types import Hook

_LONGEST = 126_000  # bytes of a command that every sandbox takes


@dataclass(frozen=True)
class Decision:
    """`hook` is the one that blocked, or None; `reason` what the model is told. `updated` replaces parts of the tool's
    input; `context` is text for the next prompt; `failures` name hooks that gave no answer, or were at
    their cap, and why."""

    hook: Hook | None = None
    reason: str = ""
    updated: Mapping[str, str] = field(default_factory=dict)
    context: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


async def run(
    hooks: Sequence[Hook], occasion: Occasion, sandbox: Sandbox | None, seconds: float, blocks: Counter[str]
) -> Decision:
    """What the hooks say of `occasion`, in at most `seconds` together. Counts a block in `blocks`, within the hook's
    cap. A Stop hook whose blocks are spent is not asked again; other hooks keep blocking, since a denied call costs a
    turn itself. Raises InfrastructureError where the sandbox breaks."""
    decision, began = Decision(), time.monotonic()
    for hook in hooks:
        if not _concerned(hook, occasion):
            continue
        if hook.event == "Stop" and blocks[key(hook)] >= hook.max_blocks:
            spent = f"{hook.name}: not asked again, it has blocked {hook.max_blocks} times"
            decision = replace(decision, failures=(*decision.failures, spent))
            continue
        said = await _ask(hook, occasion, sandbox, seconds - (time.monotonic() - began))
        if said.failure:
            decision = replace(decision, failures=(*decision.failures, f"{hook.name}: {said.failure}"))
        if said.updated and occasion.event == "PreToolUse":
            decision = replace(decision, updated={**decision.updated, **said.updated})
            occasion = replace(occasion, tool_input={**occasion.tool_input, **said.updated})
        if said.context:
            decision = replace(decision, context=(*decision.context, said.context))
        if said.blocks or (said.failure and hook.fail == "closed"):
            if hook.event in ("Stop", "PreToolUse") and blocks[key(hook)] < hook.max_blocks:
                blocks[key(hook)] += 1
            return replace(decision, hook=hook, reason=hook.message or said.reason or "A hook refused this.")
    return decision


def key(hook: Hook) -> str:
    """What a hook's blocks are counted under: Stop hooks by their name, as a document edits them."""
    return hook.name if hook.event == "Stop" else f"{hook.event}.{hook.name}"


def _concerned(hook: Hook, occasion: Occasion) -> bool:
    return (
        hook.event == occasion.event
        and matches(hook.matcher, occasion.tool)
        and holds(hook.condition, occasion.tool, occasion.argument)
    )


async def _ask(hook: Hook, occasion: Occasion, sandbox: Sandbox | None, seconds: float) -> Said:
    if hook.builtin is not None:
        return Said(blocks=_builtin(hook.builtin, occasion))
    if sandbox is None or hook.command is None:
        return Said(failure="there is no sandbox to run it in")
    if seconds <= 0:
        return Said(failure="no time was left")
    payload, cut = occasion.payload()
    if cut and hook.fail == "closed":  # what was cut off could hold what the hook is to find
        return Said(failure="there was more than it can be told")
    command = _command(hook, payload)
    if len(command.encode(errors="replace")) > _LONGEST:
        return Said(failure="its command is too long")
    result = await sandbox.exec(command, min(hook.timeout, seconds), LIMIT)
    return Said() if hook.run_async else heard(result, occasion.event)


def _builtin(name: str, occasion: Occasion) -> bool:
    match name:
        case "no_action":
            return not occasion.acted
        case "empty_output":
            return not occasion.output.strip()
    return bool(occasion.exit_code)


def _command(hook: Hook, payload: str) -> str:
    """The payload on standard input of the command; one that is not waited for goes on behind the agent's commands."""
    data = base64.b64encode(payload.encode(errors="replace")).decode()
    run_it = f"printf %s {data} | base64 -d | bash -c {shlex.quote(hook.command or '')}"
    if not hook.run_async:
        return run_it
    return f"(timeout {hook.timeout:g} bash -c {shlex.quote(run_it)}) >/dev/null 2>&1 </dev/null &"
