"""[model] and [provider_options]: what is sampled, and how much."""

from pydantic import Field

from rsi.hcp.form.part import Part


class ModelPart(Part):
    max_tokens: int = Field(64, ge=1)

    @property
    def bounded(self) -> int:
        """A turn samples no more than Sampling allows, whatever a document made for another runtime says."""
        return min(self.max_tokens, 8192)


class ProviderOptions(Part):
    temperature: float = Field(1.0, ge=0, le=5)
    top_p: float = Field(1.0, gt=0, le=1)
