"""The tools protocol: shell, read, write and the servers' tools as native functions of a model that has such calls.

A reply's first call is taken; others in it are answered as not taken, so what was sampled stands in the conversation as
it was. An answer stands in its tag, as everywhere; a reply with neither ends the episode.

What cannot be trained: attempts on a server that tells no token ids, or not those of its calls (their tokens are
counted, never learned from). Where ids are told, the served chat template must write earlier calls back as they were
sampled; one that reorders or reformats their arguments breaks the prefix, which is an IntegrityError, not a sample. The
embedded model's template has no tools at all, so specialists are trained under the text and repl protocols.
"""

from collections.abc import Sequence

from rsi.harness.protocol import Action, read_action, stop_strings
from rsi.harness.protocols.calling import read_arguments, take
from rsi.harness.protocols.text import TextProtocol
from rsi.harness.repl import Calls, Masked, Tool
from rsi.harness.tools import Outcome
from rsi.text import unix_lines
from rsi.types import Completion, StagedTool, ToolSpec

_OURS = {
    "shell": ("Runs a shell command in the workspace.", ("command",)),
    "read": ("Shows a file of the workspace.", ("path",)),
    "write": ("Writes a file of the workspace, replacing it.", ("path", "content")),
}


class ToolsProtocol:
    """Of one episode. Tools named as one of ours are left out: ours stand for the sandbox's commands and hooks."""

    intro = ""
    staged: tuple[StagedTool, ...] = ()

    def __init__(self, text: TextProtocol, toolset: Sequence[Tool]) -> None:
        self._text, self._masked = text, Masked()
        self._calls = Calls([tool for tool in toolset if tool.name not in _OURS], self._masked)

    @property
    def stop(self) -> tuple[str, ...]:
        return stop_strings(())

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        ours = (ToolSpec(name=n, description=_OURS[n][0], parameters=_schema(_OURS[n][1])) for n in self._text.tools)
        others = (
            ToolSpec(name=tool.name, description=tool.text, parameters=dict(tool.schema))
            for tool in self._calls.tools.values()
        )
        return (*ours, *others)

    def read(self, completion: Completion) -> Action | None:
        if not completion.tool_calls:
            return read_action(completion.text, ())
        call = completion.tool_calls[0]
        return self._own(call.name, call.arguments) or Action("call", call.arguments, call.name)

    async def use(self, action: Action, timeout: float) -> Outcome:
        if action.kind == "call":
            if action.path in self._text.tools:
                return Outcome(f"{action.path}: {_wrong(action)}", "", 2)
            return await take(action, self._calls, self._masked, self._text.limit, timeout)
        outcome = await self._text.use(action, timeout)
        return Outcome(self._masked.mask(outcome.observation), self._masked.mask(outcome.stdout), outcome.exit_code)

    def _own(self, name: str, arguments: str) -> Action | None:
        """The action of a well-formed call of one of our tools."""
        if name not in self._text.tools:
            return None
        try:
            given = read_arguments(arguments)
        except ValueError:
            return None
        if any(not isinstance(given.get(key), str) for key in _OURS[name][1]):
            return None
        if name == "shell":
            return Action("shell", unix_lines(given["command"]))
        if name == "read":
            return Action("read", "", given["path"])
        return Action("write", given["content"], given["path"])


def _wrong(action: Action) -> str:
    """Why a call of one of our tools is not taken."""
    wanted = f"a JSON object of texts with {' and '.join(_OURS[action.path][1])}"
    try:
        read_arguments(action.body)
    except ValueError as error:
        return f"{error}; give {wanted}"
    return f"the arguments must be {wanted}"


def _schema(names: Sequence[str]) -> dict[str, object]:
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}
