"""What a model is asked and what it sampled."""

from typing import Literal

from pydantic import Field

from rsi.types.record import Record


class Message(Record):
    role: Literal["system", "user", "assistant"]
    content: str


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
    name, or None for the base. `seed` alone decides the random draws of this turn.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    seed: int
    adapter: str | None = None
    prefix_ids: tuple[int, ...] = ()
    stop: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


class Completion(Record):
    """What was sampled: `token_ids` as drawn, one natural-log probability a token under the sampling temperature
    (before top-p), and the policy version (base digest, or adapter revision) that drew them."""

    text: str
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    policy_version: str
    finish: Literal["stop", "length"]
