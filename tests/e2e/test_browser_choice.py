"""The choice of a sandbox holds for the judging of components too."""

import asyncio

import pytest

from rsi.config import RunSettings
from rsi.errors import UserError
from rsi.wiring import browser, inputs


@pytest.fixture
def equipped(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """A machine with the tools, as far as a look tells."""
    (tmp_path / "esbuild").write_bytes(b"\x7fELF")
    monkeypatch.setenv("RSI_HOME", str(tmp_path))
    monkeypatch.setenv("RSI_ESBUILD", str(tmp_path / "esbuild"))
    monkeypatch.delenv("RSI_SANDBOX", raising=False)
    monkeypatch.setattr(browser, "BROWSER", str(tmp_path / "esbuild"))


@pytest.mark.parametrize(
    ("choice", "said"), [("none", "no sandbox was asked for"), ("docker", "the Docker image holds no browser")]
)
def test_what_the_settings_say_is_honoured(equipped, choice, said):
    settings = RunSettings.model_validate({"lineage": "a", "bank": "ui", "sandbox": choice})
    with pytest.raises(UserError, match=said):
        asyncio.run(inputs.find_place(settings, print))


def test_the_environment_is_honoured(equipped, monkeypatch):
    assert browser.missing() == ""
    monkeypatch.setenv("RSI_SANDBOX", "docker")
    assert "RSI_SANDBOX=docker" in browser.missing()


def test_the_record_tells_which_limits_hold(equipped):
    settings = RunSettings.model_validate({"lineage": "a", "bank": "ui"})
    limits = asyncio.run(inputs.find_place(settings, print)).limits
    assert limits["sandbox"] == "none" and limits["judge sandbox"].startswith("bubblewrap-")
    assert "bytes of its own data" in limits["judge memory"]
