"""A tiny random model, a sampler on it, a rollout and a store: enough to run the real trainer without a download."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tiny_model import build_model as build_model

from rsi.errors import IntegrityError
from rsi.ids import seed_of
from rsi.types import (
    Attempt,
    AttemptSpec,
    Completion,
    Message,
    ModelRequest,
    Sampling,
    Score,
    Termination,
    TrainDraw,
    TrainSettings,
    TrainSpec,
    Turn,
)
from rsi.weights import content_digest, file_digests

PAIR = "pair-digest"


class LiveSampler:
    """Token by token on the learner's own module. `bias` is added to every log-probability it reports."""

    def __init__(self, model, tokenizer, version, bias=0.0):
        self.model, self.tokenizer, self.version, self.bias = model, tokenizer, version, bias

    async def generate(self, request: ModelRequest) -> Completion:
        import torch

        messages = [message.model_dump() for message in request.messages]
        prompt = (
            list(request.prefix_ids)
            or self.tokenizer(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))[
                "input_ids"
            ]
        )
        generator, ids, logprobs = torch.Generator().manual_seed(request.seed), [], []
        with torch.no_grad():
            for _ in range(request.sampling.max_new_tokens):
                logits = self.model(input_ids=torch.tensor([prompt + ids])).logits[0, -1].float().log_softmax(-1)
                ids.append(int(torch.multinomial(logits.exp(), 1, generator=generator)))
                logprobs.append(float(logits[ids[-1]]) + self.bias)
        return Completion(
            text=self.tokenizer.decode(ids),
            prompt_ids=tuple(prompt),
            token_ids=tuple(ids),
            logprobs=tuple(logprobs),
            policy_version=self.version(),
            finish="length",
        )

    async def close(self) -> None:
        pass


def honest(model, tokenizer, version):
    return LiveSampler(model, tokenizer, version)


def biased(model, tokenizer, version):
    return LiveSampler(model, tokenizer, version, bias=0.5)


@dataclass(frozen=True)
class ParityRollout:
    """Two turns an attempt; passes where the first sampled token is even. Every play is appended to `log`.

    `never_from`: from that step on nothing passes. `lost`: draws that come back unscored. `stale`: answers carry
    another policy version than asked for."""

    log: str
    never_from: int = 1_000_000
    lost: tuple[int, ...] = ()
    stale: bool = False
    pair: str = PAIR

    def spec(self, draw: TrainDraw) -> AttemptSpec:
        purpose = f"train/step{draw.step}"
        seed = seed_of(draw.task_id, purpose, draw.draw)
        return AttemptSpec(
            task_id=draw.task_id, pair=self.pair, purpose=purpose, draw=draw.draw, sandbox="none", seed=seed
        )

    def ids(self, draws: Sequence[TrainDraw]) -> Sequence[str]:
        return [self.spec(draw).digest for draw in draws]

    async def __call__(self, draws: Sequence[TrainDraw], model) -> Sequence[Attempt]:
        return await asyncio.gather(*(self.play(draw, model) for draw in draws))

    async def play(self, draw: TrainDraw, model) -> Attempt:
        spec = self.spec(draw)
        with Path(self.log).open("a") as log:
            log.write(f"{spec.digest}\n")
        sampling = Sampling(max_new_tokens=3)
        ask = Message(role="user", content=draw.task_id)
        first = await model.generate(ModelRequest(messages=(ask,), sampling=sampling, seed=spec.seed))
        shown = (*first.prompt_ids, *first.token_ids, 5, 6, 7)  # the environment's tokens
        second = await model.generate(
            ModelRequest(messages=(ask,), sampling=sampling, seed=spec.seed + 1, prefix_ids=shown)
        )
        turns = tuple(
            Turn(completion=one.model_copy(update={"policy_version": "another@0"}) if self.stale else one)
            for one in (first, second)
        )
        passed = first.token_ids[0] % 2 == 0 and draw.step < self.never_from
        unscored = draw.draw in self.lost
        return Attempt(
            id=spec.digest,
            spec=spec,
            family="parity",
            split="train",
            held_out=False,
            termination=Termination.INFRASTRUCTURE if unscored else Termination.ANSWERED,
            turns=turns,
            score=None if unscored else Score(reward=float(passed), passed=passed, form=1.0),
        )


@dataclass
class MemoryStore:
    """ports.Store in memory; `on_record` sees each recorded attempt's number."""

    attempts: dict[str, Attempt] = field(default_factory=dict)
    on_record: object = None

    def record(self, attempt: Attempt) -> None:
        old = self.attempts.get(attempt.id)
        if old is not None and old.termination is not Termination.INFRASTRUCTURE:
            raise IntegrityError(f"attempt {attempt.id} twice")
        self.attempts[attempt.id] = attempt
        if self.on_record:
            self.on_record(len(self.attempts))

    def get(self, ids: Sequence[str]) -> Mapping[str, Attempt]:
        found = {one: self.attempts[one] for one in ids if one in self.attempts}
        return {one: a for one, a in found.items() if a.termination is not Termination.INFRASTRUCTURE}

    def stage(self, lineage: str, generation: int, name: str) -> str | None:
        return None

    def commit_stage(self, lineage: str, generation: int, name: str, output: str) -> None:
        raise NotImplementedError


@dataclass
class Ledger:
    """groups.Ledger straight on a store."""

    store: MemoryStore

    def get(self, ids: Sequence[str]) -> Mapping[str, Attempt]:
        return self.store.get(ids)

    def record(self, attempts: Sequence[Attempt]) -> None:
        for attempt in attempts:
            self.store.record(attempt)


def make_spec(base: str, folder: Path, run: str = "run", parent: str | None = None, **settings) -> TrainSpec:
    defaults = {"steps": 2, "prompts_per_step": 2, "group_size": 4, "rank": 4, "alpha": 8, "backfill": 2}
    return TrainSpec(
        run=run,
        base=base,
        base_digest=content_digest(file_digests(Path(base))),
        parent=parent,
        parent_revision=Path(parent).name if parent else None,
        pair=PAIR,
        tasks=("one", "two", "three"),
        canary=(Message(role="user", content="canary"),),
        settings=TrainSettings(**{**defaults, "learning_rate": 1e-2, **settings}),
        workdir=str(folder / "work" / run),
        out=str(folder / "adapters"),
        dtype="float32",
        device="cpu",
        threads=1,
    )
