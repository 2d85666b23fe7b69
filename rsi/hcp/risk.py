"""What a change of a document touches, and whether a person must see it first (invariant 7)."""

import re
from typing import Literal

from rsi.types import AddStopHook, AddTool, Edit, RemoveTool, SetBudgets, SetSampling

Risk = Literal[
    "text", "sampling", "budgets", "hook", "lineage", "command_hook", "tools", "model", "environment", "code", "unknown"
]
AUTOMATIC: frozenset[Risk] = frozenset({"text", "sampling", "budgets", "hook", "lineage"})

# The longest matching prefix of a key path decides.
_BY_PREFIX: dict[str, Risk] = {
    "version": "code",
    "run": "environment",
    "js": "code",
    "env": "environment",
    "auth": "environment",
    "model": "model",
    "model.max_tokens": "sampling",
    "provider_options.temperature": "sampling",
    "provider_options.top_p": "sampling",
    "tools": "tools",
    "no_tools": "tools",
    "extensions": "code",
    "skills": "code",
    "prompts": "environment",
    "prompt_templates": "environment",
    "themes": "environment",
    "resources": "environment",  # files of the project, embedded or named: some of them are run
    "resources.system_prompt": "text",
    "resources.append_system_prompts": "text",
    "workspace": "environment",
    "mcp": "code",
    "hooks": "command_hook",
    "session": "environment",
    "cwd": "environment",
    "thinking_level": "model",
    "thinkingLevel": "model",
    "rsi.files": "environment",
    "rsi.parent": "lineage",
    "rsi.answer.format": "text",
    "rsi.list_files": "text",
    "rsi.memory": "text",
    "rsi.budgets": "budgets",
    "rsi.exemplars": "text",
    "rsi.skills": "text",
    "rsi.helpers": "code",
}
_KEY_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[^."\[]+|\[\d+\]')
_HOOK_WORDS = ("builtin", "message", "max_blocks", "fail", "timeout")  # of a Stop hook, besides its command


def risk_of(key: str) -> Risk:
    """The risk class of a change at a key path such as `rsi.budgets.turns` or `hooks.Stop.look.command`."""
    parts = [part for part in _KEY_PART.findall(key) if not part.startswith("[")]
    if parts[:2] == ["hooks", "Stop"] and len(parts) == 4 and parts[-1] in _HOOK_WORDS:
        return "hook"
    for length in range(len(parts), 0, -1):
        if risk := _BY_PREFIX.get(".".join(parts[:length])):
            return risk
    return "unknown"


def risk(edit: Edit) -> Risk:
    """The risk class of a typed edit."""
    match edit.change:
        case AddStopHook(hook=hook):
            return "hook" if hook.command is None else "command_hook"
        case AddTool() | RemoveTool():
            return "code"
        case SetSampling():
            return "sampling"
        case SetBudgets():
            return "budgets"
        case _:
            return "text"


def needs_review(edit: Edit) -> bool:
    """Whether the edit widens what the agent may do or touch. Budgets and sampling stay inside the bounds of their
    records, so they do not; a command brought by a hook does."""
    return risk(edit) not in AUTOMATIC
