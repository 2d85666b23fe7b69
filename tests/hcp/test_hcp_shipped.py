"""Every document that ships parses, is fully realised, and is told apart by its digest."""

from pathlib import Path

import pytest

from rsi.hcp import check, load

SHIPPED = sorted((Path(__file__).parents[2] / "harness_configs").rglob("*.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_shipped_document_is_fully_realised(path):
    document = load(path)
    assert check(document) == [] and document.harness().system


def test_there_are_documents_and_no_two_are_the_same():
    assert len(SHIPPED) >= 4 and len({load(path).digest for path in SHIPPED}) == len(SHIPPED)
