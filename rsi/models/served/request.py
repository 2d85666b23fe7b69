"""A request in the protocol's form, with what this server takes of it."""

from collections.abc import Sequence
from typing import Any

from rsi.models.served.abilities import Abilities
from rsi.models.served.refusal import LIMITS
from rsi.text import clean
from rsi.types import Message, ModelRequest

MOST_SEED = 2**31  # servers differ in how much they take
# what a request can go without: its answer is then another, or tells less, and the run says so
DISPENSABLE = frozenset({
    "temperature", "top_p", "seed", "logprobs", "tool_choice", "stop", "return_token_ids",
    "include_stop_str_in_output", "structured_outputs",
})  # fmt: skip


def make_body(request: ModelRequest, name: str, abilities: Abilities, limit: int) -> dict[str, Any]:
    """`limit`: tokens sampled at most."""
    body: dict[str, Any] = {
        "model": name,
        "messages": _messages(request.messages, abilities.system),
        "temperature": request.sampling.temperature,
        "top_p": request.sampling.top_p,
        "seed": request.seed % MOST_SEED,
        "logprobs": True,
    }
    if request.tools:
        tools = [{"type": "function", "function": tool.model_dump()} for tool in request.tools]
        body |= {"tools": tools, "tool_choice": "auto"}
    if abilities.vllm:
        if request.stop:
            body["stop"] = list(request.stop)
        body |= {"return_token_ids": True, "include_stop_str_in_output": True}
        if request.choices and abilities.choices:
            body["structured_outputs"] = {"choice": list(request.choices)}
    body = {field: value for field, value in body.items() if field not in abilities.lacks}
    field = next((field for field in LIMITS if field not in abilities.lacks), None)
    return body | ({field: limit} if field else {})


def _messages(messages: Sequence[Message], system: bool) -> list[dict[str, Any]]:
    """As the protocol has them; without `system` a leading system message stands before the first user's text."""
    plain = [_message(message) for message in messages]
    if system or len(plain) < 2 or plain[0]["role"] != "system" or plain[1]["role"] != "user":
        return plain
    first, second, *rest = plain
    return [{**second, "content": f"{first['content']}\n\n{second['content']}"}, *rest]


def _message(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = message.model_dump(exclude={"tool_calls"})
    plain["content"] = clean(message.content)
    if message.tool_calls:
        plain["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": clean(call.arguments)}}
            for call in message.tool_calls
        ]
    return plain
