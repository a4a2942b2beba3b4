"""The first screen of a page in a notebook: question, answer, matrix, and one picture.

Nothing of an output depends on another or on the network: its style bears a name of its own, and
its chart is an image.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headend.figures import Figure
    from headend.figures.plot import Plot
    from headend.wording.answer import Answer

#: A picture that is larger as SVG is drawn as PNG, so that a notebook with many outputs stays
#: small, in bytes.
MOST_SVG = 150_000


class Presented(ABC):
    """A result that a notebook shows as the first screen of its page, with figures by name."""

    @abstractmethod
    def present(self) -> tuple[Answer, list[Figure]]:
        """Give the answer, which names a figure that is there, and all the page's figures."""

    @property
    def figures(self) -> list[str]:
        """The names of its figures, in the order of its page: ``figure(name)`` gives one."""
        _, figures = self.present()
        return [figure.name for figure in figures]

    def figure(self, name: str) -> Plot:
        """Give one figure, which a notebook shows, and which ``save("x.pdf")`` writes to a file.

        Parameters
        ----------
        name
            One of ``figures``, or one chart of a figure: the names that ``headend figures --list``
            prints.

        Raises
        ------
        InputError
            For a name that none has.
        """
        from headend.figures.export import choose_figures
        from headend.figures.plot import Plot

        _, figures = self.present()
        return Plot(choose_figures(figures, [str(name)])[0], str(name))

    def _repr_html_(self) -> str:
        """Give a notebook the first screen: question, answer, matrix and chart."""
        answer, figures = self.present()
        return render_first_screen(answer, figures)


class Drawn(Presented):
    """A result that has its answer, and draws its figures."""

    @property
    @abstractmethod
    def answer(self) -> Answer:
        """The answer with which a page or command begins."""

    @abstractmethod
    def draw_figures(self) -> list[Figure]:
        """Draw the figures of its page."""

    def present(self) -> tuple[Answer, list[Figure]]:
        """Give the answer and all figures of its page."""
        figures = self.draw_figures()
        return self.answer.settle_why([figure.name for figure in figures]), figures


def render_first_screen(answer: Answer, figures: Sequence[Figure]) -> str:
    """Write the first screen as HTML without a script; without a picture, say what to install."""
    from headend.extras import PAPER
    from headend.pages.page import render_fragment

    why = next((figure for figure in figures if figure.name == answer.why), None)
    picture, hint = "", ""
    if why is not None:
        hint = PAPER.describe_absent("the chart")
        picture = "" if hint else _embed_picture(why)
    return render_fragment("notebook.html.j2", answer=answer, why=why, picture=picture, hint=hint)


def _embed_picture(figure: Figure) -> str:
    """Give the address of a picture that holds the first panel itself."""
    from headend.figures.export import draw_picture

    panel = figure.panels[0]
    title = ": ".join(filter(None, (figure.title, panel.title)))
    content, kind = draw_picture(panel, title, figure.note), "svg+xml"
    if len(content) > MOST_SVG:
        content, kind = draw_picture(panel, title, figure.note, "png"), "png"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
