"""When the embedded engine ends a turn: at a stop string, but not at one that a longer fence quotes."""

import pytest

decode = pytest.importorskip("rsi.models.embedded.decode")

from rsi.types import Message, ModelRequest, Sampling  # noqa: E402


class Letters:
    """A token is a letter's code."""

    eos, window = frozenset({0}), 10_000

    def decode(self, tokens):
        return "".join(map(chr, tokens))


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("```sh\nls\n```\n", 13),
        ("````md\n```sh\nls\n```\n````\n", None),
        ("````md\n```\n````\nso\n```\n", 23),
        ("~~~md\n```\n~~~\n<answer>1</answer>", 32),
        ("````md\n<answer>1</answer>\n", None),
        ("no stop", None),
    ],
)
def test_where_a_turn_ends(text, at):
    asked = ModelRequest(
        messages=(Message(role="user", content="x"),), sampling=Sampling(max_new_tokens=1000), seed=0,
        stop=("\n```\n", "</answer>"),
    )  # fmt: skip
    row = decode.Row(asked, (1,), "")
    ends = None
    for n, letter in enumerate(text, 1):
        row.tokens.append(ord(letter))
        if decode._ended(row, Letters()) and ends is None:
            ends = n
    assert ends == at
