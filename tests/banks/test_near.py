import pytest

from rsi.banks.near import SealedScan, contents, masked, slots
from rsi.types import Recipe, Task


def task(request: str, files: dict[str, str] | None = None) -> Task:
    recipe = Recipe(family="f")
    return Task(id="t", bank="b", recipe=recipe, split="train", instance=1, request=request, files=files or {})


SEALED = [
    task("Print the first 2 lines of notes.txt.", {"notes.txt": "pear\nfig\nplum\n"}),
    task("What is 12 plus 7?"),
    task("Print the number of .csv files.", {"a.csv": "", "b.csv": "", "c.log": ""}),
    task("Which word is the last of this list: pear, fig, plum?"),
    task("Write 'hello' into the new file notes.txt."),
]


@pytest.mark.parametrize(
    "near",
    [
        task("Delete todo.txt.", {"todo.txt": "pear\nfig\nplum\n"}),  # a file's content, under another name and request
        task("Delete todo.txt.", {"todo.txt": "pear  fig plum"}),  # spacing hides nothing
        task("What is 12 plus 7?"),
        task("What is 7 plus 12?"),  # the same slots in another order
        task("what is 12 plus 7 ?"),
        task("Print the number of .csv files.", {"a.csv": "", "c.log": "", "b.csv": ""}),
        task("Which word is the last of this list: fig, pear, plum?"),
        task("Now write 'hello' into the new file notes.txt."),
    ],
)
def test_near(near: Task):
    reason = SealedScan(SEALED)(near)
    assert reason
    assert not any(secret in reason for secret in ("pear", "12", "hello", "csv"))  # the reason gives nothing away


@pytest.mark.parametrize(
    "far",
    [
        task("Print the first 2 lines of notes.txt.", {"notes.txt": "pear\nfig\nkiwi\n"}),  # same family, other content
        task("What is 12 plus 8?"),
        task("What is 12 times 7?"),
        task("Print the number of .csv files.", {"a.csv": "", "d.csv": "", "e.log": ""}),
        task("Which word is the last of this list: pear, kiwi, lime?"),
        task("Write 'goodbye' into the new file notes.txt."),
    ],
)
def test_far(far: Task):
    assert SealedScan(SEALED)(far) is None


def test_nothing_is_near_no_sealed_task():
    assert SealedScan([])(SEALED[0]) is None


def test_slots_and_masks():
    request = "In notes.txt, change 'old one' to \"new\" on line 12."
    assert slots(request) == ["notes.txt", "change", "old one", "new", "12"]
    assert "notes" not in masked(request)
    assert slots("Today is Monday. Which day is it 3 days later?") == ["Monday", "3"]


def test_contents_ignore_names_where_files_have_content():
    assert contents("Print a.txt.", {"a.txt": "x\ny"}) == contents("Delete b.txt.", {"b.txt": "x y\n"})
    assert contents("What is 3 plus 4?", {}) == contents("What is 4 plus 3?", {})
