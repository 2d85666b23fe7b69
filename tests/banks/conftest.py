from pathlib import Path

import pytest

from rsi.banks.generated import open_bank

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def sandbox_provider():
    """The real sandbox of this machine; its own tests say whether it holds."""
    from rsi.sandbox.bubblewrap import Bubblewrap

    return Bubblewrap()


@pytest.fixture(scope="session", params=[pytest.param("shell", marks=pytest.mark.slow), "reason"])
def bank(request):
    """Banks that ship, under one salt."""
    return open_bank(ROOT / "task_banks" / request.param, b"s" * 32)
