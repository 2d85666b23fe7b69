"""The JSON Schema of a document, for editors and other programs: `rsi hcp schema`. Unknown keys are allowed, as in the
draft; what it cannot say (checksums, paths that leave, agreement between keys) the parser checks."""

from typing import Any

from rsi.hcp.form import Form
from rsi.hcp.form.hooks import Hooks

TITLE = "Harness configuration document (RFC-0002, with the [rsi] section)"


def schema() -> dict[str, Any]:
    """Valid for a document as JSON. Aliases of keys pass as unknown keys do."""
    made = Form.model_json_schema()
    parts = made["$defs"]
    for name in Hooks.model_fields:
        event = parts["Hooks"]["properties"][name]
        part = event["additionalProperties"]
        event["additionalProperties"] = {"anyOf": [part, {"type": "string"}]}  # a command alone
        parts["Hooks"]["properties"][name] = {"anyOf": [event, {"type": "array", "items": {"type": "object"}}]}
    for part in parts.values():
        if part.get("type") == "object":
            part["additionalProperties"] = part.get("additionalProperties") or True
    properties = made["properties"]
    properties["tools"] = {"anyOf": [{"type": kind} for kind in ("array", "string", "object")]}
    properties["mcp"] = {"anyOf": [properties["mcp"], {"type": "string"}]}
    properties["prompts"] = properties["prompt_templates"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": TITLE, "required": ["version"]}
