"""A whole answer: component code judged by compiling and driving it."""

from pathlib import Path

import pytest

from rsi.sandbox.bubblewrap import Bubblewrap
from rsi.types.ui import UiCheck, UiStep
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


def test_the_last_fenced_block_is_the_code() -> None:
    assert code_of("a\n```js\n1\n```\nb\n```\n2\n```") == "2\n"
    assert code_of("plain") == "plain"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("answer", "layer"),
    [
        (FORM, ""),
        (LEAK, "NoAI"),
        ("", "renders"),
        ("Make a form.", "renders"),
        ("Export a form; export it.", "does not compile"),
    ],
)
async def test_answers(esbuild: Path, answer: str, layer: str) -> None:
    judge = UiJudge(Bubblewrap(LIMITS), esbuild.read_bytes())
    told = await judge.problem(CHECK, answer)
    assert told.startswith(layer) and bool(told) == bool(layer), told
