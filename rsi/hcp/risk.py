"""What a change of a document touches, and whether a person must see it first (invariant 7)."""

import re
from typing import Literal

from rsi.types import AddStopHook, AddTool, Edit, RemoveTool, SetBudgets, SetSampling

# tools: which are exposed. command_hook: commands at events. network: what is reached. workspace: which files an
# episode sees, and where. environment: names of variables. code: what is run besides. hook: a Stop hook without a
# command. lineage: which document it comes from.
Risk = Literal[
    "text",
    "sampling",
    "budgets",
    "hook",
    "lineage",
    "tools",
    "command_hook",
    "network",
    "workspace",
    "environment",
    "model",
    "code",
    "unknown",
]
AUTOMATIC: frozenset[Risk] = frozenset({"text", "sampling", "budgets", "hook", "lineage"})

# The longest matching prefix of a key path decides.
_BY_PREFIX: dict[str, Risk] = {
    "version": "code",
    "run": "workspace",
    "cwd": "workspace",
    "js": "code",
    "env": "environment",
    "auth": "environment",
    "model": "model",
    "model.id_env": "environment",
    "model.api_key_env": "environment",
    "model.base_url": "network",
    "model.base_url_env": "network",
    "model.max_tokens": "sampling",
    "provider_options.temperature": "sampling",
    "provider_options.top_p": "sampling",
    "tools": "tools",
    "no_tools": "tools",
    "extensions": "code",
    "skills": "code",
    "prompts": "workspace",
    "prompt_templates": "workspace",
    "themes": "workspace",
    "resources": "workspace",  # files of the project, by path
    "resources.embedded": "code",  # scripts of hooks are among them
    "resources.system_prompt": "text",
    "resources.append_system_prompts": "text",
    "workspace": "workspace",
    "workspace.outputs.backend": "network",
    "workspace.outputs.destination": "network",
    "mcp": "code",
    "hooks": "command_hook",
    "session": "workspace",
    "thinking_level": "model",
    "thinkingLevel": "model",
    "rsi.files": "workspace",
    "rsi.parent": "lineage",
    "rsi.answer.format": "text",
    "rsi.list_files": "text",
    "rsi.memory": "text",
    "rsi.budgets": "budgets",
    "rsi.exemplars": "text",
    "rsi.skills": "text",
    "rsi.helpers": "code",
}
# The same under other spellings (rsi/hcp/form/normal.py).
_BY_PREFIX |= {
    "model.idEnv": "environment",
    "model.modelEnv": "environment",
    "model.model_env": "environment",
    "model.apiKeyEnv": "environment",
    "model.baseUrl": "network",
    "model.baseUrlEnv": "network",
}
_OF_SERVER: dict[str, Risk] = {"transport": "network", "url": "network", "headers": "network", "env": "environment"}
_KEY_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[^."\[]+|\[\d+\]')
_HOOK_WORDS = ("builtin", "message", "max_blocks", "fail", "timeout")  # of a Stop hook, besides its command


def risk_of(key: str) -> Risk:
    """The risk class of a change at a key path such as `rsi.budgets.turns` or `hooks.Stop.look.command`."""
    parts = [part for part in _KEY_PART.findall(key) if not part.startswith("[")]
    if parts[:2] == ["hooks", "Stop"] and len(parts) == 4 and parts[-1] in _HOOK_WORDS:
        return "hook"
    if len(parts) > 3 and parts[0] == "mcp" and parts[1] in ("servers", "mcpServers") and parts[3] in _OF_SERVER:
        return _OF_SERVER[parts[3]]
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
