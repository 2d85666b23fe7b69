"""The noise between a pair and itself, and what a contract can show against it."""

import numpy as np

from rsi.gate.calibrate import calibrate
from rsi.gate.contract import Contract
from rsi.gate.evidence import Evidence
from rsi.gate.simulate import Simulation, World

GAIN = {"name": "gain", "kind": "superiority"}
EQUAL = {"name": "no worse", "kind": "non_inferiority", "margin": 0.02}


def evidence(tasks: int, draws: int) -> Evidence:
    contract = Contract.model_validate({"version": 1, "name": "t", "clause": [GAIN]})
    simulation = Simulation(contract, World((0.3, 0.6, 0.8), tasks=tasks, draws=draws))
    return simulation.evidence(*simulation.passes(np.random.default_rng(4)), list(range(tasks)))


def test_margins_within_the_noise_and_too_few_tasks_are_told():
    contract = Contract.model_validate({"version": 1, "name": "t", "clause": [GAIN, EQUAL]})
    found = calibrate(contract, evidence(60, 1))
    assert found.difference.low < 0 < found.difference.high
    assert found.shown[20] > found.shown[1] > 0.1
    assert any("times as many tasks" in line for line in found.problems)
    assert any("'no worse': a margin of 0.02 is within the noise" in line for line in found.problems)


def test_enough_evidence_has_no_problem():
    contract = Contract.model_validate({"version": 1, "name": "t", "clause": [GAIN]})
    found = calibrate(contract, evidence(400, 8))
    assert found.problems == () and found.shown[20] < 0.1
