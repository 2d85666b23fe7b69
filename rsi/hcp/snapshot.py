"""Snapshots of a session: JSON, compressed, as text. Restoring makes messages in memory and never writes back.

Read besides our own list of messages: `{"messages": [...]}` and a runtime's session entries, as one JSON value or a
value a line."""

import base64
import binascii
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import ValidationError

from rsi.text import parse_json
from rsi.types import Message

ENCODING: Final[Literal["zlib+base64+json"]] = "zlib+base64+json"
MAX_BYTES = 4_000_000  # of the JSON; a small text can unpack to gigabytes
MAX_MESSAGES = 1000


def encode(messages: Sequence[Message]) -> dict[str, str]:
    """The table `[session.snapshot]` that holds these messages. The same messages give the same text."""
    text = json.dumps({"messages": [message.model_dump() for message in messages]}, ensure_ascii=False)
    return {
        "format": "pi-session",
        "encoding": ENCODING,
        "content": base64.b64encode(zlib.compress(text.encode(errors="replace"), 9)).decode(),
    }


def decode(content: str) -> tuple[Message, ...]:
    """The messages of a snapshot's text. ValueError for what is malformed, too large, or holds no conversation."""
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(content, validate=True), MAX_BYTES + 1)
    except (binascii.Error, zlib.error, ValueError):
        raise ValueError("the snapshot is not zlib-compressed base64") from None
    if len(data) > MAX_BYTES:
        raise ValueError(f"the snapshot unpacks to more than {MAX_BYTES} bytes")
    if not inflate.eof:
        raise ValueError("the snapshot is cut off")
    return read(data)


def read(data: bytes) -> tuple[Message, ...]:
    """The messages of a session file or an unpacked snapshot. ValueError says what is wrong with it."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ValueError("the session is not UTF-8 text") from None
    messages = tuple(_messages(_entries(text)))
    if not messages:
        raise ValueError("the session holds no messages")
    if len(messages) > MAX_MESSAGES:
        raise ValueError(f"the session holds {len(messages)} messages, at most {MAX_MESSAGES} are restored")
    return messages


def _entries(text: str) -> list[Any]:
    try:
        value = parse_json(text)
    except ValueError:
        try:
            value = [parse_json(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise ValueError("the session is not JSON, nor a JSON value a line, or is nested too deeply") from None
    if isinstance(value, Mapping):
        value = value.get("messages", value.get("entries"))
    if not isinstance(value, list):
        raise ValueError("the session holds no list of messages")
    return value


def _messages(entries: list[Any]) -> Iterator[Message]:
    """User and assistant messages; what a tool answered is shown as the user's. Other entries are a runtime's own."""
    for entry in entries:
        inner = entry.get("message", entry) if isinstance(entry, Mapping) else None
        if not isinstance(inner, Mapping) or "role" not in inner:
            continue
        role, text = inner["role"], _text(inner.get("content"))
        if role in ("tool", "toolResult", "user"):
            role = "user"
        elif role not in ("assistant", "system"):
            continue
        if text:
            try:
                yield Message(role=role, content=text)
            except ValidationError:
                raise ValueError("the session holds a malformed message") from None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type", "text") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
