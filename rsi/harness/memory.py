"""Compaction: what a prompt keeps when the window is full. Pure; the same conversation gives the same prompt.

The head (system message, exemplars) and the request stay verbatim, and so do the last exchanges. Of the rest,
an extract stays: what the user said that is no question, and how each tool call ended, the latest first to be kept."""

from collections.abc import Sequence

from rsi.types import Message

_LINE = 200  # characters kept of one earlier message
_HEADER = "Earlier in this conversation:"


def compacted(head: Sequence[Message], log: Sequence[Message], keep: int, chars: int) -> tuple[Message, ...]:
    """`log` begins with the request and alternates user and assistant, ending with the user message to answer. The
    result alternates too: head, then one user message that holds extract, request and the first kept message."""
    asked = [i for i, message in enumerate(log) if message.role == "user"]
    start = asked[max(0, len(asked) - keep)]
    if start == 0:
        return (*head, *log)
    parts = [extract(log[1:start], chars), log[0].content, log[start].content]
    return (*head, Message(role="user", content="\n\n".join(filter(None, parts))), *log[start + 1 :])


def extract(messages: Sequence[Message], chars: int) -> str:
    """At most `chars` characters of earlier messages, one line each, in their order; empty where none fits."""
    lines: list[str] = []
    room = chars - len(_HEADER)
    for message in reversed(messages):
        line = _line(message)
        if not line:
            continue
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join([_HEADER, *reversed(lines)]) if lines else ""


def _line(message: Message) -> str:
    text = " ".join(message.content.split())
    if not text or (message.role == "user" and text.endswith("?")):
        return ""
    shown = text if len(text) <= _LINE else text[: _LINE - 3] + "..."
    return f"- {'you' if message.role == 'assistant' else 'shown'}: {shown}"
