"""A packed group gives what separate rows give, gradients included; a published folder loads on an explicit base."""

import pytest
import tiny_policy as tiny

from rsi.update.adapters import publish

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny.build_model(tmp_path_factory.mktemp("base"))


def specialist(base):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM
    from trl.trainer.utils import add_fused_lm_head

    torch.manual_seed(3)
    plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    add_fused_lm_head(plain, outputs=("log_probs", "entropy"))
    return get_peft_model(plain, LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False))


@pytest.mark.parametrize("prompt", [[5], [5, 6, 7, 8, 9]])
def test_a_packed_group_equals_separate_rows(base, prompt):
    import torch

    from rsi.update.trl.packing import packed_log_probs

    model, completions = specialist(base), [[4, 5, 6], [9], [8, 8, 3, 1, 2]]
    weights = torch.linspace(-1, 1, 9)

    def gradients():
        found = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        model.zero_grad()
        return found

    rows, entropies = [], []
    for completion in completions:
        logits = model(input_ids=torch.tensor([prompt + completion])).logits[0, len(prompt) - 1 : -1]
        every = logits.log_softmax(-1)
        rows.append(every.gather(1, torch.tensor(completion)[:, None])[:, 0])
        entropies.append(-(every.exp() * every).sum(-1).detach())
    (torch.cat(rows) * weights).sum().backward()
    expected = gradients()
    packed, entropy = packed_log_probs(model, torch.tensor(prompt), [torch.tensor(one) for one in completions])
    (packed * weights).sum().backward()
    assert torch.allclose(packed, torch.cat(rows), atol=1e-5)
    assert torch.allclose(entropy, torch.cat(entropies), atol=1e-5)
    assert expected and not entropy.requires_grad
    for ours, theirs in zip(gradients(), expected, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4)


def test_a_published_revision_loads_on_an_explicit_base(base, tmp_path):
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model = specialist(base).eval()
    model.save_pretrained(tmp_path / "saved")
    revision = publish(tmp_path / "saved", tmp_path / "out")
    loaded = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), revision.path)
    ids = torch.tensor([[3, 4, 5]])
    with torch.no_grad():
        assert torch.equal(loaded.eval()(input_ids=ids).logits, model(input_ids=ids).logits)
