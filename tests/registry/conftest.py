import shutil

import pytest

from rsi.registry.engine import open_database


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "empty.db"
    open_database(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def url(tmp_path, empty_store):
    shutil.copy(empty_store, tmp_path / "store.db")
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def database(url):
    opened = open_database(url)
    yield opened
    opened.close()
