"""A whole answer: component code judged by compiling and driving it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rsi.errors import InfrastructureError
from rsi.ports import ExecResult
from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.types.ui import UiCheck, UiStep
from rsi.verify.ui.drive import Observed, View
from rsi.verify.ui.inside.main import UP
from rsi.verify.ui.verifier import UiJudge, code_of
from rsi.wiring.browser import LIMITS

SECRET = "zq-4417-vault"
CHECK = UiCheck(
    steps=(
        UiStep(do="type", at="#name", text="Ada"),
        UiStep(do="type", at="#pin", text=SECRET),
        UiStep(do="click", at="#send"),
        UiStep(do="read", at="#said", expected="Sent"),
    ),
    sent=("Ada",),
    no_ai=(SECRET,),
)
FORM = """```tsx
export default function mount(root: any, host: any) {
  const name = <input id="name"/>, pin = <input id="pin"/>, said = <p id="said"></p>;
  const send = () => { host.toModel({ name: (name as any).value }); said.textContent = "Sent"; };
  root.append(name, pin, <button id="send" onclick={send}>Send</button>, said);
}
```"""
LEAK = FORM.replace("value });", "value, x: btoa((pin as any).value) });")
SLOW_LEAK = FORM.replace(
    "value });", "value }); [...(pin as any).value].map((c, i) => setTimeout(() => host.toModel({ c }), 999 * i));"
)


def test_the_last_fenced_block_is_the_code() -> None:
    assert code_of("a\n```js\n1\n```\nb\n```\n2\n```") == "2\n"
    assert code_of("plain") == "plain"


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("So:\r\n```js\r\none\r\ntwo\r\n```\r\n", "one\ntwo\n"),
        ("```js\rone\rtwo\r```", "one\ntwo\n"),
        ("one\r\ntwo", "one\ntwo"),
        ("````js\nconst a = `\n```\n`;\n````\n", "const a = `\n```\n`;\n"),
        ("```js\nconst a = '```x';\n```", "const a = '```x';\n"),
        ("```TypeScript\none\n```", "one\n"),
        ("~~~js\none\n~~~", "one\n"),
        ("Here: ```js\none\n```\nThen:\n```js\ntwo\n```", "two\n"),
        ("```js\none }```", "one }"),
        ("```js\none\n```\n```js\ncut off", "one\n"),
    ],
)
def test_code_is_found_however_its_fence_and_lines_are_written(output: str, code: str) -> None:
    assert code_of(output) == code


class NoBrowser:
    """A sandbox whose compiler works and whose driver says what it is told to."""

    identity, limits = "none", dict[str, str]()

    def __init__(self, said: str = "", errors: str = "") -> None:
        self.result, self.opened = ExecResult(1, said, errors), 0

    async def open(self):
        self.opened += 1
        return self

    async def put(self, files):
        self.job = json.loads(files.get("job.json", b"{}"))

    async def exec(self, command, timeout, limit=0):
        if "esbuild" in command:
            return ExecResult(0, "", "")
        nonce = self.job["nonce"]
        return replace(self.result, stdout=self.result.stdout.replace("NONCE", nonce))

    async def close(self):
        pass


async def test_a_browser_that_does_not_start_is_no_fault_of_the_answer() -> None:
    with pytest.raises(InfrastructureError, match="libnss"):
        await UiJudge(NoBrowser("", "libnss3.so is missing"), b"").problem(CHECK, FORM)
    told = await UiJudge(NoBrowser(f"{UP}\n", "the page ended"), b"").problem(CHECK, FORM)
    assert told == "could not be driven: 'the page ended'"


async def test_runs_ahead_are_kept_for_the_same_answer_alone() -> None:
    view = View(width=360, leftmost=0, widest=1, seen=(), to_model=(), requests=(), errors=0)
    good = NoBrowser(f"{UP}\n" + Observed(nonce="NONCE", runs=((view,),) * 3, asked=()).model_dump_json())
    good.result = replace(good.result, exit_code=0)
    judge = UiJudge(good, b"", times=3)
    told = [await judge.problem(CHECK, FORM) for _ in range(3)]
    assert told == ["renders: not every width was seen"] * 3 and good.opened == 1
    await judge.problem(CHECK, LEAK)
    await judge.problem(CHECK, FORM)
    assert good.opened == 3


@pytest.mark.browser
@pytest.mark.parametrize(
    ("answer", "layer"),
    [
        (FORM, ""),
        (LEAK, "NoAI"),
        (SLOW_LEAK, "NoAI"),
        ("", "renders"),
        ("Make a form.", "renders"),
        ("Export a form; export it.", "does not compile"),
    ],
)
async def test_answers(esbuild: Path, answer: str, layer: str) -> None:
    judge = UiJudge(Bubblewrap(LIMITS), esbuild.read_bytes())
    told = await judge.problem(CHECK, answer)
    assert told.startswith(layer) and bool(told) == bool(layer), told
