"""A model behind an OpenAI-compatible URL: vLLM with all that we need, others with what they offer.

Knows HTTP and that protocol. A server that calls itself vLLM is asked for token ids, for stop strings kept in the text
and for constrained choices; another is not, for it might refuse the unknown fields. Another would cut stop strings off,
and with them the end of an answer: it is told none, and its text is cut here.
"""

import asyncio
import os
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from rsi.config import ModelSettings
from rsi.errors import ContextOverflow, InfrastructureError, IntegrityError, UserError
from rsi.models.stops import through_stop
from rsi.types import Completion, Message, ModelRequest, ToolCall

UNKNOWN = -1  # a token whose id the server did not tell; counted, never trained on
TRIES = 4
PAUSE = 0.5  # seconds before the first retry, doubled each time
TIMEOUT = httpx.Timeout(300.0, connect=10.0)
PASSING = {408, 409, 425, 429, 500, 502, 503, 504}
T = TypeVar("T", bound=BaseModel)


class _Served(BaseModel):
    id: str
    owned_by: str = ""


class _Models(BaseModel):
    data: list[_Served]


class _Token(BaseModel):
    token: str = ""
    logprob: float


class _Logprobs(BaseModel):
    content: list[_Token] | None = None


class _Function(BaseModel):
    name: str
    arguments: str = ""


class _Call(BaseModel):
    id: str = ""
    function: _Function


class _Text(BaseModel):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Text
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    token_ids: list[int] | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Answer(BaseModel):
    choices: list[_Choice]
    prompt_token_ids: list[int] | None = None
    usage: _Usage = _Usage()


class OpenAIModel:
    """ModelBackend over the URL in `settings.id` ("http://host:8000/v1", with "#name" where it serves several models).

    An adapter is a served model of that name. `policy_version` is the adapter or served name: a URL has no digest.
    Ids that the server does not tell are UNKNOWN. Log-probabilities are the server's; vLLM's are under temperature 1
    unless it runs with processed ones. Picklable. The key is read from the environment variable `api_key_env` names."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings, self._key_env = settings, settings.api_key_env
        self._url, _, self._name = settings.id.partition("#")
        self._client: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None
        self._served: _Served | None = None

    def __reduce__(self) -> tuple[type["OpenAIModel"], tuple[ModelSettings]]:
        return OpenAIModel, (self._settings,)

    async def generate(self, request: ModelRequest) -> Completion:
        served = self._served = self._served or await self._find()
        name = request.adapter or served.id
        body = _body(request, name, vllm=served.owned_by == "vllm")
        answer = self._parse(_Answer, await self._send("POST", "/chat/completions", body))
        if not answer.choices:
            raise InfrastructureError(f"{self._url}: the server answered without a choice")
        completion = _completion(answer, name, request.stop)
        if completion.tool_calls and not request.tools:
            raise InfrastructureError(f"{self._url}: the server answered with a tool call that was not offered")
        if request.choices and completion.text not in request.choices:
            raise UserError(f"{self._url}: the server ignores choices (structured_outputs); serve the model with vLLM")
        if completion.prompt_ids[: len(request.prefix_ids)] != request.prefix_ids:
            raise IntegrityError(
                f"{self._url}: the chat template breaks the conversation's prefix of sampled token ids"
            )
        return completion

    async def close(self) -> None:
        held, self._client = self._client, None
        if held is not None and held[0] is asyncio.get_running_loop():
            await held[1].aclose()

    async def _find(self) -> _Served:
        """The served model: the one named after "#", else the first."""
        models = self._parse(_Models, await self._send("GET", "/models", None)).data
        for served in models:
            if not self._name or served.id == self._name:
                return served
        names = ", ".join(served.id for served in models) or "none"
        raise UserError(f"{self._url}: serves no model '{self._name}' (it has: {names}); name one after '#'")

    async def _send(self, method: str, path: str, body: dict[str, Any] | None) -> httpx.Response:
        """Tries again where the fault may pass, TRIES times in all; then InfrastructureError."""
        reason, headers = "", self._headers()
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(PAUSE * 2 ** (attempt - 1))
            try:
                response = await self._http().request(method, self._url.rstrip("/") + path, json=body, headers=headers)
            except httpx.InvalidURL:
                raise UserError(f"model: '{self._url}' is not a URL; give http(s)://host:port/v1") from None
            except httpx.TransportError as error:
                reason = str(error) or type(error).__name__
                continue
            if response.status_code not in PASSING:
                return self._checked(response)
            reason = f"status {response.status_code}"
        raise InfrastructureError(f"{self._url}: no answer after {TRIES} tries ({reason})")

    def _checked(self, response: httpx.Response) -> httpx.Response:
        code, text = response.status_code, response.text[:2000]
        if code == 200:
            return response
        if code in (401, 403):
            key = f"the key in ${self._key_env}" if self._key_env else "a request without key; set model.api_key_env"
            raise UserError(f"{self._url}: refused {key} (status {code})")
        if code == 404:
            raise UserError(f"{self._url}: no such path, model or adapter there (status 404); check the URL and names")
        if "context_length_exceeded" in text or "maximum context length" in text or "max_model_len" in text:
            raise ContextOverflow(f"{self._url}: the prompt exceeds the served model's window")
        raise UserError(f"{self._url}: refused the request (status {code}): {' '.join(text.split())[:200]}")

    def _parse(self, kind: type[T], response: httpx.Response) -> T:
        try:
            return kind.model_validate_json(response.content)
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise InfrastructureError(f"{self._url}: the answer is not the OpenAI protocol's (at '{where}')") from None

    def _headers(self) -> dict[str, str]:
        if self._key_env is None:
            return {}
        key = os.environ.get(self._key_env)
        if not key:
            raise UserError(f"model: environment variable {self._key_env} (model.api_key_env) is not set; export it")
        return {"Authorization": f"Bearer {key}"}

    def _http(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._client[0] is not loop:
            limits = httpx.Limits(max_connections=256)
            self._client = (loop, httpx.AsyncClient(timeout=TIMEOUT, limits=limits))
        return self._client[1]


def _body(request: ModelRequest, name: str, vllm: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": name,
        "messages": [_message(message) for message in request.messages],
        "temperature": request.sampling.temperature,
        "top_p": request.sampling.top_p,
        "max_tokens": request.sampling.max_new_tokens,
        "seed": request.seed % 2**31,  # servers differ in how much they take
        "logprobs": True,
    }
    if request.tools:
        tools = [{"type": "function", "function": tool.model_dump()} for tool in request.tools]
        body |= {"tools": tools, "tool_choice": "auto"}
    if vllm:
        if request.stop:
            body["stop"] = list(request.stop)
        body |= {"return_token_ids": True, "include_stop_str_in_output": True}
        if request.choices:
            body["structured_outputs"] = {"choice": list(request.choices)}
    return body


def _message(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = message.model_dump(exclude={"tool_calls"})
    if message.tool_calls:
        plain["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return plain


def _completion(answer: _Answer, name: str, stop: Sequence[str]) -> Completion:
    choice = answer.choices[0]
    calls = choice.message.tool_calls or []
    said, tokens = choice.message.content or "", (choice.logprobs and choice.logprobs.content) or []
    text = said if choice.token_ids is not None else through_stop(said, stop)
    if text != said:
        ends = accumulate(len(token.token) for token in tokens)
        tokens = tokens[: 1 + sum(end < len(text) for end in ends)]
    ids = choice.token_ids if choice.token_ids is not None else [UNKNOWN] * len(tokens)
    if tokens and len(ids) != len(tokens):
        raise InfrastructureError(f"the server gave {len(ids)} token ids but {len(tokens)} log-probabilities")
    if calls and not ids:  # a server need not tell the tokens of a call: counted, so that budgets hold
        ids = [UNKNOWN] * answer.usage.completion_tokens
    prompt = answer.prompt_token_ids
    return Completion(
        text=text,
        prompt_ids=tuple(prompt) if prompt is not None else (UNKNOWN,) * answer.usage.prompt_tokens,
        token_ids=tuple(ids),
        logprobs=tuple(token.logprob for token in tokens),
        policy_version=name,
        finish="length" if choice.finish_reason == "length" and text == said else "stop",
        tool_calls=tuple(
            ToolCall(id=call.id or f"call_{at}", name=call.function.name, arguments=call.function.arguments)
            for at, call in enumerate(calls)
        ),
    )
