"""What tests of the harness share."""

import pytest

from rsi.errors import InfrastructureError, UserError
from rsi.sandbox.bubblewrap import Bubblewrap


@pytest.fixture
async def sandbox():
    """A bubblewrap sandbox."""
    try:
        opened = await Bubblewrap().open()
    except InfrastructureError as error:
        pytest.skip(f"no bubblewrap sandbox here: {error}")
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
def provider():
    """What opens bubblewrap sandboxes."""
    try:
        return Bubblewrap()
    except UserError as error:
        pytest.skip(str(error))
