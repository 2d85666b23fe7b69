"""One spelling of a document: aliases and compact forms become the form's own keys. Types are the form's concern, so
what has an unexpected type stays as it stands."""

from collections.abc import Mapping
from typing import Any

_HOOK_KEYS = {"runAsync": "run_async", "async": "run_async", "if": "condition", "maxBlocks": "max_blocks"}


_ALIASES: Mapping[str, Mapping[str, str]] = {  # of the keys of a section
    "env": {"passThrough": "passthrough"},
    "model": {
        "model": "id", "model_env": "id_env", "modelEnv": "id_env", "idEnv": "id_env", "baseUrl": "base_url",
        "baseUrlEnv": "base_url_env", "apiKeyEnv": "api_key_env", "api_type": "api", "apiType": "api", "llm_api": "api",
        "llmApi": "api", "contextWindow": "context_window", "maxTokens": "max_tokens",
        "thinkingLevel": "thinking_level",
    },
    "mcp": {"mcpServers": "servers", "configPath": "config_path"},
    "session": {"session_path": "path", "sessionPath": "path", "snapshotPath": "snapshot_path"},
}  # fmt: skip
_MOVED: Mapping[str, tuple[str, str]] = {  # top-level keys that older producers write
    "cwd": ("run", "cwd"),
    "thinking_level": ("model", "thinking_level"),
    "thinkingLevel": ("model", "thinking_level"),
}


def normalise(content: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the content with one spelling for everything that the form reads; other keys stay. Where an alias and
    the form's own key both stand, the own key counts."""
    normal = dict(content)
    if isinstance(normal.get("mcp"), str):
        normal["mcp"] = {"config_path": normal["mcp"]}
    for alias, (section, key) in _MOVED.items():
        if alias in normal and isinstance(normal.get(section, {}), Mapping):
            normal[section] = {key: normal.pop(alias), **normal.get(section, {})}
    if "prompts" in normal and "prompt_templates" not in normal:
        normal["prompt_templates"] = normal.pop("prompts")
    for section, aliases in _ALIASES.items():
        if isinstance(table := normal.get(section), Mapping):
            normal[section] = _renamed(table, aliases)
    if isinstance(hooks := normal.get("hooks"), Mapping):
        normal["hooks"] = {event: _hooks(table) for event, table in hooks.items()}
    return normal


def _renamed(table: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    first: dict[str, Any] = {}
    for key, value in table.items():
        first.setdefault(aliases.get(key, key), value)
    return first | {key: table[key] for key in first if key in table}


def _hooks(table: Any) -> Any:
    """The hooks of one event by name. A runtime's settings list groups of commands without names: they are numbered."""
    if isinstance(table, Mapping):
        return {name: _hook(hook) for name, hook in table.items()}
    if not isinstance(table, list) or not all(isinstance(group, Mapping) for group in table):
        return table
    named = {}
    for index, group in enumerate(table):
        outer = {key: value for key, value in group.items() if key != "hooks"}
        inner = group.get("hooks", [{}])
        if not isinstance(inner, list) or not all(isinstance(hook, Mapping) for hook in inner):
            return table
        for place, hook in enumerate(inner):
            named[f"{index:03d}.{place:03d}"] = _hook({**outer, **hook})
    return named


def _hook(hook: Any) -> Any:
    if isinstance(hook, str):
        return {"command": hook}
    if not isinstance(hook, Mapping):
        return hook
    plain = {_HOOK_KEYS.get(key, key): value for key, value in hook.items()}
    return {key: value for key, value in plain.items() if (key, value) != ("type", "command")}
