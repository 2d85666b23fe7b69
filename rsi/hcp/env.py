"""The environment that a document asks for. Values never enter a document, a record or a store."""

from collections.abc import Collection, Mapping
from pathlib import Path

from rsi.errors import UserError
from rsi.files import read_text
from rsi.hcp.document import Document
from rsi.hcp.local import Project
from rsi.hcp.pack import project_of


def environment(document: Document, folder: Path, root: Path, process: Mapping[str, str]) -> dict[str, str]:
    """All variables after merging: the process's, those of `env.files` (which win with `override`), then `set`.

    UserError, before anything is started, for a file that is missing or malformed, or a required name without value;
    the names by which the model is reached are required."""
    form = document.form
    merged = dict(process)
    project = project_of(document, folder, root)
    for name in form.env.files:
        found = _read(document, project, name)
        merged = {**merged, **found} if form.env.override else {**found, **merged}
    merged |= form.env.set
    for section, names in (("env", form.env.must), ("model", form.model.must)):
        for name in names:
            if not merged.get(name):
                raise UserError(
                    f"{document.where}: '{section}' needs the environment variable {name}, which is not set; set it"
                )
    return merged


def passed(document: Document, merged: Mapping[str, str], allowed: Collection[str]) -> dict[str, str]:
    """What of it reaches a sandbox besides `set`: names that the document asks for and the operator allows. UserError
    for a name that the document must pass and that is not allowed. The model's own names never reach a sandbox."""
    env = document.form.env
    if refused := sorted(set(env.passthrough) - set(allowed)):
        raise UserError(
            f"{document.where}: 'env.passthrough' asks for {', '.join(refused)}; "
            "a person allows names by 'allow_env' in the run's settings"
        )
    asked = {*env.must, *env.optional} - set(document.form.model.must)
    return {name: merged[name] for name in sorted(asked & set(allowed)) if name in merged}


def parse_file(text: str) -> dict[str, str]:
    """`KEY=value` lines; blank lines and those that begin with `#` are passed over; quotes around a value are taken
    off. ValueError names the line."""
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        if not equals or not name.strip().isidentifier() or not name.isascii():
            raise ValueError(f"line {number} is not KEY=value")
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        values[name.strip()] = value
    return values


def _read(document: Document, project: Project, name: str) -> dict[str, str]:
    where = f"{document.where}: 'env.files': {name!r}"
    try:
        return parse_file(read_text(project.resolve(name)))
    except (UserError, ValueError) as error:
        raise UserError(f"{where}: {error}") from None
