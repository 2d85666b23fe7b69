"""The hooks of one episode: what they are told at each event, and what their answers do to an action."""

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rsi.harness.hooks.occasion import Event, Occasion
from rsi.harness.hooks.run import Decision, run
from rsi.harness.protocol import Action
from rsi.harness.tools import Outcome
from rsi.ports import Sandbox
from rsi.text import parse_json
from rsi.types import HarnessConfig, Hook

MOST_FAILURES = 20  # of an episode that are recorded


@dataclass
class HookSession:
    """`seconds` is the time that hooks have taken; `blocks` counts the blocks that give a turn back, by hook;
    `failures` says which gave no answer and why, each once."""

    harness: HarnessConfig
    sandbox: Sandbox | None
    name: str
    blocks: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    async def ask(self, occasion: Occasion, left: float, blocks: Counter[str] | None = None) -> Decision:
        """What the document's hooks say of an event, `left` seconds before the episode's time is over."""
        hooks = _stop_hooks(self.harness) if occasion.event == "Stop" else self.harness.hooks
        began = time.monotonic()
        decision = await run(
            hooks, replace(occasion, session=self.name), self.sandbox, left, self.blocks if blocks is None else blocks
        )
        self.seconds += time.monotonic() - began
        for failure in (f"{occasion.event} {failure}" for failure in decision.failures):
            if failure not in self.failures and len(self.failures) < MOST_FAILURES:
                self.failures.append(failure)
        return decision

    async def before(self, action: Action, left: float) -> tuple[Action, str | None]:
        """PreToolUse: the action, rewritten where hooks say so, and why it is denied (None where it is not)."""
        decision = await self.ask(Occasion("PreToolUse", tool=_tool(action), tool_input=_input(action)), left)
        if decision.hook is not None:
            return action, f"The call was denied: {decision.reason}"
        return _rewritten(action, decision), None

    async def within(self, tool: str, arguments: Mapping[str, Any], left: float) -> Mapping[str, Any] | str:
        """PreToolUse of a call that a block of code makes: its arguments, rewritten where hooks say so, or why it is
        denied. It costs no turn, so a block of it gives none back."""
        given = json.dumps(dict(arguments), ensure_ascii=False)
        told = Occasion("PreToolUse", tool=tool, tool_input={"content": given})
        decision = await self.ask(told, left, Counter())
        if decision.hook is not None:
            return f"{tool}: the call was denied: {decision.reason}"
        if "content" not in decision.updated:
            return arguments
        try:
            rewritten = parse_json(decision.updated["content"])
        except ValueError:
            rewritten = None
        return rewritten if isinstance(rewritten, dict) else f"{tool}: a hook rewrote its arguments to no JSON object"

    async def after(self, action: Action, outcome: Outcome, left: float) -> Outcome:
        """PostToolUse, or its failure form: the outcome, what hooks say of it put behind what the model is shown."""
        event: Event = "PostToolUseFailure" if outcome.exit_code else "PostToolUse"
        told = Occasion(event, tool=_tool(action), tool_input=_input(action))
        told = replace(told, output=outcome.observation, exit_code=outcome.exit_code)
        decision = await self.ask(told, left)
        words = [*decision.context, *([decision.reason] if decision.hook else [])]
        return replace(outcome, observation="\n\n".join([outcome.observation, *words])) if words else outcome


def _stop_hooks(harness: HarnessConfig) -> tuple[Hook, ...]:
    return tuple(Hook(event="Stop", **hook.model_dump()) for hook in harness.stop_hooks)


def _tool(action: Action) -> str:
    return action.path if action.kind == "call" else action.kind


def _input(action: Action) -> dict[str, str]:
    match action.kind:
        case "read":
            return {"path": action.path}
        case "write":
            return {"path": action.path, "content": action.body}
        case "call":
            return {"content": action.body}
    return {"command": action.body}


def _rewritten(action: Action, decision: Decision) -> Action:
    """Hooks rewrite what a tool is given, never which tool it is."""
    given = {**_input(action), **{k: v for k, v in decision.updated.items() if k in _input(action)}}
    body = given.get("command", given.get("content", action.body))
    return replace(action, body=body, path=given.get("path", action.path))
