"""What of a reply's native calls goes back to the model, and how they are answered.

The record keeps a call as the model wrote it. The server reads the history again, and many refuse one that holds
arguments which are no JSON object, a name that no function may have, or one id twice: what goes back has none of these.
"""

import json
import re
from collections.abc import Sequence
from itertools import count

from rsi.harness.protocols.calling import read_arguments
from rsi.types import Message, ToolCall

MOST = 32  # calls of one reply
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # an escape that strict parsers refuse where it stands alone
_NOT_TAKEN = "not taken: one call a turn; call again"


def sendable(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls as every server takes them in a history, MOST of them; sound ones are as they were."""
    taken = {call.id for call in calls}
    ids, sent = set[str](), list[ToolCall]()
    for at, call in enumerate(calls[:MOST]):
        known = call.id
        if not known or known in ids:
            known = next(id for n in count(at) if (id := f"call_{n}") not in taken)
        ids.add(known)
        taken.add(known)
        name = _NO_NAME.sub("_", call.name)[:64] or "unnamed"
        sent.append(ToolCall(id=known, name=name, arguments=_sound(call.arguments)))
    return tuple(sent)


def answers(said: Message, observation: str) -> tuple[Message, ...]:
    """What the model is shown of its action: a user message, or one answer to each native call of what it said."""
    if not said.tool_calls:
        return (Message(role="user", content=observation),)
    first, *others = said.tool_calls
    return (
        Message(role="tool", content=observation, tool_call_id=first.id),
        *(Message(role="tool", content=_NOT_TAKEN, tool_call_id=call.id) for call in others),
    )


def _sound(arguments: str) -> str:
    try:
        given = read_arguments(arguments)
    except ValueError:
        return "{}"
    as_it_is = arguments.lstrip().startswith("{") and not _HALF.search(arguments)
    return arguments if as_it_is else json.dumps(given)
