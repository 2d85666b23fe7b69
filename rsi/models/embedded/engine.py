"""The batching engine: requests come in on any event loop, torch works in one thread, completions go out as rows end.

The same class samples for everybody (its own frozen base with LoRA adapters) and inside the trainer (the learner's
module as it stands). It knows nothing of sockets, processes, harnesses or training.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rsi.config import ModelSettings
from rsi.errors import InfrastructureError, RsiError, UserError
from rsi.models.embedded.adapters import AdapterShelf
from rsi.models.embedded.decode import BASE, Finish, Row, decode
from rsi.models.embedded.prompt import Renderer
from rsi.types import Completion, ModelRequest


@dataclass(frozen=True)
class EngineSettings:
    """`policy_version` is the base's digest, or a callable asked once a batch. `live`: the module is the policy as it
    stands (the learner's), adapter names in requests are ignored. Requests that come within `linger` seconds of each
    other share a batch, up to `max_batch` rows and `max_tokens` padded prompt tokens."""

    policy_version: str | Callable[[], str]
    adapters_root: Path | None = None
    live: bool = False
    max_batch: int = 48
    max_tokens: int = 32_768
    max_adapters: int = 8
    linger: float = 0.005


@dataclass(eq=False)
class _Ticket:
    """A request and who waits for it. `gone`: nobody does any more, its row may stop."""

    request: ModelRequest
    future: "Future[Completion]"
    gone: bool = False


class Engine:
    """ModelBackend over a ready transformers model and its tokenizer. Train or eval mode is put back after each batch.

    Raises ContextOverflow, UserError (unknown adapter), IntegrityError (broken prefix), InfrastructureError."""

    def __init__(self, model: Any, tokenizer: Any, settings: EngineSettings) -> None:
        self._model, self._settings = model, settings
        ends = getattr(model.generation_config, "eos_token_id", None)
        window = getattr(model.config, "max_position_embeddings", None) or tokenizer.model_max_length
        self._renderer = Renderer(tokenizer, window, ends if isinstance(ends, list) else [ends] if ends else [])
        self._shelf = AdapterShelf(model, settings.adapters_root, settings.max_adapters)
        self._queue: queue.SimpleQueue[_Ticket | None] = queue.SimpleQueue()
        self._held: tuple[_Ticket, Row] | None = None  # did not fit the last batch
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="rsi-engine", daemon=True)
        self._thread.start()

    async def generate(self, request: ModelRequest) -> Completion:
        if self._closed:
            raise InfrastructureError("the engine is closed")
        ticket = _Ticket(request, Future())
        self._queue.put(ticket)
        try:
            return await asyncio.wrap_future(ticket.future)
        except asyncio.CancelledError:
            ticket.gone = True
            raise

    async def close(self) -> None:
        """Ends after the batch in work; requests still waiting get InfrastructureError. May be called twice."""
        self._closed = True
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        batch: list[tuple[_Ticket, Row]] = []
        try:
            while batch := self._collect():
                try:
                    self._run(batch)
                except RuntimeError as error:  # torch: out of memory, a kernel that fails
                    self._fail([ticket for ticket, _ in batch], f"the engine failed: {str(error).splitlines()[0]}")
        finally:  # whatever ends this thread, nobody waits for it in vain
            self._closed = True
            waiting = [ticket for ticket, _ in [*batch, *([self._held] if self._held else [])]]
            while not self._queue.empty():
                waiting += [left] if (left := self._queue.get()) else []
            self._fail(waiting, "the engine is closed")

    def _collect(self) -> list[tuple[_Ticket, Row]]:
        """The next batch, in order of arrival; empty when the engine closes."""
        batch: list[tuple[_Ticket, Row]] = []
        width = 0
        deadline: float | None = None
        while len(batch) < self._settings.max_batch and not (self._closed and not batch):
            item, self._held = self._held, None
            if item is None:
                try:
                    wait = None if deadline is None else max(0.0, deadline - time.monotonic())
                    ticket = self._queue.get(timeout=wait)
                except queue.Empty:
                    break
                if ticket is None:
                    self._closed = True
                    break
                item = self._admit(ticket)
            if item is None:
                continue
            width = max(width, len(item[1].prompt))
            if batch and width * (len(batch) + 1) > self._settings.max_tokens:
                self._held = item
                break
            batch.append(item)
            deadline = time.monotonic() + self._settings.linger
        return batch

    def _admit(self, ticket: _Ticket) -> tuple[_Ticket, Row] | None:
        """Render the prompt. A request that cannot be served, or that nobody waits for, ends here."""
        if not ticket.future.set_running_or_notify_cancel():
            return None
        try:
            adapter = BASE if self._settings.live or ticket.request.adapter is None else ticket.request.adapter
            row = Row(ticket.request, self._renderer.prompt_ids(ticket.request), adapter, lambda: ticket.gone)
        except RsiError as error:
            ticket.future.set_exception(error)
            return None
        return ticket, row

    def _run(self, batch: list[tuple[_Ticket, Row]]) -> None:
        tickets = self._with_adapters(batch)
        if not tickets:
            return
        base = self._settings.policy_version
        version = base if isinstance(base, str) else base()

        waiting = dict(tickets)
        last: list[tuple[_Ticket, Completion]] = []

        def finish(row: Row, why: Finish) -> None:
            ticket = waiting.pop(row)
            answer = Completion(
                text=self._renderer.decode(row.tokens),
                prompt_ids=row.prompt,
                token_ids=tuple(row.tokens),
                logprobs=tuple(row.logprobs),
                policy_version=version if row.adapter == BASE else row.adapter,
                finish=why,
            )
            if all(other.gone for other in waiting.values()):
                last.append((ticket, answer))  # its owner may train next: the module must be itself again by then
            else:
                ticket.future.set_result(answer)

        training = self._model.training
        self._model.eval()  # no dropout in what is sampled
        try:
            with torch.no_grad(), self._shelf.applied({row.adapter for row in tickets}) as model:
                decode(model, self._renderer, list(tickets), finish)
        finally:
            self._model.train(training)
        for ticket, answer in last:
            ticket.future.set_result(answer)

    def _with_adapters(self, batch: list[tuple[_Ticket, Row]]) -> dict[Row, _Ticket]:
        tickets: dict[Row, _Ticket] = {}
        for ticket, row in batch:
            try:
                if row.adapter != BASE:
                    self._shelf.load(row.adapter, needed={held.adapter for held in tickets})
                tickets[row] = ticket
            except UserError as error:
                ticket.future.set_exception(error)
        return tickets

    @staticmethod
    def _fail(tickets: list[_Ticket], message: str) -> None:
        for ticket in tickets:
            if not ticket.future.done():
                ticket.future.set_exception(InfrastructureError(message))


def load(folder: Path, settings: ModelSettings) -> tuple[Any, Any]:
    """Model (in eval mode, on its device) and tokenizer of a Hugging Face folder. Sets torch's threads for the process.

    Raises UserError where the folder holds no causal language model, or CUDA is asked for and not there."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(settings.threads)
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise UserError("model: device 'cuda' is not available to torch here; set device = \"auto\"")
    device = "cuda" if settings.device != "cpu" and torch.cuda.is_available() else "cpu"
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, settings.dtype))
        tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise UserError(f"model: {folder} cannot be loaded ({str(error).splitlines()[0]})") from None
    return model.to(device).eval(), tokenizer
