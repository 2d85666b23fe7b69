"""What a server answered, read leniently: only what something depends on, and an odd field costs that field alone.

A value that is missing, null or not finite is absent. Raises for an answer that is none, and for one that says it
failed.
"""

import json
import math
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from rsi.errors import InfrastructureError, RequestRefusedError
from rsi.models.stops import through_stop
from rsi.types import Completion, ModelRequest, ToolCall

UNKNOWN = -1  # a token whose id the server did not tell; counted, never trained on
MOST_TOKENS = 10_000_000  # of one answer: more is no count
CHARACTERS = 4  # of a token that nobody counted
_FAILED = re.compile(
    r"error|abort|cancel|fail|time_?d?_?out|interrupt|insufficient|overload|unavailable|crash", re.IGNORECASE
)
_CUT = {"length", "max_tokens", "model_length", "max_length", "max_new_tokens"}
_WHOLE = {"stop", "eos", "eos_token", "end", "end_turn", "stop_sequence", "tool_calls", "tool_use", "function_call", ""}
_FILTERED = re.compile(r"content_?filter|safety|moderat|prohibited|blocklist|recitation|refusal", re.IGNORECASE)


def read_completion(answer: dict[str, Any], name: str, request: ModelRequest, where: str) -> Completion:
    """`name` is what drew it; `where` names the server in errors."""
    choice = _choice(answer, where)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _no_protocol(where, "choices.0.message")
    said, calls = _text(message.get("content")), _calls(message)
    if calls and not request.tools:  # the model's own doing: text like any other
        said, calls = said or "\n".join(json.dumps({"name": c.name, "arguments": c.arguments}) for c in calls), ()
    finish = _finish(choice.get("finish_reason"), bool(said.strip() or calls), where)
    ids, tokens = _ids(choice.get("token_ids")), _tokens(choice.get("logprobs"))
    text = said if ids is not None else through_stop(said, request.stop)
    told = answer.get("usage")
    usage: dict[str, Any] = told if isinstance(told, dict) else {}
    counted, asked = _count(usage.get("completion_tokens")), _count(usage.get("prompt_tokens"))
    if ids is None and counted is not None and counted > len(tokens):
        ids = [UNKNOWN] * counted  # more than it tells of: what a call or hidden thinking took counts too
    if ids is None and text != said:
        ends = accumulate(len(token) for token, _ in tokens)
        tokens = tokens[: 1 + sum(end < len(text) for end in ends)]
    if ids is None:
        ids = [UNKNOWN] * (len(tokens) or _guess(text, *(c.name + c.arguments for c in calls)))
    logprobs = [logprob for _, logprob in tokens if logprob is not None]
    prompt = _ids(answer.get("prompt_token_ids"))
    unknown = asked or _guess(*(m.content for m in request.messages))
    return Completion(
        text=text,
        prompt_ids=tuple(prompt) if prompt is not None else (UNKNOWN,) * unknown,
        token_ids=tuple(ids),
        logprobs=tuple(logprobs) if len(logprobs) == len(tokens) == len(ids) else (),
        policy_version=name,
        finish="length" if finish == "length" and text == said else "stop",
        tool_calls=calls,
    )


def counts_tokens(answer: dict[str, Any]) -> bool:
    usage = answer.get("usage")
    return isinstance(usage, dict) and bool(_count(usage.get("completion_tokens")))


def _choice(answer: dict[str, Any], where: str) -> dict[str, Any]:
    choices = answer.get("choices")
    if answer.get("error"):
        raise InfrastructureError(f"{where}: the server answered with an error instead of a text")
    if isinstance(choices, list) and not choices:
        raise InfrastructureError(f"{where}: the server answered without a choice")
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise _no_protocol(where, "choices")
    if choices[0].get("error"):
        raise InfrastructureError(f"{where}: the server answered with an error instead of a text")
    choice: dict[str, Any] = choices[0]
    return choice


def _no_protocol(where: str, place: str) -> InfrastructureError:
    return InfrastructureError(f"{where}: the answer is not the OpenAI protocol's (at '{place}')")


def _finish(reason: Any, something: bool, where: str) -> str:
    """ "length" or "stop". What failed is no answer; nor is nothing, for a reason that nobody knows."""
    word = reason.strip().lower() if isinstance(reason, str) else ""
    if word in _CUT:
        return "length"
    if word in _WHOLE:
        return "stop"
    if _FILTERED.search(word):
        if not something:
            raise RequestRefusedError(f"{where}: the provider's content filter kept the answer back")
        return "stop"
    if _FAILED.search(word) or not something:
        raise InfrastructureError(f"{where}: the server ended the answer as '{word[:40]}'")
    return "stop"


def _text(content: Any) -> str:
    """Text as a string, or as a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(
        part if isinstance(part, str) else part["text"]
        for part in parts
        if isinstance(part, str)
        or (
            isinstance(part, dict)
            and isinstance(part.get("text"), str)
            and part.get("type") in (None, "text", "output_text")
        )
    )


def _calls(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The calls that name a function; ids that are missing or there twice are numbered."""
    said = message.get("tool_calls")
    entries = said if isinstance(said, list) else []
    legacy = message.get("function_call")
    if not entries and isinstance(legacy, dict):
        entries = [{"function": legacy}]
    calls: list[ToolCall] = []
    for at, entry in enumerate(entries):
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict):
            continue
        id, name = entry.get("id"), function.get("name")
        if not isinstance(id, str) or not id or any(call.id == id for call in calls):
            id = f"call_{at}"
        calls.append(ToolCall(id=id, name=name if isinstance(name, str) else "", arguments=_arguments(function)))
    return tuple(calls)


def _arguments(function: dict[str, Any]) -> str:
    arguments = function.get("arguments")
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _tokens(logprobs: Any) -> list[tuple[str, float | None]]:
    """Each token's text and log-probability, None where it is not known."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    entries = content if isinstance(content, list) else []
    return [_token(entry) for entry in entries]


def _token(entry: Any) -> tuple[str, float | None]:
    entry = entry if isinstance(entry, dict) else {}
    token, value = entry.get("token"), entry.get("logprob")
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return token if isinstance(token, str) else "", float(value) if known and math.isfinite(value) else None


def _ids(value: Any) -> list[int] | None:
    known = isinstance(value, list) and all(type(item) is int and 0 <= item < 2**31 for item in value)
    return value if known else None


def _count(value: Any) -> int | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return int(value) if known else None


def _guess(*texts: str) -> int:
    return -(-sum(map(len, texts)) // CHARACTERS)


def fits_prefix(completion: Completion, prefix: Sequence[int]) -> bool:
    return completion.prompt_ids[: len(prefix)] == tuple(prefix)
