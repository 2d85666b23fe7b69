"""`rsi contract`: plain words, a schema that is published, and simulated verdicts."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rsi.cli import app
from rsi.gate.contract import Contract

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = str(ROOT / "contracts/default.toml")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["contract", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_every_clause_is_explained():
    text = run("explain", DEFAULT)
    assert "more sealed tasks pass" in text and "no solved family is lost" in text and "held back" in text
    assert "0.0025" in text and "reported only, below 25" in text


def test_the_published_schema_is_the_present_one():
    published = json.loads((ROOT / "contracts/schema.json").read_text())
    assert published == Contract.model_json_schema() == json.loads(run("schema"))


def test_check_says_the_digest():
    assert "in order: 7 clauses" in run("check", DEFAULT)


@pytest.mark.parametrize(("gain", "least", "most"), [("0.3", 0.9, 1.0), ("0", 0.0, 0.0)])
def test_simulated_verdicts(gain, least, most):
    found = json.loads(run("simulate", DEFAULT, "--gain", gain, "--verdicts", "12", "--json"))
    assert least <= found["promoted"]["value"] <= most and found["promoted"]["n"] == 12
    assert 0 <= found["attempts"]["low"] <= found["attempts"]["value"] <= found["attempts"]["high"] <= 1600
    assert (found["gain"] is None) == (gain == "0") and found["attempts"]["value"] < 1600
