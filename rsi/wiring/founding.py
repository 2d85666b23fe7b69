"""The document that a lineage begins with, made ready in RFC-0002's order: its folder, its files, its environment, its
model. All of it before a model is asked or a sandbox opened."""

import os
from pathlib import Path

from rsi.config import RunSettings, project_root
from rsi.errors import UserError
from rsi.hcp.document import Document, load
from rsi.hcp.env import environment, passed
from rsi.hcp.pack import pack
from rsi.hcp.provider import provider


def founding(settings: RunSettings, path: Path) -> tuple[Document, RunSettings]:
    """The portable document, and the settings with its model where `model.id` is "document". What its files of
    variables hold of names that the operator allows, or by which the model is reached, enters this process's
    environment, which its workers inherit. UserError says what is missing or refused."""
    written = load(path)
    document = pack(written, path.parent, project_root())
    document.harness()
    merged = environment(written, path.parent, project_root(), os.environ)
    reached = {name: merged[name] for name in written.form.model.must}
    os.environ.update({**passed(written, merged, settings.allow_env), **reached})
    if settings.model.id != "document":
        return document, settings
    entry = provider(written, merged)
    if entry is None:
        raise UserError(f"{path}: 'model' names no model, and the settings leave it to the document; name one")
    chosen = settings.model.model_copy(update={"id": entry.model, "api_key_env": entry.api_key_env})
    return document, settings.model_copy(update={"model": chosen})
