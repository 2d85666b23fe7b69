"""One spelling of a document: aliases and compact forms become the form's own keys. Types are the form's concern, so
what has an unexpected type stays as it stands."""

from collections.abc import Mapping
from typing import Any

_HOOK_KEYS = {"runAsync": "run_async", "async": "run_async", "if": "condition", "maxBlocks": "max_blocks"}


def normalise(content: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the content with one spelling for everything that the form reads; other keys stay."""
    normal = dict(content)
    if isinstance(hooks := normal.get("hooks"), Mapping):
        normal["hooks"] = {event: _hooks(table) for event, table in hooks.items()}
    return normal


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
