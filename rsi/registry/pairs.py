"""The mirror of generations and pairs in MLflow: the one file that knows MLflow.

A mirror for people: it decides nothing, can be rebuilt from the store, and its failures are one line each, never an
error in the run. A run a generation, a registered-model version a pair, aliases `champion` and `candidate`.
"""

import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from rsi.config import home
from rsi.gate.ledger import Anchor
from rsi.registry.chapter import Chapter, Curve, key_of
from rsi.types import PairRecord

KEY, PAIR = "rsi.key", "rsi.pair"  # tags by which runs and versions are found again
LEDGER = "rsi.ledger"  # tag of the model: the ledger's head
BATCH = 500  # metrics a call; MLflow takes 1000


def default_uri() -> str:
    return file_uri(home() / "mlflow" / "mlflow.db")


def file_uri(file: Path) -> str:
    """The tracking URI of an SQLite file. MLflow takes text, which SQLAlchemy parses: what it would read as an escape
    or as the start of a query is written as an escape. MLflow makes a folder of that, unless the driver is named."""
    text = quote(str(file), safe="/ ")
    return f"sqlite:///{text}" if text == str(file) else f"sqlite+pysqlite:///{text}"


def file_of(uri: str) -> Path | None:
    """The SQLite file of a tracking URI, None where it names a server."""
    scheme, _, text = uri.partition(":///")
    return Path(unquote(text)) if scheme.startswith("sqlite") else None


class Mirror:
    """Writes to an MLflow database or server. `say` gets one plain line for each thing that could not be mirrored.

    Every method may be called again with the same content and then changes nothing. Calls block; a server that does
    not answer costs seconds, not minutes."""

    def __init__(self, say: Callable[[str], None], uri: str | None = None) -> None:
        self.uri = uri or default_uri()
        self._say = say
        self._experiments: dict[str, str] = {}

    def publish(self, chapter: Chapter) -> None:
        """Mirror a generation: its run with parameters, figures, curves and documents, and its pair as a version."""
        record = chapter.record
        with self._reported(f"generation {chapter.number} of '{record.lineage}'"):
            run = self._run(record.lineage, chapter.number)
            known, now = run.data, int(time.time() * 1000)
            params = {key_of(k): v[:500] for k, v in chapter.params().items() if key_of(k) not in known.params}
            figures = {key_of(k): v for k, v in chapter.metrics().items()}
            rows = [(k, v, 0) for k, v in figures.items() if known.metrics.get(k) != v]
            rows += self._owed(run.info.run_id, chapter.curves())
            self._log(run.info.run_id, rows, now, params)
            for name, text in chapter.documents().items():
                self._client.log_text(run.info.run_id, text, f"pair/{name}")
            decision = chapter.verdict.decision if chapter.verdict is not None else "none"
            self._client.set_tag(run.info.run_id, "rsi.decision", decision)
            self._version(record, run.info.run_id)
            self._client.set_terminated(run.info.run_id)

    def aliases(self, lineage: str, champion: PairRecord | None, candidate: PairRecord | None = None) -> None:
        """Point the aliases at what the store says; an alias whose pair is None is taken away. A pair that MLflow does
        not know is published first, so this also repairs a lost MLflow database."""
        with self._reported(f"the aliases of '{lineage}'"):
            for alias, record in (("champion", champion), ("candidate", candidate)):
                if record is not None:
                    self._point(alias, record)
                elif alias in self._model(lineage).aliases:
                    self._client.delete_registered_model_alias(model_name(lineage), alias)

    def repair(self, champion: PairRecord, head: Anchor) -> None:
        """After a crash between store and MLflow: alias and tag as the ledger has them. What is not there yet is left
        to the next report."""
        if self._exists():
            with self._reported(f"the champion of '{champion.lineage}'"):
                self._point("champion", champion)
            self.tag(head)

    def tag(self, head: Anchor) -> None:
        """Anchor the ledger's head in a tag of the model. A tag that is as far already, or further, stays."""
        with self._reported(f"the ledger's head of '{head.lineage}'"):
            present = self._model(head.lineage).tags.get(LEDGER)
            if present is None or Anchor.model_validate_json(present).seq < head.seq:
                name = model_name(head.lineage)
                self._client.set_registered_model_tag(name, LEDGER, head.model_dump_json())

    def anchor(self, lineage: str) -> Anchor | None:
        """The ledger's head by the model's tag; None where there is no tag, or none that can be read."""
        if self._exists():
            with self._reported(f"the ledger's head of '{lineage}'", "read"):
                name = model_name(lineage)
                for model in self._client.search_registered_models(f"name = '{name}'", max_results=1):
                    if (tag := model.tags.get(LEDGER)) is not None:
                        return Anchor.model_validate_json(tag)
        return None

    def tracker(self, lineage: str, generation: int) -> "RunTracker":
        """A ports.Tracker that logs into the run of a generation."""
        return RunTracker(self, lineage, generation)

    def log(self, lineage: str, generation: int, curves: Mapping[str, Curve]) -> None:
        """Add points to curves of a generation's run; steps that it has already are left as they are."""
        with self._reported(f"figures of generation {generation} of '{lineage}'"):
            run = self._run(lineage, generation)
            self._log(run.info.run_id, self._owed(run.info.run_id, curves), int(time.time() * 1000), {})

    @contextmanager
    def _reported(self, what: str, done: str = "written") -> Iterator[None]:
        try:
            yield
        except ImportError:
            self._say(f"MLflow is not installed, so {what} is not {done} there; install rsi with the extra 'mlflow'")
        except Exception as error:  # noqa: BLE001 - a mirror's trouble of any kind must not touch the run
            line = (str(error).strip().splitlines() or [""])[0][:200]
            text = f"MLflow at {self.uri}: {what} could not be {done} ({type(error).__name__}: {line})"
            self._say(re.sub(r"//[^/@\s]*@", "//", text))  # a URL may hold a password

    @cached_property
    def _client(self) -> Any:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        from mlflow import MlflowClient  # seconds to import: only where something is mirrored

        for name in ("mlflow.store.db.utils", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
        if (folder := self._folder()) is not None:
            folder.mkdir(parents=True, exist_ok=True)
        return MlflowClient(tracking_uri=self.uri, registry_uri=self.uri)

    def _folder(self) -> Path | None:
        file = file_of(self.uri)
        return file.parent if file is not None else None

    def _exists(self) -> bool:
        """Whether there is anything to ask: a home's own MLflow is made with its first generation."""
        file = file_of(self.uri)
        return file is None or file.exists()

    def _experiment(self, lineage: str) -> str:
        if lineage not in self._experiments:
            name, folder = model_name(lineage), self._folder()
            place = (folder / "artifacts" / name).as_uri() if folder is not None else None
            found = self._client.get_experiment_by_name(name)
            self._experiments[lineage] = found.experiment_id if found else self._client.create_experiment(name, place)
        return self._experiments[lineage]

    def _run(self, lineage: str, generation: int) -> Any:
        experiment, key = self._experiment(lineage), f"{lineage}/{generation}"
        found = self._client.search_runs([experiment], f"tags.`{KEY}` = '{key}'", max_results=1)
        if found:
            return found[0]
        return self._client.create_run(experiment, tags={KEY: key}, run_name=f"{lineage} generation {generation}")

    def _owed(self, run_id: str, curves: Mapping[str, Curve]) -> list[tuple[str, float, int]]:
        rows = []
        for name, points in curves.items():
            have = {metric.step for metric in self._client.get_metric_history(run_id, key_of(name))}
            rows += [(key_of(name), value, step) for step, value in points if step not in have]
        return rows

    def _log(self, run_id: str, rows: Iterable[tuple[str, float, int]], now: int, params: Mapping[str, str]) -> None:
        from mlflow.entities import Metric, Param

        metrics = [Metric(key, value, now, step) for key, value, step in rows if isfinite(value)]
        self._client.log_batch(run_id, params=[Param(key, value) for key, value in params.items()])
        for start in range(0, len(metrics), BATCH):
            self._client.log_batch(run_id, metrics=metrics[start : start + BATCH])

    def _model(self, lineage: str) -> Any:
        name = model_name(lineage)
        if not self._client.search_registered_models(f"name = '{name}'", max_results=1):
            self._client.create_registered_model(name)
        return self._client.get_registered_model(name)

    def _point(self, alias: str, record: PairRecord) -> None:
        version = self._version_of(record) or self._published(record)
        self._client.set_registered_model_alias(model_name(record.lineage), alias, version)

    def _version_of(self, record: PairRecord) -> str | None:
        query = f"name = '{model_name(record.lineage)}' and tags.`{PAIR}` = '{record.pair.digest}'"
        found = self._client.search_model_versions(query, max_results=1)
        return str(found[0].version) if found else None

    def _version(self, record: PairRecord, run_id: str) -> str:
        """The pair's version, made where there is none: adapters first, so that a version is always whole."""
        if (present := self._version_of(record)) is not None:
            return present
        for specialist, path in record.adapter_paths.items():
            self._client.log_artifacts(run_id, path, f"pair/adapters/{key_of(specialist)}")
        self._model(record.lineage)
        tags = {PAIR: record.pair.digest, "generation": str(record.generation), "hcp": record.pair.hcp}
        name, source = model_name(record.lineage), f"runs:/{run_id}/pair"
        return str(self._client.create_model_version(name, source, run_id=run_id, tags=tags).version)

    def _published(self, record: PairRecord) -> str:
        self.publish(Chapter(record))
        version = self._version_of(record)
        if version is None:
            raise LookupError(f"pair {record.pair.name} is not registered")
        return version


class RunTracker:
    """ports.Tracker into one generation's run: `name` becomes the first part of each figure's name."""

    def __init__(self, mirror: Mirror, lineage: str, generation: int) -> None:
        self._mirror, self._lineage, self._generation = mirror, lineage, generation

    def log(self, name: str, metrics: Mapping[str, float], step: int) -> None:
        curves = {f"{name}/{key}": [(step, value)] for key, value in metrics.items()}
        self._mirror.log(self._lineage, self._generation, curves)

    def close(self) -> None:
        """Nothing is held open."""


def model_name(lineage: str) -> str:
    """The name of a lineage's experiment and of its registered model."""
    return f"rsi-{lineage}"
