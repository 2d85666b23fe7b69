"""Small records for the tests of the registry."""

from rsi.hcp.document import parse
from rsi.types import Attempt, AttemptSpec, ClauseResult, Look, Pair, PairRecord, Score, Termination, Verdict

DOCUMENT = "version = 1\nname = 'x'"


def make_attempt(draw=0, score=True, text="", purpose="main/gen0/test"):
    spec = AttemptSpec(task_id="t", pair="p", purpose=purpose, draw=draw, sandbox="none", seed=draw)
    return Attempt(
        id=spec.digest,
        spec=spec,
        family="f",
        split="train",
        held_out=False,
        termination=Termination.ANSWERED if score else Termination.INFRASTRUCTURE,
        turns=(),
        output=text,
        score=Score(reward=1.0, passed=True) if score else None,
        error="" if score else "sandbox gone",
    )


def make_record(adapter="a0", generation=0, lineage="main", **fields):
    pair = Pair(base="b", adapters={"agent": adapter}, hcp=parse(DOCUMENT, "test").digest)
    return PairRecord(pair=pair, lineage=lineage, generation=generation, parent=None, document=DOCUMENT, **fields)


def make_look(champion, candidate, generation=1, sealed=None, lineage="main"):
    return Look(
        lineage=lineage,
        generation=generation,
        champion=champion.pair.digest,
        candidate=candidate.pair.digest,
        contract="c",
        sealed=sealed or f"shard{generation}",
        attempts=("x",),
    )


def make_verdict(look, decision="promote"):
    """With what a verdict that promotes must name."""
    clause = ClauseResult(
        name="gain", kind="superiority", slice="all", binding=True, held=True, estimate=None, reason=""
    )
    on = {name: getattr(look, name) for name in ("contract", "champion", "candidate", "sealed")}
    return Verdict(
        decision=decision,
        look=look.digest,
        clauses=(clause,),
        rates={},
        two_by_two={},
        digests={**on, "attempts": "d"},
    )
