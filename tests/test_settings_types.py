"""Values of another type, or beyond any sense, in what people write: refused with the key, before anything is spent."""

from pathlib import Path

import pytest
import tomlkit

from rsi.banks.definition import load_definition
from rsi.config import RunSettings, load_settings
from rsi.errors import UserError
from rsi.gate.contract import load_contract

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = """version = 1
name = "one"
[[clause]]
name = "gain"
kind = "superiority"
{}
[[clause]]
name = "tokens"
kind = "ceiling"
metric = "completion_tokens"
{}
"""


@pytest.mark.parametrize("limit", ["true", '"1"', "nan", "inf", "1e400", "1979-05-27", "07:32:00", "[1]", "{}", "-1"])
def test_a_limit_of_a_contract_is_a_number(tmp_path, limit):
    path = tmp_path / "contract.toml"
    path.write_text(CONTRACT.format("", "limit = 12"))
    assert load_contract(path).clause[1].limit == 12.0  # a whole number may stand for a fraction
    path.write_text(CONTRACT.format("", f"limit = {limit}"))
    with pytest.raises(UserError, match=r"contract\.toml: .*limit"):
        load_contract(path)


@pytest.mark.parametrize(
    "line",
    ['binding = "false"', "binding = 1", "min_tasks = 8.0", 'min_tasks = "8"', "min_families = true", "name = 3"],
)
def test_a_clause_takes_its_own_types_alone(tmp_path, line):
    path = tmp_path / "contract.toml"
    own = CONTRACT.replace('name = "gain"\n', "") if line.startswith("name") else CONTRACT
    path.write_text(own.format(line, "limit = 12"))
    with pytest.raises(UserError, match=f"contract.*{line.split()[0]}"):
        load_contract(path)


SETTINGS = [
    ("seed", "true"),
    ("seed", '"1"'),
    ("seed", "1.0"),
    ("seed", "9223372036854775808"),
    ("bank", "3"),
    ("bank", "1979-05-27"),
    ("difficulty", '["1", "2"]'),
    ("difficulty", "[1, 2, 3]"),
    ("allow_env", '"PATH"'),
    ("generations", "true"),
    ("generations", "1000000"),
    ("model.threads", '"2"'),
    ("model.threads", "1000000"),
    ("model.max_batch", "10000000"),
    ("rollouts.workers", "true"),
    ("rollouts.workers", "1000000"),
    ("rollouts.concurrency", "100000000"),
    ("rollouts.retries", "1000000"),
    ("discovery.draws", "1000000"),
    ("discovery.draws", "4.0"),
    ("discovery.tasks", "100000000"),
    ("discovery.proposals", "1000000"),
    ("discovery.band", "[0.7, 0.1]"),
    ("discovery.band", "[-1, 2]"),
    ("discovery.band", '["0.1", "0.7"]'),
    ("expansion.attempts", "10000000000"),
    ("expansion.affected", "1000000"),
    ("expansion.draws", "1000000"),
    ("expansion.retry_control", "10000000000"),
    ("expansion.selection", "10000000"),
    ("expansion.edits", "1000000"),
    ("expansion.helpers", "1000000"),
    ("update.steps", "1000000000"),
    ("update.group_size", "1000000"),
    ("update.prompts_per_step", "1000000"),
    ("update.rank", "1000000"),
    ("update.learning_rate", "1e400"),
    ("update.learning_rate", '"1e-4"'),
    ("update.learning_rate", "1e5"),
    ("gate.draws", "1000000"),
    ("gate.tasks", "100000000"),
    ("gate.canaries", "1000000"),
    ("budget.minutes", "inf"),
    ("budget.minutes", "nan"),
    ("budget.minutes", "true"),
    ("budget.attempts", "1e6"),
]


@pytest.mark.parametrize(("key", "value"), SETTINGS)
def test_settings(tmp_path, key, value):
    section, _, name = key.rpartition(".")
    path = tmp_path / "run.toml"
    path.write_text(f"[{section}]\n{name} = {value}\n" if section else f"{name} = {value}\n")
    with pytest.raises(UserError, match=rf"run\.toml: '{key}") as refused:
        load_settings(path)
    assert len(str(refused.value).splitlines()) == 1


def test_a_product_of_two_keys_is_bounded_too(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("[discovery]\ndraws = 1000\ntasks = 10000\n")
    with pytest.raises(UserError, match="'tasks' x 'draws' is 10000000 attempts"):
        load_settings(path)


def numbers(model, prefix=""):
    """Every key that holds a whole number."""
    for name, field in model.model_fields.items():
        if hasattr(field.annotation, "model_fields"):
            yield from numbers(field.annotation, f"{prefix}{name}.")
        elif field.annotation is int and name != "seed":
            yield prefix + name


@pytest.mark.parametrize("key", numbers(RunSettings))
def test_no_count_is_without_bound(tmp_path, key):
    """A new key cannot forget it."""
    path = tmp_path / "run.toml"
    section, _, name = key.rpartition(".")
    path.write_text(f"[{section}]\n{name} = {2**62}\n" if section else f"{name} = {2**62}\n")
    with pytest.raises(UserError, match=key):
        load_settings(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", True),
        ("version", "1"),
        ("version", 1.0),
        ("needs_sandbox", "false"),
        ("needs_sandbox", 0),
        ("splits.train.instances", "3"),
        ("splits.train.instances", True),
        ("splits.train.instances", 3.0),
        ("splits.train.instances", 501),
        ("splits.train.difficulties", [True]),
        ("splits.train.difficulties", ["1"]),
        ("splits.train.difficulties", 1),
        ("families.money", {"role": "train", "difficulty": [1, True]}),
        ("families.money", {"role": "train", "difficulty": ["1", "3"]}),
        ("families.money", "train"),
        ("name", 3),
    ],
)
def test_a_bank(tmp_path, key, value):
    bank = tomlkit.parse((ROOT / "task_banks/reason/bank.toml").read_text())
    *sections, name = key.split(".")
    table = bank
    for section in sections:
        table = table[section]
    table[name] = value
    (tmp_path / "bank.toml").write_text(tomlkit.dumps(bank))
    with pytest.raises(UserError, match=rf"bank\.toml: '{key}"):
        load_definition(tmp_path)
