"""The real MLflow on SQLite. Slow: importing it and making its tables takes many seconds."""

import json
import sys

import pytest
from registry_records import DOCUMENT, make_record

from rsi.gate.ledger import Anchor
from rsi.registry.chapter import Chapter
from rsi.registry.pairs import Mirror
from rsi.types import AdapterRevision, CoveragePoint, Expansion, HarnessConfig, Rate, Update, Verdict


def chapter(tmp_path, generation=1):
    adapter = tmp_path / f"adapter{generation}"
    adapter.mkdir(exist_ok=True)
    (adapter / "adapter_model.safetensors").write_bytes(b"weights" * generation)
    rate = Rate(value=0.3, n=56, low=0.2, high=0.4)
    return Chapter(
        record=make_record(f"a{generation}", generation, adapter_paths={"agent": str(adapter)}),
        harness=HarnessConfig(document_digest="h", system="", shots=2),
        expansion=Expansion(
            document="x = 1",
            trials=(),
            tasks=4,
            coverage=(CoveragePoint(attempts=4, passes=1, covered=1), CoveragePoint(attempts=8, passes=3, covered=2)),
            selection_after=rate,
        ),
        update=Update(
            adapter=AdapterRevision(
                name="a1", path=str(adapter), parent=None, steps=2, metrics=({"reward": 0.1}, {"reward": 0.5})
            )
        ),
        verdict=Verdict(
            decision="promote",
            look="l",
            clauses=(),
            rates={"candidate/unseen families": rate},
            two_by_two={"new weights, new harness": rate},
        ),
        contract="version = 1",
        report="<p>report</p>",
    )


def test_a_chapter_is_flat_and_carries_sample_sizes(tmp_path):
    c = chapter(tmp_path)
    assert c.params()["shots"] == "2" and c.params()["adapter agent"] == "a1"
    assert c.metrics()["sealed/candidate/unseen families n"] == 56 and c.metrics()["selection/after low"] == 0.2
    assert c.curves()["coverage adaptive/search"] == [(4, 0.25), (8, 0.5)]
    assert c.curves()["train/reward"] == [(0, 0.1), (1, 0.5)]
    assert json.loads(c.documents()["verdict.json"])["decision"] == "promote"


def test_an_mlflow_that_cannot_be_reached_is_one_line_not_an_error(tmp_path, monkeypatch):
    lines = []
    monkeypatch.setitem(sys.modules, "mlflow", None)  # as if it were not installed
    mirror = Mirror(lines.append, f"sqlite:///{tmp_path}/mlflow.db")
    mirror.publish(chapter(tmp_path))
    mirror.aliases("main", make_record())
    assert len(lines) == 2 and all("not installed" in line and "\n" not in line for line in lines)


@pytest.mark.slow
def test_generations_and_pairs_are_mirrored_once(tmp_path, monkeypatch):
    lines = []
    uri = f"sqlite:///{tmp_path}/mlflow/mlflow.db"
    for _ in range(2):  # a second mirror, as after a restart, repeats everything
        mirror = Mirror(lines.append, uri)
        for generation in (1, 2):
            mirror.publish(chapter(tmp_path, generation))
        tracker = mirror.tracker("main", 2)
        for step in range(3):
            tracker.log("live", {"reward": step / 10, "bad": float("nan")}, step)
        tracker.close()
        first, second = chapter(tmp_path, 1).record, chapter(tmp_path, 2).record
        mirror.aliases("main", first, second)
        mirror.aliases("main", second)
    assert lines == []
    client = mirror._client
    versions = client.search_model_versions("name = 'rsi-main'")
    assert {v.tags["rsi.pair"] for v in versions} == {first.pair.digest, second.pair.digest} and len(versions) == 2
    model = client.get_registered_model("rsi-main")
    assert set(model.aliases) == {"champion"}
    champion = client.get_model_version_by_alias("rsi-main", "champion")
    assert champion.tags["rsi.pair"] == second.pair.digest
    runs = client.search_runs([client.get_experiment_by_name("rsi-main").experiment_id])
    assert {run.data.tags["rsi.key"] for run in runs} == {"main/1", "main/2"} and len(runs) == 2
    run = next(run for run in runs if run.data.tags["rsi.key"] == "main/2")
    assert run.data.params["shots"] == "2" and run.data.metrics["sealed/candidate/unseen families"] == 0.3
    assert [m.value for m in client.get_metric_history(run.info.run_id, "train/reward")] == [0.1, 0.5]
    assert [m.value for m in client.get_metric_history(run.info.run_id, "live/reward")] == [0, 0.1, 0.2]
    assert len(client.get_metric_history(run.info.run_id, "sealed/candidate/unseen families")) == 1

    from mlflow.artifacts import download_artifacts

    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)  # as a person would, who loads the champion elsewhere
    folder = tmp_path / "down"
    download_artifacts("models:/rsi-main@champion", dst_path=str(folder))
    assert (folder / "hcp.toml").read_text() == DOCUMENT
    assert (folder / "adapters/agent/adapter_model.safetensors").read_bytes() == b"weights" * 2
    names = {p.name for p in folder.iterdir()}
    assert names >= {"contract.toml", "verdict.json", "report.html", "pair.json", "expansion.json"}

    lost = Mirror(lines.append, f"sqlite:///{tmp_path}/again/mlflow.db")
    lost.aliases("main", second)  # the store outlives MLflow's database: the champion is shown again
    assert lines == [] and lost._client.get_model_version_by_alias("rsi-main", "champion").version in ("1", 1)

    broken = Mirror(lines.append, "http://someone:secret@127.0.0.1:9")
    broken.publish(chapter(tmp_path))
    assert len(lines) == 1 and "could not be written" in lines[0] and "secret" not in lines[0]


def test_nothing_is_asked_of_an_mlflow_that_is_not_there_yet(tmp_path):
    lines = []
    mirror = Mirror(lines.append, f"sqlite:///{tmp_path}/mlflow/mlflow.db")
    mirror.repair(make_record(), Anchor(lineage="main", seq=1, hash="h"))
    assert mirror.anchor("main") is None
    assert lines == [] and list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_ledgers_head_is_a_tag_that_only_moves_on_and_the_champion_is_repaired(tmp_path):
    lines = []
    mirror = Mirror(lines.append, f"sqlite:///{tmp_path}/mlflow/mlflow.db")
    first, second = chapter(tmp_path, 1).record, chapter(tmp_path, 2).record
    mirror.aliases("main", first, second)
    for seq in (5, 3):
        mirror.tag(Anchor(lineage="main", seq=seq, hash=f"hash {seq}"))
        assert mirror.anchor("main") == Anchor(lineage="main", seq=5, hash="hash 5")
    mirror.repair(second, Anchor(lineage="main", seq=6, hash="hash 6"))
    assert mirror.anchor("main").seq == 6 and mirror.anchor("other") is None
    aliases = mirror._client.get_registered_model("rsi-main").aliases
    assert aliases["champion"] == aliases["candidate"], "the candidate of the last generation stays"
    assert lines == []
