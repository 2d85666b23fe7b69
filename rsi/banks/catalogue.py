"""`catalogue.toml`: the hand-written typed edits that a search may try. Strict, and blind to held-out families."""

from pathlib import Path

from rsi.banks.definition import BankDefinition, load_definition
from rsi.config import Settings, Version, validate
from rsi.errors import UserError
from rsi.files import load_toml
from rsi.types import Edit


class CatalogueFile(Settings):
    version: Version
    edit: tuple[Edit, ...] = ()


def load_catalogue(folder: Path) -> tuple[Edit, ...]:
    """The edits of the bank in `folder`, in the order of the file. UserError names file and key for an unknown key, a
    name given twice, or a family that is unknown or held out."""
    path = folder / "catalogue.toml"
    edits = validate(CatalogueFile, load_toml(path), str(path)).edit
    definition, names = load_definition(folder), set[str]()
    for number, edit in enumerate(edits):
        if edit.name in names:
            raise UserError(f"{path}: 'edit.{number}.name': '{edit.name}' is given twice; rename one")
        names.add(edit.name)
        for family in edit.families:
            _check_family(definition, family, f"{path}: 'edit.{number}.families'")
    return edits


def _check_family(definition: BankDefinition, family: str, where: str) -> None:
    known = definition.families.get(family)
    if known is None:
        raise UserError(f"{where}: the bank has no family '{family}'; correct its spelling")
    if known.role == "held_out":
        raise UserError(f"{where}: '{family}' is held out; no edit may be made for it")
