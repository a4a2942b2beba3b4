"""What a figure is: charts with a name, a title and the sentences that explain them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.apart import tell_apart
from headend.figures.names import put_texts
from headend.figures.theme import PALETTE
from headend.text.wording import list_names

#: More lines than this cannot be told apart, so the rest are left out and the figure names them.
MOST_SERIES = 7

#: Of what is left out, so many are named one by one.
MOST_NAMED = 12

#: Signs that look like those that a chart's titles may not have.
_NO_ESCAPES = str.maketrans({"\\": "\u29f5", "\n": "␊"})


@dataclass(frozen=True)
class Panel:
    """One chart; its title says which flow, queue or value it shows, or is empty when it is alone.

    Its name is for files; by default, what it shows and the figure's name.
    """

    title: str
    chart: vl.Chart
    name: str = ""
    #: What sets it apart from other panels of its figure: the value of each factor, by name.
    place: Mapping[str, str] = field(default_factory=dict)
    #: Texts in place of names that it shows, as `renaming.rename_figures` has checked them.
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def height(self) -> int | None:
        """The pixels of its plot, where its rows decide on them; None where the page does."""
        # Charts of another library have parts of their own.
        height = self.chart.parts.get("height") if isinstance(self.chart, vl.Chart) else None
        return height if isinstance(height, int) else None

    def specify(self, *, packed: bool = False) -> dict[str, Any]:
        """Give its Vega-Lite specification without an address in it; tests check the schema.

        Data sets that are ``packed`` are columns by name instead of rows, for a page to unpack.
        """
        specification: dict[str, Any]
        chart: Any = self.chart
        if packed and isinstance(chart, vl.Chart):
            specification = _clean_titles(chart.to_dict(as_columns=True))
        else:
            # A study of somebody else may draw with Altair, whose charts have rows.
            specification = _clean_titles(chart.to_dict())
            if packed:
                sets = specification.get("datasets", {})
                # What a row does not have is null.
                specification["datasets"] = {
                    name: {
                        column: [row.get(column) for row in rows]
                        for column in dict.fromkeys(column for row in rows for column in row)
                    }
                    for name, rows in sets.items()
                }
        if self.texts:
            put_texts(specification, {own: _clean_title(new) for own, new in self.texts.items()})
        tell_apart(specification)
        # Altair's charts bring both.
        for name in ("$schema", "config"):
            specification.pop(name, None)
        return specification


def _clean_title(text: str) -> str:
    return text.translate(_NO_ESCAPES)


def _clean_titles(part: Any, name: str = "") -> Any:
    """Keep a title of several lines, or with a backslash, out of Vega's expressions."""
    if name in ("data", "datasets"):
        return part
    if name == "title" and isinstance(part, str):
        return _clean_title(part)
    if isinstance(part, list):
        return [_clean_titles(item) for item in part]
    if isinstance(part, dict):
        return {key: _clean_titles(value, key) for key, value in part.items()}
    return part


@dataclass(frozen=True)
class Figure:
    """Charts that answer one question."""

    #: For file names and links.
    name: str
    title: str
    #: What to look at, and what good looks like; ends with the note.
    explanation: str
    panels: list[Panel] = field(default_factory=list)
    #: What is not drawn, though it belongs there: pictures alone carry it too.
    note: str = ""
    #: What the files of its panels are called where only some of its panels are left; by default
    #: their names.
    stems: tuple[str, ...] = ()
    #: The tier of a comparison that it is of, which its title ends in; empty where it is of all.
    group: str = ""
    #: Its name and title without the tier; empty where it is of all.
    base_name: str = ""
    base_title: str = ""


def make_figure(
    name: str, title: str, explanation: str, panels: list[Panel], note: str = ""
) -> Figure | None:
    """Make a figure whose explanation ends with the note; None where there is no panel."""
    return Figure(name, title, explanation + note, panels, note) if panels else None


@dataclass(frozen=True)
class Order:
    """What flows have in common over all figures of one report."""

    #: The place in the palette of each.
    slots: Mapping[str, int] = field(default_factory=dict)
    #: What is drawn where there is no room for all: the least first.
    ranks: Mapping[str, int] = field(default_factory=dict)
    #: The place from which on those are numbered that have none.
    first: int = 0
    #: What is told apart, as the name of a factor.
    what: str = "flow"


def lay_out(
    frames: Mapping[str, pl.DataFrame],
    draw: Callable[[pl.DataFrame], vl.Chart],
    order: Callable[[], Order] = Order,
) -> tuple[list[Panel], str]:
    """Make the panels of a figure from rows that have a ``key`` (flow, queue), by label of the run.

    What draws the rows tells them apart by ``series``, coloured by ``slot``. The order says what
    goes first and which colours it has; by default that is what is met first, and the colours of
    the palette in turn. A sentence names what was left out, if anything was.
    """
    filled = {label: frame for label, frame in frames.items() if not frame.is_empty()}
    if not filled:
        return [], ""
    common = order()
    keys = list(dict.fromkeys(key for frame in filled.values() for key in frame["key"]))
    kept, note = choose_keys(keys, common.ranks)
    if all(key in common.slots for key in kept):
        kept.sort(key=lambda key: common.slots[key])
    if len(frames) == 1:
        rows = next(iter(filled.values())).filter(pl.col("key").is_in(kept))
        slots = _give_slots(kept, common)
        return [Panel("", draw(_mark(rows, pl.col("key"), slots, slots)))], note
    panels = []
    for key in kept:
        parts = [
            _mark(frames[label].filter(pl.col("key") == key), pl.lit(label), {label: slot}, frames)
            for slot, label in enumerate(frames)
            if label in filled
        ]
        rows = pl.concat([part for part in parts if not part.is_empty()], how="diagonal")
        panels.append(Panel(key, draw(rows), place={common.what: key}))
    return panels, note


def choose_keys(keys: Sequence[str], ranks: Mapping[str, int]) -> tuple[list[str], str]:
    """Choose what is drawn where not all can be, in the order given, and name the rest.

    Examples
    --------
    >>> choose_keys(["ping", *"abcdefg"], {"ping": 9} | dict.fromkeys("abcdefg", 0))[1]
    ' Not drawn, as there is room for 7: ping.'
    """
    best = sorted(keys, key=lambda key: ranks.get(key, len(ranks)))[:MOST_SERIES]
    left = [key for key in keys if key not in best]
    note = f" Not drawn, as there is room for {MOST_SERIES}: {list_names(left, MOST_NAMED)}."
    return [key for key in keys if key in best], note if left else ""


def _mark(
    rows: pl.DataFrame, series: pl.Expr, slots: Mapping[str, int], order: Iterable[str]
) -> pl.DataFrame:
    numbers = {key: number for number, key in enumerate(order)}
    return rows.with_columns(series=series).with_columns(
        slot=pl.col("series").replace_strict(dict(slots), return_dtype=pl.Int64),
        place=pl.col("series").replace_strict(numbers, return_dtype=pl.Int64),
    )


def _give_slots(keys: Sequence[str], order: Order) -> dict[str, int]:
    """Keep the known places that have a colour of their own; others get free ones."""
    slots = order.slots
    if order.first:
        return {key: slots.get(key, order.first + number) for number, key in enumerate(keys)}
    taken: dict[int, str] = {}
    for key in keys:
        if slots.get(key, len(PALETTE)) < len(PALETTE):
            taken.setdefault(slots[key], key)
    known = {key: slot for slot, key in taken.items()}
    others = set(slots.values())
    unused = sorted(range(len(PALETTE)), key=lambda slot: slot in others)
    free = (
        slot for slot in itertools.chain(unused, itertools.count(len(PALETTE))) if slot not in taken
    )
    return {key: known[key] if key in known else next(free) for key in keys}
