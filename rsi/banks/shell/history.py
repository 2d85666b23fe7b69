"""Families about git repositories. The set-up makes the history; later history than the task needs there is none."""

import random
from dataclasses import replace

from rsi.banks.content import NAMES, names, size, text, words
from rsi.banks.instance import Instance, family
from rsi.banks.shell.forms import SHELL, quoted, show
from rsi.types import FileCheck, ProgramCheck

_INIT = "git init -q -b main; git config user.name nobody; git config user.email nobody@example.org"


def _write(name: str, body: str) -> str:
    return f"printf %s {quoted(body)} > {name}"


def _commit(subject: str, author: str = "nobody") -> str:
    return f"git add -A; git commit -q -m {quoted(subject)} --author='{author} <{author}@example.org>'"


@family(SHELL, "git_commit")
def git_commit(rng: random.Random, difficulty: int) -> Instance:
    old, new = names(rng, 2)
    before, after = text(words(rng, 2)), text(words(rng, size(rng, min(difficulty, 3))))
    subject = f"add {rng.choice(words(rng, 3))} and {rng.choice(words(rng, 3))}"
    setup = "; ".join([_INIT, _write(old, before), _commit("begin"), _write(new, after)])
    request, command = (
        f"Commit {new} to the git repository with the message '{subject}'",
        f"git add {new}; git commit -qm '{subject}'",
    )
    checks = [
        ProgramCheck(command="git log -1 --format=%s", expected=subject),
        ProgramCheck(command=f"git show HEAD:{new}", expected=after),
    ]
    if difficulty > 2:
        tag = f"v{rng.randint(1, 9)}.{rng.randint(0, 9)}"
        request, command = f"{request} and give that commit the tag {tag}", f"{command}; git tag {tag}"
        checks.append(ProgramCheck(command=f"git log -1 --format=%s {tag}", expected=subject))
    return Instance(f"{request}.", command, tuple(checks), {}, setup)


@family(SHELL, "git_restore")
def git_restore(rng: random.Random, difficulty: int) -> Instance:
    chosen, other = names(rng, 2)
    good, spoiled, kept = (text(words(rng, n)) for n in (3, 2, 2))
    spoil = f"rm {chosen}" if difficulty < 3 else _write(chosen, spoiled)
    changed = text(words(rng, 3))
    setup = "; ".join(
        [_INIT, _write(chosen, good), _write(other, kept), _commit("begin"), spoil, _write(other, changed)]
    )
    checks = (FileCheck(path=chosen, content=good), FileCheck(path=other, content=changed))
    request = f"Bring {chosen} back as it was in the last commit; leave {other} as it is now."
    return Instance(request, f"git checkout -q -- {chosen}", checks, {}, setup)


@family(SHELL, "git_branch")
def git_branch(rng: random.Random, difficulty: int) -> Instance:
    old, new = names(rng, 2)
    branch, before, after = f"try-{rng.choice(words(rng, 3))}", text(words(rng, 2)), text(words(rng, 2))
    setup = "; ".join([_INIT, _write(old, before), _commit("begin")])
    request, command = f"Make the git branch {branch} and switch to it", f"git checkout -q -b {branch}"
    checks = [ProgramCheck(command="git symbolic-ref --short HEAD", expected=branch)]
    if difficulty > 2:
        line = after.split()[0]
        request, command = (
            f"{request}, then write '{line}' into {new} and commit it there",
            (f"{command}; echo {line} > {new}; git add {new}; git commit -qm new"),
        )
        checks.append(
            ProgramCheck(command=f"git show {branch}:{new}; git ls-tree --name-only main", expected=f"{line}\n{old}\n")
        )
    return Instance(f"{request}.", command, tuple(checks), {}, setup)


@family(SHELL, "git_author")
def git_author(rng: random.Random, difficulty: int) -> Instance:
    (chosen, other), name = rng.sample(NAMES, 2), names(rng, 1)[0]
    found, parts = rng.randint(1, 5 + difficulty), [_INIT]
    authors = [chosen] * found + [other] * rng.randint(1, difficulty)
    rng.shuffle(authors)
    for author, word in zip(authors, words(rng, len(authors)), strict=True):
        parts += [_write(name, word + "\n"), _commit(f"note {word}", author)]
    what, command = f"the number of commits by the author {chosen}", f"git log --author={chosen} --format=%h | wc -l"
    return replace(show(rng, difficulty - 1, what, command, str(found), {}), setup="; ".join(parts))


@family(SHELL, "git_removed")
def git_removed(rng: random.Random, difficulty: int) -> Instance:
    name, lines = names(rng, 1)[0], words(rng, 3 + difficulty)
    subjects = [f"about {word}" for word in words(rng, len(lines) - 1)]
    parts = [_INIT, _write(name, text(lines)), _commit("begin")]
    left, gone = list(lines), rng.sample(lines, len(lines) - 1)
    for word, subject in zip(gone, subjects, strict=True):
        left.remove(word)
        parts += [_write(name, text(left)), _commit(subject)]
    at = rng.randrange(len(gone))
    what = f"the message of the commit that removed the line '{gone[at]}' from {name}"
    command = f"git log -1 --format=%s -S {gone[at]} -- {name}"
    return replace(show(rng, difficulty - 1, what, command, subjects[at], {}), setup="; ".join(parts))
