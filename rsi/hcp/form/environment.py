"""[run] and [env]: where a document's paths begin, and the names of the environment variables that it needs."""

from typing import Annotated

from pydantic import Field

from rsi.hcp.form.part import Part

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]


class RunPart(Part):
    cwd: str = "."  # relative to the document's own folder


class EnvPart(Part):
    """`required` and `passthrough` names must exist; `optional` ones may; `set` is written here for all to read."""

    files: tuple[str, ...] = ()
    override: bool = False
    required: tuple[Name, ...] = ()
    optional: tuple[Name, ...] = ()
    passthrough: tuple[Name, ...] = ()
    set: dict[Name, str] = Field(default_factory=dict)

    @property
    def must(self) -> tuple[str, ...]:
        return (*self.required, *self.passthrough)
