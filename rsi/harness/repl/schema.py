"""What a tool says about its arguments, made a JSON Schema that a server of models takes and a call can be held to.

A part that is null or of the wrong type is as if absent; what a part means beyond its type is the tool's own affair.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

LONGEST = 20_000  # characters of a schema as JSON; every prompt holds it
MAX_DEPTH = 30
_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}


def tidy_schema(said: object) -> dict[str, Any]:
    """An object's schema, always. One that is too long or too deep comes down to its type."""
    if not isinstance(said, Mapping):
        return {"type": "object"}
    try:
        found = {**_tidy(said, MAX_DEPTH), "type": "object"}
        return found if len(json.dumps(found, allow_nan=False)) <= LONGEST else {"type": "object"}
    except (ValueError, TypeError):  # what is no JSON
        return {"type": "object"}


def _tidy(said: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    if depth == 0:
        raise ValueError("too deep")
    kept = {key: _KEPT.get(key, _as_it_is)(value, depth - 1) for key, value in said.items() if isinstance(key, str)}
    return {key: value for key, value in kept.items() if value is not None or key in ("const", "default")}


def _schema(said: object, depth: int) -> Any:
    """A schema may be true or false; any other that is no object allows everything."""
    return said if isinstance(said, bool) else _tidy(said, depth) if isinstance(said, Mapping) else {}


def _schema_or_none(said: object, depth: int) -> Any:
    return _schema(said, depth) if isinstance(said, Mapping | bool) else None


def _schemas(said: object, depth: int) -> Any:
    if not isinstance(said, Mapping):
        return None
    return {name: _schema(inner, depth) for name, inner in said.items() if isinstance(name, str)}


def _choices(said: object, depth: int) -> Any:
    return [_schema(inner, depth) for inner in said] or None if isinstance(said, list) else None


def _type(said: object, depth: int) -> Any:
    if isinstance(said, list):
        return list(dict.fromkeys(kind for kind in said if isinstance(kind, str) and kind in _TYPES)) or None
    return said if isinstance(said, str) and said in _TYPES else None


def _names(said: object, depth: int) -> Any:
    return list(dict.fromkeys(name for name in said if isinstance(name, str))) if isinstance(said, list) else None


def _list(said: object, depth: int) -> Any:
    return said or None if isinstance(said, list) else None


def _text(said: object, depth: int) -> Any:
    return said if isinstance(said, str) else None


def _as_it_is(said: object, depth: int) -> Any:
    return said


_KEPT: Mapping[str, Callable[[object, int], Any]] = {
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), _schemas),
    **dict.fromkeys(("items", "additionalProperties", "not", "if", "then", "else", "contains"), _schema_or_none),
    **dict.fromkeys(("propertyNames", "unevaluatedProperties", "unevaluatedItems"), _schema_or_none),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), _choices),
    **dict.fromkeys(("title", "description", "$ref", "$id", "$schema", "$comment", "pattern", "format"), _text),
    "type": _type,
    "required": _names,
    "enum": _list,
}
