import pytest


@pytest.fixture(scope="session")
def sandbox_provider():
    """The real sandbox of this machine; its own tests say whether it holds."""
    from rsi.sandbox.bubblewrap import Bubblewrap

    return Bubblewrap()
