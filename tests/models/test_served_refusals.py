"""What servers say when they refuse: full windows in the words of many, fields they do not take, and conversations."""

# ruff: noqa: E501  servers' words stand as they come

import json
import pickle

import pytest
from model_conformance import ask
from plain_server import answering, refused, said

import rsi.models.openai
from rsi.config import ModelSettings
from rsi.errors import ContextOverflow, InfrastructureError, RequestRefusedError, UserError
from rsi.models.openai import HOPELESS, OpenAIModel
from rsi.models.served.refusal import find_room, read_refusal
from rsi.types import Message, ToolSpec


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(rsi.models.openai, "PAUSE", 0.001)


def model_at(server):
    return OpenAIModel(ModelSettings(id=server.url))


# words and numbers as servers give them; `asked` is 100 where it matters; the room left, or None where it is not said
FULL = [
    ({"error": {"message": "This model's maximum context length is 4096 tokens. However, you requested 5100 tokens (5000 in"
     " the messages, 100 in the completion). Please reduce the length of the messages or completion.",
     "code": "context_length_exceeded", "param": "messages"}}, 0),
    ({"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 4120 tokens "
      "(4020 in the messages, 100 in the completion).", "type": "BadRequestError", "param": None, "code": 400}, 76),
    ({"error": {"message": "'max_tokens' or 'max_completion_tokens' is too large: 100. This model's maximum context length "
      "is 4096 tokens and your request has 4020 input tokens (100 > 4096 - 4020).", "code": 400}}, 76),
    ({"message": "The decoder prompt (length 20000) is longer than the maximum model length of 4096. Make sure that "
      "`max_model_len` is no smaller than the number of text tokens."}, None),
    ({"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it",
      "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}}, 0),
    ({"error": {"code": 400, "message": "full", "type": "exceed_context_size_error"}}, None),
    ({"error": {"code": 400, "message": "refused", "n_prompt_tokens": 4000, "n_ctx": 4096}}, 96),
    ({"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2000 `inputs` tokens and "
      "100 `max_new_tokens`", "error_type": "validation"}, 48),
    ({"error": "`inputs` must have less than 1024 tokens. Given: 2000", "error_type": "validation"}, None),
    ({"error": {"message": "Trying to keep the first 5000 tokens when the context overflows. However, the model is loaded "
      "with context length of only 4096 tokens."}}, None),
    ({"error": "The number of tokens to keep from the initial prompt is greater than the context length"}, None),
    ({"object": "error", "message": "The input (5000 tokens) is longer than the model's context length (4096 tokens)."}, None),
    ({"message": "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of "
      "4120 tokens: 4020 tokens from the input messages and 100 tokens for the completion."}, 76),
    ({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 "
      "maximum"}}, None),
    ({"error": {"message": "input length and `max_tokens` exceed context limit: 4020 + 100 > 4096, decrease input length or "
      "`max_tokens` and try again"}}, 76),
    ({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}, None),
    ({"error": {"message": "litellm.ContextWindowExceededError: refused", "type": None, "code": "400"}}, None),
    ({"object": "error", "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
      "maximum context length", "code": 3051}, None),
    ({"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000"}, None),
    ({"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum number of tokens allowed "
      "(1048576).", "status": "INVALID_ARGUMENT"}}, None),
    ({"message": "Input is too long for requested model."}, None),
    ({"error": {"message": "The prompt is too long: 5000, model maximum context length: 4096"}}, None),
    ({"error": {"message": "Please reduce the length of the messages or completion.", "code": "context_length_exceeded"}}, None),
    ({"error": {"message": "Range of input length should be [1, 30720]", "code": "InvalidParameter"}}, None),
    ({"error": {"message": "Invalid request: Your request exceeded model token limit: 8192"}}, None),
    ({"error": {"message": "Prompt exceeds max length", "code": "1261"}}, None),
    ({"error": "input length exceeds maximum context length"}, None),
    ({"detail": "Prompt length 5000 is greater than max_seq_len 4096"}, None),
    ({"message": "This model's maximum prompt length is 131072 but the request contains 200000 tokens."}, None),
    ({"error": {"message": "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576",
      "code": "string_above_max_length", "param": "messages[1].content"}}, None),
    ({"error": {"message": "context window exceeds limit (2013)"}}, None),
    ({"detail": [{"loc": ["body"], "msg": "prompt of 5000 tokens does not fit the window of 4096", "type": "value_error"}]}, None),
    ({"error": {"metadata": {"raw": json.dumps({"message": "maximum context length is 8192 tokens"})}, "message": "Provider "
      "returned error", "code": 400}}, None),
    ({"error": {"message": "maximum context length is 60 …"}}, None),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "room"), FULL, ids=range(len(FULL)))
@pytest.mark.parametrize("status", [400, 422])
def test_a_full_window_is_known_by_its_words_and_numbers(answer, room, status):
    refusal = read_refusal(status, answer, json.dumps(answer), frozenset({"max_tokens", "messages"}))
    assert refusal.full
    assert find_room(refusal, 100) in ((room,) if room else (0, None))


OTHER = [
    {"error": {"message": "The response was filtered due to the prompt triggering the content management policy.",
     "code": "content_filter", "param": "prompt"}},
    {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
     "'max_completion_tokens' instead.", "code": "unsupported_parameter", "param": "max_tokens"}},
    {"error": {"message": "unsupported"}},
    {"error": {"message": "Invalid 'stop': array too long. Expected an array with maximum length 4", "param": "stop"}},
    {"error": {"message": "temperature must be at most 2", "param": "temperature"}},
    {"error": {"message": "Invalid 'messages[1].name': string too long. Expected a string with maximum length 64",
     "param": "messages[1].name"}},
    {"error": {"message": "Tool call id has to be of length 9"}},
    {"error": {"message": "top_logprobs must be at most 20"}},
    {"error": {"message": "Conversation roles must alternate user/assistant/user/assistant/..."}},
    {"error": {"message": "Expecting ',' delimiter: line 1 column 17 (char 16)"}},
    {"error": {"message": "The model `x` does not exist.", "code": "model_not_found"}},
    {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'}},
    {"detail": [{"loc": ["body", "logprobs"], "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}]},
    {"error": {"message": "Rate limit exceeded: at most 6000 tokens per minute"}},
    {"error": {"message": "Your prompt was flagged as potentially violating our usage policy.", "code": "invalid_prompt"}},
    {"error": {"message": "Invalid schema for function 'shell'", "param": "tools[0].function.parameters"}},
    {"error": {"message": "seed must be less than 2147483648", "param": "seed"}},
    {"error": {"message": "System role not supported"}},
    {"error": {"message": "Invalid API key"}},
    {"message": "At most 1 image(s) may be provided in one request."},
    {}, [], None, "no", 7, {"error": None}, {"error": {"message": None}},
]  # fmt: skip


@pytest.mark.parametrize("answer", OTHER, ids=range(len(OTHER)))
def test_no_other_refusal_is_taken_for_a_full_window(answer):
    assert not read_refusal(400, answer, json.dumps(answer), frozenset({"max_tokens"})).full


def windowed(window, words, tokens_of=lambda body: sum(len(m["content"]) for m in body["messages"])):
    """A server with a window of `window` characters; `words` makes its refusal from prompt and asked tokens."""

    def answer(body):
        prompt, asked = tokens_of(body), body.get("max_tokens", 1)
        if prompt + asked > window:
            return words(prompt, asked)
        usage = {"prompt_tokens": prompt, "completion_tokens": asked}
        return said("x" * asked, finish="length", usage=usage)

    return answer


WORDS = {
    "both counts": lambda prompt, asked: refused(
        f"maximum context length is 60 tokens, you requested {prompt + asked} ({prompt} in the messages, {asked} in the "
        "completion)"
    ),
    "the window alone": lambda prompt, asked: refused("maximum context length is 60 tokens"),
    "no number": lambda prompt, asked: refused("too long", code="context_length_exceeded"),
    "inputs": lambda prompt, asked: (
        422,
        {"error": f"`inputs` tokens + `max_new_tokens` must be <= 60. Given: {prompt} `inputs` tokens and {asked}"},
    ),
    "counts with names": lambda prompt, asked: (400, {"error": {"n_ctx": 60, "n_prompt_tokens": prompt}}),
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
async def test_where_the_prompt_fits_alone_the_room_left_is_asked_for(words):
    with answering(windowed(60, words)) as server:
        model = model_at(server)
        completion = await model.generate(ask("x" * 46, tokens=24))
        assert len(completion.text) >= 12 and completion.finish == "length"
        if "no number" not in words(1, 1)[1].get("error", ""):
            assert len(completion.text) in (12, 14)
        assert len((await model.generate(ask("x" * 10, tokens=24))).text) == 24
        with pytest.raises(ContextOverflow, match="window"):
            await model.generate(ask("x" * 60, tokens=24))


async def test_a_bound_on_the_answer_alone_is_kept():
    def answer(body):
        if body["max_tokens"] > 16:
            return refused(
                f"max_tokens is too large: {body['max_tokens']}. This model supports at most 16 completion tokens"
            )
        return said("x" * body["max_tokens"], usage={"prompt_tokens": 3, "completion_tokens": body["max_tokens"]})

    with answering(answer) as server:
        assert 8 <= len((await model_at(server).generate(ask(tokens=24))).text) <= 16


def lacking(*fields, words="Unsupported parameter: '{}'", named=True):
    def answer(body):
        for field in fields:
            if field in body:
                return refused(words.format(field), **({"param": field} if named else {}))
        return said()

    return answer


SILENT = {"words": "unsupported", "named": False}


@pytest.mark.parametrize("form", [{}, SILENT], ids=["named", "silent"])
@pytest.mark.parametrize(
    "fields",
    [("max_tokens",), ("logprobs",), ("seed",), ("top_p",), ("temperature",), ("logprobs", "seed", "top_p"),
     ("max_tokens", "temperature"), ("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "logprobs")],
    ids="+".join,
)  # fmt: skip
async def test_a_field_that_is_not_taken_is_left_out_and_remembered(fields, form):
    with answering(lacking(*fields, **form)) as server:
        model = model_at(server)
        assert (await model.generate(ask())).text == "red"
        asked = len(server.bodies)
        assert (await model.generate(ask(seed=2))).text == "red"
        assert len(server.bodies) == asked + 1, "it is remembered"
        last = server.bodies[-1]
        assert last.keys().isdisjoint(fields) and {"model", "messages"} <= last.keys()
        assert {"temperature", "top_p", "seed", "logprobs"} - set(fields) <= last.keys(), "all else is kept"
        if "max_completion_tokens" not in fields and "max_tokens" in fields:
            assert last["max_completion_tokens"] == 24


@pytest.mark.parametrize("form", [{}, SILENT], ids=["named", "silent"])
async def test_what_a_server_cannot_do_is_said_at_the_start(form):
    with answering(lacking("logprobs", "tools", "seed", **form)) as server:
        notes = await model_at(server).learn()
    text = "\n".join(notes)
    assert all("\n" not in note for note in notes) and len(notes) == 4
    for word in ("'seed'", "'tools'", "no choices", "no log-probabilities"):
        assert text.count(word) == 1


async def test_a_server_without_a_system_role_gets_it_with_the_request():
    def answer(body):
        roles = [message["role"] for message in body["messages"]]
        return refused("System role not supported") if "system" in roles else said()

    with answering(answer) as server:
        model = model_at(server)
        assert any("no system message" in note for note in await model.learn())
        talk = (Message(role="system", content="S"), Message(role="user", content="U"))
        assert (await model.generate(ask(messages=talk))).text == "red"
        assert server.bodies[-1]["messages"][0]["content"] == "S\n\nU"


async def test_tools_that_are_not_taken_are_a_set_up_and_no_score():
    tool = ToolSpec(name="shell", description="Runs.", parameters={"type": "object"})
    with answering(lacking("tools")) as server:
        model = model_at(server)
        await model.learn()
        with pytest.raises(UserError, match=r"rsi\.protocol"):
            await model.generate(ask().model_copy(update={"tools": (tool,)}))


async def test_a_refused_conversation_ends_alone():
    def answer(body):
        return refused("filtered", code="content_filter") if "bad" in body["messages"][-1]["content"] else said()

    with answering(answer) as server:
        model = model_at(server)
        await model.learn()
        for _ in range(3):
            with pytest.raises(RequestRefusedError, match="filtered"):
                await model.generate(ask("bad"))
            assert (await model.generate(ask("good"))).text == "red"


async def test_a_server_that_refuses_every_conversation_is_a_wrong_set_up():
    def answer(body):
        return said() if len(body["messages"][-1]["content"]) < 12 else refused("no")

    with answering(answer) as server:
        model = model_at(server)
        await model.learn()
        for _ in range(HOPELESS - 1):
            with pytest.raises(RequestRefusedError):
                await model.generate(ask("a long request"))
        with pytest.raises(UserError, match=f"{HOPELESS} conversations were refused"):
            await model.generate(ask("a long request"))


@pytest.mark.parametrize("status", [300, 302, 307, 400, 401, 402, 403, 404, 405, 410, 411, 415, 418, 422, 451])
async def test_before_any_answer_a_refusal_is_the_set_up(status):
    with (
        answering(lambda body: refused("go away", status)) as server,
        pytest.raises(UserError, match=str(status)) as caught,
    ):
        await model_at(server).generate(ask())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 308, 400, 401, 402, 403, 404, 405, 410, 418, 422, 451])
async def test_after_an_answer_a_server_that_refuses_all_is_an_outage(status):
    down = []
    with answering(lambda body: refused("go away", status) if down else said()) as server:
        model = model_at(server)
        await model.generate(ask())
        down.append(True)
        with pytest.raises(InfrastructureError, match=str(status)):
            await model.generate(ask())


async def test_a_flagged_prompt_is_a_refusal_whatever_its_status():
    def answer(body):
        flagged = "bad" in body["messages"][-1]["content"]
        return refused("Your input was flagged", 403, metadata={"reasons": ["violence"]}) if flagged else said()

    with answering(answer) as server:
        model = model_at(server)
        await model.generate(ask())
        with pytest.raises(RequestRefusedError):
            await model.generate(ask("bad"))


async def test_a_value_that_a_server_refuses_is_not_taken_for_a_field_that_it_lacks():
    def answer(body):
        return refused("temperature must be at most 2", param="temperature") if body["temperature"] > 2 else said()

    with answering(answer) as server:
        model = model_at(server)
        await model.generate(ask())
        with pytest.raises(RequestRefusedError):
            await model.generate(ask(temperature=3.0))
        await model.generate(ask())
        assert server.bodies[-1]["temperature"] == 1.0


async def test_what_is_known_of_a_server_travels_with_the_model():
    with answering(lacking("logprobs")) as server:
        model = model_at(server)
        await model.learn()
        copy = pickle.loads(pickle.dumps(model))
        asked = len(server.bodies)
        await copy.generate(ask())
        assert len(server.bodies) == asked + 1
