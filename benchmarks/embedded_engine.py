"""Tokens a second of the embedded engine against transformers' plain `generate`, and episodes a second of short turns.

    python -m benchmarks.embedded_engine [--quick]

Both sample the same prompts at temperature 1 in one process, bfloat16 and two threads, in alternating order.
Prompts of the comparison all differ, so nothing is gained by sharing them; the short turns share them as in a rollout:
four draws a prompt of about 150 tokens, 24 new ones, 48 at once, under the base and under one LoRA adapter of rank 16.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.report import Figure, Goal, finish, mean, quick, ratio
from rsi.config import ModelSettings, home
from rsi.models.embedded.fetch import fetch, resolve_model
from rsi.models.embedded.process import ENVIRONMENT
from rsi.types import Message, ModelRequest, Sampling

BATCHES = (1, 8, 32)
SUBJECTS = ("sea", "old town", "long winter", "garden behind the house", "first day of the year")


def requests(
    n: int, new: int, seed: int, words: int = 0, draws: int = 1, adapter: str | None = None
) -> list[ModelRequest]:
    """`n` requests, `draws` of each prompt; `words` of padding make a prompt longer."""
    made = []
    for i in range(n):
        which = seed * 1000 + i // draws
        text = f"Story {which}. Write a long story about the {SUBJECTS[which % 5]}.{' again' * words}"
        messages = (Message(role="user", content=text),)
        made.append(ModelRequest(messages=messages, sampling=Sampling(max_new_tokens=new), seed=i, adapter=adapter))
    return made


async def by_engine(engine: Any, batch: list[ModelRequest]) -> float:
    """Tokens a second."""
    started = time.perf_counter()
    answers = await asyncio.gather(*[engine.generate(request) for request in batch])
    return sum(len(answer.token_ids) for answer in answers) / (time.perf_counter() - started)


def by_generate(model: Any, tokenizer: Any, batch: list[ModelRequest]) -> float:
    """Tokens a second, from messages to text, as the engine's."""
    import torch

    started = time.perf_counter()
    chats = [[message.model_dump() for message in request.messages] for request in batch]
    inputs = tokenizer.apply_chat_template(
        chats, add_generation_prompt=True, return_tensors="pt", return_dict=True, padding=True
    )
    with torch.no_grad():
        out = model.generate(
            **inputs,
            max_new_tokens=batch[0].sampling.max_new_tokens,
            do_sample=True,
            temperature=1.0,
            top_p=1.0,
            top_k=0,
        )
    sampled = out[:, inputs["input_ids"].shape[1] :]
    tokenizer.batch_decode(sampled, skip_special_tokens=True)
    ended = (sampled == tokenizer.eos_token_id).cumsum(-1)
    count = int((ended == 0).sum() + (ended == 1).any(-1).sum())  # an ending token counts, the padding after it not
    return count / (time.perf_counter() - started)


async def episodes(engine: Any, seed: int, adapter: str | None) -> float:
    """Short turns a second."""
    batch = requests(48, 24, seed, words=100, draws=4, adapter=adapter)
    started = time.perf_counter()
    await asyncio.gather(*[engine.generate(request) for request in batch])
    return len(batch) / (time.perf_counter() - started)


def make_adapter(model: Any, folder: Path) -> None:
    """A LoRA adapter as the trainer makes them, its weights random."""
    from peft import LoraConfig, get_peft_model

    peft = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", init_lora_weights=False))
    peft.save_pretrained(folder)
    peft.unload()


async def measure(rounds: int, new: int, scratch: Path) -> list[Figure]:
    from rsi.models.embedded.engine import Engine, EngineSettings, load

    fetch(home())
    model, tokenizer = load(resolve_model("embedded", home()).path, ModelSettings(device="cpu", threads=2))
    tokenizer.padding_side = "left"
    make_adapter(model, scratch / "lora")
    engine = Engine(model, tokenizer, EngineSettings("base", scratch))
    await by_engine(engine, requests(2, 2, 999))  # warm both up
    by_generate(model, tokenizer, requests(2, 2, 999))
    figures = []
    for size in BATCHES:
        ours, plain = [], []
        for round in range(rounds):
            batch = requests(size, new, round)
            if round % 2:
                ours.append(await by_engine(engine, batch))
            plain.append(by_generate(model, tokenizer, batch))
            if not round % 2:
                ours.append(await by_engine(engine, batch))
        figures += [mean(f"engine, batch {size}", "tokens/s", ours), mean(f"generate, batch {size}", "tokens/s", plain)]
        figures.append(ratio(f"engine / generate, batch {size}", ours, plain))
    for name, adapter in (("base", None), ("one adapter", "lora")):
        rates = [await episodes(engine, round, adapter) for round in range(rounds)]
        figures.append(mean(f"short turns, {name}", "turns/s", rates))
    await engine.close()
    return figures


def main() -> int:
    os.environ.update(ENVIRONMENT)  # before torch is loaded: both sides run as the engine's process does
    rounds, new = (2, 12) if quick(__doc__ or "") else (5, 48)
    with tempfile.TemporaryDirectory() as scratch:
        figures = asyncio.run(measure(rounds, new, Path(scratch)))
    goals = [Goal(f"engine / generate, batch {size}", at_least=1.0) for size in BATCHES]
    return finish("embedded_engine", figures, goals)


if __name__ == "__main__":
    sys.exit(main())
