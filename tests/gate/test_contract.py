from pathlib import Path

import pytest

from rsi.errors import UserError
from rsi.gate.binding import check_bound
from rsi.gate.contract import load_contract

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT / "contracts/default.toml"


@pytest.mark.parametrize("path", sorted((ROOT / "contracts").glob("*.toml")), ids=lambda p: p.name)
def test_every_committed_contract_parses(path):
    assert load_contract(path).name == path.stem


def test_identity_is_content_not_layout(tmp_path):
    copy = tmp_path / "copy.toml"
    copy.write_text("# another comment\n" + DEFAULT.read_text())
    assert load_contract(copy).digest == load_contract(DEFAULT).digest
    copy.write_text(DEFAULT.read_text().replace("limit = 2.0", "limit = 2.5"))
    assert load_contract(copy).digest != load_contract(DEFAULT).digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("limit = 2.0", "limits = 2.0", "clause.3.limits"),
        ("[evaluation]", "[evaluation]\nseeds = 1", "evaluation.seeds"),
        ('kind = "zero"', 'kind = "none"', "clause.4.kind"),
        ('kind = "superiority"', 'kind = "superiority"\nbinding = false', "would promote without a gain"),
        ("margin = 0.2", "", "needs a 'margin'"),
        ("limit = 2.0", "", "'limit' belongs to"),
        ('name = "no tampering"', 'name = "more sealed tasks pass"', "same name"),
        ('metric = "completion_tokens"', 'metric = "pass_rate"', "ceiling takes the metrics"),
        ("version = 1", "version = 2", "version"),
        ('slice = "all"', 'slice = "family:lines"', "one family cannot show it"),
        ('slice = "all"', 'slice = "all"\nmargin = 0.1', "not below 'evaluation.worth'"),
        ("limit = 2.0", "limit = -1.0", "divides nothing"),
        ('"no tampering"', '" "', "printable characters"),
        ("lineage = 0.05", "lineage = 1e-300", "error.lineage"),
        ("version = 1", "version = " + "1" * 5001, "malformed TOML"),
        ("version = 1", "version = " + "[" * 9000, "nested too deeply"),
        ("version = 1", "version = = 1", "malformed TOML"),
    ],
)
def test_a_wrong_contract_names_file_and_key(tmp_path, old, new, message):
    path = tmp_path / "wrong.toml"
    path.write_text(DEFAULT.read_text().replace(old, new, 1))
    with pytest.raises(UserError) as caught:
        load_contract(path)
    assert str(path) in str(caught.value) and message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_contract_on_canaries_needs_canaries():
    with pytest.raises(UserError, match=r"canary_passes, sealed_leaks.*'gate.canaries' is 0"):
        check_bound(load_contract(DEFAULT), "shell", canaries=0)
    check_bound(load_contract(DEFAULT), "shell", canaries=1)
