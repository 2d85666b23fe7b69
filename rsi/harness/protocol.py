"""The text protocol, for small models: a reply holds one fenced block or one answer tag; the first of them counts.

    ```sh            ```read PATH      ```write PATH      <answer>42</answer>
    wc -l a.txt      ```               content
    ```                                ```

The repl protocol adds ```python with code, and ```call NAME with JSON arguments; elsewhere these are prose.
A longer fence, or one of tildes, may quote shorter ones; a bare one of these is prose. A fence left open at the end of
the text is taken as it stands; an answer must be closed. Commands and code have LF line ends however a reply has them;
content to write keeps its own where the reply's are LF.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rsi.fences import Block, blocks
from rsi.text import unix_lines

SHELL_INFO = frozenset({"sh", "bash", "shell"})

_OPEN, _CLOSE = "<answer>", "</answer>"


@dataclass(frozen=True)
class Action:
    """`body` is the command, the content to write or the answer; `closed` says that it was properly ended."""

    kind: Literal["shell", "read", "write", "answer", "python", "call"]
    body: str
    path: str = ""
    closed: bool = True

    @property
    def text(self) -> str:
        """The action as a record shows it."""
        if self.kind == "shell":
            return self.body
        if self.kind in ("write", "call"):
            return f"{self.kind} {self.path}\n{self.body}"
        return f"{self.kind} {self.path or self.body}"


def stop_strings(tools: Sequence[str]) -> tuple[str, ...]:
    """What ends a turn early, but where a block quotes it. The closing fence counts with its line end only, so an
    opening "```sh" does not end it; a bare opening fence after prose does, and then holds no action."""
    return ("\n```\n", "</answer>") if tools else ("</answer>",)


def read_action(text: str, tools: Sequence[str]) -> Action | None:
    """The first action of a reply, or None. A block in a language that is no tool, or an empty command, is prose.

    Reads the text once: a hostile reply of any length costs no more than its length."""
    acting = ((block.at, _action(block)) for block in blocks(text))
    first = next(((at, action) for at, action in acting if action and action.kind in tools), None)
    start, end = text.find(_OPEN), -1
    if start >= 0:
        end = text.find(_CLOSE, start)
    if end >= 0 and (first is None or start < first[0]):
        return Action("answer", unix_lines(text[start + len(_OPEN) : end]).strip())
    return first[1] if first else None


def _action(block: Block) -> Action | None:
    word, _, path = block.info.partition(" ")
    path = path.strip()
    if word == "read" and path:
        return Action("read", "", path, block.closed)
    if word == "write" and path:
        return Action("write", block.body if block.unix else block.code, path, block.closed)
    if word == "call" and path:
        return Action("call", block.code, path, block.closed)
    if block.info == "python" and block.code.strip():
        return Action("python", block.code, closed=block.closed)
    commands = block.info in SHELL_INFO if block.info else not block.quotes  # a longer bare fence is there to quote
    if commands and block.code.strip():
        return Action("shell", block.code.strip("\n"), closed=block.closed)
    return None
