"""The repl protocol: code blocks in a persistent namespace, discrete calls of the same tools, and the shell as before.

Which of them a turn uses is the model's choice but for one rule: a tool that commits is called at most once a block, so
its result is seen before the next is committed.
"""

from collections.abc import Sequence

from rsi.harness.protocol import Action, read_action, stop_strings
from rsi.harness.protocols.calling import take
from rsi.harness.protocols.saving import SAVE, Saved
from rsi.harness.protocols.text import TextProtocol
from rsi.harness.repl import Calls, Guard, Interpreter, Masked, Tool
from rsi.harness.tools import Outcome, bounded
from rsi.ports import Sandbox
from rsi.types import Completion, Helper, StagedTool, ToolSpec

_CODE = (
    "A ```python block runs in a Python that keeps its variables; print what you need to see. "
    "save_tool(name=..., code=...) proposes a function of that name for later tasks."
)
_SAVED = "Functions from earlier work stand in it (help(NAME) shows one): {names}."
_CALL = "A ```call NAME block holds the arguments of one tool as a JSON object."
_ONCE = "These commit: at most one call of them a block, and look at its result before the next: {names}."


class ReplProtocol:
    """Of one episode. What tools declare as hidden is masked in every observation and output, the shell's included."""

    offered: tuple[ToolSpec, ...] = ()

    def __init__(
        self,
        text: TextProtocol,
        sandbox: Sandbox | None,
        toolset: Sequence[Tool],
        helpers: Sequence[Helper] = (),
        guard: Guard | None = None,
    ) -> None:
        self._text, self._masked = text, Masked()
        self._saved = Saved({tool.name for tool in toolset}, self._masked)
        self._calls = Calls((*toolset, *([self._saved.tool] if sandbox is not None else [])), self._masked)
        code = {helper.name: helper.code for helper in helpers}
        self._helpers = tuple(code) if sandbox is not None else ()
        self._repl = Interpreter(sandbox, self._calls, self._masked, code, guard) if sandbox is not None else None
        self._kinds = (
            *text.tools,
            *(["python"] if self._repl is not None else []),
            *(["call"] if toolset else []),
        )

    @property
    def stop(self) -> tuple[str, ...]:
        return stop_strings(self._kinds)

    @property
    def staged(self) -> tuple[StagedTool, ...]:
        return self._saved.staged

    @property
    def intro(self) -> str:
        tools = [f"- {tool.name}: {tool.text}" for tool in self._calls.tools.values() if tool.name != SAVE]
        commits = ", ".join(tool.name for tool in self._calls.tools.values() if tool.commits)
        lines = [_CODE] if self._repl is not None else []
        lines += [_CALL, "Tools (functions with keyword arguments in Python):", *tools] if tools else []
        lines += [_SAVED.format(names=", ".join(self._helpers))] if self._helpers else []
        return "\n".join([*lines, *([_ONCE.format(names=commits)] if commits else [])])

    def read(self, completion: Completion) -> Action | None:
        return read_action(completion.text, self._kinds)

    async def use(self, action: Action, timeout: float) -> Outcome:
        if action.kind == "call":
            return await take(action, self._calls, self._masked, self._text.limit, timeout)
        if action.kind != "python":
            outcome = await self._text.use(action, timeout)
            return Outcome(self._masked.mask(outcome.observation), self._masked.mask(outcome.stdout), outcome.exit_code)
        assert self._repl is not None  # without a sandbox `python` is no kind of action
        block = await self._repl.run(action.body, timeout)
        shown = bounded(block.output.rstrip("\n"), self._text.limit) or "[no output]"
        return Outcome(shown, block.output, 1 if block.failed else 0)
