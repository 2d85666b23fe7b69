"""Drawing tokens: frequencies, top-p, greedy rows, constraints; and the cache that does not copy."""

import math
from collections import Counter

import pytest

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def torch():
    import torch

    torch.set_num_threads(1)
    return torch


def column(torch, *values: float):
    return torch.tensor(values)[:, None]


def test_frequencies_follow_the_distribution_and_log_probabilities_the_temperature(torch):
    from rsi.models.embedded.sampling import draw, uniforms

    n, logits = 20_000, torch.tensor([0.0, 1.0, 2.0, -torch.inf])
    tokens, logprobs = draw(logits.expand(n, -1), torch.full((n, 1), 0.5), torch.ones(n, 1), uniforms(7, n)[:, None])
    expected = (logits / 0.5).softmax(-1)
    counts = Counter(tokens.tolist())
    assert 3 not in counts
    for token in range(3):
        assert counts[token] / n == pytest.approx(float(expected[token]), abs=0.01)
    assert torch.allclose(logprobs.exp(), expected[tokens], atol=1e-6)


@pytest.mark.parametrize("u", [0.0, 0.5, 1 - 2**-24])
def test_a_token_without_probability_is_never_drawn(torch, u):
    from rsi.models.embedded.sampling import draw

    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]])
    token, logprob = draw(logits, column(torch, 1.0), column(torch, 1.0), column(torch, u))
    assert int(token) in (1, 3) and float(logprob) == pytest.approx(math.log(0.5))


@pytest.mark.parametrize("vocabulary", [5, 5000])
def test_top_p_keeps_the_smallest_sufficient_set(torch, vocabulary):
    """Also where the set is larger than the head that is looked at first."""
    from rsi.models.embedded.sampling import draw

    n, generator = 4000, torch.Generator().manual_seed(0)
    logits = torch.randn(vocabulary, generator=generator) * 0.01
    probs = logits.softmax(-1)
    ordered = probs.sort(descending=True)
    size = int((ordered.values.cumsum(-1) < 0.5).sum()) + 1
    u = torch.rand(n, 1, generator=generator)
    tokens, logprobs = draw(logits.expand(n, -1), torch.ones(n, 1), torch.full((n, 1), 0.5), u)
    kept = set(ordered.indices[: size + 1].tolist())  # which token stands at the edge may hang on rounding
    assert set(tokens.tolist()) <= kept
    assert len(set(tokens.tolist())) > 0.5 * min(size, n)
    assert torch.allclose(logprobs, probs[tokens].log(), atol=1e-5)  # before top-p


def test_rows_are_independent_and_greedy_rows_take_the_best(torch):
    from rsi.models.embedded.sampling import draw

    logits = torch.tensor([[0.0, 3.0, 1.0]] * 3)
    allowed = torch.tensor([[True, True, True], [True, True, True], [True, False, True]])
    tokens, logprobs = draw(
        logits, column(torch, 0.0, 1.0, 0.0), column(torch, 1.0, 1.0, 1.0), column(torch, 0.0, 0.0, 0.9), allowed
    )
    assert tokens.tolist() == [1, 0, 2]
    assert torch.allclose(logprobs, logits[0].log_softmax(-1)[tokens])


def test_a_seed_gives_the_same_draws_whatever_the_length(torch):
    from rsi.models.embedded.sampling import uniforms

    assert torch.equal(uniforms(5, 7), uniforms(5, 300)[:7])
    assert not torch.equal(uniforms(5, 7), uniforms(6, 7))
    assert 0 <= float(uniforms(2**63 - 1, 1)) < 1


def test_the_trie_ends_at_every_choice():
    from rsi.models.embedded.sampling import trie

    root = trie([(1, 2), (1, 2, 3), (4,)])
    assert set(root.next) == {1, 4} and not root.ends
    assert root.next[1].next[2].ends and set(root.next[1].next[2].next) == {3}
    assert not root.next[4].next


def test_the_cache_holds_what_a_copying_one_holds(torch):
    from transformers.cache_utils import DynamicLayer

    from rsi.models.embedded.decode import _Slab

    plain, slab = DynamicLayer(), _Slab()
    generator = torch.Generator().manual_seed(0)
    rows = 4
    for step, length in enumerate([5, 1, 1, 70, 1, 1, 1]):
        keys, values = (torch.randn(rows, 2, length, 3, generator=generator) for _ in range(2))
        for found, expected in zip(slab.update(keys, values), plain.update(keys, values), strict=True):
            assert torch.equal(found, expected)
        if step in (1, 4):
            rows -= 1
            for layer in (plain, slab):
                layer.batch_select_indices(torch.arange(1, rows + 1))
    assert slab.get_seq_length() == plain.get_seq_length() == 80
