"""One discrete call of a tool, its arguments as JSON text: how the repl's ```call and a native call are taken."""

import json
from typing import Any

from rsi.harness.protocol import Action
from rsi.harness.repl import Calls, Masked
from rsi.harness.tools import Outcome, bounded
from rsi.text import parse_json


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments of a call; none are an empty object. ValueError says what of the text is no JSON object."""
    try:
        given = parse_json(text) if text.strip() else {}
        json.dumps(given, allow_nan=False)
    except ValueError as error:
        raise ValueError(f"the arguments are not JSON ({error})") from None
    if not isinstance(given, dict):
        raise ValueError("the arguments must be a JSON object")
    return given


async def take(action: Action, calls: Calls, masked: Masked, limit: int, timeout: float) -> Outcome:
    """`action.path` names the tool, `action.body` holds its arguments. Bad ones are data; the observation is masked
    and has at most `limit` characters. Raises InfrastructureError only."""
    try:
        arguments = read_arguments(action.body)
    except ValueError as error:
        return Outcome(f"call {action.path[:100]}: {error}", "", 2)
    calls.begin()
    told = await calls.call(action.path, arguments, timeout)
    text = told.get("error") or json.dumps(told.get("result"), ensure_ascii=False)
    text = masked.mask(text)
    return Outcome(bounded(text, limit), text, 1 if "error" in told else 0)
