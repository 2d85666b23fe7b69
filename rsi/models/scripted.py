"""The scripted model: replies from a table, chosen by the request's seed. For tests, benchmarks and dry runs.

A table is a JSON file, the first rule that fits answers:

    {"rules": [{"contains": "how many lines", "lacks": "words", "needs": "wc -l",
                "replies": [["```sh\\nwc -l a.txt\\n```", 3], ["I do not know", 1]]}]}

`contains` and `lacks` look at the last message, `needs` at the earlier ones (an exemplar, the system prompt).
"""

import math
import random
from pathlib import Path
from typing import Annotated

from pydantic import Field

from rsi.config import validate
from rsi.errors import ContextOverflow, IntegrityError, UserError
from rsi.files import load_json
from rsi.ids import digest
from rsi.models.stops import through_stop
from rsi.types import Completion, Message, ModelRequest, Record

Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]
WINDOW = 1 << 20  # bytes, which are its tokens


class Rule(Record):
    contains: str = ""
    lacks: str | None = None
    needs: str | None = None
    replies: tuple[tuple[str, Weight], ...] = Field(min_length=1)

    def fits(self, messages: tuple[Message, ...]) -> bool:
        last, earlier = messages[-1].content, [m.content for m in messages[:-1]]
        return (
            self.contains in last
            and (self.lacks is None or self.lacks not in last)
            and (self.needs is None or any(self.needs in text for text in earlier))
        )


class Table(Record):
    rules: tuple[Rule, ...]


def load_table(path: Path) -> Table:
    """Raises UserError naming file and key."""
    return validate(Table, load_json(path, "table of the scripted model (JSON)"), f"scripted model: {path}")


class ScriptedModel:
    """ModelBackend over a table. Tokens are UTF-8 bytes; a reply's log-probability under the temperature is spread
    evenly over its bytes. Deterministic and picklable."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._version = table.digest

    async def generate(self, request: ModelRequest) -> Completion:
        """UserError where no rule fits. `choices` narrow a rule's replies, and are drawn from where none is left."""
        if request.tools:
            raise UserError('scripted model: it calls no native tools; set \'rsi.protocol\' to "text" or "repl"')
        prompt = _prompt(request)
        rule = next((rule for rule in self._table.rules if rule.fits(request.messages)), None)
        if rule is None:
            raise UserError(f"scripted model: no rule fits the message {request.messages[-1].content[:80]!r}; add one")
        replies = dict(rule.replies)
        if request.choices:
            replies = {c: w for c, w in replies.items() if c in request.choices} or dict.fromkeys(request.choices, 1.0)
        text, share = _choose(replies, request)
        text, cut = through_stop(text, request.stop), request.sampling.max_new_tokens
        sampled = text.encode()
        finish, limited = "stop", sampled
        if len(sampled) > cut and not request.choices:  # a character cut in two would not come back as the same bytes
            finish, limited = "length", sampled[:cut].decode(errors="ignore").encode()
        return Completion(
            text=limited.decode(),
            prompt_ids=prompt,
            token_ids=tuple(limited),
            logprobs=(math.log(share) / len(sampled),) * len(limited) if sampled else (),
            policy_version=request.adapter or self._version,
            finish=finish,
        )

    async def close(self) -> None:
        """Nothing is held."""


def _prompt(request: ModelRequest) -> tuple[int, ...]:
    """A plain template: role, colon, content, newline. A continued conversation keeps its prefix byte for byte."""
    text = "".join(f"{m.role}: {m.content}\n" for m in request.messages) + "assistant: "
    ids = tuple(text.encode())
    if ids[: len(request.prefix_ids)] != request.prefix_ids:
        raise IntegrityError("scripted model: the messages do not begin with the conversation so far (prefix_ids)")
    if len(ids) >= WINDOW:
        raise ContextOverflow(f"the prompt has {len(ids)} tokens, the scripted model's window {WINDOW}")
    return ids


def _choose(replies: dict[str, float], request: ModelRequest) -> tuple[str, float]:
    """A reply and its probability. Temperature 0 takes the heaviest, the first of equals."""
    temperature = request.sampling.temperature
    if temperature == 0:
        return max(replies, key=replies.__getitem__), 1.0
    heaviest = max(replies.values())
    weights = [(weight / heaviest) ** (1 / temperature) for weight in replies.values()]
    rng = random.Random(digest(["scripted", request.seed]))
    text = rng.choices(list(replies), weights)[0]
    return text, weights[list(replies).index(text)] / sum(weights)
