"""Every attack that is listed is stopped, and an honest history is not called faulty."""

import json

import pytest

from benchmarks.ledger_attacks import ATTACKS, HONEST, SIGNED, attacked, build, main


def test_an_attack_an_honest_history_and_one_that_goes_through(tmp_path):
    build(tmp_path)
    assert attacked(tmp_path, ATTACKS[0], None).startswith("found")
    assert attacked(tmp_path, HONEST[0], None) == ""
    assert attacked(tmp_path, lambda victim: [], None) == "", "an attack after which nothing is found went through"
    assert len({*ATTACKS, *SIGNED}) >= 30


@pytest.mark.slow
def test_all_attacks_are_found_or_refused(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["ledger_attacks", "--quick"])
    assert main() == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["met"]
