"""[model] and [provider_options]: which model, how it is reached, what is sampled, and how much."""

from typing import Any, Literal

from pydantic import Field

from rsi.hcp.form.environment import Name
from rsi.hcp.form.part import Part


class ModelPart(Part):
    """Credentials are names of environment variables. `rsi hcp provider` shows what comes of it."""

    provider: str = ""
    id: str = ""
    id_env: Name | None = None
    api: str = "openai-completions"
    base_url: str = ""
    base_url_env: Name | None = None
    api_key_env: Name | None = None
    context_window: int | None = Field(None, ge=1)
    max_tokens: int = Field(64, ge=1)
    thinking_level: Literal["off", "minimal", "low", "medium", "high", "xhigh"] | None = None
    compat: dict[str, Any] = Field(default_factory=dict)

    @property
    def bounded(self) -> int:
        """A turn samples no more than Sampling allows, whatever a document made for another runtime says."""
        return min(self.max_tokens, 8192)

    @property
    def must(self) -> tuple[str, ...]:
        """Names of environment variables without which the model cannot be asked."""
        return tuple(name for name in (self.id_env, self.base_url_env, self.api_key_env) if name)


class ProviderOptions(Part):
    temperature: float = Field(1.0, ge=0, le=5)
    top_p: float = Field(1.0, gt=0, le=1)
