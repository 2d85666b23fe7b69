import pytest
from shipped_banks import shipped


@pytest.fixture(scope="session")
def sandbox_provider():
    """The real sandbox of this machine; its own tests say whether it holds."""
    from rsi.sandbox.bubblewrap import Bubblewrap

    return Bubblewrap()


@pytest.fixture(scope="session", params=[pytest.param("shell", marks=pytest.mark.slow), "reason"])
def bank(request):
    """Banks that ship, under one salt."""
    return shipped(request.param)
