"""10,000 mutated contracts and evidence sets: a verdict or one clear line, never a promotion with a missing clause."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toml_mutations import texts

from rsi.errors import UserError
from rsi.figures import exact
from rsi.gate.clauses import binds
from rsi.gate.contract import Contract, load_contract
from rsi.gate.evidence import Arm, Evidence
from rsi.gate.judgement import Plan, weigh

pytestmark = pytest.mark.slow
CONTRACTS = sorted(Path("contracts").glob("*.toml"))
METRICS = ("pass_rate", "reward", "completion_tokens", "prompt_tokens", "turns", "seconds", "flags")
FACTS = st.dictionaries(
    st.sampled_from(["canary_passes", "sealed_leaks", "replay_gap", "sampler_learner_gap"]),
    st.sampled_from([exact(value, 1, "") for value in (0.0, 1.0, -1.0, float("nan"), float("inf"))]),
)


def arm(rng: np.random.Generator, tasks: int, draws: int, rate: float, lost: float) -> Arm:
    passes = (rng.random((tasks, draws)) < rate).astype(float)
    passes[rng.random(passes.shape) < lost] = np.nan
    flags = np.where(np.isnan(passes), np.nan, (rng.random(passes.shape) < 0.01).astype(float))
    figures = dict.fromkeys(METRICS, passes * 7) | {"pass_rate": passes, "reward": passes, "flags": flags}
    return Arm(figures, {**dict.fromkeys(METRICS, 50.0), "pass_rate": 1.0, "reward": 1.0, "flags": 0.0})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contract")


@settings(max_examples=10_000, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(
    text=texts(CONTRACTS),
    seed=st.integers(0, 10_000),
    tasks=st.integers(1, 40),
    families=st.integers(1, 30),
    rates=st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 0.6, 1.0])),
    lost=st.sampled_from([0.0, 0.0, 0.03, 0.5, 1.0]),
    unseen=st.sampled_from([0.0, 0.5, 1.0]),
    facts=FACTS,
)
def test_contracts_and_evidence(folder, text, seed, tasks, families, rates, lost, unseen, facts):
    path = folder / "some.toml"
    path.write_text(text, encoding="utf8", errors="replace")
    try:
        contract = load_contract(path)
    except UserError as error:
        assert str(error) and "\n" not in str(error).strip()
        return
    judged(contract, np.random.default_rng(seed), tasks, families, rates, lost, unseen, facts)


def judged(contract: Contract, rng, tasks, families, rates, lost, unseen, facts):
    labels = [f"f{i % families}" for i in range(tasks)]
    held_out = [int(name[1:]) < unseen * families for name in labels]
    draws = 1 + int(rng.integers(3))
    old, new = (arm(rng, tasks, draws, rate, lost) for rate in rates)
    evidence = Evidence(labels, held_out, old, new, facts=facts)
    plan = Plan(0.0025, (tasks,) if rng.random() < 0.5 else (tasks, 2 * tasks))
    found = weigh(contract, evidence, plan, 1)
    assert found.decision in ("promote", "reject", "indecisive", None)
    assert [result.name for result in found.clauses] == [clause.name for clause in contract.clause]
    if found.decision == "promote":
        binding = [r for c, r in zip(contract.clause, found.clauses, strict=True) if binds(c, evidence)]
        assert binding and all(r.held is True and r.estimate is not None for r in binding)
        assert any(r.kind == "superiority" for r in binding)
