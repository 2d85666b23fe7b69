"""The batching engine: requests come in on any event loop, torch works in one thread, completions go out as rows end.

The same class samples for everybody (its own frozen base with LoRA adapters) and inside the trainer (the learner's
module as it stands). It knows nothing of sockets, processes, harnesses or training.

The thread outlives every request: whatever one raises ends that request alone, and none is left without an answer.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import torch

from rsi.config import ModelSettings
from rsi.errors import InfrastructureError, RsiError, UserError, reason
from rsi.models.embedded.adapters import AdapterShelf
from rsi.models.embedded.decode import BASE, End, Row, decode
from rsi.models.embedded.prompt import Renderer
from rsi.types import Completion, ModelRequest

POLL = 1.0  # seconds between two looks at whether the thread still moves


@dataclass(frozen=True)
class Doing:
    """What the thread works at, since when (monotonic), and how many seconds that may take; None is no limit."""

    what: str
    limit: float | None
    since: float


@dataclass(frozen=True)
class EngineSettings:
    """`policy_version` is the base's digest, or a callable asked once a batch. `live`: the module is the policy as it
    stands (the learner's), adapter names in requests are ignored. Requests that come within `linger` seconds of each
    other share a batch, up to `max_batch` rows and `max_tokens` padded prompt tokens. One prompt may take
    `render_seconds`, the loading of one adapter `load_seconds`, one step of the model `step_seconds` (a large prefill
    on few processors takes minutes): whoever waits longer is told so."""

    policy_version: str | Callable[[], str]
    adapters_root: Path | None = None
    live: bool = False
    max_batch: int = 48
    max_tokens: int = 32_768
    max_adapters: int = 8
    linger: float = 0.005
    render_seconds: float = 60.0
    load_seconds: float = 600.0
    step_seconds: float = 3600.0


@dataclass(eq=False)
class _Ticket:
    """A request and who waits for it. `gone`: nobody does any more, its row may stop."""

    request: ModelRequest
    future: "Future[Completion]"
    gone: bool = False


class Engine:
    """ModelBackend over a ready transformers model and its tokenizer. Train or eval mode is put back after each batch.

    Raises ContextOverflow, RequestRefusedError (template or tokenizer refuse one conversation), UserError (an adapter
    or template that cannot be used), IntegrityError (broken prefix), InfrastructureError."""

    def __init__(self, model: Any, tokenizer: Any, settings: EngineSettings) -> None:
        self._model, self._settings = model, settings
        ends = getattr(model.generation_config, "eos_token_id", None)
        window = getattr(model.config, "max_position_embeddings", None) or tokenizer.model_max_length
        self._renderer = Renderer(tokenizer, window, ends if isinstance(ends, list) else [ends] if ends else [])
        self._shelf = AdapterShelf(model, settings.adapters_root, settings.max_adapters)
        self._queue: queue.SimpleQueue[_Ticket | None] = queue.SimpleQueue()
        self._held: tuple[_Ticket, Row] | None = None  # did not fit the last batch
        self._closed = False
        self._does("waiting for requests", None)
        self._thread = threading.Thread(target=self._work, name="rsi-engine", daemon=True)
        self._thread.start()

    async def generate(self, request: ModelRequest) -> Completion:
        if self._closed:
            raise InfrastructureError("the engine is closed")
        ticket = _Ticket(request, Future())
        self._queue.put(ticket)
        answer = asyncio.wrap_future(ticket.future)
        try:
            while not (await asyncio.wait({answer}, timeout=POLL))[0]:
                if why := self._stuck():
                    answer.cancel()
                    raise InfrastructureError(why)
            return answer.result()
        except (asyncio.CancelledError, InfrastructureError):
            ticket.gone = True
            raise

    async def close(self) -> None:
        """Ends after the batch in work; requests still waiting get InfrastructureError. May be called twice."""
        self._closed = True
        self._queue.put(None)
        while self._thread.is_alive() and not self._stuck():
            await asyncio.to_thread(self._thread.join, POLL)

    def _does(self, what: str, limit: float | None) -> None:
        self._doing = Doing(what, limit, time.monotonic())

    def _stuck(self) -> str | None:
        """Why no answer will come, where none will."""
        if not self._thread.is_alive():
            return "the engine is closed"
        doing = self._doing
        if doing.limit is None or time.monotonic() - doing.since < doing.limit:
            return None
        return f"the engine is stuck: {doing.what} takes more than {doing.limit:.0f} s"

    def _work(self) -> None:
        batch: list[tuple[_Ticket, Row]] = []
        try:
            while batch := self._collect():
                self._serve(batch)
        finally:  # whatever ends this thread, nobody waits for it in vain
            self._closed = True
            waiting = [ticket for ticket, _ in [*batch, *([self._held] if self._held else [])]]
            while not self._queue.empty():
                waiting += [left] if (left := self._queue.get()) else []
            for ticket in waiting:
                _fail(ticket, InfrastructureError("the engine is closed"))

    def _collect(self) -> list[tuple[_Ticket, Row]]:
        """The next batch, in order of arrival; empty when the engine closes."""
        batch: list[tuple[_Ticket, Row]] = []
        width = 0
        deadline: float | None = None
        while len(batch) < self._settings.max_batch and not (self._closed and not batch):
            item, self._held = self._held, None
            if item is None:
                try:
                    self._does("waiting for requests", None)
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
        self._does("rendering a prompt", self._settings.render_seconds)
        try:
            return ticket, self._row(ticket, self._renderer.prompt_ids(ticket.request))
        except Exception as error:  # noqa: BLE001 it is this request's alone
            _fail(ticket, error)
            return None

    def _row(self, ticket: _Ticket, prompt: tuple[int, ...]) -> Row:
        adapter = BASE if self._settings.live or ticket.request.adapter is None else ticket.request.adapter
        return Row(ticket.request, prompt, adapter, lambda: ticket.gone)

    def _serve(self, batch: list[tuple[_Ticket, Row]]) -> None:
        """Run a batch. Where it fails (memory, one bad row), what is unanswered runs again in halves, down to the
        request that fails alone."""
        try:
            self._run(batch)
        except Exception as error:  # noqa: BLE001 torch, PEFT and a model's own code raise anything
            left = [(ticket, self._row(ticket, row.prompt)) for ticket, row in batch if not ticket.future.done()]
            if len(left) > 1:
                self._serve(left[: len(left) // 2])
                self._serve(left[len(left) // 2 :])
            for ticket, _ in left:
                _fail(ticket, error)

    def _run(self, batch: list[tuple[_Ticket, Row]]) -> None:
        tickets = self._with_adapters(batch)
        if not tickets:
            return
        base = self._settings.policy_version
        version = base if isinstance(base, str) else base()

        waiting = dict(tickets)
        last: list[tuple[_Ticket, Completion]] = []

        def finish(row: Row, why: End) -> None:
            ticket = waiting.pop(row)
            if why == "nan":
                whose = "the model" if row.adapter == BASE else f"adapter '{row.adapter}'"
                _fail(ticket, InfrastructureError(f"{whose} gives no numbers (NaN) for this prompt; check its weights"))
                return
            numbers = row.logprobs if all(map(isfinite, row.logprobs)) else []  # an infinite one is an unknown one
            answer = Completion(
                text=self._renderer.decode(row.tokens),
                prompt_ids=row.prompt,
                token_ids=tuple(row.tokens),
                logprobs=tuple(numbers),
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
                decode(model, self._renderer, list(tickets), finish, self._step)
        finally:
            self._model.train(training)
        for ticket, answer in last:
            ticket.future.set_result(answer)

    def _step(self) -> None:
        self._does("a step of the model", self._settings.step_seconds)

    def _with_adapters(self, batch: list[tuple[_Ticket, Row]]) -> dict[Row, _Ticket]:
        tickets: dict[Row, _Ticket] = {}
        for ticket, row in batch:
            try:
                if row.adapter != BASE:
                    self._does(f"loading adapter '{row.adapter[:80]}'", self._settings.load_seconds)
                    self._shelf.load(row.adapter, needed={held.adapter for held in tickets})
                tickets[row] = ticket
            except Exception as error:  # noqa: BLE001 it is this request's alone
                _fail(ticket, error)
        return tickets


def _fail(ticket: _Ticket, error: Exception) -> None:
    """Answer with an error of ours, unless it was answered."""
    if not ticket.future.done():
        ours = error if isinstance(error, RsiError) else InfrastructureError(f"the engine failed: {reason(error)}")
        ticket.future.set_exception(ours)


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
        return model.to(device).eval(), tokenizer
    except Exception as error:  # noqa: BLE001 each loader has errors of its own
        raise UserError(f"model: {folder} cannot be loaded ({reason(error)})") from None
