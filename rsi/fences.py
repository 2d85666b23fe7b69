"""Fenced blocks in text that a model wrote. Knows Markdown's rule of fences and no language or tool. Pure.

A line of three or more backticks, or tildes, and an info string opens a block; a line of at least as many of them and
nothing else closes it. So a longer fence holds shorter ones as they are. A fence of three backticks may also close
behind the last words of a line, as small models write it. Lines end in LF, CR LF or CR.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rsi.text import unix_lines

SHORT = "```"
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_OPENING = re.compile(r"\s*(`{3,}(?=[^`]*\Z)|~{3,})(.*)", re.DOTALL)
_BEHIND = re.compile(r"[^`]*(```)([a-z]*)")


@dataclass(frozen=True)
class Block:
    """`text[at:end]` holds it with its fences. `body` has the line ends as written, `unix` says that they are LF by
    the opening line. `closed` is False where the text ends before the block does."""

    at: int
    end: int
    fence: str
    info: str
    body: str
    closed: bool
    unix: bool

    @property
    def code(self) -> str:
        return unix_lines(self.body)

    @property
    def quotes(self) -> bool:
        """Whether a bare fence of three backticks inside it is content."""
        return self.fence != SHORT


def blocks(text: str, behind_words: bool = False) -> Iterator[Block]:
    """The blocks of a text in their order, none inside another. Reads the text once. `behind_words`: a fence of three
    backticks may also open at the end of a line of prose."""
    at, fence, info, unix, body = 0, "", "", True, list[str]()
    for line in _LINE.finditer(text):
        words, end = line.groups()
        if not fence:
            opening = _OPENING.fullmatch(words) or (_BEHIND.fullmatch(words) if behind_words else None)
            if opening and end:
                at, fence, info, unix, body = line.start(), opening[1], opening[2].strip(), end == "\n", []
        elif (rest := _before_closing(words, fence)) is not None:
            yield Block(at, line.end(), fence, info, "".join([*body, rest]), True, unix)
            fence = ""
        else:
            body.append(words + end)
    if fence:
        yield Block(at, len(text), fence, info, "".join(body), False, unix)


def ends_quoted(text: str) -> bool:
    """Whether a text breaks off in a block that may quote a stop string."""
    return any(block.quotes and not block.closed for block in blocks(text))


def _before_closing(line: str, fence: str) -> str | None:
    """What stands on a closing line before the fence (nothing, but for a fence of three backticks); else None."""
    bare = line.strip()
    if len(bare) >= len(fence) and not bare.strip(fence[0]):
        return ""
    if fence == SHORT and bare.endswith(SHORT) and SHORT not in bare[:-3]:
        return line.rstrip()[:-3]
    return None
