"""Where the blocks of a reply begin and end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.fences import blocks, ends_quoted
from rsi.models.stops import through_stop

STOP = ("\n```\n", "</answer>")


def bodies(text, **options):
    return [(block.info, block.body, block.closed) for block in blocks(text, **options)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```sh\nls\n```", [("sh", "ls\n", True)]),
        ("a\n```sh\nls\n```\nb\n```\nc\n```\n", [("sh", "ls\n", True), ("", "c\n", True)]),
        ("````md\n```sh\nls\n```\n````\n", [("md", "```sh\nls\n```\n", True)]),
        ("````md\n```sh\nls\n```\n`````  \nx", [("md", "```sh\nls\n```\n", True)]),
        ("`````\n````\nx\n`````", [("", "````\nx\n", True)]),
        ("````md\nwords ````\n", [("md", "words ````\n", False)]),
        ("````md\n```` sh\n````", [("md", "```` sh\n", True)]),
        ("```sh\n```md\nx\n```\ny\n```\n", [("sh", "```md\nx\n", True), ("", "", False)]),
        ("```sh\nls\n````\n", [("sh", "ls\n", True)]),
        ("```sh\nls```", [("sh", "ls", True)]),
        ("```md\nuse ```ls``` here ```x```\n```", [("md", "use ```ls``` here ```x```\n", True)]),
        ("~~~sh\nls\n~~~", [("sh", "ls\n", True)]),
        ("~~~md\n```sh\nls\n```\n~~\n~~~~", [("md", "```sh\nls\n```\n~~\n", True)]),
        ("```md\n~~~\nx\n```", [("md", "~~~\nx\n", True)]),
        ("  ```sh\n  ls\n  ```", [("sh", "  ls\n", True)]),
        ("```sh\r\nls\r\n```\r\n", [("sh", "ls\r\n", True)]),
        ("```sh\rls\r```", [("sh", "ls\r", True)]),
        ("```sh", []),
        ("``\nls\n``", []),
        ("use ```sh\nls\n``` inline", []),
        ("```sh `x`\nls", []),
        ("\u2028```sh\nls\x0c```\n", [("sh", "ls\x0c", True)]),
        ("", []),
    ],
)
def test_blocks(text, expected):
    assert bodies(text) == expected


def test_a_fence_may_open_behind_words_where_that_is_asked():
    text = "Here: ```js\none\n```\nThen:\n```js\nconst a = '```b';\n```\n"
    assert bodies(text, behind_words=True) == [("js", "one\n", True), ("js", "const a = '```b';\n", True)]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("```sh\nls\n```\nand", "```sh\nls\n```\n"),
        ("so\n```\nls\n```\n", "so\n```\n"),
        ("````md\na\n```\nb\n````\nc", None),
        ("````md\na\n```\nb\n````\nc\n```\nd", "````md\na\n```\nb\n````\nc\n```\n"),
        (
            "````md\n<answer>1</answer>\n````\n<answer>2</answer> x",
            "````md\n<answer>1</answer>\n````\n<answer>2</answer>",
        ),
        ("~~~md\n```sh\nls\n```\n~~~\n</answer>x", "~~~md\n```sh\nls\n```\n~~~\n</answer>"),
        ("````md\n```\nopen", None),
        ("````\n```\n" * 3, "````\n```\n" * 2),
        ("```sh\nls\n````\n</answer>b", "```sh\nls\n````\n</answer>"),
        ("nothing", None),
    ],
)
def test_what_a_longer_fence_quotes_stops_nothing(text, cut):
    assert through_stop(text, STOP) == (text if cut is None else cut)


def test_a_text_that_breaks_off_in_a_quotation():
    assert ends_quoted("````md\na\n```\n") and ends_quoted("~~~sh\n")
    assert not ends_quoted("```sh\nls") and not ends_quoted("````md\n````") and not ends_quoted("")


PIECES = st.sampled_from(
    ["`", "```", "````", "~~~", "\n", "\r\n", "\r", "sh", " ", "x", "</answer>", "\n```\n", "ä", "\ud800"]
)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(text=st.lists(PIECES, max_size=40).map("".join))
def test_blocks_lie_in_order_and_stops_agree_with_the_text_so_far(text):
    at = 0
    for block in blocks(text):
        assert at <= block.at < block.end <= len(text) and block.body in text
        at = block.end
    assert "\r" not in "".join(block.code for block in blocks(text))
    cut = through_stop(text, STOP)
    assert text.startswith(cut)
    if cut != text:
        assert through_stop(cut, STOP) == cut and cut.endswith(STOP)
        assert all(through_stop(text[:n], STOP) == text[:n] for n in range(len(cut)))
