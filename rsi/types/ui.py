"""What a component must do when a browser drives it."""

from typing import Literal

from pydantic import Field

from rsi.types.record import Record


class UiStep(Record):
    """`at` is a CSS selector. A read must give `expected`; a click or typing must find its target visible."""

    do: Literal["click", "type", "read"]
    at: str
    text: str = ""  # what is typed
    expected: str = ""  # what is read; never shown to the browser


class UiCheck(Record):
    """The answer is component code. At every width the steps must hold, nothing may overflow, fail or ask the network;
    every text of `sent` must reach the model, and no text of `no_ai` may, plain or thinly disguised."""

    kind: Literal["ui"] = "ui"
    steps: tuple[UiStep, ...] = Field(min_length=1)
    sent: tuple[str, ...] = ()
    no_ai: tuple[str, ...] = ()
