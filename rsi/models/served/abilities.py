"""What a server can do, as it was found by asking it. A plain value: it travels to the workers with the model."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rsi.models.served.refusal import LIMITS

# what follows where a server does not take a field
_WITHOUT = {
    "temperature": "its own is used, whatever a document says",
    "top_p": "its own is used, whatever a document says",
    "seed": "a draw cannot be repeated; what is recorded counts",
    "stop": "texts are cut here",
    "tools": 'a document whose protocol is "tools" cannot be played; take "text" or "repl"',
}


@dataclass(frozen=True)
class Abilities:
    """`vllm`: it calls itself so, and is asked for token ids, stop strings kept in the text, and choices. `lacks`:
    names of fields that it refuses. The rest is what it gives or keeps."""

    vllm: bool = False
    lacks: frozenset[str] = frozenset()
    system: bool = True
    choices: bool = True
    logprobs: bool = True
    token_ids: bool = True
    usage: bool = True
    seeds: bool = True

    def without(self, fields: Iterable[str]) -> "Abilities":
        return replace(self, lacks=self.lacks | frozenset(fields))

    def notes(self, shown: str) -> tuple[str, ...]:
        """A line for each thing that it cannot do, with what follows."""
        lines = [f"takes no '{field}': {follows}" for field, follows in _WITHOUT.items() if field in self.lacks]
        if self.lacks.issuperset(LIMITS):
            lines.append(f"takes neither '{LIMITS[0]}' nor '{LIMITS[1]}': it decides how long an answer is")
        if not self.system:
            lines.append("takes no system message: it is put before the first user's text")
        if not self.choices:
            lines.append("keeps to no choices: a proposed recipe that is not one of them is refused, and counted")
        if not self.logprobs:
            lines.append("gives no log-probabilities: attempts are recorded without them")
        if not self.seeds and "seed" not in self.lacks:
            lines.append("answers one seed in several ways: a draw cannot be repeated; what is recorded counts")
        if not (self.usage or self.logprobs or self.token_ids):
            lines.append("counts no tokens: budgets and costs take four characters for one")
        return tuple(f"model: {shown} {line}" for line in lines)
