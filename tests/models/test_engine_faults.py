"""The engine on a tiny model: whatever one request raises ends it alone, and no request is left without an answer."""

import asyncio
import builtins
import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from model_conformance import ask
from tiny_model import TEMPLATE, build_model

from rsi.errors import InfrastructureError, RequestRefusedError, UserError

pytestmark = [pytest.mark.model, pytest.mark.timeout(60)]
POISON = "9"  # a character, and so one token, that no other request holds


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Path(build_model(tmp_path_factory.mktemp("base")))


@pytest.fixture(scope="module")
def adapters_root(folder, tmp_path_factory):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    root = tmp_path_factory.mktemp("adapters")
    for name, rank in (("good", 4), ("wide", 8)):
        torch.manual_seed(rank)
        base = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        config = LoraConfig(r=rank, lora_alpha=8, target_modules="all-linear", init_lora_weights=False)
        get_peft_model(base, config).save_pretrained(root / name)
    return root


@pytest.fixture
def made(folder, adapters_root, tmp_path, monkeypatch):
    """An engine over a copy of the adapters, and its model. Their names are no digests: what is broken here is content
    that was published as it is."""
    monkeypatch.setattr("rsi.models.embedded.adapters.open_revision", lambda root, name: None)
    from rsi.config import ModelSettings
    from rsi.models.embedded.engine import Engine, EngineSettings, load

    root = tmp_path / "adapters"
    shutil.copytree(adapters_root, root)
    model, tokenizer = load(folder, ModelSettings(device="cpu", dtype="float32", threads=1))
    settings = EngineSettings("base", root, linger=0.05)
    return Engine(model, tokenizer, settings), model, root


def others():
    return [ask(f"name {'colour ' * n}", seed=n, tokens=6) for n in range(4)]


async def answers(engine, *more):
    return await asyncio.gather(*map(engine.generate, [*others(), *more]), return_exceptions=True)


KINDS = [
    "AssertionError",
    "ArithmeticError",
    "AttributeError",
    "BufferError",
    "EOFError",
    "ImportError",
    "IndexError",
    "KeyError",
    "LookupError",
    "MemoryError",
    "NameError",
    "NotImplementedError",
    "OSError",
    "RecursionError",
    "RuntimeError",
    "SystemError",
    "TimeoutError",
    "TypeError",
    "ValueError",
]


def error_of(name):
    import torch

    errors = {
        "empty": RuntimeError(""),
        "lines": RuntimeError("\n\nthe first of\nseveral"),
        "memory": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GB"),
        "stop": StopIteration(1),
    }
    return errors.get(name) or getattr(builtins, name)("the words of it")


@pytest.mark.parametrize("name", ["empty", "lines", "memory", "stop", *KINDS])
async def test_what_the_model_raises_ends_that_request_alone(made, name):
    engine, model, _ = made
    poison, error = engine._renderer.encode(POISON)[0], error_of(name)

    def poisoned(module, args, kwargs):
        if (kwargs["input_ids"] == poison).any():
            raise error

    before = await answers(engine)
    model.register_forward_pre_hook(poisoned, with_kwargs=True)
    *good, bad = await answers(engine, ask(POISON, tokens=6))
    assert isinstance(bad, InfrastructureError) and "engine failed" in str(bad) and "\n" not in str(bad)
    assert name == "empty" or type(error).__name__ in str(bad) or str(error).strip().splitlines()[0] in str(bad)
    assert [one.token_ids for one in good] == [one.token_ids for one in before]
    assert [one.token_ids for one in await answers(engine)] == [one.token_ids for one in before]
    await engine.close()


async def test_a_row_without_numbers_fails_alone_and_an_infinite_one_is_unknown(made):
    import torch

    engine, model, _ = made
    poison, before = engine._renderer.encode(POISON)[0], await answers(engine)

    def without_numbers(module, args, kwargs, output):
        rows = (kwargs["input_ids"] == poison).any(-1)
        output.logits[rows] = torch.nan
        return output

    hook = model.register_forward_hook(without_numbers, with_kwargs=True)
    *good, bad = await answers(engine, ask(POISON, tokens=6))
    assert isinstance(bad, InfrastructureError) and "NaN" in str(bad)
    assert [one.token_ids for one in good] == [one.token_ids for one in before]
    hook.remove()
    await engine.close()


async def test_what_template_and_tokenizer_refuse_ends_that_request_alone(made):
    engine, _, _ = made
    before = await answers(engine)
    tokenizer = engine._renderer._tokenizer
    tokenizer.chat_template = (
        "{% if '" + POISON + "' in messages[0].content %}{{ raise_exception('not nine') }}{% endif %}" + TEMPLATE
    )
    *good, bad = await answers(engine, ask(POISON))
    assert isinstance(bad, RequestRefusedError) and "not nine" in str(bad)
    assert good == before
    tokenizer.chat_template = "{{ raise_exception('never') }}"
    assert {str(one).count("never") for one in await answers(engine)} == {1}
    tokenizer.chat_template = TEMPLATE
    assert await answers(engine) == before
    await engine.close()


@pytest.mark.parametrize("where", ["rendering a prompt", "a step of the model"])
async def test_a_thread_that_never_comes_back_is_told(made, where):
    engine, model, _ = made
    engine._settings = replace(engine._settings, render_seconds=0.5, step_seconds=0.5)
    loops = "{% for a in range(9000) %}{% for b in range(9000) %}{% endfor %}{% endfor %}"  # seconds, and then it ends
    if where == "rendering a prompt":
        engine._renderer._tokenizer.chat_template = loops
    else:
        model.register_forward_pre_hook(lambda module, args: time.sleep(3))
    told = await asyncio.gather(*map(engine.generate, others()), return_exceptions=True)
    assert all(isinstance(one, InfrastructureError) and f"stuck: {where}" in str(one) for one in told)


async def test_closing_leaves_nobody_waiting(made):
    engine, model, _ = made
    model.register_forward_pre_hook(lambda module, args: time.sleep(0.1))
    asked = [asyncio.create_task(engine.generate(ask("more", seed=n, tokens=3))) for n in range(100)]
    await asyncio.sleep(0.3)
    await engine.close()
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(one, InfrastructureError) or one.text for one in ended)
    with pytest.raises(InfrastructureError, match="closed"):
        await engine.generate(ask())


WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


def changed(folder, **keys):
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps(config | keys))


def weights(folder, change):
    from safetensors.torch import load_file, save_file

    save_file(change(load_file(folder / WEIGHTS)), folder / WEIGHTS)


def halved(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


BROKEN = {
    "no weights": lambda f: (f / WEIGHTS).unlink(),
    "empty weights": lambda f: (f / WEIGHTS).write_bytes(b""),
    "half the weights": lambda f: halved(f / WEIGHTS),
    "weights are text": lambda f: (f / WEIGHTS).write_text("no weights, by no means\n" * 100),
    "weights are a folder": lambda f: ((f / WEIGHTS).unlink(), (f / WEIGHTS).mkdir()),
    "no tensors": lambda f: weights(f, lambda w: {}),
    "some tensors": lambda f: weights(f, lambda w: dict(list(w.items())[::2])),
    "more tensors": lambda f: weights(f, lambda w: w | {"base_model.model.x.lora_A.weight": w[max(w)].clone()}),
    "not a number": lambda f: weights(f, lambda w: {k: v * float("nan") for k, v in w.items()}),
    "infinite": lambda f: weights(f, lambda w: {k: v / 0 for k, v in w.items()}),
    "other shapes": lambda f: weights(f, lambda w: {k: v[..., :3].contiguous() for k, v in w.items()}),
    "of another rank": lambda f: shutil.copy(f.parent / "wide" / WEIGHTS, f / WEIGHTS),
    "no config": lambda f: (f / CONFIG).unlink(),
    "config is no JSON": lambda f: (f / CONFIG).write_text("{"),
    "config is a list": lambda f: (f / CONFIG).write_text("[]"),
    "config is empty": lambda f: (f / CONFIG).write_text("{}"),
    "config is binary": lambda f: (f / CONFIG).write_bytes(b"\xff\xfe\x00"),
    "an unknown kind": lambda f: changed(f, peft_type="NO_SUCH"),
    "no rank": lambda f: changed(f, r=0),
    "a rank in words": lambda f: changed(f, r="four"),
    "no alpha": lambda f: changed(f, lora_alpha="much"),
    "other layers": lambda f: changed(f, target_modules=["nothing_like_it"]),
    "a pattern that fails half-way": lambda f: changed(f, init_lora_weights=False, rank_pattern={"down_proj": -1}),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("first", [True, False], ids=["as the first", "after another"])
async def test_a_broken_adapter_is_told_and_leaves_nothing_behind(made, name, first):
    engine, _, root = made
    shutil.copytree(root / "good", root / "broken")
    BROKEN[name](root / "broken")
    before = await answers(engine)
    if not first:
        await engine.generate(ask("x", adapter="good"))
    *base, bad = await answers(engine, ask("x", adapter="broken"))
    assert isinstance(bad, UserError) and "adapter 'broken'" in str(bad) and "\n" not in str(bad)
    assert [one.token_ids for one in base] == [one.token_ids for one in before]
    good = await engine.generate(ask("x", adapter="good", tokens=6))
    assert good.policy_version == "good"
    for one, other in zip(await answers(engine), before, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    assert isinstance((await answers(engine, ask("x", adapter="broken")))[-1], UserError)
    await engine.close()
