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
        ("```sh\r\nls\r\n```\r\n", Action("shell", "ls")),
        ("So:\r\n\r\n```sh\r\nif true; then\r\nls\r\nfi\r\n```", Action("shell", "if true; then\nls\nfi")),
        ("```sh\rls\rwc\r```\r", Action("shell", "ls\nwc")),
        ("```sh\nls\r\n```\n", Action("shell", "ls")),
        ("```read a.txt\r\n```\r\n", Action("read", "", "a.txt")),
        ("```write a.txt\r\none\r\n```\r\n", Action("write", "one\n", "a.txt")),
        ("```write a.bat\none\r\n```\n", Action("write", "one\r\n", "a.bat")),
        ("<answer>a\r\nb\r\n</answer>\r\n", Action("answer", "a\nb")),
        (
            "````write README.md\nSo:\n```sh\nrm -rf out\n```\n````\n",
            Action("write", "So:\n```sh\nrm -rf out\n```\n", "README.md"),
        ),
        (
            "````sh\ncat > a.md <<'E'\n```sh\nrm x\n```\nE\nls\n````",
            Action("shell", "cat > a.md <<'E'\n```sh\nrm x\n```\nE\nls"),
        ),
        ("````sh\ncat <<E\n```\n", Action("shell", "cat <<E\n```", closed=False)),
        ("````markdown\n```sh\nrm -rf out\n```\n````\n```sh\nls\n```", Action("shell", "ls")),
        ("````\n```sh\nrm -rf out\n```\n````", None),
        ("~~~\n```sh\nrm -rf out\n```\n~~~", None),
        ("~~~write a.md\n```sh\nrm -rf out\n```\n~~~", Action("write", "```sh\nrm -rf out\n```\n", "a.md")),
        ("~~~sh\nls\n~~~", Action("shell", "ls")),
        ("```write a.md\n```sh\nrm x\n```\n```\n", Action("write", "```sh\nrm x\n", "a.md")),
        ("````md\n<answer>1</answer>\n````", Action("answer", "1")),
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
    for text in (
        "```sh\n" * 20_000,
        "`" * 100_000,
        "<answer>" * 20_000,
        "```\n\n" * 20_000,
        " " * 50_000 + "```",
        "````\n```\n" * 9000,
    ):
        began = time.monotonic()
        read_action(text, ALL)
        assert time.monotonic() - began < 1
