"""What a person is shown of one generation and its pair: flat parameters, figures, curves and documents. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rsi.registry.bound import body
from rsi.types import Expansion, HarnessConfig, PairRecord, Rate, Update, Verdict

Curve = list[tuple[int, float]]  # (step, value)


@dataclass(frozen=True)
class Chapter:
    """One generation's pair with what is known of it. `contract` and `report` are the texts of these files.

    `generation` is told where it did not make the pair: one that changed nothing judges the champion's own."""

    record: PairRecord
    harness: HarnessConfig | None = None
    expansion: Expansion | None = None
    update: Update | None = None
    verdict: Verdict | None = None
    contract: str = ""
    report: str = ""
    generation: int | None = None

    @property
    def number(self) -> int:
        return self.record.generation if self.generation is None else self.generation

    def params(self) -> dict[str, str]:
        """What the pair is made of, so that harness versions stand side by side in a table."""
        pair = self.record.pair
        found = {"pair": pair.digest, "base": pair.base, "hcp": pair.hcp, "parent": self.record.parent or ""}
        found |= {f"adapter {name}": revision for name, revision in pair.adapters.items()}
        if self.harness is not None:
            h = self.harness
            found |= {"shots": str(h.shots), "exemplars": str(len(h.exemplars)), "skills": str(len(h.skills))}
            found |= {"stop hooks": str(len(h.stop_hooks)), "tools": " ".join(h.tools)}
            found |= {f"sampling {key}": str(value) for key, value in h.sampling.model_dump().items()}
            found |= {f"budget {key}": str(value) for key, value in h.budgets.model_dump().items()}
        return found

    def metrics(self) -> dict[str, float]:
        """Figures with their interval and sample size ("... low", "... high", "... n")."""
        found: dict[str, float] = {}
        if self.verdict is not None:
            for group, rates in (
                ("sealed", self.verdict.rates),
                ("2x2", self.verdict.two_by_two),
                ("effect", self.verdict.effects),
            ):
                found |= _flat({f"{group}/{name}": rate for name, rate in rates.items()})
        if self.expansion is not None:
            e = self.expansion
            selection = {"selection/before": e.selection_before, "selection/after": e.selection_after}
            found |= _flat({name: rate for name, rate in selection.items() if rate is not None})
            found["search/edits accepted"] = float(sum(trial.accepted for trial in e.trials))
            if e.coverage:
                found["search/pooled pass rate"] = e.coverage[-1].passes / max(1, e.coverage[-1].attempts)
        return found

    def curves(self) -> dict[str, Curve]:
        """Coverage (adaptive) of the search and of the retry control by attempts; training figures by step."""
        found: dict[str, Curve] = {}
        if self.expansion is not None and self.expansion.tasks:
            for name, points in (("search", self.expansion.coverage), ("retry control", self.expansion.retry)):
                found[f"coverage adaptive/{name}"] = [(p.attempts, p.covered / self.expansion.tasks) for p in points]
        if self.update is not None and self.update.adapter is not None:
            for step, row in enumerate(self.update.adapter.metrics):
                for key, value in row.items():
                    found.setdefault(f"train/{key}", []).append((step, value))
        return found

    def documents(self) -> dict[str, str]:
        """The texts kept beside the pair, by file name."""
        found = {"hcp.toml": self.record.document, "pair.json": body(self.record)}
        optional = {"verdict.json": self.verdict, "expansion.json": self.expansion}
        found |= {name: body(record) for name, record in optional.items() if record is not None}
        return found | {n: t for n, t in (("contract.toml", self.contract), ("report.html", self.report)) if t}


def key_of(text: str) -> str:
    """A name that trackers accept: letters, digits, and `_ - . / space`."""
    return re.sub(r"[^\w\-./ ]", "_", text, flags=re.ASCII)[:240]


def _flat(rates: Mapping[str, Rate]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, rate in rates.items():
        found |= {name: rate.value, f"{name} low": rate.low, f"{name} high": rate.high, f"{name} n": float(rate.n)}
    return found
