from rsi.types import Pair


def test_a_changed_copy_has_its_own_digest_even_after_the_first_was_read():
    pair = Pair(base="base", hcp="old")
    assert pair.digest
    for deep in (False, True):
        changed = pair.model_copy(update={"hcp": "new"}, deep=deep)
        assert changed.digest == Pair(base="base", hcp="new").digest != pair.digest
