"""Reads a table of a line: a time in each row, with rates, a delay, or both.

The first row names the columns. Semicolons may stand between cells, as spreadsheets of many
languages write them; decimals then may have a comma.
"""

from __future__ import annotations

import csv
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headend.errors import InputError, suggest
from headend.measurement.fields import FASTEST_BIT_S, LATEST_S, LONGEST_DELAY_MS, check_span
from headend.measurement.reader import Content, Reader
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    Quantity,
    RateSeries,
    Statistic,
    Summary,
    Trip,
)
from headend.text.quantity import MOST_SHOWN
from headend.text.reveal import reveal_line
from headend.text.wording import shorten

_TIME, _DELAY, _LOSS, _LOAD = "time_s", "delay_ms", "loss", "load"

#: Columns of rates: the direction, and one of their unit in bit/s.
_RATES = {
    "down_mbps": (Direction.DOWN, 1e6),
    "up_mbps": (Direction.UP, 1e6),
    "down_bps": (Direction.DOWN, 1.0),
    "up_bps": (Direction.UP, 1.0),
}

COLUMNS = (_TIME, *_RATES, _DELAY, _LOSS, _LOAD)

#: The least and the most of each column, and what it is in errors.
_BOUNDS: Mapping[str, tuple[float, float, str]] = {
    _TIME: (-LATEST_S, LATEST_S, "a time in s"),
    _DELAY: (0.0, LONGEST_DELAY_MS, "a delay in ms, or nothing for a lost probe"),
    _LOSS: (0.0, 1.0, "a share from 0 to 1"),
    "down_mbps": (0.0, FASTEST_BIT_S / 1e6, "a rate in Mbit/s"),
    "up_mbps": (0.0, FASTEST_BIT_S / 1e6, "a rate in Mbit/s"),
    "down_bps": (0.0, FASTEST_BIT_S, "a rate in bit/s"),
    "up_bps": (0.0, FASTEST_BIT_S, "a rate in bit/s"),
}

#: Times after this are s since 1970: the year 2001.
_SINCE_1970_S = 1e9

#: A direction is filled where its rate is this share or more of its highest, and idle where it is
#: this share or less. Between these it is neither.
_FILLED, _IDLE = 0.5, 0.05

#: The highest rate is taken as this quantile, which one odd row does not change.
_HIGHEST = 0.95


@dataclass(frozen=True)
class _Row:
    """A row: its line in the file, and the cells that are not empty."""

    line: int
    cells: Mapping[str, float]
    load: Load | None


def recognises(content: Content) -> bool:
    """Whether the first line of a text names columns of a line."""
    if content.json is not None:
        return False
    head = content.data[:2000].decode(errors="replace")
    lines = [line for line in head.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        return False
    names = [
        name.strip().strip('"').lower() for name in _split(lines[0], _find_separator(lines[0]))
    ]
    return len(names) > 1 and (
        names[0].startswith("time") or any(name in COLUMNS for name in names)
    )


def _find_separator(line: str) -> str:
    return max(",;\t", key=line.count)


def _split(line: str, separator: str) -> list[str]:
    return line.split(separator)


def read(content: Content) -> Measurement:
    """Read a table.

    Raises
    ------
    InputError
        That begins with the path and the line: an unknown column, or a cell that is no number.
    """
    names, rows = _read_rows(content)
    first = rows[0].cells[_TIME]
    started = first if first >= _SINCE_1970_S else None
    begin = first if started is not None else min(first, 0.0)
    times = [row.cells[_TIME] - begin for row in rows]
    check_span(f"{content.path}:{rows[-1].line}: {_TIME}", times[0], times[-1])
    step = statistics.median([right - left for left, right in itertools.pairwise(times)] or [1.0])
    ends = [*times[1:], times[-1] + step]
    rates = list(_give_rates(names, rows, times, ends))
    delays = [one for one in [_give_delays(names, rows, times)] if one is not None]
    if not rates and not delays:
        raise InputError(f"{content.path}: expected rates or delays in it, found only empty cells")
    loads = _find_loads(names, rows)
    notes = []
    if rates and _LOAD not in names:
        notes.append(
            "What filled the line is told by the rates: half of a direction's highest or more"
            " counts as filled, a twentieth or less as idle."
        )
    return Measurement(
        tools=("a table",),
        paths=(content.path,),
        started=started,
        phases=tuple(_find_phases(loads, times, ends)),
        rates=tuple(rates),
        delays=tuple(delays),
        summaries=tuple(_sum_losses(names, rows, loads)),
        notes=tuple(notes),
    )


def _read_rows(content: Content) -> tuple[list[str], list[_Row]]:
    try:
        text = content.data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{content.path}: expected a table in UTF-8, found byte {error.start} that is not"
        ) from error
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    separator = _find_separator(lines[0][1])
    names: list[str] = []
    rows: list[_Row] = []
    for number, line in lines:
        try:
            cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
        except csv.Error as error:
            raise InputError(f"{content.path}:{number}: {error}") from error
        place = f"{content.path}:{number}"
        if not names:
            names = _read_names(place, cells)
        else:
            rows.append(_read_row(place, number, names, cells, separator))
            if len(rows) > 1 and rows[-1].cells[_TIME] <= rows[-2].cells[_TIME]:
                raise InputError(
                    f"{place}: {_TIME}: expected a later time than that of the row before"
                    f" ({rows[-2].cells[_TIME]:g}), found {rows[-1].cells[_TIME]:g}"
                )
    if not rows:
        raise InputError(f"{content.path}: expected rows after the names of columns, found none")
    return names, rows


def _read_names(place: str, cells: Sequence[str]) -> list[str]:
    names = [cell.lower() for cell in cells]
    for name in names:
        if name not in COLUMNS:
            shown = reveal_line(shorten(name, MOST_SHOWN))
            raise InputError(f'{place}: unknown column "{shown}"{suggest(name, COLUMNS)}')
        if names.count(name) > 1:
            raise InputError(f'{place}: the column "{name}" is there twice')
    if _TIME not in names:
        raise InputError(f'{place}: expected a column "{_TIME}", found none')
    told = [direction for name, (direction, _) in _RATES.items() if name in names]
    if len(told) > len(set(told)):
        raise InputError(f"{place}: expected rates of a direction in one unit, found two columns")
    if not told and _DELAY not in names:
        raise InputError(
            f'{place}: expected a column of rates or delays, such as "down_mbps", "up_mbps" or'
            f' "{_DELAY}", found none'
        )
    return names


def _read_row(
    place: str, line: int, names: Sequence[str], cells: Sequence[str], separator: str
) -> _Row:
    if len(cells) != len(names):
        hint = (
            "; decimals have a point where commas stand between cells" if separator == "," else ""
        )
        raise InputError(
            f"{place}: expected {len(names)} cells, as there are columns, found {len(cells)}"
            f"{hint if len(cells) > len(names) else ''}"
        )
    values: dict[str, float] = {}
    load: Load | None = None
    for name, cell in zip(names, cells, strict=True):
        if name == _LOAD:
            if cell and cell.lower() not in list(Load):
                raise InputError(
                    f"{place}: {name}: expected idle, up, down or both, found"
                    f' "{reveal_line(shorten(cell, MOST_SHOWN))}"'
                )
            load = Load(cell.lower()) if cell else None
        elif cell:
            values[name] = _read_number(place, name, cell, separator)
        elif name == _TIME:
            raise InputError(f"{place}: {name}: expected a time in s, found nothing")
    return _Row(line, values, load)


def _read_number(place: str, name: str, cell: str, separator: str) -> float:
    least, most, expected = _BOUNDS[name]
    text = cell.replace(",", ".") if separator != "," and cell.count(",") == 1 else cell
    try:
        # Python reads "1_000" and "nan" as well.
        value = float(text) if "_" not in text and text.isascii() else None
    except ValueError:
        value = None
    if value is None or not least <= value <= most:
        raise InputError(
            f"{place}: {name}: expected {expected}, found"
            f' "{reveal_line(shorten(cell, MOST_SHOWN))}"'
        )
    return value


def _give_rates(
    names: Sequence[str], rows: Sequence[_Row], times: Sequence[float], ends: Sequence[float]
) -> Iterator[RateSeries]:
    for name, (direction, unit) in _RATES.items():
        bins = [
            (start, end, row.cells[name] * unit)
            for row, start, end in zip(rows, times, ends, strict=True)
            if name in row.cells
        ]
        if name in names and bins:
            yield RateSeries(
                direction,
                [start for start, _, _ in bins],
                [end for _, end, _ in bins],
                [rate for _, _, rate in bins],
            )


def _give_delays(
    names: Sequence[str], rows: Sequence[_Row], times: Sequence[float]
) -> DelaySeries | None:
    if _DELAY not in names:
        return None
    found = [
        (at, row.cells[_DELAY]) for row, at in zip(rows, times, strict=True) if _DELAY in row.cells
    ]
    lost = [at for row, at in zip(rows, times, strict=True) if _DELAY not in row.cells]
    if not found:
        return None
    return DelaySeries(
        Trip.ROUND,
        Probe.UNKNOWN,
        [at for at, _ in found],
        [delay for _, delay in found],
        lost,
        len(lost),
    )


def _find_loads(names: Sequence[str], rows: Sequence[_Row]) -> list[Load | None]:
    """Say what filled the line in each row: what it says itself, or what its rates tell."""
    if _LOAD in names:
        return [row.load for row in rows]
    columns = [name for name in _RATES if name in names]
    highest: dict[str, float] = {}
    for name in columns:
        values = sorted(row.cells[name] for row in rows if name in row.cells)
        if values:
            highest[name] = values[min(len(values) - 1, int(len(values) * _HIGHEST))]
    return [_find_load(row, highest) for row in rows]


def _find_load(row: _Row, highest: Mapping[str, float]) -> Load | None:
    filled: set[Direction] = set()
    for name, most in highest.items():
        rate = row.cells.get(name)
        if rate is None or _IDLE * most < rate < _FILLED * most:
            return None
        if most > 0 and rate >= _FILLED * most:
            filled.add(_RATES[name][0])
    if not highest:
        return None
    if len(filled) > 1:
        return Load.BOTH
    return Load(next(iter(filled)).value) if filled else Load.IDLE


def _find_phases(
    loads: Sequence[Load | None], times: Sequence[float], ends: Sequence[float]
) -> list[Phase]:
    phases: list[Phase] = []
    for load, start, end in zip(loads, times, ends, strict=True):
        if load is None:
            continue
        if phases and phases[-1].load is load and phases[-1].end == start:
            phases[-1] = Phase(load, phases[-1].start, end)
        else:
            phases.append(Phase(load, start, end))
    return phases


def _sum_losses(
    names: Sequence[str], rows: Sequence[_Row], loads: Sequence[Load | None]
) -> Iterator[Summary]:
    """Give the mean of the losses of the rows of each load."""
    if _LOSS not in names:
        return
    for load in Load:
        shares = [
            row.cells[_LOSS]
            for row, one in zip(rows, loads, strict=True)
            if one is load and _LOSS in row.cells
        ]
        if shares:
            yield Summary(Quantity.LOSS, Statistic.MEAN, statistics.fmean(shares), load)


#: Tables with a time in each row.
CSV_FILE = Reader("a table", "CSV whose first line names time_s and others", recognises, read)
