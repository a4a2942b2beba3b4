"""Rich consoles that print text without markup, with control characters made visible."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.segment import Segment

from headend.cli.streams import close_output
from headend.text.reveal import reveal

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType
    from rich.text import Text


class PlainConsole(Console):
    """A console on which text is text: no markup, no emoji names, control characters visible."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Make text of a string: before it is measured, so that tables stay straight."""
        return super().render_str(reveal(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render anything; only Rich's own codes for styles and cursors control the terminal."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(reveal(segment.text), segment.style)


class Output(PlainConsole):
    """Standard output whose reader may stop reading: the command goes on, its exit code stays."""

    def on_broken_pipe(self) -> None:
        """Discard the rest of the output."""
        close_output()
