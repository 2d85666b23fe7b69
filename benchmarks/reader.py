"""A ModelBackend that knows nothing but what its prompt shows: it reads the sentences of the talk bank's users in their
order, keeps what they say, and answers the last one. What the prompt has lost it cannot know."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from rsi.errors import ContextOverflow
from rsi.types import Completion, Message, ModelRequest

CHUNK = 4  # characters a token
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_STYLES: dict[str, Callable[[str], str]] = {
    "in capital letters": str.upper,
    "with an exclamation mark at the end": lambda text: f"{text}!",
    "in brackets": lambda text: f"({text})",
    "with the word indeed before the answer": lambda text: f"indeed {text}",
}
_PLAIN = (  # what a sentence says: the question that it answers, and the answer
    (r"The (.+) holds (\w+)\.$", r"What does the \1 hold?", r"\2"),
    (r"(\w+) goes to the (\w+) place\.$", r"Where is \1?", r"\2"),
    (r"(\w+) keeps (\w+)\.$", r"What does \1 keep?", r"\2"),
    (r"(\w+) (?:now )?likes (\w+) best\.$", r"What does \1 like best?", r"\2"),
    (r"(?:.*: )?(\w+) has number (\d+)\.$", r"Which number has \1?", r"\2"),
    (r"(\w+) leads project (\w+)\.$", r"Who leads project \2?", r"\1"),
    (r"(\w+) has the (\w+) card\.$", r"Who has the \2 card?", r"\1"),
    (r"\w+ gives the (\w+) card to (\w+)\.$", r"Who has the \1 card?", r"\2"),
)


@dataclass
class Mind:
    """What one reading of a prompt holds."""

    known: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    items: list[str] = field(default_factory=list)
    style: Callable[[str], str] = str

    def hear(self, sentence: str) -> None:
        for pattern, question, answer in _PLAIN:
            if found := re.match(pattern, sentence):
                self.known[found.expand(question)] = found.expand(answer)
                return
        if found := re.match(r"Project (\w+) is now called (\w+)\.", sentence):
            self.known[f"Who leads project {found[2]}?"] = self.known.get(f"Who leads project {found[1]}?", "nobody")
        elif found := re.match(r"From now on answer my questions (.+)\.$", sentence):
            self.style = _STYLES.get(found[1], str)
        elif found := re.match(r"(Add|Take|Put) (\d+) (?:pieces of (\w+)|(?:to|from) the total)", sentence):
            what, n = found[3] or "", int(found[2])
            self.counts[what] = self.counts.get(what, 0) + (-n if found[1] == "Take" else n)
        elif found := re.match(r"Put (\w+) at the end of the list", sentence):
            self.items.append(found[1])
        elif found := re.match(r"Take (\w+) off the list", sentence):
            self.items = [item for item in self.items if item != found[1]]

    def answer(self, question: str) -> str:
        if not question.endswith("?"):
            return "noted"
        return self.style(self.known.get(question) or self._counted(question))

    def _counted(self, question: str) -> str:
        if found := re.match(r"What is (\d+|the total)(?: plus (\d+))?\?", question):
            first = self.counts.get("", 0) if found[1] == "the total" else int(found[1])
            return str(first + int(found[2] or 0))
        if found := re.match(r"How many pieces of (\w+) are there", question):
            return str(self.counts.get(found[1], 0))
        if question.startswith("How many things"):
            return str(len(self.items))
        if self.items and question.endswith("on the list?"):
            return self.items[0 if "first" in question else -1]
        return "unknown"


class Reader:
    """Its window holds `window` tokens; beyond it ContextOverflow, as of any backend."""

    def __init__(self, window: int) -> None:
        self._window = window

    async def generate(self, request: ModelRequest) -> Completion:
        said = [message.content for message in request.messages if message.role == "user"]
        mind, lines = Mind(), [line for text in said for line in text.splitlines() if line.strip()]
        for line in lines:
            for sentence in _SENTENCE.split(line.removeprefix("- user: ")) if not line.startswith("- you") else ():
                mind.hear(sentence)
        text = f"<answer>{mind.answer(_SENTENCE.split(lines[-1])[-1])}</answer>"
        prompt, tokens = (*_prompt(request.messages), -1), _tokens(text)
        if len(prompt) + len(tokens) > self._window:
            raise ContextOverflow(f"{len(prompt)} tokens do not fit")
        zeros = (0.0,) * len(tokens)
        return Completion(
            text=text, prompt_ids=prompt, token_ids=tokens, logprobs=zeros, policy_version="reader", finish="stop"
        )

    async def close(self) -> None:
        pass


def _prompt(messages: tuple[Message, ...]) -> tuple[int, ...]:
    """One id a message for its role, then one for each `CHUNK` characters."""
    return tuple(
        token for m in messages for token in ({"assistant": -1, "user": -2}.get(m.role, -3), *_tokens(m.content))
    )


def _tokens(text: str) -> tuple[int, ...]:
    return tuple(
        int.from_bytes(text[place : place + CHUNK].encode(), "big") % 2**31 for place in range(0, len(text), CHUNK)
    )
