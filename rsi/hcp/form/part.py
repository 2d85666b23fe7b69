"""What every part of a document's form has in common."""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)
