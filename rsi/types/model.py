"""What a model is asked and what it sampled."""

from typing import Any, Literal

from pydantic import Field

from rsi.types.record import Record


def _empty(value: object) -> bool:
    return not value


class ToolSpec(Record):
    """A function that a model may call natively; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolCall(Record):
    """A native call as the model wrote it; `arguments` is text that ought to be a JSON object."""

    id: str
    name: str
    arguments: str


class Message(Record):
    """`tool_calls` stand in an assistant's message; one of role `tool` answers the call `tool_call_id`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = Field((), exclude_if=_empty)  # left out: digests of other messages stay
    tool_call_id: str = Field("", exclude_if=_empty)


class Sampling(Record):
    """How one model turn is sampled. `temperature` 0 is greedy; `top_p` 1 keeps the whole distribution."""

    temperature: float = Field(1.0, ge=0, le=5)
    top_p: float = Field(1.0, gt=0, le=1)
    max_new_tokens: int = Field(64, ge=1, le=8192)


class ModelRequest(Record):
    """One model turn.

    `prefix_ids` are the token ids of this conversation so far (last prompt + last completion, as sampled); the backend
    must answer with `prompt_ids` that begin with them, or raise. `stop` strings end the turn and are kept in the text.
    `choices`, where given, constrains the whole text to exactly one of them. `adapter` is an adapter revision's content
    name, or None for the base. `seed` alone decides the random draws of this turn. `tools` may be called natively; a
    backend that cannot offer them raises UserError.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    seed: int
    adapter: str | None = None
    prefix_ids: tuple[int, ...] = ()
    stop: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = Field((), exclude_if=_empty)  # left out of the digest, so recorded tapes still match


class Completion(Record):
    """What was sampled: `token_ids` as drawn, one natural-log probability a token under the sampling temperature
    (before top-p), and the policy version (base digest, or adapter revision) that drew them."""

    text: str
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    policy_version: str
    finish: Literal["stop", "length"]
    tool_calls: tuple[ToolCall, ...] = Field((), exclude_if=_empty)
