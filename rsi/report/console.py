"""The console that everything coloured is printed on: whatever is shown on it, text from elsewhere cannot steer the
terminal, since what can is shown by its escape."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from rsi.text import escape


class EscapingConsole(Console):
    """Plain text stays plain: no markup, no highlights, no emoji in it. Only rich's own codes reach the terminal."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(soft_wrap=True, highlight=False, markup=False, emoji=False, stderr=stderr)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escape(segment.text))
