"""Stop hooks: may hold back the end of an episode a bounded number of times. None of them can see the verifier."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rsi.ports import Sandbox
from rsi.types import StopHook


@dataclass(frozen=True)
class Ending:
    """What a hook may know of the episode that is about to end."""

    acted: bool  # the last reply held an action or answer
    output: str
    exit_code: int | None  # of the last command, if any


async def blocking(
    hooks: Sequence[StopHook], blocks: Counter[str], ending: Ending, sandbox: Sandbox | None, seconds: float
) -> StopHook | None:
    """The first hook that blocks this end and has blocks left, counted in `blocks`. `seconds` bounds a command."""
    for hook in hooks:
        if blocks[hook.name] < hook.max_blocks and await _blocks(hook, ending, sandbox, seconds):
            blocks[hook.name] += 1
            return hook
    return None


async def _blocks(hook: StopHook, ending: Ending, sandbox: Sandbox | None, seconds: float) -> bool:
    match hook.builtin:
        case "no_action":
            return not ending.acted
        case "empty_output":
            return not ending.output.strip()
        case "error_exit":
            return bool(ending.exit_code)
    if sandbox is None or hook.command is None or seconds <= 0:
        return hook.fail == "closed"
    result = await sandbox.exec(hook.command, min(hook.timeout, seconds), 1000)
    return hook.fail == "closed" if result.timed_out else result.exit_code != 0
