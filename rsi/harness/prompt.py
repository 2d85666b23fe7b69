"""What the model is shown first. Exemplars and skills are chosen by the request alone."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from rsi.harness.templates import expand
from rsi.types import Exemplar, HarnessConfig, Message, Skill, Task

# What varies between tasks of one kind: quoted text, file names and paths, numbers.
_SLOT = re.compile(r"""(?<!\w)(['"`]).*?\1(?!\w)|\S*[./_]\w\S*|\S*\d\S*""")
_WORD = re.compile(r"[^\W_]+|#")


def opening(task: Task, harness: HarnessConfig) -> tuple[Message, ...]:
    """System message, exemplars as turns of their own (the most similar last), what was said in the session that the
    document restores, then the request."""
    request = expand(task.request, harness.prompts)
    skills = [skill.text for skill in chosen_skills(request, harness.skills)]
    system = "\n\n".join(part for part in (harness.system, harness.answer_format, *skills) if part)
    messages = [Message(role="system", content=system)] if system else []
    for exemplar in chosen_exemplars(request, harness.exemplars, harness.shots):
        messages.append(Message(role="user", content=exemplar.request))
        messages.append(Message(role="assistant", content=exemplar.response))
    listing = f"\nFiles: {', '.join(sorted(task.files))}" if harness.list_files and task.files else ""
    return (*messages, *harness.restored, Message(role="user", content=request + listing))


def chosen_skills(request: str, skills: Sequence[Skill]) -> tuple[Skill, ...]:
    """The skills one of whose triggers stands in the request as whole words, in the document's order."""
    text = request.casefold()
    return tuple(skill for skill in skills if any(_stands_in(trigger.casefold(), text) for trigger in skill.triggers))


def _stands_in(trigger: str, text: str) -> bool:
    return bool(trigger) and re.search(rf"(?<!\w){re.escape(trigger)}(?!\w)", text) is not None


def chosen_exemplars(request: str, pool: Sequence[Exemplar], shots: int) -> tuple[Exemplar, ...]:
    """The `shots` exemplars whose masked requests are most like the masked request, least similar first.

    Similarity is the share of words and word pairs in common, weighted by how rare they are in the pool; of equals the
    one that stands first in the document is the more similar."""
    if not shots or not pool:
        return ()
    shown, weights = _index(tuple(exemplar.request for exemplar in pool))
    asked, rare = features(request), max(weights.values(), default=1)

    def similarity(other: frozenset[str]) -> float:
        both = sum(weights[word] for word in asked & other)
        either = sum(weights.get(word, rare) for word in asked | other)
        return both / either if either else 0.0

    ranked = sorted(range(len(pool)), key=lambda i: (-similarity(shown[i]), i))
    return tuple(pool[i] for i in reversed(ranked[:shots]))


@lru_cache(maxsize=256)
def _index(requests: tuple[str, ...]) -> tuple[list[frozenset[str]], dict[str, int]]:
    """The features of a pool and how much each weighs. Whole numbers, since the order of a set of strings differs
    between processes, and with it the rounding of a sum."""
    shown = [features(request) for request in requests]
    counts = Counter(word for words in shown for word in words)
    return shown, {word: round(1000 * (1 + math.log((1 + len(shown)) / (1 + n)))) for word, n in counts.items()}


def features(request: str) -> frozenset[str]:
    """Words and neighbouring word pairs of a request after its slots are masked."""
    words = _WORD.findall(_SLOT.sub(" # ", request).casefold())
    return frozenset(words) | {f"{a} {b}" for a, b in pairwise(words)}
