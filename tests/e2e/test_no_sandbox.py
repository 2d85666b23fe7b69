"""Where no sandbox starts, the bank that needs none is run alone, and the run says so; never a plain subprocess."""

import json

import pytest
from scripted_world import finish, make_world, rsi


@pytest.mark.slow
def test_the_fallback_bank_is_run_alone_and_said_aloud(tmp_path):
    settings, table = make_world(tmp_path)
    text = settings.read_text().replace('bank = "reason"', 'bank = "shell"\nfallback_bank = "reason"')
    settings.write_text(text)
    home, bare = tmp_path / "home", {"RSI_SANDBOX": "none"}
    code, out, err = finish(rsi(home, "run", str(settings), "--model", f"scripted:{table}", **bare))
    assert code == 0, err
    assert "bank 'reason' alone is run, not 'shell'" in out
    assert "Generation 1: promote" in out
    code, out, err = finish(rsi(home, "status", str(settings), "--json", **bare))
    assert code == 0 and json.loads(out)["lineage"] == "scripted-reason"


def test_the_doctor_says_that_only_reason_can_run(tmp_path):
    code, out, _ = finish(rsi(tmp_path, "doctor", "demo.toml", "--no-model", "--json", RSI_SANDBOX="none"))
    sandbox = next(row for row in json.loads(out) if row["name"] == "sandbox")
    assert not sandbox["ok"] and not sandbox["required"] and "RSI_SANDBOX" in sandbox["remedy"]
    assert code in (0, 2)  # the rest of the machine decides
