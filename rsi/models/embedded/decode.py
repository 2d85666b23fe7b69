"""One batch from prompts to completions: prefill, then a token a row and step, rows leaving as they finish.

Knows the model's forward and the tokenizer's decoding; knows nothing of queues, threads or adapters' files.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

from rsi.models.embedded.prompt import Renderer
from rsi.models.embedded.sampling import Node, draw, trie, uniforms
from rsi.models.stops import first_stop
from rsi.types import ModelRequest

Finish = Literal["stop", "length"]
End = Literal["stop", "length", "nan"]  # "nan": the model gives no numbers for this row
BASE = "__base__"  # PEFT's name for "no adapter" in a mixed batch
GROW = 64  # positions by which a cache buffer grows


@dataclass(eq=False)
class Row:
    """One request on its way. `adapter` is a loaded adapter's name or BASE; `gone` says that nobody waits any more."""

    request: ModelRequest
    prompt: tuple[int, ...]
    adapter: str
    gone: Callable[[], bool] = lambda: False
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    node: Node | None = None

    def limit(self, window: int) -> int:
        """Tokens it may sample; a choice is never cut short but by the window."""
        room = window - len(self.prompt)
        return room if self.request.choices else min(self.request.sampling.max_new_tokens, room)


class _Slab(DynamicLayer):  # type: ignore[misc]
    """A cache layer that writes into spare room instead of copying all that it holds at each step."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self.keys, self.values = key_states[:, :, :0], value_states[:, :, :0]
            self._room: list[Tensor] = [self.keys, self.values]
        start, stop = self.keys.shape[2], self.keys.shape[2] + key_states.shape[2]
        if stop > self._room[0].shape[2] or len(self.keys) != len(self._room[0]):
            self._room = [self._grown(held, stop + GROW) for held in (self.keys, self.values)]
        for room, new in zip(self._room, (key_states, value_states), strict=True):
            room[:, :, start:stop] = new
        self.keys, self.values = (room[:, :, :stop] for room in self._room)
        return self.keys, self.values

    @staticmethod
    def _grown(held: Tensor, size: int) -> Tensor:
        room = held.new_empty(*held.shape[:2], size, held.shape[3])
        room[:, :, : held.shape[2]] = held
        return room


class _Batch:
    """The tensors of the rows still held, kept in step by `keep`. Row order is that of `rows`."""

    def __init__(self, model: Any, rows: list[Row], window: int) -> None:
        self.rows, self._model, device = rows, model, model.device
        self.adapters = [row.adapter for row in rows]
        draws = [uniforms(row.request.seed, row.limit(window)) for row in rows]
        self.uniform = torch.nn.utils.rnn.pad_sequence(draws, batch_first=True).to(device)
        sampling = [row.request.sampling for row in rows]
        self.temperature = torch.tensor([[s.temperature] for s in sampling], device=device)
        self.top_p = torch.tensor([[s.top_p] for s in sampling], device=device)
        self.cache: Cache = DynamicCache(config=model.config)
        self.cache.layers = [_Slab() if type(layer) is DynamicLayer else layer for layer in self.cache.layers]
        # transformers renames the argument from past_key_values to cache, one model family after another
        inner = getattr(model, "get_base_model", lambda: model)()
        self._cache_name = "cache" if "cache" in inspect.signature(inner.forward).parameters else "past_key_values"
        self._mixed = len(set(self.adapters)) > 1

    def prefill(self, pad: int) -> Tensor:
        """Last-position logits (rows, vocabulary). Equal prompts under one adapter are computed once, then copied."""
        unique = {(row.adapter, row.prompt): i for i, row in reversed(list(enumerate(self.rows)))}
        leaders = sorted(unique.values())
        place = {leader: k for k, leader in enumerate(leaders)}
        width = max(len(row.prompt) for row in self.rows)
        prompts = [self.rows[i].prompt for i in leaders]
        ids = torch.tensor([[pad] * (width - len(p)) + list(p) for p in prompts], device=self._model.device)
        self.mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=self._model.device)
        self.position = (self.mask.cumsum(-1) - 1).clamp_(min=0)
        logits = self._forward(ids, [self.adapters[i] for i in leaders])
        index = torch.tensor([place[unique[row.adapter, row.prompt]] for row in self.rows], device=self._model.device)
        if len(leaders) < len(self.rows):
            self.cache.batch_select_indices(index)
        self.mask, self.position = self.mask[index], self.position[index, -1:]
        return logits[index]

    def step(self, tokens: Tensor) -> Tensor:
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(tokens), 1)], -1)
        self.position = self.position + 1
        return self._forward(tokens[:, None], self.adapters)

    def keep(self, index: list[int]) -> None:
        chosen = torch.tensor(index, device=self.mask.device)
        self.cache.batch_select_indices(chosen)
        self.rows = [self.rows[i] for i in index]
        self.adapters = [self.adapters[i] for i in index]
        for name in ("uniform", "temperature", "top_p", "mask", "position"):
            setattr(self, name, getattr(self, name)[chosen])

    def _forward(self, ids: Tensor, adapters: list[str]) -> Tensor:
        extra: dict[str, Any] = {self._cache_name: self.cache}
        if self._mixed:
            extra["adapter_names"] = adapters
        out = self._model(
            input_ids=ids,
            attention_mask=self.mask,
            position_ids=self.position,
            use_cache=True,
            logits_to_keep=1,
            **extra,
        )
        return out.logits[:, -1]


def decode(
    model: Any,
    renderer: Renderer,
    rows: Sequence[Row],
    finish: Callable[[Row, End], None],
    beat: Callable[[], None] = lambda: None,
) -> None:
    """Sample all `rows` (at least one), under no_grad; `finish` is called for each once its last token is drawn, `beat`
    before each step of the model."""
    batch = _Batch(model, list(rows), renderer.window)
    for row in rows:
        if row.request.choices:
            row.node = trie([renderer.encode(choice) for choice in row.request.choices])
    beat()
    logits = batch.prefill(pad=min(renderer.eos, default=0))
    done: set[int] = set()  # rows of the batch that have finished and wait to be dropped
    step = 0
    while True:
        allowed = _allowed(batch.rows, renderer, logits)
        tokens, logprobs = draw(logits, batch.temperature, batch.top_p, batch.uniform[:, step : step + 1], allowed)
        for i, (token, logprob) in enumerate(zip(tokens.tolist(), logprobs.tolist(), strict=True)):
            row = batch.rows[i]
            if i in done:
                continue
            row.tokens.append(token)
            row.logprobs.append(logprob)
            ended: End | None = "nan" if math.isnan(logprob) else _ended(row, renderer)
            if ended:
                finish(row, ended)
            if ended or row.gone():
                done.add(i)
        step += 1
        if len(done) == len(batch.rows):
            return
        if done and len(done) * 8 >= len(batch.rows):  # dropping copies the cache: worth it for an eighth of the rows
            index = [i for i in range(len(batch.rows)) if i not in done]
            batch.keep(index)
            tokens, done = tokens[index], set()
        beat()
        logits = batch.step(tokens)


def _allowed(rows: list[Row], renderer: Renderer, logits: Tensor) -> Tensor | None:
    """Which tokens each row's choices leave, or None where no row is constrained."""
    if all(row.node is None for row in rows):
        return None
    allowed = torch.ones_like(logits, dtype=torch.bool)
    for i, row in enumerate(rows):
        if row.node is not None and row.node.next:
            allowed[i] = False
            allowed[i, list(row.node.next) + (list(renderer.eos) if row.node.ends else [])] = True
    return allowed


def _ended(row: Row, renderer: Renderer) -> Finish | None:
    """Whether the token just drawn ends the turn. Advances the row in its choices."""
    token = row.tokens[-1]
    if token in renderer.eos:
        return "stop"
    if row.node is not None:
        row.node = row.node.next[token]
        if not row.node.next:
            return "stop"
    if row.request.stop:
        reach = 2 * max(len(s.encode()) for s in row.request.stop) + 8  # tokens that can hold a stop string, and margin
        tail = renderer.decode(row.tokens[-reach:])
        seen = any(stop in tail for stop in row.request.stop)  # seldom; only then all of the text is looked at
        if seen and first_stop(renderer.decode(row.tokens), row.request.stop) is not None:
            return "stop"
    return "length" if len(row.tokens) >= row.limit(renderer.window) else None
