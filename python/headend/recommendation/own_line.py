"""Reads a scenario of one's own line as a tier, with the people that its flows are.

Such a scenario is written by ``headend import`` from a measurement, or by hand. It has one line, a
cable line with one modem or a plain link, and cells of Wi-Fi over which hosts may reach it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headend.design.place import read_toml
from headend.errors import InputError
from headend.files import read_bytes
from headend.recommendation.line import split_line, strip_line
from headend.recommendation.people import TABLES, list_demands, name_application, place_files
from headend.recommendation.rates import LEAST_RATE, find_capacities
from headend.recommendation.tier import DOCSIS, PLAIN, Tier, copy_tables
from headend.recommendation.tiers_file import TiersFile
from headend.scenario.cells import find_cell
from headend.scenario.file_access import FileAccess
from headend.scenario.fit_note import FitNote, read_fit_note
from headend.scenario.source import LARGEST_SCENARIO_BYTES, read_scenario
from headend.text.quantity import format_quantity, parse_quantity
from headend.text.wording import join_names

#: What a scenario of a line may have besides its link and people; none of it is used but how long
#: its own people run.
_BESIDES = (
    *("format", "title", "description", "seed", "duration", "warmup", "bottleneck", "results"),
    *("expect", "queue", "low_latency"),
)

#: Stands for the people of a scenario without any: a scenario has a flow.
_PROBE = '[flow.probe]\napplication = "ping"\n'

#: The duration of a run that ends with real programs.
_UNLIMITED = "unlimited"

#: What is expected, in errors.
_EXPECTED = (
    "expected one line, [link.cable.docsis] with one modem or [link.line.point_to_point], as"
    " `headend import` writes it"
)


def read_own_line(path: Path, allowed: tuple[Path, ...] = ()) -> TiersFile:
    """Read the scenario of a line: a single tier, and its people where its flows are some.

    Parameters
    ----------
    path
        Of the scenario.
    allowed
        Files and folders from which traces may be read besides.

    Raises
    ------
    InputError
        Beginning with the path: for what is no scenario, and for one of something else than a
        single line.
    """
    text, content = (
        read_scenario(str(path), FileAccess(allowed=allowed)),
        read_toml(path, "scenario"),
    )
    _check_links(path, content.get("link"))  # before the engine asks where each flow belongs
    if "flow" not in content and not any(map(find_cell, content["link"].values())):
        text = replace(text, content=f"{text.content}\n{_PROBE}")
    loaded = text.load()
    for key in content:
        if key not in ("link", *TABLES, *_BESIDES):
            raise text.refuse(key, f"{_EXPECTED}, without [{key}]")
    cells = {name: link for name, link in content["link"].items() if find_cell(link)}
    ((name, link),) = (
        (name, link) for name, link in loaded.resolved["link"].items() if name not in cells
    )
    kind = next(iter(link))
    note = _read_note(path)
    resolved, files = place_files(text, loaded.resolved)
    line = resolved["link"][name][kind]
    if kind == DOCSIS:
        tier = _make_cable(path, name, line, note)
    else:
        tier = _make_plain(path, name, line, note)
    tier = replace(tier, cells=copy_tables(cells))
    people = {key: copy_tables(content[key]) for key in TABLES if content.get(key)}
    flows = loaded.resolved["flow"]
    has_people = any(_is_person(own, flow) for own, flow in flows.items())
    if cells and (note or not has_people):
        own, cell = next(iter(cells.items()))
        # Such a cell was supposed, and which of the two links the delay was of is not known.
        found = "in a line that was fitted to a measurement" if note else "without [flow] of people"
        raise InputError(
            f"{path}: {_EXPECTED}; found link.{own}.{next(iter(cell))}, a cell of Wi-Fi, {found}:"
            " what helps a measured line is known when that was measured over Ethernet"
        )
    options = {} if has_people else _find_round_trip(flows)
    return TiersFile(
        path,
        (tier,),
        options=options,
        people=people if has_people else {},
        files=files,
        # A line that was fitted has the people and the duration of `headend import`.
        times=_read_times(content) if has_people and not note else {},
    )


def _read_times(content: Mapping[str, Any]) -> dict[str, str]:
    """Read how long a scenario runs with its people; a run of it has no warmup unless it says so.

    What begins, ends or changes at a time of the scenario does so in another part of another run.
    """
    found = {"warmup": str(content["warmup"])} if "warmup" in content else {}
    duration = str(content.get("duration", _UNLIMITED))
    return found if duration == _UNLIMITED else {"duration": duration, "warmup": "0 s", **found}


def _read_note(path: Path) -> FitNote | None:
    """Read what a line was fitted to, without values that are no positive numbers in order."""
    text = read_bytes(path, LARGEST_SCENARIO_BYTES, "scenario").decode("utf-8", "replace")
    note = read_fit_note(text)
    if note is None:
        return None
    values = {
        name: ends
        for name, ends in note.values.items()
        if all(map(math.isfinite, ends)) and 0 < ends[0] <= ends[1] <= ends[2]
    }
    queues = {
        way: {kind: share for kind, share in shares.items() if 0 <= share <= 1}
        for way, shares in note.queues.items()
    }
    return replace(note, values=values, queues=queues)


def _check_links(path: Path, links: Any) -> None:
    """Refuse several lines, none, and named modems; the engine sees to the rest."""
    if not isinstance(links, Mapping):
        return
    lines = {name: link for name, link in links.items() if find_cell(link) is None}
    if links and not lines:
        name, link = next(iter(links.items()))
        raise InputError(
            f"{path}: {_EXPECTED}; found link.{name}.{next(iter(link))}, a cell of Wi-Fi without a"
            " line behind it"
        )
    if len(lines) > 1:
        raise InputError(f"{path}: {_EXPECTED}; found the links {join_names(list(lines))}")
    for name, link in lines.items():
        for kind, line in link.items() if isinstance(link, Mapping) else ():
            if isinstance(line, Mapping) and (modems := line.get("modem")):
                found = f"link.{name}.{kind}.modem ({', '.join(modems)})"
                raise InputError(f"{path}: {_EXPECTED}; found {found}")


def _make_cable(path: Path, name: str, line: Mapping[str, Any], note: FitNote | None) -> Tier:
    preset, rates = line["preset"], []
    for way in ("upstream", "downstream"):
        rate = line[way].get("rate", "unlimited")
        most = find_capacities(preset)[way]
        if rate == "unlimited" and way == "upstream":
            raise InputError(
                f"{path}: link.{name}.docsis.upstream.rate: there is none; expected the rate of the"
                ' line, such as "20 Mbit/s"'
            )
        rates.append(most if rate == "unlimited" else _read_rate(path, name, way, rate))
    stays, today = split_line(strip_line(line, preset))
    stays["preset"] = preset
    up, down = rates
    return Tier(path.stem, up, down, stays, today, line=name, is_own=True, fit=note)


def _make_plain(path: Path, name: str, line: Mapping[str, Any], note: FitNote | None) -> Tier:
    rates, stays, today = [], {}, {}
    for way, key in (("upstream", "up"), ("downstream", "down")):
        table = dict(line[key])
        today[way] = {"queue": table.pop("queue")}
        stays[key] = table
        rates.append(_find_plain_rate(path, name, key, table, note))
    up, down = rates
    return Tier(path.stem, up, down, stays, today, kind=PLAIN, line=name, is_own=True, fit=note)


def _find_plain_rate(
    path: Path, name: str, key: str, table: Mapping[str, Any], note: FitNote | None
) -> float:
    """Give the rate of a direction; of one that varies, what was fitted, or its first step."""
    rate, shaper = table["rate"], table.get("shaper")
    if isinstance(rate, Mapping):
        fitted = note.values.get(f"{key}.rate") if note else None
        steps = rate.get("steps")
        if fitted is not None:
            return fitted[1]
        if not steps:
            raise InputError(
                f"{path}: link.{name}.point_to_point.{key}.rate: varies as a trace has it; expected"
                f' a "#:fit" line with {key}.rate, which `headend import` writes, or steps'
            )
        rate = steps[0][1]
    found = _read_rate(path, name, key, rate)
    return min(found, _read_rate(path, name, key, shaper["rate"])) if shaper else found


def _read_rate(path: Path, name: str, key: str, text: str) -> float:
    rate = float(round(parse_quantity(text, "rate").value))
    if rate < LEAST_RATE:
        least = format_quantity(LEAST_RATE, "rate")
        raise InputError(
            f'{path}: link.{name}, {key}: expected a rate of {least} or more, found "{text}"'
        )
    return rate


def _is_person(name: str, flow: Mapping[str, Any]) -> bool:
    """Say whether a flow is of somebody who demands something; a probe is of nobody."""
    application = name_application(flow)
    return application != "ping" and bool(list_demands(name, application))


def _find_round_trip(flows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Give the round-trip time of the first transfer or probe as that of the usual people."""
    order = sorted(flows.values(), key=lambda flow: name_application(flow) != "bulk")
    return {"rtt": rtt} if order and (rtt := order[0].get("rtt")) else {}
