from registry_records import make_look, make_record, make_verdict

from rsi.registry.champions import Champions
from rsi.registry.compare import Row, compare, document_diff, find, steps
from rsi.registry.lease import acquire
from rsi.registry.looks import Looks

A = make_record(
    "a0", evidence={"sealed": {"all": {"value": 0.25, "n": 56, "low": 0.15, "high": 0.38, "note": ""}}, "attempts": 300}
)
B = make_record("a1", 1, evidence={"verdict": "promote"})


def test_two_pairs_side_by_side():
    rows = {row.what: row for row in compare(A, B)}
    assert rows["adapter agent"] == Row("adapter agent", "a0", "a1") and rows["hcp"].same
    assert rows["sealed / all"].a == "0.25 [0.15, 0.38], n=56" and rows["sealed / all"].b == ""
    assert rows["verdict"].b == "promote" and rows["attempts"].a == "300"
    assert all(row.same for row in compare(A, A))


def test_the_documents_differ_line_by_line():
    other = B.model_copy(update={"document": "version = 2"})
    assert document_diff(A, B) == "" and "-version = 1\n-name = 'x'\n+version = 2" in document_diff(A, other)


def test_a_lineage_with_a_promotion_a_refused_candidate_and_a_rollback(database):
    lease = acquire(database, "main")
    champions, looks, refused = Champions(database, lease), Looks(database, lease), make_record("a2", 2)
    champions.start(A)
    champions.publish(B)
    champions.publish(refused)
    look = make_look(A, B)
    looks.open(look)
    looks.close(make_verdict(look))
    champions.promote("main", B.pair.digest, look.digest)
    champions.rollback("main", A.pair.digest, "worse on Mondays")
    listed = steps(champions.lineage("main"), champions.history("main"))
    assert [(step.pair, step.role) for step in listed] == [
        (A.pair.name, "champion"),
        (B.pair.name, "former champion"),
        (refused.pair.name, "candidate"),
    ]
    assert len(listed[0].history) == 2 and "worse on Mondays" in listed[0].history[1]


def test_finding_a_pair_by_what_a_person_types():
    assert find([A, B], "gen1") == [B] and find([A, B], B.pair.name) == [B]
    assert find([A, B], "zzz") == [] and find([A, B], "") == []
