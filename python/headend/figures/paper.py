"""Pictures for papers: widths and letters in the units of print, and what is drawn fitted to them.

A picture is laid out at the size at which its letters have as many pixels as on a page, and then
scaled as a whole: lines, symbols and gaps are as much smaller as its letters are.
"""

from __future__ import annotations

import copy
import functools
import re
import shutil
import subprocess
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headend.errors import InputError, suggest
from headend.figures.svg import draw_svg, find_root, fit_specification
from headend.figures.theme import FONT, HEIGHT, configure

#: How many points a unit has.
UNITS = {"mm": 72 / 25.4, "cm": 720 / 25.4, "in": 72.0, "pt": 1.0, "px": 0.75}

#: The width and the font size of pictures in print, each used where only other sizes are given.
DEFAULT_WIDTH, DEFAULT_FONT_SIZE = "180mm", 8.0

#: Letters, in pixels, before a picture is scaled.
LETTERS = 12

#: The width of a letter of the bold title, and of the note below it, in pixels.
TITLE_LETTER, NOTE_LETTER = 8.4, 6.8

#: The least width and height of a picture, and the most of both, in pixels before it is scaled.
LEAST_WIDTH, LEAST_HEIGHT, MOST = 220, 130, 4000

#: Letters that can be read and printed, in points.
SMALLEST, LARGEST = 4.0, 72.0

#: Room on the left of a plot for axis, labels and title, and on the right for the end of a label,
#: in pixels. All pictures of one width have plots of one width, unless labels need more.
LEFT, RIGHT = 68, 14

#: Room around the whole picture, in pixels.
PADDING = 3

#: The default height of a plot as a share of its width, and the bounds of that height in pixels.
SHAPE, LOWEST, HIGHEST = 0.55, 150, HEIGHT

#: Families that CSS knows without any font of that name, and those that what draws pictures brings.
KNOWN_FONTS = (
    "cursive",
    "fantasy",
    "monospace",
    "sans-serif",
    "serif",
    "system-ui",
    "Liberation Mono",
    "Liberation Sans",
    "Liberation Serif",
)

_LENGTH = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*(\S*)")
#: A picture is drawn again where labels need more room; this is the most drawings.
MOST_DRAWINGS = 3

#: The least height of legend, labels and titles together, in pixels.
BESIDES = 60


@dataclass(frozen=True)
class Paper:
    """How a picture is to be printed; an InputError where there would be no room in it."""

    #: The size of the whole picture, in points; by default its height goes by its width.
    width: float
    height: float | None = None
    #: The size of all letters but those of the title, in points, and their family; by default that
    #: of a page.
    font_size: float = 8.0
    font: str = ""
    #: Whether the picture has its title, and below it the note.
    has_title: bool = True
    #: Whether sizes were given as options of a command, for the errors.
    is_typed: bool = True

    def __post_init__(self) -> None:
        """Refuse sizes that leave no room for the chart."""
        if not SMALLEST <= self.font_size <= LARGEST:
            raise InputError(
                f"{name_option('font_size', is_typed=self.is_typed)}: expected {SMALLEST:g} to"
                f" {LARGEST:g} pt, found {self.font_size:g} pt"
            )
        for option, size, least in (
            ("width", self.width, LEAST_WIDTH),
            ("height", self.height, LEAST_HEIGHT),
        ):
            if size is not None and not least <= size / self.scale <= MOST:
                bounds = " to ".join(
                    f"{bound * self.scale / UNITS['mm']:.0f}mm" for bound in (least, MOST)
                )
                found = size / UNITS["mm"]
                raise InputError(
                    f"{name_option(option, is_typed=self.is_typed)}: expected {bounds} with letters"
                    f" of {self.font_size:g} pt, found {found:{'.4g' if found < MOST else '.0f'}}mm"
                )

    @property
    def scale(self) -> float:
        """Points for each pixel of the layout."""
        return self.font_size / LETTERS

    def draw(self, specification: Mapping[str, Any], title: str, note: str) -> str:
        """Draw a chart with its title and note as SVG, in pixels and its width, not yet scaled."""
        width = self.width / self.scale
        left, right = float(LEFT), float(RIGHT)
        for _ in range(MOST_DRAWINGS):
            laid = self._lay_out(specification, title, note, width - left - right)
            svg = draw_svg(laid)
            taken = _find_begin(svg)
            over = float(find_root(svg)[1]) - taken - laid["width"]
            if taken <= left + 0.5 and over <= right + 0.5:
                break
            left, right = max(left, taken), max(right, over)
        root = find_root(svg)
        start, height = taken - left, self.height / self.scale if self.height else float(root[2])
        size = (
            f'width="{width:.5f}" height="{height:.5f}" viewBox="{start:.2f} 0 {width:.5f}'
            f' {height:.5f}"'
        )
        ground = f'<rect x="{start:.2f}" width="{width:.5f}" height="{height:.5f}" fill="white"/>'
        opening = root[0].split(" width=", 1)[0]
        return f"{svg[: root.start()]}{opening} {size}>{ground}{svg[root.end() :]}"

    def _lay_out(
        self, specification: Mapping[str, Any], title: str, note: str, plot: float
    ) -> dict[str, Any]:
        """Give a specification its plot's width, its letters and, where it has one, its title."""
        laid = copy.deepcopy(dict(specification))
        width = self.width / self.scale
        laid["width"] = plot
        if self.height is None:
            laid.setdefault("height", round(min(max(width * SHAPE, LOWEST), HIGHEST)))
        else:
            laid["autosize"] = {"type": "fit-y", "contains": "padding"}
            laid["height"] = self.height / self.scale
        fit_specification(laid, plot, laid["height"] - (BESIDES if self.height else 0))
        if self.has_title:
            laid["title"] = {"text": textwrap.wrap(title, int(width / TITLE_LETTER))}
            if note.strip():
                laid["title"]["subtitle"] = textwrap.wrap(note.strip(), int(width / NOTE_LETTER))
        laid["padding"] = PADDING
        laid["config"] = self.configure()
        return laid

    def configure(self) -> dict[str, Any]:
        """Give Vega-Lite's configuration with the letters of the picture."""
        configuration = configure()
        font = f"'{self.font}', {FONT}" if self.font else FONT
        sizes = {"labelFontSize": LETTERS, "titleFontSize": LETTERS}
        changed: dict[str, dict[str, Any]] = {
            "axis": {**sizes, "titlePadding": 5},
            "legend": {**sizes, "offset": 6},
            "title": {"fontSize": LETTERS + 1, "subtitleFontSize": LETTERS},
            "text": {"font": font, "fontSize": LETTERS},
        }
        for name, values in changed.items():
            configuration[name] |= values
        return configuration | {"font": font}

    def print_svg(self, svg: str) -> str:
        """Give a picture that was drawn its size in millimetres."""
        root = find_root(svg)
        width, height = (float(size) * self.scale / UNITS["mm"] for size in root.groups())
        old = f' width="{root[1]}" height="{root[2]}"'
        return svg.replace(old, f' width="{width:.3f}mm" height="{height:.3f}mm"', 1)

    def print_points(self, svg: str) -> str:
        """Give a drawn picture with its size in points: what numbers without a unit are."""
        root = find_root(svg)
        width, height = (float(size) * self.scale for size in root.groups())
        found = re.search(r'viewBox="(-?[\d.]+) ', root[0])
        start = float(found[1]) if found else 0.0
        opening = root[0].split(" width=", 1)[0]
        opening += f' width="{width:.4f}" height="{height:.4f}">'
        inner = svg[root.end() :].removesuffix("</svg>")
        place = f"scale({self.scale:.6f}) translate({-start:.2f} 0)"
        return f'{svg[: root.start()]}{opening}<g transform="{place}">{inner}</g></svg>'


def _find_begin(svg: str) -> float:
    """Give where the plot of a picture begins, in pixels from its left edge."""
    found = re.search(r'transform="translate\(([\d.]+),', svg)
    return float(found[1]) if found else 0.0


def name_option(name: str, *, is_typed: bool) -> str:
    """Name an argument as the caller wrote it: ``--font-size``, or ``font_size`` in Python."""
    return f"--{name.replace('_', '-')}" if is_typed else name


def read_paper(
    width: str | None,
    height: str | None,
    font_size: float | str | None,
    font: str | None,
    *,
    has_title: bool,
    is_typed: bool,
    is_always: bool = False,
) -> Paper | None:
    """Read the sizes of pictures in print; None where none is given and none is always needed.

    Width and height are lengths with their unit, the font size one too or in points, and the font a
    family that is installed; else an InputError is raised. What is typed was given as options of a
    command, for the errors.
    """
    is_given = bool(width or height or font) or font_size is not None or not has_title
    if not (is_given or is_always):
        return None
    option = functools.partial(name_option, is_typed=is_typed)
    if font:
        check_font(font, option("font"))
    if isinstance(font_size, str):
        font_size = read_length(font_size, option("font_size"), "pt")
    return Paper(
        read_length(width or DEFAULT_WIDTH, option("width")),
        read_length(height, option("height")) if height else None,
        DEFAULT_FONT_SIZE if font_size is None else font_size,
        font or "",
        has_title,
        is_typed,
    )


def read_length(text: str, option: str, unit: str = "") -> float:
    """Read a length such as ``85mm`` and give it in points; ``unit`` is that of a bare number.

    Examples
    --------
    >>> read_length("1in", "--width"), read_length("96 px", "--width")
    (72.0, 72.0)
    """
    match = _LENGTH.fullmatch(text.strip())
    written = (match[2].lower() or unit) if match else ""
    if match and written in UNITS:
        return float(match[1]) * UNITS[written]
    known = ", ".join(UNITS)
    example = "8pt" if unit else "85mm"
    raise InputError(f'{option}: expected a length such as "{example}" ({known}), found "{text}"')


@functools.cache
def list_fonts() -> tuple[str, ...]:
    """List the families that are installed; none where fontconfig is not there."""
    program = shutil.which("fc-list")
    if program is None:
        return ()
    try:
        listed = subprocess.run(
            [program, ":", "family"], capture_output=True, text=True, timeout=10, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ()
    names = (name.strip() for line in listed.splitlines() for name in line.split(","))
    return tuple(dict.fromkeys(filter(None, names)))


def check_font(font: str, option: str) -> None:
    """Refuse a family that is not installed, whatever its case, where that can be known."""
    installed = list_fonts()
    names = (*installed, *KNOWN_FONTS)
    if installed and font.casefold() not in {name.casefold() for name in names}:
        raise InputError(f'{option}: no font "{font}" is installed{suggest(font, names)}')
