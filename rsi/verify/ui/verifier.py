"""Judges component code: compiled and driven in a sandbox, compared here."""

from rsi.fences import blocks
from rsi.ports import SandboxProvider
from rsi.text import unix_lines
from rsi.types.ui import UiCheck
from rsi.verify.ui.drive import drive
from rsi.verify.ui.judge import judge


class UiJudge:
    """`provider` opens sandboxes with limits fit for a browser; `esbuild` is the compiler's binary.

    A browser judges `times` runs of an answer; the further ones are kept for the next who asks for the very same. For
    proofs, which repeat: a browser's start is what costs. No browser is shared by two answers."""

    def __init__(self, provider: SandboxProvider, esbuild: bytes, times: int = 1) -> None:
        self._provider, self._esbuild, self._times = provider, esbuild, times
        self._ahead: dict[tuple[UiCheck, str], list[str]] = {}

    async def problem(self, check: UiCheck, output: str) -> str:
        """Why the answer `output` fails, in one line; empty where it passes. InfrastructureError where the sandbox
        breaks."""
        told, *ahead = self._ahead.pop((check, output), None) or await self._problems(check, output)
        if ahead:
            self._ahead[check, output] = ahead
        return told

    async def _problems(self, check: UiCheck, output: str) -> list[str]:
        """One a run; one alone where there was no run."""
        code = code_of(output)
        if "export" not in code:  # it could not even be imported: no sandbox is spent on it
            return ["renders: the code exports nothing"]
        steps = [step.model_dump(include={"do", "at", "text"}) for step in check.steps]
        runs = await drive(self._provider, self._esbuild, code, steps, self._times)
        return [runs] if isinstance(runs, str) else [judge(check, views) for views in runs]


def code_of(output: str) -> str:
    """The last fenced block of an answer, or all of it where there is none. Line ends are LF."""
    fenced = [block.code for block in blocks(output, behind_words=True) if block.closed]
    return fenced[-1] if fenced else unix_lines(output)
