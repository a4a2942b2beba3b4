"""Measure and draw what the lessons show: ``make lessons``; ``--check`` names those that fail.

A lesson is a Markdown page of this folder. Its commands are run as they stand there, each a line
``headend run …`` or ``headend compare …`` of a code block. Two comments say what becomes of a
command:

- ``<!-- measured … -->``, a line ``QUANTITY: what it is`` for each row, quantities as in
  ``[expect]``. The table between it and ``<!-- end -->`` is written here: a column for each run, or
  what ``--set`` changes beside the scenario as it is. Of a quantity with several values (a flow
  with members, both directions), a word says which: ``lowest``, ``highest``, ``median``, ``mean``
  or ``total``. ``median`` is the median member, as the program's pages count: members of which
  nothing could be measured, such as a home where no page was ever complete, fare worst; of the two
  medians of an even number it is the one that fares worse.
- ``<!-- drawn: FIGURE -->`` or ``<!-- drawn: FIGURE / PANEL -->`` after a picture, which is a file
  in ``figures``: the figure is drawn of the results.

Both belong to the last command above, or, where there is none above, to the first of the page.

Bold text in a lesson is a measured number: it must stand in a table of the same page.
"""

from __future__ import annotations

import re
import shlex
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert
from click.testing import CliRunner

from headend.analysis.expect import Quantity, parse_quantity_name
from headend.cli.main import app
from headend.engine.metrics import list_measures
from headend.figures.catalogue import draw_figures
from headend.figures.svg import fit_specification
from headend.figures.theme import configure
from headend.running.comparison import load_results
from headend.scenario.source import read_scenario
from headend.scenario.subjects import Vocabulary
from headend.text.quantity import choose_unit, format_quantity

HERE = Path(__file__).parent

#: Of a picture, in pixels: small enough that its letters can be read where a telephone's screen
#: shrinks it.
WIDTH, HEIGHT = 440, 190

#: A picture that is larger has more points than it shows.
MOST_BYTES = 60_000

CHOOSE: dict[str, Callable[[Sequence[float]], float]] = {
    "lowest": min,
    "highest": max,
    "mean": statistics.fmean,
    "total": sum,
}

#: The choice that counts the members without a value too.
MEDIAN = "median"

_PART = re.compile(
    r"^(?P<command>headend (?:run|compare) .*?(?:\\\n.*?)*)$"
    r"|<!-- measured\n(?P<measured>.*?)-->\n(?P<table>.*?)<!-- end -->"
    r"|\]\((?P<picture>figures/[^)]*)\)\n+<!-- drawn: (?P<drawn>.*?) -->",
    re.MULTILINE | re.DOTALL,
)


def list_pages() -> list[Path]:
    """List the lessons."""
    return sorted(path for path in HERE.glob("*.md") if path.name != "README.md")


def list_commands(text: str) -> list[str]:
    """List the commands that a page runs, as they are typed."""
    return [_join(match["command"]) for match in _PART.finditer(text) if match["command"]]


def _join(command: str) -> str:
    """Give a command on one line, without the comment at its end."""
    return re.sub(r"\s+# .*", "", command.replace("\\\n", " ")).strip()


@cache
def run(command: str) -> list[Any]:
    """Run a command and give its results; with ``--set``, after those of the scenario as it is.

    Raises
    ------
    RuntimeError
        If it fails; it holds what the command printed.
    """
    words = shlex.split(command)[1:]
    with tempfile.TemporaryDirectory() as folder:
        answer = CliRunner().invoke(app, [*words, "--quiet", "--no-report", "--out", f"{folder}/r"])
        if answer.exit_code != 0:
            raise RuntimeError(f"{command}: {answer.output}")
        results = load_results([f"{folder}/r"])
    if words[0] == "run" and "--set" in words:
        (plain,) = run(f"headend run {words[1]}")
        return [plain, *results]
    return results


def name_columns(command: str) -> list[str]:
    """Give the heads of a table's columns: the choices of a comparison, or what a run is."""
    results, words = run(command), shlex.split(command)
    if words[1] == "compare":
        return [f"`{result.label}`" for result in results]
    return ["as it is", "changed"] if len(results) > 1 else ["measured"]


def measure(results: Sequence[Any], name: str) -> list[str]:
    """Give what runs measured, in one unit: ``call.mos.p50``, or ``lowest call.mos.p50``.

    Raises
    ------
    ValueError
        For a quantity that a run does not have, or several values of which none is chosen.
    """
    choice, _, quantity = name.rpartition(" ")
    choices = [*CHOOSE, MEDIAN]
    if choice and choice not in choices:
        raise ValueError(f'"{name}": expected one of {", ".join(choices)}, found "{choice}"')
    found: list[float | None] = []
    for result in results:
        scenario = read_scenario(result.manifest["scenario"]).load().scenario
        wanted = parse_quantity_name(quantity, Vocabulary.from_scenario(scenario))
        values = wanted.read(result.tables)
        if len(values) > 1 and not choice:
            words = ", ".join(choices)
            raise ValueError(f'"{name}" has {len(values)} values: put one of {words} first')
        if choice == MEDIAN:
            found.append(take_median(wanted, values))
        else:
            found.append(CHOOSE[choice or "lowest"](values) if values else None)
    unit = choose_unit(found, wanted.kind)
    return [format_quantity(value, wanted.kind, unit) for value in found]


def take_median(wanted: Quantity, values: Sequence[float]) -> float | None:
    """Give the value of the median member; None where nothing could be measured of it.

    Parameters
    ----------
    wanted
        What is measured of each member.
    values
        Of the members that have a value, in any order. The others fare worst.

    Raises
    ------
    ValueError
        For a quantity of which every member has a value, or more is neither better nor worse.
    """
    is_measure = wanted.table == "measures"
    higher_is_better = list_measures()[wanted.metric].higher_is_better if is_measure else None
    if higher_is_better is None:
        raise ValueError(
            f'"{wanted.text}": {MEDIAN} is of a measure, of which more is better or worse'
        )
    from_worst = sorted(values, reverse=not higher_is_better)
    place = (len(wanted.members) - 1) // 2 - (len(wanted.members) - len(values))
    return from_worst[place] if place >= 0 else None


def write_table(command: str, lines: str) -> str:
    """Measure what the lines of a ``measured`` comment name, and give the table."""
    results = run(command)
    rows = [["", *name_columns(command)]]
    for line in filter(None, map(str.strip, lines.splitlines())):
        name, _, label = line.partition(": ")
        rows.append([f"{label} `{name}`", *measure(results, name)])
    ruled = [rows[0], ["---", *["--:"] * len(results)], *rows[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in ruled)


def draw(command: str, name: str) -> str:
    """Draw a figure of a command's results, or one panel of it, as SVG.

    Raises
    ------
    ValueError
        For a figure or panel that these results do not have; it names those that there are.
    """
    wanted, _, panel_title = (part.strip() for part in name.partition(" / "))
    results = run(command)
    drawn = results[-1:] if shlex.split(command)[1] == "run" else results
    figures = {figure.name: figure for figure in draw_figures(drawn)}
    if wanted not in figures:
        raise ValueError(f'no figure "{wanted}" of {command}: there are {", ".join(figures)}')
    figure = figures[wanted]
    panels = {panel.title: panel for panel in figure.panels}
    if panel_title not in panels and len(panels) > 1:
        raise ValueError(f'no panel "{panel_title}" of {wanted}: there are {", ".join(panels)}')
    panel = panels.get(panel_title, figure.panels[0])
    title = ": ".join(filter(None, (figure.title, panel.title)))
    return _shorten(vl_convert.vegalite_to_svg(_size(panel.specify(), title)))


def _size(specification: dict[str, Any], title: str) -> dict[str, Any]:
    if "vconcat" not in specification:
        specification |= {"width": WIDTH, "height": HEIGHT}
    fit_specification(specification, WIDTH, HEIGHT)
    return specification | {"title": title, "config": {**configure(), "background": "white"}}


def _shorten(svg: str) -> str:
    """Leave out the decimals that no screen shows, and the descriptions of single points."""
    svg = re.sub(r' aria-label="[^"]*"| aria-roledescription="[^"]*"| role="[^"]*"', "", svg)
    return re.sub(r"\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), svg)


def find_stale(page: Path, *, write: bool) -> Iterator[str]:
    """Compare a lesson with its commands, or write it; a line for each fault that is left."""
    text = page.read_text(encoding="utf-8")
    commands = list_commands(text)
    pieces, last, command = [], 0, commands[0]
    for match in _PART.finditer(text):
        if match["command"]:
            command = _join(match["command"])
        elif match["measured"]:
            table = f"\n{write_table(command, match['measured'])}\n\n"
            if table != match["table"] and not write:
                yield f"{page.name}: the table of “{command}” is stale"
            pieces += [text[last : match.start("table")], table]
            last = match.end("table")
        else:
            yield from _check_picture(page, command, match, write=write)
    whole = "".join([*pieces, text[last:]])
    if write and whole != text:
        page.write_text(whole, encoding="utf-8")
    yield from find_loose_numbers(page, whole)


def _check_picture(page: Path, command: str, match: re.Match[str], *, write: bool) -> Iterator[str]:
    path = page.parent / match["picture"]
    svg = draw(command, match["drawn"])
    if write:
        path.parent.mkdir(exist_ok=True)
        path.write_text(svg + "\n", encoding="utf-8")
    # Letters are measured with the fonts of the machine: the same picture is not the same file
    # everywhere.
    if not path.is_file():
        yield f"{page.name}: {match['picture']} is not there"
    elif path.stat().st_size > MOST_BYTES:
        yield (
            f"{page.name}: {match['picture']} has {path.stat().st_size} bytes, {MOST_BYTES} are"
            " allowed"
        )


def find_loose_numbers(page: Path, text: str) -> Iterator[str]:
    """Find what is written in bold, and so measured, but stands in no table."""
    tables = [line for line in text.splitlines() if line.startswith("|")]
    cells = {cell.strip() for line in tables for cell in line.strip("|").split("|")}
    rest = re.sub(r"^\|[^\n]*$|```.*?```", "", text, flags=re.MULTILINE | re.DOTALL)
    for number in re.findall(r"\*\*([^*]+)\*\*", rest):
        if " ".join(number.split()) not in cells:
            yield f"{page.name}: **{number}** stands in no table of the page"


def main() -> int:
    """Write the lessons, or check them."""
    words = sys.argv[1:]
    write = "--check" not in words
    wanted = [HERE / f"{word}.md" for word in words if word != "--check"]
    faults = [fault for page in wanted or list_pages() for fault in find_stale(page, write=write)]
    print("\n".join(faults) or f"{len(wanted or list_pages())} lessons hold")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
