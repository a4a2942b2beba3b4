"""Other texts for what figures call their axes, series, categories and panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headend.errors import InputError, find_near
from headend.figures.figure import Figure, Panel
from headend.figures.names import find_fields, find_titles
from headend.text.wording import join_names, list_names

#: Of the names in an error, so many are listed.
MOST_LISTED = 40


def list_names_of(figure: Figure) -> list[str]:
    """List what a figure shows by name: titles of panels and axes, series, and categories."""
    shown: dict[str, None] = {}
    for panel in figure.panels:
        specification = panel.specify()
        fields = find_fields(specification, only_shown=True)
        names = (own for values in fields.values() for own in values)
        shown |= dict.fromkeys([panel.title, *find_titles(specification), *names])
    return [name for name in shown if name]


def read_renames(texts: Sequence[str], figures: Sequence[Figure], option: str) -> dict[str, str]:
    """Read texts for names, each as ``NAME=TEXT``.

    Parameters
    ----------
    texts
        As they were typed. A name may hold ``=`` too: the longest one that is there counts.
    figures
        Those that show the names.
    option
        Where the texts come from, for the errors.

    Raises
    ------
    InputError
        For what has no name or no text, and for a name given twice.
    """
    known = _list_known(figures)
    found: dict[str, str] = {}
    for typed in texts:
        places = [place for place, letter in enumerate(typed) if letter == "="]
        parts = [(typed[:place].strip(), typed[place + 1 :].strip()) for place in places]
        parts = [(name, text) for name, text in parts if name and text]
        if not parts:
            raise InputError(
                f'{option}: expected NAME=TEXT, such as "queue delay (ms)=Delay (ms)", found'
                f' "{typed}"'
            )
        exact = [part for part in parts if part[0] in known]
        near = [part for part in parts if find_near(part[0], known)]
        name, text = exact[-1] if exact else (near or parts)[0]
        if found.setdefault(name, text) != text:
            raise InputError(f'{option}: "{name}" has two texts, "{found[name]}" and "{text}"')
    return found


def rename_figures(
    figures: Sequence[Figure], names: Mapping[str, str], option: str
) -> list[Figure]:
    """Give figures with texts in place of names that they show.

    Parameters
    ----------
    figures
        Each name is shown by one of them at least.
    names
        The text for each name: of an axis, a legend entry, a category along an axis, or a panel.
    option
        Where the names come from, for the errors.

    Raises
    ------
    InputError
        For a name that no figure shows, with the one that was perhaps meant and those that there
        are; and where two names of one chart would be the same.
    """
    if not names:
        return list(figures)
    known = _list_known(figures)
    for name in names:
        if name not in known:
            near = find_near(name, known)
            hint = f'; did you mean "{near}"?' if near else "."
            there = list_names([f'"{own}"' for own in known], MOST_LISTED)
            raise InputError(
                f'{option}: no axis, series or panel is called "{name}"{hint} There are {there}'
            )
    return [
        replace(figure, panels=[_rename_panel(own, figure, names, option) for own in figure.panels])
        for figure in figures
    ]


def _rename_panel(panel: Panel, figure: Figure, names: Mapping[str, str], option: str) -> Panel:
    """Give a panel with texts for its names; its file keeps its name."""
    for values in find_fields(panel.specify(), only_shown=False).values():
        texts: dict[str, list[str]] = {}
        for value in values:
            texts.setdefault(names.get(value, value), []).append(value)
        for text, both in texts.items():
            if len(both) > 1:
                told = join_names([f'"{own}"' for own in both])
                raise InputError(f'{option}: {told} would all be called "{text}"')
    return replace(
        panel,
        title=names.get(panel.title, panel.title),
        name=panel.name or f"{panel.title} {figure.name}",
        texts={**panel.texts, **names},
    )


def _list_known(figures: Sequence[Figure]) -> list[str]:
    return list(dict.fromkeys(own for figure in figures for own in list_names_of(figure)))
