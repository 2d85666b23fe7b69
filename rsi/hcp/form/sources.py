"""[skills] and [prompt_templates]: files of the project. Sources that would be fetched are kept, not realised."""

from rsi.hcp.form.part import Part


class Sources(Part):
    paths: tuple[str, ...] = ()
    enabled: bool = True
