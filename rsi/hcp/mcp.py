"""The MCP servers of a document: written in it, or in a JSON file of the common shape that it embeds."""

import json

from pydantic import ValidationError

from rsi.config import first_problem
from rsi.errors import UserError
from rsi.files import parse_json
from rsi.hcp.form import Form
from rsi.hcp.form.mcp import McpPart
from rsi.hcp.form.normal import normalise
from rsi.types import McpServer


def servers(form: Form) -> tuple[McpServer, ...]:
    """Every server by name; one written in the document hides its namesake of the file. ValueError where the file is
    malformed, or a server is one that no document may start."""
    known = dict(_from_file(form).servers) | dict(form.mcp.servers)
    return tuple(known[name].server(name) for name in sorted(known))


def _from_file(form: Form) -> McpPart:
    path = form.mcp.config_path
    entry = next((e for e in form.resources.of("mcp") if path and e.stands_for(path)), None)
    if entry is None:
        return McpPart()
    try:
        content = normalise({"mcp": parse_json(entry.text(), repr(path))})["mcp"]
        return McpPart.model_validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        raise ValueError(f"{path!r}: {first_problem(error)}") from None
    except UserError as error:
        raise ValueError(str(error)) from None
