"""A lineage of two generations as reports see it, with hostile text wherever text from elsewhere can stand."""

from rsi.figures import wilson
from rsi.hcp.document import parse
from rsi.hcp.edits import compose
from rsi.report.data import BudgetFigure, GenerationData, LostAttempts, ReportData
from rsi.types import (
    AdapterRevision,
    AddExemplars,
    Attribution,
    ClauseResult,
    CoveragePoint,
    Discovery,
    Edit,
    EditTrial,
    Exemplar,
    Expansion,
    Locus,
    Look,
    OpenTask,
    Pair,
    PairRecord,
    Rate,
    Recipe,
    Refusal,
    Update,
    Verdict,
)

HOSTILE = "<script>alert('owned')</script><img src=x onerror=alert(1)>\x1b[31m"
BARE = 'version = 1\n\n[resources]\nsystem_prompt = "Write one shell command."\n'


def edit(name: str) -> Edit:
    exemplar = Exemplar(request=f"{name} {HOSTILE}", response="```sh\nsort a.txt\n```")
    return Edit(name=name, families=(name,), change=AddExemplars(exemplars=(exemplar,)))


def record(document: str, generation: int, **adapters: str) -> PairRecord:
    pair = Pair(base="base-digest", adapters=adapters, hcp=parse(document, "x").digest)
    return PairRecord(pair=pair, lineage="demo", generation=generation, parent=None, document=document)


def effect(value: float, low: float, high: float) -> Rate:
    return Rate(value=value, n=80, low=low, high=high, note="25 families")


def generation(n: int, promoted: bool) -> GenerationData:
    before = BARE if n == 1 else compose(parse(BARE, "x"), [edit("sort_lines")]).text
    after = compose(parse(before, "x"), [edit("count_lines"), edit("first_line")]).text
    tasks = tuple(
        OpenTask(
            id=f"task{i:028d}",
            bank="shell",
            recipe=Recipe(family="sort_lines"),
            split="train",
            instance=i,
            request=HOSTILE,
        )
        for i in range(24)
    )
    good, bad = n * 14, 3
    trials = tuple(
        EditTrial(
            edit=edit(name),
            affected=(0, p, 8),
            control=(4, 4, 4) if p else (0, 0, 0),
            accepted=p > 1,
            reason=f"r {HOSTILE}",
        )
        for name, p in (("sort_lines", 5), ("count_lines", 3), ("upper_case", 0))
    )
    return GenerationData(
        generation=n,
        champion=record(before, n - 1),
        candidate=record(after, n, agent="adapter-revision"),
        discovery=Discovery(
            tasks=tasks,
            draws=4,
            passes={t.id: 0 for t in tasks},
            fails=tuple(t.id for t in tasks),
            band=(),
            solved=(),
            proposed=2,
            refusals=(Refusal(recipe=None, text=HOSTILE, reason="not a line of the grammar"),),
        ),
        expansion=Expansion(
            document=after,
            trials=trials,
            waiting=(edit("waits"),),
            attributions=(
                *(
                    Attribution(task_id=t.id, locus=Locus.CONFIGURATION, status="confirmed", evidence=HOSTILE)
                    for t in tasks[:9]
                ),
                *(
                    Attribution(task_id=t.id, locus=Locus.CONFIGURATION, status="suspected", evidence="e")
                    for t in tasks[9:18]
                ),
                *(Attribution(task_id=t.id, locus=Locus.MODEL, status="suspected", evidence="e") for t in tasks[18:]),
            ),
            coverage=tuple(CoveragePoint(attempts=i * 12, passes=i * 4, covered=min(18, i)) for i in range(26)),
            retry=(CoveragePoint(attempts=0, passes=0, covered=0), CoveragePoint(attempts=60, passes=1, covered=1)),
            tasks=24,
            selection_before=wilson(0, 48, "selection"),
            selection_after=wilson(12, 48, "selection"),
        ),
        update=Update(
            adapter=AdapterRevision(
                name="adapter-revision",
                path="/nowhere",
                parent=None,
                steps=8,
                metrics=tuple(
                    {"reward_mean": 0.2 + 0.04 * i, "pass_rate": 0.15 + 0.04 * i, "samples": 32.0, "accepted": 4.0}
                    for i in range(8)
                ),
            ),
            groups={"submitted": 40, "accepted": 30, "filtered": 9, "failed": 1},
        ),
        verdict=Verdict(
            decision="promote" if promoted else "reject",
            look="look-digest",
            clauses=(
                ClauseResult(
                    name="better",
                    kind="superiority",
                    slice="all",
                    binding=True,
                    held=promoted,
                    estimate=effect(0.2, 0.11, 0.3),
                    reason="why",
                ),
                ClauseResult(
                    name="families",
                    kind="non_inferiority",
                    slice="unseen_families",
                    binding=False,
                    held=None,
                    estimate=None,
                    reason=HOSTILE,
                ),
            ),
            rates={
                f"{who}/{where}": wilson(passes, size, where)
                for who, passes in (("champion", bad), ("candidate", good))
                for where, size in (("all", 80), ("unseen instances", 60), ("unseen families", 40))
            },
            two_by_two={
                "old weights, old harness": wilson(bad, 80),
                "old weights, new harness": wilson(good - 5, 80),
                "new weights, old harness": wilson(bad + 1, 80),
                "new weights, new harness": wilson(good, 80),
            },
            effects={"weights": effect(0.03, -0.02, 0.08), "harness": effect(0.17, 0.08, 0.25)},
            reasons=(f"better: held: {HOSTILE}",),
        ),
        look=Look(
            lineage="demo",
            generation=n,
            champion="c",
            candidate="d",
            contract="contract-digest",
            sealed="shard",
            attempts=("a", "b"),
        ),
        promoted=promoted,
    )


def sample() -> ReportData:
    return ReportData(
        lineage="demo",
        bank="shell",
        model="embedded",
        generations=(generation(1, True), generation(2, False)),
        settings={"discovery": {"draws": 4}},
        losses=(
            LostAttempts(generation=1),
            LostAttempts(generation=2, lost={"InfrastructureError: status 503": 3, HOSTILE: 1}, refused=5),
        ),
        budget=(BudgetFigure(name="attempts", used=1800, limit=4000), BudgetFigure(name="minutes", used=21, limit=20)),
        places={"MLflow": "rsi mlflow", "report": "generation-2.html"},
    )
