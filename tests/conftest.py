"""What tests of several rooms share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def esbuild(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiler's binary: the machine's, else one that npm installs into a temporary folder."""
    from rsi.errors import UserError
    from rsi.verify.ui.inside.browser import BROWSER
    from rsi.wiring.browser import fetch_esbuild, find_esbuild

    if not Path(BROWSER).is_file():
        pytest.skip("Chromium is not installed")
    try:
        return find_esbuild() or fetch_esbuild(tmp_path_factory.mktemp("tools"))
    except UserError as error:
        pytest.skip(str(error))
