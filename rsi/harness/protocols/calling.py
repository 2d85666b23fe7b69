"""One discrete call of a tool, its arguments as JSON text: how the repl's ```call and a native call are taken."""

import json

from rsi.harness.protocol import Action
from rsi.harness.repl import Calls, Masked
from rsi.harness.tools import Outcome, bounded


async def take(action: Action, calls: Calls, masked: Masked, limit: int, timeout: float) -> Outcome:
    """`action.path` names the tool, `action.body` holds its arguments. Bad ones are data; the observation is masked
    and has at most `limit` characters. Raises InfrastructureError only."""
    try:
        arguments = json.loads(action.body or "{}")
    except (ValueError, RecursionError) as error:
        return Outcome(f"call {action.path}: the arguments are not JSON ({error})"[:300], "", 2)
    if not isinstance(arguments, dict):
        return Outcome(f"call {action.path}: the arguments must be a JSON object", "", 2)
    calls.begin()
    told = await calls.call(action.path, arguments, timeout)
    text = told.get("error") or json.dumps(told.get("result"), ensure_ascii=False)
    text = masked.mask(text)
    return Outcome(bounded(text, limit), text, 1 if "error" in told else 0)
