"""What a reply is taken to mean."""

import time

import pytest

from rsi.harness.protocol import Action, read_action, stop_strings

ALL = ("shell", "read", "write")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```sh\nls\n```", Action("shell", "ls")),
        ("```bash\nls -a\nwc\n```\n", Action("shell", "ls -a\nwc")),
        ("```\nls\n```", Action("shell", "ls")),
        ("Sure.\n```sh\nls\n```\nand\n```sh\nrm x\n```", Action("shell", "ls")),
        ("```sh\nls", Action("shell", "ls", closed=False)),
        ("```sh\nls```", Action("shell", "ls")),
        ("```python\nprint(1)\n```\n```sh\nls\n```", Action("shell", "ls")),
        ("```read a b.txt\n```", Action("read", "", "a b.txt")),
        ("```write a.txt\none\ntwo\n```", Action("write", "one\ntwo\n", "a.txt")),
        ("```write a.txt\none", Action("write", "one", "a.txt", closed=False)),
        ("<answer> 42\n</answer>", Action("answer", "42")),
        ("so <answer>a</answer> or <answer>b</answer>", Action("answer", "a")),
        ("<answer>a</answer>\n```sh\nls\n```", Action("answer", "a")),
        ("```sh\nls\n```\n<answer>a</answer>", Action("shell", "ls")),
        ("```sh\necho '<answer>a</answer>'\n```", Action("shell", "echo '<answer>a</answer>'")),
        ("", None),
        ("ls -la", None),
        ("```sh", None),
        ("```sh\n```", None),
        ("```sh\n  \n```", None),
        ("```python\nprint(1)\n```", None),
        ("<answer>42", None),
        ("use ```sh\nls\n``` inline", None),
    ],
)
def test_first_action(text, expected):
    assert read_action(text, ALL) == expected


def test_only_allowed_tools_act():
    assert read_action("```sh\nls\n```\n<answer>a</answer>", ()) == Action("answer", "a")
    assert read_action("```write a\nx\n```\n```sh\nls\n```", ("shell",)) == Action("shell", "ls")
    assert read_action("```sh\nls\n```", ("read",)) is None


def test_stop_strings_end_a_closed_fence_and_not_an_open_one():
    for stop in stop_strings(ALL):
        for opening in ("```sh\n", "Text.\n```sh\n", "Text.\n\n```bash\nls", "```\nls"):
            assert stop not in opening
    assert any(stop in "```sh\nls\n```\n" for stop in stop_strings(ALL))
    assert stop_strings(()) == ("</answer>",)


def test_hostile_text_is_read_in_linear_time():
    for text in ("```sh\n" * 20_000, "`" * 100_000, "<answer>" * 20_000, "```\n\n" * 20_000, " " * 50_000 + "```"):
        began = time.monotonic()
        read_action(text, ALL)
        assert time.monotonic() - began < 1
