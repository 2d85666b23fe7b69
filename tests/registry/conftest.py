import pytest

from rsi.registry.engine import open_database


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def database(url):
    opened = open_database(url)
    yield opened
    opened.close()
