"""Compaction: what a prompt keeps when the window is full. Pure; the same conversation gives the same prompt.

The head (system message, exemplars) and the request stay verbatim, and so do the last exchanges. Of the rest,
an extract stays: what the user said that is no question, and how each tool call ended, the latest first to be kept.
In a conversation the request is the user's latest; a document may have what the user told before kept first."""

import re
from collections.abc import Collection, Sequence
from itertools import dropwhile

from rsi.types import Message

_LINE = 200  # characters kept of one earlier message
_HEADER = "Earlier in this conversation:"
_SENTENCE = re.compile(r"(?<=[.!?]) ")


def compacted(
    head: Sequence[Message],
    log: Sequence[Message],
    keep: int,
    chars: int,
    requests: Sequence[int] = (0,),
    told_first: bool = False,
) -> tuple[Message, ...]:
    """`log` begins with the request and alternates user and assistant, ending with the user message to answer. The
    result alternates too: head, then one user message that holds extract, request and the first kept message.

    `requests` are the places in `log` of what the user asked, the current one last. The answer to a native call counts
    as a user message; where its call is no longer shown it becomes one."""
    asked = [i for i, message in enumerate(log) if message.role == "user" or _first_answer(log, i)]
    start = asked[max(0, len(asked) - keep)]
    if start == 0:
        return (*head, *log)
    now, before = requests[-1], [i for i in range(start) if i != requests[-1]]
    told = {n for n, i in enumerate(before) if i in requests}
    summary = extract([log[i] for i in before], chars, told, told_first)
    parts = [summary, log[now].content if now < start else "", log[start].content]
    rest = dropwhile(lambda message: message.role == "tool", log[start + 1 :])  # of calls that were not taken
    return (*head, Message(role="user", content="\n\n".join(filter(None, parts))), *rest)


def _first_answer(log: Sequence[Message], at: int) -> bool:
    return log[at].role == "tool" and log[at - 1].role == "assistant"


def extract(messages: Sequence[Message], chars: int, told: Collection[int] = (), told_first: bool = False) -> str:
    """At most `chars` characters of earlier messages, one line each, in their order; empty where none fits. `told` are
    the places of what the user said in a conversation; `told_first` keeps those before any other."""
    lines: dict[int, str] = {}
    room = chars - len(_HEADER)
    for n in sorted(range(len(messages)), key=lambda n: (not told_first or n in told, n), reverse=True):
        line = _line(messages[n], n in told)
        if not line:
            continue
        room -= len(line) + 1
        if room < 0:
            break
        lines[n] = line
    return "\n".join([_HEADER, *(lines[n] for n in sorted(lines))]) if lines else ""


def _line(message: Message, told: bool) -> str:
    text = " ".join(message.content.split())
    if told:
        text = " ".join(part for part in _SENTENCE.split(text) if not part.endswith("?"))
    if not text or (message.role == "user" and text.endswith("?")):
        return ""
    shown = text if len(text) <= _LINE else text[: _LINE - 3] + "..."
    return f"- {'you' if message.role == 'assistant' else 'user' if told else 'shown'}: {shown}"
