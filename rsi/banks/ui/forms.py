"""The shape that component tasks share: the request's frame, the steps that drive it, a reference in plain JavaScript.

What steps type is in no request, so that a component cannot know it beforehand.
"""

import json
import random
from collections.abc import Mapping, Sequence

from rsi.banks.content import words
from rsi.banks.instance import Instance, Table
from rsi.types import UiCheck, UiStep

UI: Table = {}
# Commas and capitals make slots of words (see rsi.banks.near): the frame has none but toModel's.
FRAME = (
    "Write a browser component. Answer with one fenced block that holds a JavaScript module without imports: "
    "`export default function mount(root,host)` builds the component in the element `root`. Its elements have the ids "
    "named here. It fits a narrow phone and asks the network for nothing."
)
LETTERS = "abcdefgh"


def click(at: str) -> UiStep:
    return UiStep(do="click", at=at)


def typed(at: str, text: str) -> UiStep:
    """Added to what the field holds."""
    return UiStep(do="type", at=at, text=text)


def read(at: str, expected: object) -> UiStep:
    return UiStep(do="read", at=at, expected=str(expected))


def title(rng: random.Random) -> str:
    return " ".join(words(rng, 2)).capitalize()


def secret(rng: random.Random) -> str:
    return f"{words(rng, 1)[0]}-{rng.randint(1000, 9999)}-{rng.randint(1000, 9999)}"


def quoted(items: Sequence[str]) -> str:
    return ", ".join(f"'{item}'" for item in items)


def joined(left: Sequence[str], word: str, right: Sequence[str]) -> str:
    """'A' WORD 'B', and so on."""
    return ", ".join(f"'{a}' {word} '{b}'" for a, b in zip(left, right, strict=True))


def buttons(prefix: str, n: int) -> str:
    """Markup of `n` buttons with the ids PREFIX-a and so on, without labels."""
    return "".join(f'<button id="{prefix}-{letter}"></button>' for letter in LETTERS[:n])


def component(
    told: str,
    data: Mapping[str, object],
    html: str,
    script: str,
    steps: Sequence[UiStep],
    sent: Sequence[str] = (),
    no_ai: Sequence[str] = (),
) -> Instance:
    """`html` may use ${d.KEY} of `data`; `script` has `d` and `$`, which finds an element by its id."""
    body = "\n".join(f"  {line}" for line in script.strip().splitlines())
    code = (
        "export default function mount(root, host) {\n"
        f"  const d = {json.dumps(data)};\n"
        f"  root.innerHTML = `{html}`;\n"
        '  const $ = (id) => root.querySelector("#" + id);\n'
        f"{body}\n"
        "}\n"
    )
    check = UiCheck(steps=tuple(steps), sent=tuple(sent), no_ai=tuple(no_ai))
    return Instance(f"{FRAME} {told}", f"```js\n{code}```", (check,))
