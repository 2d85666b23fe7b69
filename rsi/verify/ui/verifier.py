"""Judges component code: compiled and driven in a sandbox, compared here."""

import re

from rsi.ports import SandboxProvider
from rsi.types.ui import UiCheck
from rsi.verify.ui.drive import drive
from rsi.verify.ui.judge import judge

_FENCE = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)


class UiJudge:
    """`provider` opens sandboxes with limits fit for a browser; `esbuild` is the compiler's binary."""

    def __init__(self, provider: SandboxProvider, esbuild: bytes) -> None:
        self._provider, self._esbuild = provider, esbuild

    async def problem(self, check: UiCheck, output: str) -> str:
        """Why the answer `output` fails, in one line; empty where it passes. InfrastructureError where the sandbox
        breaks."""
        code = code_of(output)
        if "export" not in code:  # it could not even be imported: no sandbox is spent on it
            return "renders: the code exports nothing"
        steps = [step.model_dump(include={"do", "at", "text"}) for step in check.steps]
        views = await drive(self._provider, self._esbuild, code, steps)
        return views if isinstance(views, str) else judge(check, views)


def code_of(output: str) -> str:
    """The last fenced block of an answer, or all of it where there is none."""
    blocks: list[str] = _FENCE.findall(output)
    return blocks[-1] if blocks else output
