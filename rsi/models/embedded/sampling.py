"""Drawing one token a row: temperature, top-p, allowed tokens, and the inverse of the distribution at a given uniform.

Pure functions of tensors; knows no model.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

HEAD = 512  # top-p is decided among so many likeliest tokens where they hold enough mass, which is nearly always


def draw(
    logits: Tensor, temperature: Tensor, top_p: Tensor, uniform: Tensor, allowed: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Tokens and their natural-log probabilities, (n,) each.

    logits and allowed (n, vocabulary), any float and bool; temperature, top_p, uniform in [0, 1) (n, 1) float32.
    Log-probabilities are float32, under the temperature (1 where it is 0, which is greedy), before top-p and before
    `allowed`: what a learner without these would compute.
    """
    greedy = temperature == 0
    scaled = logits.float() / torch.where(greedy, 1.0, temperature)
    logprobs = scaled.log_softmax(-1)
    if allowed is not None:
        scaled = scaled.masked_fill(~allowed, -torch.inf)
    probs = logprobs.exp() if allowed is None else scaled.softmax(-1)
    cut = (top_p < 1).squeeze(-1)
    if bool(cut.any()):
        probs[cut] = _nucleus(probs[cut], top_p[cut])
    cdf = probs.cumsum(-1)
    # right=True finds the first entry *above* the target, so a token without probability is never drawn
    drawn = torch.searchsorted(cdf, uniform * cdf[:, -1:], right=True).clamp_(max=logits.shape[-1] - 1)
    tokens = torch.where(greedy, scaled.argmax(-1, keepdim=True), drawn)
    return tokens.squeeze(-1), logprobs.gather(-1, tokens).squeeze(-1)


def _nucleus(probs: Tensor, top_p: Tensor) -> Tensor:
    """Zero all but the smallest set of likeliest tokens that holds at least `top_p` of the mass; not renormalised."""
    values, ids = probs.topk(min(HEAD, probs.shape[-1]))
    if bool((values.sum(-1, keepdim=True) < top_p).any()):
        values, ids = probs.sort(descending=True)
    kept = values * (values.cumsum(-1) - values < top_p)
    return torch.zeros_like(probs).scatter_(-1, ids, kept)


def uniforms(seed: int, steps: int) -> Tensor:
    """The draws of one request, (steps,) float32 in [0, 1): its seed alone decides them."""
    return torch.rand(steps, generator=torch.Generator().manual_seed(seed % 2**63))


@dataclass
class Node:
    """A node of the trie of allowed token sequences. `ends`: a choice is complete here."""

    next: dict[int, "Node"] = field(default_factory=dict)
    ends: bool = False


def trie(sequences: list[tuple[int, ...]]) -> Node:
    root = Node()
    for sequence in sequences:
        node = root
        for token in sequence:
            node = node.next.setdefault(token, Node())
        node.ends = True
    return root
