"""Families whose requests are written down, not generated: `requests.toml` (open) and `held_out.toml` (written apart).

    frame = "<request>{request}</request>"   # optional, in requests.toml: how a task quotes a request
    [families.NAME]
    ANSWER = [["a wording", "another wording of the same"], ...]

A group of wordings never straddles splits: the home's salt ranks a family's groups, the first share of them is sealed.
"""

import hashlib
import hmac
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from rsi.banks.definition import BankDefinition
from rsi.banks.instance import Generator, Instance
from rsi.config import Settings, validate
from rsi.errors import UserError
from rsi.files import load_toml
from rsi.ids import canonical
from rsi.types import OutputCheck, Split

NAME = "listed"  # what bank.toml gives as its generator
FILES: Mapping[str, str] = {"train": "requests.toml", "held_out": "held_out.toml"}  # by role
SEALED_SHARE, SELECTION_SHARE = 0.4, 0.4  # of a family's groups; of what is open
SLOT = "{request}"

Wording = Annotated[str, Field(min_length=2, max_length=2000)]
Group = Annotated[tuple[Wording, ...], Field(min_length=1)]


class ListFile(Settings):
    frame: str = SLOT
    version: int = Field(1, ge=1, le=1)
    families: dict[str, dict[str, tuple[Group, ...]]] = Field(min_length=1)

    @field_validator("frame")
    @classmethod
    def _one_slot(cls, frame: str) -> str:
        if frame.count(SLOT) != 1:
            raise ValueError(f"the frame must hold {SLOT} once")
        return frame


@dataclass(frozen=True)
class Listing:
    """`families`: name -> (answer, wordings) pairs. `splits`: a framed request -> the split that its group is in."""

    families: Mapping[str, Sequence[tuple[str, Sequence[str]]]]
    splits: Mapping[str, Split]

    def table(self) -> dict[str, Generator]:
        """Each family as a generator that draws one of its wordings."""
        return {name: _drawer(groups) for name, groups in self.families.items()}

    def region(self, instance: Instance) -> Split | None:
        return self.splits.get(instance.request)


def load_listing(folder: Path, definition: BankDefinition, salt: bytes) -> Listing:
    """The lists of the bank in `folder`, cut to the definition's families. UserError (file, key) for a family that is
    missing or in the wrong file, or a request that stands twice."""
    families: dict[str, list[tuple[str, list[str]]]] = {}
    splits: dict[str, Split] = {}
    frame = SLOT
    for role, name in FILES.items():
        if role != "train" and not any(family.role == role for family in definition.families.values()):
            continue
        path = folder / name
        listed = validate(ListFile, load_toml(path), str(path))
        frame = listed.frame if role == "train" else frame
        for family in (n for n, f in definition.families.items() if f.role == role):
            if not listed.families.get(family):
                raise UserError(f"{path}: 'families.{family}': bank.toml names this {role} family; list its requests")
            groups = [
                (answer, [quoted(frame, wording) for wording in group])
                for answer, some in listed.families[family].items()
                for group in some
            ]
            families[family] = groups
            for wording, split in _placed(groups, salt, role == "held_out"):
                if wording in splits:
                    raise UserError(f"{path}: 'families.{family}': {wording[:60]!r} stands twice; remove one")
                splits[wording] = split
    return Listing(families, splits)


def quoted(frame: str, request: str) -> str:
    """The request as a task shows it. It is untrusted text: where the frame has tags, it cannot close them."""
    safe = request.replace("<", "&lt;").replace(">", "&gt;") if "<" in frame else request
    return frame.replace(SLOT, safe)


def _placed(groups: Sequence[tuple[str, Sequence[str]]], salt: bytes, held_out: bool) -> list[tuple[str, Split]]:
    """Each wording's split. Which groups are sealed depends on the salt, how many does not."""
    ranked = sorted(groups, key=lambda group: hmac.digest(salt, canonical(group), "sha256"))
    sealed = len(ranked) if held_out else max(1, round(len(ranked) * SEALED_SHARE))
    opened = sorted(ranked[sealed:], key=lambda group: hashlib.sha256(canonical(group)).digest())
    selection = round(len(opened) * SELECTION_SHARE)
    parts: Mapping[Split, Sequence[tuple[str, Sequence[str]]]] = {
        "sealed": ranked[:sealed],
        "selection": opened[:selection],
        "train": opened[selection:],
    }
    return [(wording, split) for split, part in parts.items() for _, wordings in part for wording in wordings]


def _drawer(groups: Sequence[tuple[str, Sequence[str]]]) -> Generator:
    wordings = [(wording, answer) for answer, some in groups for wording in some]

    def draw(rng: random.Random, difficulty: int) -> Instance:
        wording, answer = rng.choice(wordings)
        return Instance(wording, answer, (OutputCheck(expected=answer),))

    return draw
