"""A model behind an OpenAI-compatible URL: vLLM with all that we need, others with what they offer.

Decides what a server's word means: an answer, a full window, a field to go without, a refusal of this one conversation,
a wrong set-up, or an outage. How to reach, ask and read a server is in `rsi.models.served`.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

from rsi.config import ModelSettings
from rsi.errors import ContextOverflow, InfrastructureError, IntegrityError, RequestRefusedError, RsiError, UserError
from rsi.models.served.abilities import Abilities
from rsi.models.served.address import parse_address, read_key
from rsi.models.served.answer import UNKNOWN, counts_tokens, fits_prefix, read_completion
from rsi.models.served.channel import BrokenError, Channel, Reply
from rsi.models.served.pacing import Once
from rsi.models.served.refusal import LIMITS, SHOWN, Refusal, find_room, read_refusal
from rsi.models.served.request import DISPENSABLE, make_body
from rsi.text import HIDDEN, escape, show_url
from rsi.types import Completion, Message, ModelRequest, Sampling, ToolSpec

__all__ = ["PAUSE", "TRIES", "UNKNOWN", "OpenAIModel"]

TRIES = 8  # the waits between them outlive a minute
PAUSE = 0.5  # seconds before the first retry, doubled each time
CHAT = "/chat/completions"
ROUNDS = 3  # of a small request and one that broke the server, in turn
HOPELESS = 16  # conversations refused, and none ever answered: the set-up is wrong
REMEMBERED = 10_000  # answers whose text is known by their tokens
PROBE = ModelRequest(
    messages=(Message(role="system", content="Be brief."), Message(role="user", content="Say hello.")),
    sampling=Sampling(temperature=0.9, top_p=0.9, max_new_tokens=16),
    seed=7,
)
PROBE_TOOL = ToolSpec(
    name="look",
    description="Looks at a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)
PROBE_CHOICES = ("family=one", "family=two")


def _nobody(line: str) -> None:
    """Where nobody listens."""


class OpenAIModel:
    """ModelBackend over the URL in `settings.id` ("http://host:8000/v1", with "#name" where it serves several models).

    An adapter is a served model of that name. `policy_version` is the adapter or served name: a URL has no digest.
    Ids that the server does not tell are UNKNOWN. Log-probabilities are the server's; vLLM's are under temperature 1
    unless it runs with processed ones. Picklable, with what is known of the server. The key is read from the
    environment variable that `api_key_env` names. Such a model is never trained here, so a chat template that rewrites
    history costs the token ids of the prompt, and no more."""

    def __init__(
        self, settings: ModelSettings, abilities: Abilities | None = None, proved: frozenset[str] = frozenset()
    ) -> None:
        self._settings, self._shown = settings, show_url(settings.id.partition("#")[0])
        self._abilities, self._proved = abilities, proved  # names that were asked and have answered
        self._served = ""
        self._accepted: set[str] = set()  # fields of requests that were answered
        self._answered, self._refused = False, 0  # of conversations, not probes
        self._sampled: dict[int, str] = {}  # texts by their tokens
        self.say: Callable[[str], None] = _nobody

    def __reduce__(self) -> tuple[type["OpenAIModel"], tuple[ModelSettings, Abilities | None, frozenset[str]]]:
        return OpenAIModel, (self._settings, self._abilities, self._proved)

    @cached_property
    def _channel(self) -> Channel:
        return Channel(parse_address(self._settings.id), self._settings.api_key_env, PAUSE, TRIES, self._tell)

    @cached_property
    def _tell(self) -> Once:
        return Once(lambda line: self.say(line))

    async def learn(self) -> tuple[str, ...]:
        """Ask the server for what it can do. Returns a line for each thing that it cannot. UserError, before anything
        is asked, for a key or proxy that cannot be used, and where the server refuses all that a request may be."""
        self._channel.open()
        name = await self._find()
        first = await self._ask(PROBE, name)
        completion = read_completion(first, name, PROBE, self._shown)
        found = replace(
            self._known,
            logprobs=bool(completion.logprobs),
            token_ids=UNKNOWN not in completion.token_ids,
            usage=counts_tokens(first),
            seeds=(await self._try(PROBE, name)) in (None, completion.text),
            choices=self._known.vllm,
        )
        self._abilities = found
        if await self._try(PROBE.model_copy(update={"tools": (PROBE_TOOL,)}), name) is None:
            self._abilities = self._known.without(["tools"])
        if found.vllm:
            chosen = await self._try(PROBE.model_copy(update={"choices": PROBE_CHOICES}), name)
            self._abilities = replace(self._known, choices=chosen in PROBE_CHOICES)
        return self._known.notes(self._shown)

    async def generate(self, request: ModelRequest) -> Completion:
        name = request.adapter or await self._find()
        if request.tools and "tools" in self._known.lacks:
            raise UserError(f'{self._shown}: takes no native tools; set \'rsi.protocol\' to "text" or "repl"')
        try:
            answer = await self._ask(request, name)
        except RequestRefusedError as refused:
            self._refused += 1
            if not self._answered and self._refused >= HOPELESS:
                raise UserError(f"{refused}; {self._refused} conversations were refused and none answered") from None
            raise
        completion = read_completion(answer, name, request, self._shown)
        self._answered = True
        return self._continued(request, completion)

    async def close(self) -> None:
        if "_channel" in self.__dict__:
            await self._channel.close()

    @property
    def _known(self) -> Abilities:
        return self._abilities or Abilities()

    def _continued(self, request: ModelRequest, completion: Completion) -> Completion:
        """With prompt ids that continue the conversation, or with none. IntegrityError where the messages do not hold
        what was sampled, which no template has to answer for."""
        if UNKNOWN not in completion.prompt_ids and not fits_prefix(completion, request.prefix_ids):
            said = self._sampled.get(hash(request.prefix_ids))
            last = [message.content for message in request.messages if message.role == "assistant"]
            if said is not None and last and said != last[-1]:
                raise IntegrityError(
                    f"{self._shown}: the messages break the conversation's prefix: they do not hold what was sampled"
                )
            self._tell(
                f"model: {self._shown}: its chat template rewrites earlier turns, so prompts are counted and their "
                "token ids left out; nothing is trained on them"
            )
            completion = completion.model_copy(update={"prompt_ids": (UNKNOWN,) * len(completion.prompt_ids)})
        if len(self._sampled) >= REMEMBERED:
            self._sampled.pop(next(iter(self._sampled)))
        self._sampled[hash(completion.prompt_ids + completion.token_ids)] = completion.text
        return completion

    async def _find(self) -> str:
        """The served model's name: the one after "#", else the first."""
        if self._served:
            return self._served
        address = parse_address(self._settings.id)
        reply = await self._channel.exchange("GET", "/models", None)
        if not reply.ok and address.model and reply.status not in (401, 403):  # not every server has a list
            self._served = address.model
            return self._served
        if not reply.ok:
            raise self._set_up(reply)
        listed = reply.data.get("data")
        models = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else None
        if models is None:
            raise InfrastructureError(f"{self._shown}: the answer is not the OpenAI protocol's (at 'data')")
        for model in models:
            if isinstance(model.get("id"), str) and address.model in ("", model["id"]):
                if self._abilities is None:
                    self._abilities = Abilities(vllm=model.get("owned_by") == "vllm")
                self._served = model["id"]
                return self._served
        names = escape(", ".join(str(model.get("id")) for model in models)[:SHOWN]) or "none"
        raise UserError(f"{self._shown}: serves no model '{address.model}' (it has: {names}); name one after '#'")

    async def _ask(self, request: ModelRequest, name: str) -> dict[str, Any]:
        """The server's answer, adapted to what it takes. Raises what its refusal means."""
        abilities, limit = self._known, request.sampling.max_new_tokens
        while True:
            body = make_body(request, name, abilities, limit)
            reply = await self._exchange(body, name)
            if reply.ok:
                return self._noted(reply, body, abilities)
            refusal = read_refusal(reply.status, reply.data, reply.text, frozenset(body))
            if refusal.full:
                return await self._ask_shorter(request, name, abilities, refusal)
            narrower = abilities.without(self._unknown(reply, refusal, body))
            if narrower == abilities:
                break
            abilities = narrower
        if reply.status in (400, 422) and not self._proved:
            found = await self._eliminate(request, name)
            if found is not None and found != self._known:
                self._abilities = found
                return await self._ask(request, name)
        raise await self._meaning(reply, name)

    async def _exchange(self, body: dict[str, Any], name: str) -> Reply:
        """The server's answer. RequestRefusedError where it breaks on this conversation alone: else what makes a server
        break (a template, a parser of calls) would be a way out of the score.

        A server that fails one request in three by chance is taken for such a one at one request in 10^5: `TRIES` and
        three more must fail, and the small request before each of the last be answered."""
        try:
            return await self._channel.exchange("POST", CHAT, body)
        except BrokenError as broken:
            for _ in range(ROUNDS + max(TRIES - broken.tries, 0)):  # fewer were made if others had just failed
                if name not in self._proved or not await self._answers(name):
                    raise
                with suppress(BrokenError):
                    return await self._channel.exchange("POST", CHAT, body, tries=1)
        raise RequestRefusedError(f"{self._shown}: breaks on this conversation, and on no other (status 500)")

    async def _answers(self, name: str) -> bool:
        """Whether it answers a small request now."""
        body = make_body(PROBE, name, self._known, PROBE.sampling.max_new_tokens)
        try:
            return (await self._channel.exchange("POST", CHAT, body)).ok
        except InfrastructureError:
            return False

    def _unknown(self, reply: Reply, refusal: Refusal, body: dict[str, Any]) -> set[str]:
        """Fields that the server names and never took: it is asked once more without them."""
        if reply.status not in (400, 422):
            return set()
        named = (refusal.fields - self._accepted) & (DISPENSABLE | set(LIMITS))
        return {field for field in named if field in body}

    def _noted(self, reply: Reply, body: dict[str, Any], abilities: Abilities) -> dict[str, Any]:
        self._accepted |= body.keys()
        self._proved |= {body["model"]}
        lost = abilities.lacks - self._known.lacks
        if lost or abilities.system != self._known.system:
            self._abilities = replace(self._known, lacks=self._known.lacks | lost, system=abilities.system)
            for line in self._known.notes(self._shown):
                if any(f"'{field}'" in line for field in lost):
                    self._tell(line)
        answer: dict[str, Any] = reply.data
        return answer

    async def _ask_shorter(
        self, request: ModelRequest, name: str, abilities: Abilities, refusal: Refusal
    ) -> dict[str, Any]:
        """Ask for as many tokens as fit behind the prompt. ContextOverflow where none does."""
        asked = request.sampling.max_new_tokens
        full = ContextOverflow(f"{self._shown}: the prompt exceeds the served model's window")
        room = find_room(refusal, asked)
        if room == 0 or not any(field in make_body(request, name, abilities, 1) for field in LIMITS):
            raise full
        if room is not None and (answer := await self._offer(request, name, abilities, room)):
            return answer
        least = await self._offer(request, name, abilities, 1) if asked > 1 else None
        if least is None:
            raise full
        usage = least.get("usage")
        prompt = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        windows = [number - prompt for number in refusal.numbers if number > prompt] if type(prompt) is int else []
        halves = [asked // 2**n for n in range(1, asked.bit_length())]
        for limit in [*sorted({room for room in windows if room < asked}, reverse=True), *halves]:
            if limit > 1 and (answer := await self._offer(request, name, abilities, limit)):
                return answer
        return least

    async def _offer(self, request: ModelRequest, name: str, abilities: Abilities, limit: int) -> dict[str, Any] | None:
        """The answer to the request with `limit` tokens; None where that is too much too."""
        body = make_body(request, name, abilities, limit)
        reply = await self._exchange(body, name)
        if reply.ok:
            return self._noted(reply, body, abilities)
        if read_refusal(reply.status, reply.data, reply.text, frozenset(body)).full:
            return None
        raise await self._meaning(reply, name)

    async def _eliminate(self, request: ModelRequest, name: str) -> Abilities | None:
        """What a server takes that refuses a request without naming why: the least first, then field by field. None
        where it refuses the least too."""
        known = self._known
        full = make_body(PROBE, name, known, 1).keys() | make_body(request, name, known, 1).keys()
        fields = [field for field in sorted(DISPENSABLE) if field in full]
        bare = replace(known.without(fields), system=False)
        tried = (bare, bare.without(LIMITS[:1]), bare.without(LIMITS))
        least: Abilities | None = None
        for least in tried:
            if await self._takes(least, name):
                break
        else:
            return None
        if await self._takes(wider := replace(least, system=known.system), name):
            least = wider
        for field in fields:
            if await self._takes(wider := replace(least, lacks=least.lacks - {field}), name):
                least = wider
        return least

    async def _takes(self, abilities: Abilities, name: str) -> bool:
        body = make_body(PROBE, name, abilities, PROBE.sampling.max_new_tokens)
        reply = await self._channel.exchange("POST", CHAT, body)
        if reply.ok:
            self._accepted |= body.keys()
            self._proved |= {name}
        return reply.ok

    async def _try(self, request: ModelRequest, name: str) -> str | None:
        """The text that a request gets, None where it gets none."""
        body = make_body(request, name, self._known, request.sampling.max_new_tokens)
        try:
            reply = await self._channel.exchange("POST", CHAT, body, tries=2)
            if not reply.ok:
                return None
            self._accepted |= body.keys()
            return read_completion(reply.data, name, request, self._shown).text
        except (InfrastructureError, RequestRefusedError):
            return None

    async def _meaning(self, reply: Reply, name: str) -> RsiError:
        """What a refusal is: of a server that has answered nothing yet, a wrong set-up. Of one that has, its own change
        (a key revoked, a model unloaded), or, where it still answers another request, this conversation's end."""
        if not self._proved or name not in self._proved:
            return self._set_up(reply)
        if not (400 <= reply.status < 500) or reply.status in (401, 402, 404, 410):
            return InfrastructureError(f"{self._set_up(reply)}; it answered before")
        if reply.status == 403 and not self._moderated(reply):
            return InfrastructureError(f"{self._set_up(reply)}; it answered before")
        said = f"status {reply.status}: {self._words(reply)}"
        if await self._answers(name):
            return RequestRefusedError(f"{self._shown}: refused this conversation, and no other ({said})")
        return InfrastructureError(f"{self._shown}: refuses all requests now, and answered before ({said})")

    def _set_up(self, reply: Reply) -> UserError:
        code, variable = reply.status, self._settings.api_key_env
        if code in (401, 403):
            key = f"the key in ${variable}" if variable else "a request without key; set model.api_key_env"
            return UserError(f"{self._shown}: refused {key} (status {code})")
        if code in (404, 410):
            return UserError(
                f"{self._shown}: no such path, model or adapter there (status {code}); check the URL and names"
            )
        if 300 <= code < 400:
            return UserError(f"{self._shown}: sends on to {reply.place} (status {code}); give the URL that answers")
        return UserError(f"{self._shown}: refused the request (status {code}): {self._words(reply)}")

    def _moderated(self, reply: Reply) -> bool:
        words = self._words(reply).lower()
        return any(word in words for word in ("moderat", "flagged", "content", "policy", "safety"))

    def _words(self, reply: Reply) -> str:
        """What the server says, on one line, without the key."""
        words, key = read_refusal(reply.status, reply.data, reply.text, frozenset()).words, None
        key = read_key(self._settings.api_key_env)
        return escape(" ".join((words.replace(key, HIDDEN) if key else words).split())[:SHOWN])
