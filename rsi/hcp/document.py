"""One HCP document: its text, its content, its digest, and the harness configuration it describes."""

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rsi.config import first_problem
from rsi.errors import UserError
from rsi.files import parse_toml, read_text
from rsi.hcp.form import Form
from rsi.hcp.form.normal import normalise
from rsi.hcp.realise import realise
from rsi.ids import canonical, digest
from rsi.types import HarnessConfig

MAX_CHARS = 1_000_000
SECRET_KEY = re.compile(r"(api_?key|token|secret|password)(\[\d+\])*\"?$", re.IGNORECASE)
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Document:
    """A document that parses and whose realised sections have the right types. `where` names it in messages."""

    text: str
    where: str

    @cached_property
    def content(self) -> dict[str, Any]:
        """Plain parsed content, unknown keys included. Do not change it."""
        return parse_toml(self.text, self.where)

    @cached_property
    def digest(self) -> str:
        """Identity of the whole content: key order, comments and spacing do not count, unknown keys do."""
        return digest(_plain(self.content))

    @cached_property
    def form(self) -> Form:
        """The realised part, in the document's shape. UserError names file and key."""
        try:
            # JSON's strict mode tells numbers, strings and lists apart, and takes lists for tuples. In
            # canonical form, so that hooks run in the order of their names: the order of keys is no identity.
            return Form.model_validate_json(canonical(_plain(normalise(self.content))), strict=True)
        except ValidationError as error:
            raise UserError(f"{self.where}: {first_problem(error)}") from None

    @property
    def parent(self) -> str | None:
        """Digest of the document that this one was edited from."""
        return self.form.rsi.parent

    def harness(self) -> HarnessConfig:
        """What the episode loop reads of this document. UserError where it names files that are not embedded (see
        `rsi.hcp.pack`), or asks for what no document may have."""
        try:
            return realise(self.form, self.digest)
        except ValueError as error:
            raise UserError(f"{self.where}: {error}") from None


def parse(text: str, where: str) -> Document:
    """A checked document. UserError names `where` and the line (malformed TOML) or the key (anything else)."""
    if len(text) > MAX_CHARS:
        raise UserError(f"{where}: has {len(text)} characters, at most {MAX_CHARS} are read; shorten it")
    document = Document(text=text, where=where)
    _check(document.content, where)
    _ = document.form, document.digest  # computed here, where the document can still be refused
    return document


def _check(content: Mapping[str, Any], where: str) -> None:
    """UserError for a wrong version or a secret."""
    _check_version(content.get("version"), where)
    for key, value in leaves(content):
        if isinstance(value, str) and value and SECRET_KEY.search(key):
            raise UserError(
                f"{where}: '{key}': holds a secret; name an environment variable that holds it instead ('{key}_env')"
            )


def recorded(text: str) -> Document:
    """A document from the record: a pair's, or what a search made."""
    return parse(text, "recorded HCP document")


def load(path: Path) -> Document:
    """Read and parse a file. UserError names it and says what to do."""
    return parse(read_text(path, "HCP document"), str(path))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Key path and value of everything that is neither table nor list (empty ones count), in the document's order.

    Keys that TOML would quote are quoted, so no two places share a path."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            name = key if BARE_KEY.fullmatch(key) else json.dumps(key)
            yield from leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]")
    else:
        yield path, value


def _check_version(version: Any, where: str) -> None:
    if version is None:
        raise UserError(f"{where}: 'version' is missing; begin the document with 'version = 1'")
    if type(version) is not int or version < 1:
        raise UserError(f"{where}: 'version': a whole number is expected (given: {version!r}); write 'version = 1'")
    if version > 1:
        raise UserError(f"{where}: 'version': {version} is newer than this program reads (1); update rsi")


def _plain(value: Any) -> Any:
    """Content as JSON can say it; a date stays apart from a string of the same text."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, datetime.date | datetime.time):
        return {"toml date or time": value.isoformat()}
    return value
