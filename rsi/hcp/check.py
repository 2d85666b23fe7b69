"""What a document says that this harness does not do: `rsi hcp check`."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from rsi.hcp.document import Document
from rsi.hcp.form import TOOLS, Form
from rsi.hcp.form.normal import normalise


def check(document: Document) -> list[str]:
    """One plain line for each thing that is kept but not realised, or contradicts another. Empty: all is realised."""
    form = document.form
    notes = list(_unread(normalise(document.content), Form, ""))
    notes += [f"'tools': '{name}' is no tool of this harness" for name in form.allowed() if name not in TOOLS]
    if form.allowed() not in ((), ("shell",)) and form.disabled():
        notes.append("'tools': a list of allowed tools and a switch that disables them; the list wins")
    if form.model.bounded < form.model.max_tokens:
        notes.append(f"'model.max_tokens': at most {form.model.bounded} tokens are sampled a turn")
    for index, entry in enumerate(form.resources.embedded):
        if entry.kind != "skill":
            notes.append(f"'resources.embedded[{index}]': kind '{entry.kind}' is kept, not realised")
    if form.rsi.exemplars.shots and not form.rsi.exemplars.pool:
        notes.append("'rsi.exemplars.shots': the pool is empty, so nothing is shown")
    return notes


def _unread(content: Mapping[str, Any], part: type[BaseModel], path: str) -> Iterator[str]:
    """Lines for the keys of `content` that no field of `part` reads, nested parts included."""
    for key, value in content.items():
        here = f"{path}.{key}" if path else key
        field = part.model_fields.get(key)
        if field is None:
            ours = here.startswith("rsi.")
            yield f"'{here}': unknown key of our own section; check its spelling" if ours else f"'{here}': not realised"
            continue
        inner = _part_of(field.annotation)
        if inner is None:
            continue
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from _unread(item, inner, f"{here}[{index}]")
        elif field.annotation is not None and inner is field.annotation:
            yield from _unread(value, inner, here)
        else:  # a table of named parts
            for name, item in value.items():
                yield from _unread(item, inner, f"{here}.{name}")


def _part_of(annotation: Any) -> type[BaseModel] | None:
    """The model inside an annotation: itself, or the item of a list or table of models."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None
