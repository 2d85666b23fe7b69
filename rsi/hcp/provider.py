"""The model of a document as an entry of a registry of providers. It holds names of secrets, never their values."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from rsi.errors import UserError
from rsi.hcp.document import Document
from rsi.types import Record

COMPATIBLE = "openai-completions"


class Provider(Record):
    """`thinking_level` and `compat` are kept for the provider; nothing here interprets them."""

    provider: str
    id: str
    api: str = COMPATIBLE
    base_url: str = ""
    api_key_env: str | None = None
    context_window: int | None = None
    max_tokens: int
    thinking_level: str | None = None
    compat: dict[str, Any] = Field(default_factory=dict)

    @property
    def model(self) -> str:
        """What a run's settings say of it (`model.id`). UserError where this program has no client for it."""
        if self.api != COMPATIBLE:
            raise UserError(f"'model.api': '{self.api}' has no client here; serve it as '{COMPATIBLE}'")
        if not self.base_url:
            raise UserError("'model.base_url' is missing; write it, or name the variable that holds it (base_url_env)")
        return f"{self.base_url}#{self.id}" if self.id else self.base_url


def provider(document: Document, environment: Mapping[str, str]) -> Provider | None:
    """The entry, or None where the document names no model. UserError where a variable that it names is not set."""
    model = document.form.model
    if not (model.provider or model.id or model.id_env or model.base_url or model.base_url_env):
        return None

    def value(name: str | None, written: str) -> str:
        if name is None or written:
            return written
        if not environment.get(name):
            raise UserError(f"{document.where}: 'model' needs the environment variable {name}, which is not set")
        return environment[name]

    return Provider(
        provider=model.provider,
        id=value(model.id_env, model.id),
        api=model.api,
        base_url=value(model.base_url_env, model.base_url),
        api_key_env=model.api_key_env,
        context_window=model.context_window,
        max_tokens=model.max_tokens,
        thinking_level=model.thinking_level,
        compat=model.compat,
    )
