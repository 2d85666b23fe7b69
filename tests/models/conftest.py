"""The embedded model, loaded once for all tests that are marked `model`; a test is skipped where it was not fetched."""

from pathlib import Path

import pytest

from rsi.config import ModelSettings, home
from rsi.errors import UserError
from rsi.models.embedded.fetch import ModelFolder, resolve_model
from rsi.update.adapters import publish

SETTINGS = ModelSettings(device="cpu", dtype="float32", threads=1)  # float32: batches of other sizes agree closely
NAMES: dict[str, str] = {}


@pytest.fixture(scope="session")
def model_folder() -> ModelFolder:
    try:
        return resolve_model("embedded", home())
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def loaded(model_folder):
    from rsi.models.embedded.engine import load

    return load(model_folder.path, SETTINGS)


@pytest.fixture(scope="session")
def adapters_root(model_folder, tmp_path_factory) -> Path:
    """Published revisions that `names` knows: `fresh` (its B matrices are zero), `strong` and `other` (random ones),
    `alien` (of another base)."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

    root = tmp_path_factory.mktemp("adapters")
    base = AutoModelForCausalLM.from_pretrained(model_folder.path, dtype=torch.float32)
    tiny = LlamaForCausalLM(
        LlamaConfig(
            hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2
        )
    )
    for name, trained in (("fresh", False), ("strong", True), ("other", True), ("alien", False)):
        torch.manual_seed(len(name))
        config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", init_lora_weights=not trained)
        peft = get_peft_model(tiny if name == "alien" else base, config)
        peft.save_pretrained(root / "saved" / name)
        peft.unload()
        NAMES[name] = publish(root / "saved" / name, root).name
    return root


@pytest.fixture
def names(adapters_root) -> dict[str, str]:
    """The content names of the adapters, by what they are."""
    return NAMES
