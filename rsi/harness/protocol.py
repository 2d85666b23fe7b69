"""The text protocol, for small models: a reply holds one fenced block or one answer tag; the first of them counts.

    ```sh            ```read PATH      ```write PATH      <answer>42</answer>
    wc -l a.txt      ```               content
    ```                                ```

A fence left open at the end of the text is taken as it stands; an answer must be closed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SHELL_INFO = frozenset({"", "sh", "bash", "shell"})

_BLOCK = re.compile(r"^[ \t]*```([^\n`]*)\n(.*?)(\n?[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


@dataclass(frozen=True)
class Action:
    """`body` is the command, the content to write or the answer; `closed` says that it was properly ended."""

    kind: Literal["shell", "read", "write", "answer"]
    body: str
    path: str = ""
    closed: bool = True

    @property
    def text(self) -> str:
        """The action as a record shows it."""
        if self.kind == "shell":
            return self.body
        return f"{self.kind} {self.path or self.body}" if self.kind != "write" else f"write {self.path}\n{self.body}"


def stop_strings(tools: Sequence[str]) -> tuple[str, ...]:
    """What ends a turn early. The closing fence counts with its line end only, so an opening "```sh" does not end it;
    a bare opening fence after prose does, and then holds no action."""
    return ("\n```\n", "</answer>") if tools else ("</answer>",)


def read_action(text: str, tools: Sequence[str]) -> Action | None:
    """The first action of a reply, or None. A block in a language that is no tool, or an empty command, is prose."""
    block = next(
        (action for action in map(_of_block, _BLOCK.finditer(text)) if action and action[1].kind in tools), None
    )
    answer = _ANSWER.search(text)
    if answer and (block is None or answer.start() < block[0]):
        return Action("answer", answer.group(1).strip())
    return block[1] if block else None


def _of_block(match: re.Match[str]) -> tuple[int, Action] | None:
    """Where a fenced block begins, and the action it is."""
    info, body, closed = match.group(1).strip(), match.group(2), bool(match.group(3))
    word, _, path = info.partition(" ")
    if word in ("read", "write") and path.strip():
        kind: Literal["read", "write"] = "read" if word == "read" else "write"
        return match.start(), Action(kind, body if kind == "write" else "", path.strip(), closed)
    if info in SHELL_INFO and body.strip():
        return match.start(), Action("shell", body.strip("\n"), closed=closed)
    return None
