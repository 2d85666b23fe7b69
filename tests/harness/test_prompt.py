"""What is shown first, and what it depends on."""

import os
import subprocess
import sys

from rsi.harness.prompt import chosen_exemplars, chosen_skills, opening
from rsi.types import Exemplar, HarnessConfig, Recipe, Skill, Task

POOL = (
    Exemplar(request="Count the lines of notes.txt.", response="lines"),
    Exemplar(request="Count the words of notes.txt.", response="words"),
    Exemplar(request="Print the first 3 lines of log.txt.", response="head"),
    Exemplar(request="Rename 'a.txt' to 'b.txt'.", response="mv"),
)


def task(request, **fields):
    return Task(id="t", bank="b", recipe=Recipe(family="f"), split="train", instance=1, request=request, **fields)


def harness(**fields):
    return HarnessConfig(**{"document_digest": "d", "system": "S", "exemplars": POOL, **fields})


def roles(messages):
    return [(m.role[0], m.content) for m in messages]


def test_the_most_similar_exemplar_stands_last():
    shown = opening(task("Count the words of poem.md."), harness(shots=2))
    assert roles(shown) == [
        ("s", "S"),
        ("u", POOL[0].request),
        ("a", "lines"),
        ("u", POOL[1].request),
        ("a", "words"),
        ("u", "Count the words of poem.md."),
    ]


def test_slots_do_not_decide():
    pool = (
        Exemplar(request="Count the lines of red.txt.", response="1"),
        Exemplar(request="Rename red.txt to blue.txt.", response="2"),
    )
    assert chosen_exemplars("Count the lines of 'Rename blue.txt'.", pool, 1)[0].response == "1"
    for request, response in (("Print the first 12 lines of a/b.log.", "head"), ("Rename 'x y' to 'notes.txt'.", "mv")):
        assert chosen_exemplars(request, POOL, 1)[0].response == response


def test_ties_go_to_the_first_in_the_document():
    pool = tuple(Exemplar(request="Count them.", response=str(i)) for i in range(4))
    assert [e.response for e in chosen_exemplars("Count them.", pool, 2)] == ["1", "0"]
    assert [e.response for e in chosen_exemplars("zzz", pool, 2)] == ["1", "0"]
    assert chosen_exemplars("x", pool, 0) == () and chosen_exemplars("x", (), 3) == ()
    assert len(chosen_exemplars("x", pool, 8)) == 4


def test_the_choice_is_the_same_in_every_process():
    code = (
        "from rsi.harness.prompt import chosen_exemplars as c\nfrom rsi.types import Exemplar as E\n"
        "w='alpha beta gamma delta epsilon zeta eta theta'.split()\n"
        "pool=[E(request=' '.join(w[i%8] for i in range(n, n + 5)), response=str(n)) for n in range(40)]\n"
        "print([[e.response for e in c(' '.join(w[n:n+4]), pool, 8)] for n in range(5)])"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1 and b"[" in told.pop()


def test_skills_by_whole_trigger_words():
    skills = (Skill(name="a", triggers=("sort", "in order"), text="A"), Skill(name="b", triggers=("count",), text="B"))
    names = lambda request: [s.name for s in chosen_skills(request, skills)]  # noqa: E731
    assert names("Sort the lines") == ["a"] and names("resorted") == [] and names("put in Order, count") == ["a", "b"]
    assert opening(task("count"), harness(skills=skills, answer_format="F"))[0].content == "S\n\nF\n\nB"


def test_the_listing_of_files_only_where_asked():
    given = task("Do it.", files={"b.txt": "secret", "a.txt": ""})
    assert opening(given, harness())[-1].content == "Do it."
    assert opening(given, harness(list_files=True))[-1].content == "Do it.\nFiles: a.txt, b.txt"


def test_no_empty_system_message():
    assert roles(opening(task("x"), harness(system="", shots=0))) == [("u", "x")]


def test_the_choice_sees_the_request_alone():
    # Another id, family, split, instance and files: the same messages.
    one = task("Count the lines of a.txt.")
    other = Task(
        id="o", bank="c", recipe=Recipe(family="g", difficulty=3), split="sealed", instance=9, held_out=True,
        request=one.request, files={"z": "z"},
    )  # fmt: skip
    assert opening(one, harness(shots=3)) == opening(other, harness(shots=3))
