"""What a server says when it refuses a request: a full window, a field that it does not know, or something else.

Servers have no common form for this, so codes, types, numbers and words are read wherever they stand. Pure.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LIMITS = ("max_tokens", "max_completion_tokens")  # two names for one thing: the tokens sampled at most
SHOWN = 200  # characters of a server's words in a message
READ = 4000  # characters of a server's words that are read
_TALK = {"messages", "message", "prompt", "input", "inputs", "content", "body", "text", *LIMITS}

_CODE = re.compile(
    r"(context|prompt|input|sequence|conversation)[a-z]*([_\s-]?[a-z]+){0,2}?[_\s-]?"
    r"(exceed|too[_\s-]?(long|large|big)|overflow|limit)|"
    r"exceed[a-z]*[_\s-]?(the[_\s-])?(max[a-z]*[_\s-])?(context|prompt|input)|string_above_max_length|request_too_large|"
    r"max_?context",
    re.IGNORECASE,
)
_WHAT = (
    r"(context|prompt|inputs?|messages?|sequence|conversation|tokens?|context window|session|max_model_len|max_seq_len|"
    r"n_ctx|num_ctx)"
)
_EXCESS = (
    r"(exceed\w*|too (long|large|big|many)|(longer|larger|greater|more|bigger|higher) than|overflow\w*|beyond|"
    r"(does|do|will|would|can)( not|not|n't) fit|over the|surpass\w*|above|out of)"
)
_BOUND = (
    r"(maximum|max\.?|at most|must be (<=?|less|smaller|at most|under|below)|must have (less|fewer|at most)|less than|"
    r"fewer than|no more than|limit(ed)?|up to|<=|range of|reduce|shorten|only)"
)
_SIZE = re.compile(r"token|context|\bwindow|length|\blen\b|_len\b|n_ctx|\blong\b|\bsize\b", re.IGNORECASE)
_TOLD = re.compile(rf"\b{_WHAT}\b.{{0,100}}?{_EXCESS}|{_EXCESS}.{{0,80}}?\b{_WHAT}\b", re.IGNORECASE | re.DOTALL)
_BOUNDED = re.compile(
    rf"\b(context|prompt|inputs?|tokens?|sequence)\b.{{0,60}}?{_BOUND}|{_BOUND}.{{0,60}}?"
    rf"\b(context|prompt|inputs?|tokens?|sequence|model length|max_model_len)\b",
    re.IGNORECASE | re.DOTALL,
)
_NEEDS_NUMBER = re.compile(r"\d{2,}")
_RATE = re.compile(r"\bper (minute|hour|day|second)\b|rate[_ -]?limit|quota", re.IGNORECASE)
_ASKED = re.compile(r"\bmax_?(new_|completion_|output_)?tokens\b|maxTokens|max_len\b|n_predict", re.IGNORECASE)
_INT = re.compile(r"(?<![\w.])\d[\d,_]*(?![\w]|\.\d)")


@dataclass(frozen=True)
class Refusal:
    """`words` are for a person. `fields` are those of the request that it names. `full`: prompt and answer together are
    more than fits; `numbers` are what it says of that, and `window`, `prompt` those with a name."""

    status: int
    words: str
    fields: frozenset[str] = frozenset()
    full: bool = False
    numbers: tuple[int, ...] = ()
    window: int | None = None
    prompt: int | None = None


def is_overflow(data: Any, text: str) -> bool:
    return read_refusal(400, data, text, frozenset()).full


def read_refusal(status: int, data: Any, text: str, sent: frozenset[str]) -> Refusal:
    """`sent` are the names of the request's fields."""
    leaves = list(_leaves(data)) if data is not None else [("message", text[:READ])]
    strings = [(key, value[:READ]) for key, value in leaves if isinstance(value, str)]
    named = {key: value for key, value in leaves if isinstance(value, int) and not isinstance(value, bool)}
    message = " ".join(value for key, value in strings if key not in ("code", "type", "param", "loc", "object"))
    window = next((named[key] for key in ("n_ctx", "max_model_len", "context_length") if key in named), None)
    prompt = next((named[key] for key in ("n_prompt_tokens", "prompt_tokens") if key in named), None)
    full = status in (400, 413, 422) and _is_full(strings, message, window is not None and prompt is not None)
    return Refusal(
        status=status,
        words=message or text[:READ],
        fields=_named(strings, sent),
        full=full or (status == 413 and not strings),
        numbers=tuple(int(re.sub("[,_]", "", digits)) for digits in _INT.findall(message)[:50] if len(digits) < 12),
        window=window,
        prompt=prompt,
    )


def find_room(refusal: Refusal, asked: int) -> int | None:
    """Tokens that fit behind the prompt as the refusal says it; 0 where none does, None where it does not say.

    A message tells the window, and the prompt or its sum with what was asked for, in any order: the sum is known by
    its difference."""
    if refusal.window is not None and refusal.prompt is not None:
        return max(0, refusal.window - refusal.prompt)
    said = sorted(set(refusal.numbers))
    for total in reversed(said):
        prompt = total - asked
        if prompt in said or (prompt > 0 and len(said) == 2 and asked not in said):
            windows = [number for number in said if number < total and number not in (asked, prompt)]
            if windows:
                return max(0, windows[-1] - prompt)
    rest = [number for number in said if number != asked]
    if asked in said and len(rest) == 2:  # the prompt and the window alone: their sum was too much
        smaller, larger = rest
        return larger - smaller if smaller + asked > larger else None
    return None


def _is_full(strings: list[tuple[str, str]], message: str, counted: bool) -> bool:
    params = [value for key, value in strings if key == "param"]
    if any(_root(param) not in _TALK for param in params if param) and not counted:
        return False
    codes = [value for key, value in strings if key in ("code", "type", "error_type", "error_code", "status")]
    if counted or any(_CODE.search(code) for code in codes):
        return True
    if _RATE.search(message) and not re.search("context", message, re.IGNORECASE):
        return False
    if not _SIZE.search(message):
        return False
    if _TOLD.search(message) or _CODE.search(message):
        return _speaks_of_tokens(message)
    return bool(_BOUNDED.search(message) and _NEEDS_NUMBER.search(message)) and _speaks_of_tokens(message)


def _speaks_of_tokens(message: str) -> bool:
    """Not of the length of a name, a list or a value."""
    return bool(
        re.search(
            r"\btokens?\b|context|prompt|\binputs?\b|model_len|n_ctx|_tokens\b|sequence|reduce the length|conversation",
            message,
            re.IGNORECASE,
        )
    )


def _root(param: str) -> str:
    """Of "messages.[2].content" the name that matters: a message has other parts than its text."""
    parts = [part for part in re.split(r"[.\[\]/]+", param) if part and not part.isdigit()]
    return parts[-1] if parts else ""


def _named(strings: list[tuple[str, str]], sent: frozenset[str]) -> frozenset[str]:
    """Names of sent fields that stand as words of their own in what the server says."""
    said = " ".join(value for _, value in strings)
    return frozenset(name for name in sent if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", said))


def _leaves(value: Any, key: str = "message") -> Iterator[tuple[str, Any]]:
    """Keys and values that are no containers; an item of a list has its list's key."""
    if isinstance(value, dict):
        for name, item in list(value.items())[:100]:
            if name not in ("input", "headers", "request", "body"):  # what some send back of the request itself
                yield from _leaves(item, str(name))
    elif isinstance(value, list):
        for item in value[:100]:
            yield from _leaves(item, key)
    elif value is not None:
        yield key, value
