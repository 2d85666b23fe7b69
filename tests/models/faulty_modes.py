"""What a server that goes wrong answers: named modes, as data. `Call` is what was asked, `Reply` what is said."""

import functools
import gzip
import json
import random
import socket
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faulty_server import Handler

GOOD = 40  # requests that are answered well before a server of the kind "... from then on" goes wrong
ANSWER = "<answer>none</answer>"


@dataclass
class Reply:
    """`write`, where given, has the connection to itself after the head (None: no head is sent either)."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    write: Callable[["Handler"], None] | None = None
    head: bool = True
    good: bool = False  # a whole answer that a client can use

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Call:
    """One chat request. `number` counts from 1 over the server's life, `seconds` since the first."""

    number: int
    seconds: float
    body: dict[str, Any]
    headers: dict[str, str]
    answer: str

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def words(self) -> int:
        return sum(len(str(message.get("content") or "").split()) for message in self.messages)

    def one_in(self, n: int) -> bool:
        """Whether this request is one of the `n`th part that its text chooses, however often it is asked."""
        return zlib.crc32(json.dumps([m.get("content") for m in self.messages]).encode()) % n == 0


Chat = Callable[[Call], Reply]


def answered(call: Call, message: dict[str, Any] | None = None, choice: dict[str, Any] | None = None) -> Reply:
    """A good answer, with what `message` and `choice` say on top."""
    said = {"role": "assistant", "content": call.answer, **(message or {})}
    whole = {"index": 0, "message": said, "finish_reason": "stop", **(choice or {})}
    usage = {"prompt_tokens": call.words, "completion_tokens": len(call.answer.split())}
    return Reply({"id": "c", "object": "chat.completion", "choices": [whole], "usage": usage}, good=True)


def changed(**fields: Any) -> Chat:
    """A good answer whose top level is changed; None takes a field away."""

    def chat(call: Call) -> Reply:
        reply = answered(call)
        body = {**reply.body, **fields}
        return Reply({key: value for key, value in body.items() if value is not ABSENT}, good=reply.good)

    return chat


ABSENT = object()


def bad(chat: Chat) -> Chat:
    """The same, which no client can use."""

    def spoiled(call: Call) -> Reply:
        reply = chat(call)
        reply.good = False
        return reply

    return spoiled


def with_message(**fields: Any) -> Chat:
    return lambda call: answered(call, message=fields)


def with_choice(**fields: Any) -> Chat:
    return lambda call: answered(call, choice=fields)


def refused(status: int, message: str, **error: Any) -> Reply:
    return Reply({"error": {"message": message, **error}}, status)


def always(reply: Reply) -> Chat:
    return lambda call: reply


def from_then_on(reply: Reply, after: int = GOOD) -> Chat:
    return lambda call: answered(call) if call.number <= after else reply


def raw(write: Callable[["Handler"], None], head: bool = False, **headers: str) -> Chat:
    return lambda call: Reply(write=write, head=head, headers=headers)


# What a server says of a conversation.


def cut_arguments(call: Call) -> Reply:
    """Its first reply calls a tool with half an argument; a history that holds such a call is refused."""
    calls = [each for message in call.messages for each in message.get("tool_calls") or ()]
    if any(not _is_json(each["function"]["arguments"]) for each in calls):
        return refused(400, "tool call arguments must be valid JSON")
    if calls or not call.body.get("tools"):
        return answered(call)
    return called(call, arguments='{"command": "ls')


def called(call: Call, **function: Any) -> Reply:
    """A call of the first tool that was offered; an answer where none was."""
    if not call.body.get("tools") or call.messages[-1]["role"] == "tool":
        return answered(call)
    name = call.body["tools"][0]["function"]["name"]
    identity = function.pop("id", "call_1")
    made = {"id": identity, "type": "function", "function": {"name": name, **function}}
    return answered(call, {"content": None, "tool_calls": [made]}, {"finish_reason": "tool_calls"})


def _is_json(text: Any) -> bool:
    try:
        json.loads(text)
    except (TypeError, ValueError):
        return False
    return True


def content_filter(call: Call) -> Reply:
    if call.one_in(5):
        return refused(400, "The response was filtered", code="content_filter", type="invalid_request_error")
    return answered(call)


def breaks(call: Call) -> Reply:
    """As a chat template, or a parser of calls, that raises on what some conversations hold."""
    return refused(500, "Internal Server Error") if call.one_in(5) else answered(call)


def breaks_prefix(call: Call) -> Reply:
    """As vLLM with a template that leaves the thinking of earlier turns out: ids of a prompt do not go on from them."""
    said = "<think>n</think>" + call.answer
    shown = "\n".join(str(message["content"]).replace("<think>n</think>", "") for message in call.messages)
    reply = answered(
        call,
        {"content": said},
        {
            "token_ids": list(said.encode()),
            "logprobs": {"content": [{"token": "?", "logprob": -0.5} for _ in said.encode()]},
        },
    )
    reply.body["prompt_token_ids"] = list(shown.encode("utf-8", "replace"))
    return reply


def busy_at_first(call: Call) -> Reply:
    if call.seconds < 2:
        return Reply({"error": {"message": "rate limit"}}, 429, {"Retry-After": "1"})
    return answered(call)


def needs_other_field(call: Call) -> Reply:
    if "max_tokens" in call.body:
        words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return refused(400, words, param="max_tokens", code="unsupported_parameter")
    return answered(call)


def knows_no_logprobs(call: Call) -> Reply:
    if call.body.get("logprobs"):
        return refused(400, "logprobs is not supported with this model", param="logprobs", code="unsupported")
    return answered(call)


def room_for(window: int) -> Chat:
    """Prompt and completion must fit together."""

    def chat(call: Call) -> Reply:
        most = call.body.get("max_tokens") or call.body.get("max_completion_tokens") or 0
        if call.words + most > window:
            asked = f"you requested {call.words + most} tokens ({call.words} in the messages, {most} in the completion)"
            return refused(400, f"This model's maximum context length is {window} tokens. However, {asked}.")
        return answered(call)

    return chat


def full_in_words_of(reply: Reply, window: int = 150) -> Chat:
    return lambda call: answered(call) if call.words <= window else reply


def echoes(status: int) -> Chat:
    return lambda call: refused(status, f"bad credentials: {call.headers.get('Authorization', 'none')}")


def flips(call: Call) -> Reply:
    """One request in four fails, whichever it is; asked again it may do well."""
    good = random.Random(call.number).random() < 0.75
    return answered(call) if good else refused(500, "internal error")


# What happens on the wire.


def reset(handler: "Handler") -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


def drip(handler: "Handler") -> None:
    """A byte now and then, and never the last."""
    while not handler.server.ended.wait(0.05):
        handler.wfile.write(b" ")


def flood(handler: "Handler") -> None:
    while not handler.server.ended.is_set():
        handler.wfile.write(b"x" * 65536)


def wait(handler: "Handler") -> None:
    handler.server.ended.wait(60)
    handler.close_connection = True


def half(handler: "Handler") -> None:
    handler.wfile.write(b'{"choices": [{"mess')
    handler.close_connection = True


def other_protocol(handler: "Handler") -> None:
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
    handler.close_connection = True


def chunked(handler: "Handler") -> None:
    handler.wfile.write(b'5\r\n{"cho\r\nzz\r\n')
    handler.close_connection = True


def broken_head(handler: "Handler") -> None:
    handler.wfile.write(b"HTTP/1.1 two hundred OK\r\nContent-Length: many\r\n\r\n{}")
    handler.close_connection = True


def long_head(handler: "Handler") -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500_000 + b"\r\n\r\n")
    handler.close_connection = True


def slow(call: Call) -> Reply:
    time.sleep(0.2)
    return answered(call)


def off_by(bytes_: int) -> Chat:
    """A Content-Length that is wrong by so many bytes."""

    def chat(call: Call) -> Reply:
        reply = answered(call)
        return Reply(reply.body, headers={"Content-Length": str(len(reply.content) + bytes_)}, good=False)

    return chat


def redirected(status: int, to: str) -> Chat:
    return always(Reply(b"", status, {"Location": to}))


@functools.cache
def _bomb() -> bytes:
    return gzip.compress(b" " * 100_000_000)


LOGPROB = {"token": "x", "logprob": -0.5}
DEEP = b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
ENTRY = [{"id": "m", "object": "model"}]


@dataclass(frozen=True)
class Mode:
    chat: Chat = answered
    models: Reply = field(default_factory=lambda: Reply({"object": "list", "data": ENTRY}))


VLLM = Reply({"data": [{"id": "m", "owned_by": "vllm"}]})

MODES: dict[str, Mode] = {
    "well": Mode(),
    "slow": Mode(slow),
    # a conversation is refused
    "cut_off_arguments": Mode(cut_arguments),
    "content_filter": Mode(content_filter),
    "content_filter_as_finish": Mode(
        lambda call: answered(call, {"content": ""}, {"finish_reason": "content_filter"})
        if call.one_in(5)
        else answered(call)
    ),
    "breaks_on_a_conversation": Mode(breaks),
    "breaks_prefix": Mode(breaks_prefix, VLLM),
    # an outage
    "unavailable": Mode(always(refused(503, "no healthy upstream"))),
    "unavailable_later": Mode(from_then_on(refused(503, "no healthy upstream"))),
    "busy_at_first": Mode(busy_at_first),
    "busy": Mode(always(refused(429, "rate limit"))),
    "fails_at_random": Mode(flips),
    "not_found_later": Mode(from_then_on(refused(404, "model was unloaded"))),
    "key_expires": Mode(from_then_on(refused(401, "key expired"))),
    "wrong_key": Mode(echoes(401)),
    "forbidden": Mode(echoes(403)),
    "echoes_key": Mode(echoes(400)),
    "echoes_key_failing": Mode(echoes(500)),
    "payment": Mode(always(refused(402, "quota exceeded", code="insufficient_quota"))),
    "teapot": Mode(always(Reply(b"no", 418))),
    # fields that nothing depends on
    "null_logprob": Mode(with_choice(logprobs={"content": [{"token": "x", "logprob": None}]})),
    "infinite_logprob": Mode(with_choice(logprobs={"content": [{"token": "x", "logprob": float("-inf")}]})),
    "nan_logprob": Mode(with_choice(logprobs={"content": [{"token": "x", "logprob": float("nan")}]})),
    "text_logprob": Mode(with_choice(logprobs={"content": [{"token": "x", "logprob": "low"}]})),
    "null_logprobs": Mode(with_choice(logprobs={"content": None})),
    "logprobs_as_list": Mode(with_choice(logprobs=[LOGPROB])),
    "null_call_fields": Mode(lambda call: called(call, id=None, arguments=None)),
    "object_arguments": Mode(lambda call: called(call, arguments={"command": "ls"})),
    "null_finish": Mode(with_choice(finish_reason=None)),
    "no_usage": Mode(changed(usage=ABSENT)),
    "null_usage": Mode(changed(usage=None)),
    "null_usage_fields": Mode(changed(usage={"prompt_tokens": None, "completion_tokens": None})),
    "negative_usage": Mode(changed(usage={"prompt_tokens": -5, "completion_tokens": -1})),
    "text_usage": Mode(changed(usage={"prompt_tokens": "many", "completion_tokens": "few"})),
    "usage_only": Mode(changed(usage={"prompt_tokens": 20, "completion_tokens": 50})),
    "unknown_fields": Mode(changed(timings={"ms": [1, None]}, choices_extra=[[[]]], system_fingerprint=7)),
    # other servers' ways
    "llama_overflow": Mode(
        full_in_words_of(
            refused(400, "the request exceeds the available context size", type="exceed_context_size_error", n_ctx=150)
        )
    ),
    "tgi_overflow": Mode(
        full_in_words_of(
            Reply(
                {
                    "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 150. Given: 160 "
                    "`inputs` tokens and 128 `max_new_tokens`",
                    "error_type": "validation",
                },
                422,
            )
        )
    ),
    "no_max_tokens": Mode(needs_other_field),
    "no_logprobs": Mode(knows_no_logprobs),
    "small_window": Mode(room_for(200)),
    # no answer in what looks like one
    "finish_error": Mode(
        bad(lambda call: answered(call, {"content": ""}, {"finish_reason": "error"}))
    ),
    "error_with_200": Mode(always(refused(200, "worker died", code=500))),
    "no_choices": Mode(bad(changed(choices=[]))),
    "null_choices": Mode(bad(changed(choices=None))),
    "absent_choices": Mode(bad(changed(choices=ABSENT))),
    "null_choice": Mode(bad(changed(choices=[None]))),
    "null_message": Mode(bad(with_choice(message=None))),
    "a_list": Mode(always(Reply([]))),
    "a_null": Mode(always(Reply(b"null"))),
    "wrong_json": Mode(always(Reply(b'{"choices": [}'))),
    "html": Mode(always(Reply(b"<html><body>Welcome to nginx!</body></html>", headers={"Content-Type": "text/html"}))),
    "empty_body": Mode(always(Reply(b""))),
    "no_content_status": Mode(always(Reply(b"", 204))),
    "event_stream": Mode(always(Reply(b"data: {}\n\ndata: [DONE]\n\n", headers={"Content-Type": "text/event-stream"}))),
    "not_utf8": Mode(always(Reply(b'{"choices": "\xff\xfe"}'))),
    "deep_nesting": Mode(always(Reply(DEEP))),
    "huge_integers": Mode(changed(usage={"prompt_tokens": 10**4000, "completion_tokens": 10**4000})),
    "huge_index": Mode(with_choice(index=10**300)),
    # text as it may come
    "null_content": Mode(with_message(content=None)),
    "content_parts": Mode(lambda call: answered(call, {"content": [{"type": "text", "text": call.answer}]})),
    "lone_surrogates": Mode(with_message(content="\ud800 \udfff" + ANSWER)),
    "nul": Mode(with_message(content="\0\0" + ANSWER)),
    "wrong_type": Mode(lambda call: Reply(answered(call).body, headers={"Content-Type": "text/plain"}, good=True)),
    "byte_order_mark": Mode(lambda call: Reply(b"\xef\xbb\xbf" + answered(call).content, good=True)),
    "compressed": Mode(
        lambda call: Reply(gzip.compress(answered(call).content), headers={"Content-Encoding": "gzip"}, good=True)
    ),
    # the wire
    "compressed_garbage": Mode(always(Reply(b"not gzip at all", headers={"Content-Encoding": "gzip"}))),
    "bomb": Mode(lambda call: Reply(_bomb(), headers={"Content-Encoding": "gzip"})),
    "redirect": Mode(redirected(302, "http://127.0.0.1:9/elsewhere")),
    "redirect_loop": Mode(redirected(307, "/v1/chat/completions")),
    "redirect_without_place": Mode(always(Reply(b"", 301))),
    "too_short_length": Mode(off_by(-20)),
    "too_long_length": Mode(off_by(20)),
    "cut_in_the_middle": Mode(raw(half, head=True, **{"Content-Length": "5000"})),
    "cut_chunks": Mode(raw(chunked, head=True, **{"Transfer-Encoding": "chunked"})),
    "dripping": Mode(raw(drip, head=True, **{"Content-Length": "1000000000"})),
    "endless": Mode(raw(flood, head=True, **{"Transfer-Encoding": "identity"})),
    "silent": Mode(raw(wait)),
    "reset": Mode(raw(reset)),
    "reset_later": Mode(lambda call: answered(call) if call.number <= GOOD else Reply(write=reset, head=False)),
    "other_protocol": Mode(raw(other_protocol)),
    "broken_head": Mode(raw(broken_head)),
    "long_head": Mode(raw(long_head)),
    # the list of models
    "no_models": Mode(models=Reply({"data": []})),
    "null_models": Mode(models=Reply({"data": None})),
    "models_absent": Mode(models=refused(404, "Not Found")),
    "models_forbidden": Mode(models=refused(401, "no key")),
    "models_as_html": Mode(models=Reply(b"<html></html>")),
    "models_as_list": Mode(models=Reply(ENTRY)),
    "model_without_id": Mode(models=Reply({"data": [{}]})),
    "model_with_odd_fields": Mode(models=Reply({"data": [{"id": "m", "owned_by": None, "created": "today"}]})),
}  # fmt: skip
