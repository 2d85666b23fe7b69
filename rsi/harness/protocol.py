"""The text protocol, for small models: a reply holds one fenced block or one answer tag; the first of them counts.

    ```sh            ```read PATH      ```write PATH      <answer>42</answer>
    wc -l a.txt      ```               content
    ```                                ```

The repl protocol adds ```python with code, and ```call NAME with JSON arguments; elsewhere these are prose.
A fence left open at the end of the text is taken as it stands; an answer must be closed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

SHELL_INFO = frozenset({"", "sh", "bash", "shell"})

_FENCE, _OPEN, _CLOSE = "```", "<answer>", "</answer>"


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
    """What ends a turn early. The closing fence counts with its line end only, so an opening "```sh" does not end it;
    a bare opening fence after prose does, and then holds no action."""
    return ("\n```\n", "</answer>") if tools else ("</answer>",)


def read_action(text: str, tools: Sequence[str]) -> Action | None:
    """The first action of a reply, or None. A block in a language that is no tool, or an empty command, is prose.

    Reads the text once: a hostile reply of any length costs no more than its length."""
    block = next(((at, action) for at, action in _blocks(text) if action.kind in tools), None)
    start, end = text.find(_OPEN), -1
    if start >= 0:
        end = text.find(_CLOSE, start)
    if end >= 0 and (block is None or start < block[0]):
        return Action("answer", text[start + len(_OPEN) : end].strip())
    return block[1] if block else None


def _blocks(text: str) -> Iterator[tuple[int, Action]]:
    """Where each fenced block begins, and the action it is; blocks that are none are left out."""
    at, opened, info, body = 0, -1, "", list[str]()
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if opened < 0:
            if bare.startswith(_FENCE) and "`" not in bare[3:] and line.endswith("\n"):
                opened, info, body = at, bare[3:].strip(), []
        elif bare.endswith(_FENCE):
            last = line.rstrip()[:-3]
            if action := _action(info, "".join([*body, last] if last.strip() else body), closed=True):
                yield opened, action
            opened = -1
        else:
            body.append(line)
        at += len(line)
    if opened >= 0 and (action := _action(info, "".join(body), closed=False)):
        yield opened, action


def _action(info: str, body: str, closed: bool) -> Action | None:
    word, _, path = info.partition(" ")
    if word == "read" and path.strip():
        return Action("read", "", path.strip(), closed)
    if word == "write" and path.strip():
        return Action("write", body, path.strip(), closed)
    if word == "call" and path.strip():
        return Action("call", body, path.strip(), closed)
    if info == "python" and body.strip():
        return Action("python", body, closed=closed)
    if info in SHELL_INFO and body.strip():
        return Action("shell", body.strip("\n"), closed=closed)
    return None
