"""Reads ``--traffic``: a list of people by name, or a scenario whose flows are the people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headend.engine.description import list_applications
from headend.errors import InputError
from headend.recommendation.people import (
    ROUND_TRIP,
    People,
    count_people,
    list_demands,
    make_people,
    name_application,
)
from headend.recommendation.tier import LINE, copy_tables
from headend.scenario.library import find_scenario
from headend.scenario.reach import Reach
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import read_scenario, write_value
from headend.text.wording import join_names

#: The tables of a scenario that say who the people are.
TABLES = ("flow", "host", "tcp")


@dataclass(frozen=True)
class Traffic:
    """The people behind the line, and the traces that they replay."""

    people: People
    files: tuple[Path, ...] = ()


def read_traffic(
    text: str,
    round_trip: str | Mapping[str, Any] | None = None,
    folder: Path | None = None,
    allowed: tuple[Path, ...] = (),
) -> Traffic:
    """Understand who the people are.

    Parameters
    ----------
    text
        Names with numbers, such as ``call, game, 2 uploads``; or the name or path of a scenario.
    round_trip
        To the servers of transfers and pages; None for that of the scenario, or the usual one.
    folder
        Of the file that names a scenario: it is in it or below. None where a person names it, who
        may name any.
    allowed
        Files and folders from which may be read besides.

    Raises
    ------
    InputError
        Without saying where it is written.
    """
    source = _find_source(text, folder or Path())
    if source is not None:
        if folder is not None and source not in list_scenarios():
            _check_reach(text.strip(), Reach(scenario=folder, allowed=allowed))
        return _read_flows(source, round_trip, allowed)
    counts = count_people(text, () if "," in text else tuple(list_scenarios()))
    return Traffic(make_people(tuple(counts), round_trip or ROUND_TRIP, counts))


def _check_reach(name: str, reach: Reach) -> None:
    try:
        reach.locate(name)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _find_source(text: str, folder: Path) -> str | None:
    """Give the scenario that a text names: an existing file, a path, or one that ships."""
    name = text.strip()
    path = folder / name
    if not name or "," in name:
        return None
    is_path = "/" in name or Path(name).suffix in (".toml", ".json")
    if is_path and (path.exists() or name not in list_scenarios()):
        return str(path)
    return name if name in list_scenarios() else None


def _read_flows(
    source: str, round_trip: str | Mapping[str, Any] | None, allowed: tuple[Path, ...]
) -> Traffic:
    text = read_scenario(source, Reach(allowed=allowed))
    text.load()
    content = text.parse()
    line = _find_line(content, source)
    tables = {key: copy_tables(content[key]) for key in TABLES if content.get(key)}
    for host in tables.get("host", {}).values():
        if host.get("via") == [line]:
            host["via"] = [LINE]
    return read_tables(tables, round_trip, find_scenario(source)[1].parent, allowed)


def read_tables(
    tables: Mapping[str, Any],
    round_trip: str | Mapping[str, Any] | None,
    folder: Path,
    allowed: tuple[Path, ...] = (),
) -> Traffic:
    """Make people of the tables ``flow``, ``host`` and ``tcp`` of a file.

    Parameters
    ----------
    tables
        The tables.
    round_trip
        As of `read_traffic`.
    folder
        Of the file: the traces that flows replay are in it or below.
    allowed
        Files and folders from which traces may be read besides.

    Raises
    ------
    InputError
        Beginning with the path of a key, such as ``flow.call.rtt``.
    """
    reach = Reach(scenario=folder, allowed=allowed)
    places = {}
    for name in _list_files(tables):
        try:
            places[name] = str(reach.locate(name))
        except InputError as error:
            raise InputError(f"flow: {name}: {error}") from error
    placed = {key: _place(table, places) for key, table in tables.items()}
    people = make_people_of(placed, round_trip)
    return Traffic(people, tuple(Path(path) for path in places.values()))


def _list_files(tables: Mapping[str, Any]) -> list[str]:
    """List the files that flows name; none where the tables cannot be read."""
    from headend import _engine

    text = read_scenario({"link": {LINE: {"docsis": {}}}, **tables})
    try:
        needed = _engine.required_files(text.content, format=text.format, overrides=[])
    except _engine.ScenarioError:
        return []
    return [name for name, _, _ in needed]


def _find_line(content: Mapping[str, Any], source: str) -> str:
    """Give the name of a scenario's only link, a cable line with one modem."""
    links = content.get("link", {})
    if len(links) != 1:
        raise InputError(
            f"{source}: expected flows on a single cable line, found the links"
            f" {join_names(list(links))}"
        )
    ((name, link),) = links.items()
    if "docsis" not in link:
        raise InputError(
            f'{source}: expected flows on a cable line (docsis), found the link "{name}"'
            f" ({next(iter(link), '')})"
        )
    if modems := link["docsis"].get("modem"):
        raise InputError(
            f"{source}: expected flows behind a single modem, found link.{name}.docsis.modem"
            f" ({', '.join(modems)})"
        )
    return str(name)


def _place(value: Any, places: Mapping[str, str]) -> Any:
    """Copy tables, with the paths of files in place of their names."""
    if isinstance(value, Mapping):
        return {key: _place(own, places) for key, own in value.items()}
    if isinstance(value, list):
        return [_place(own, places) for own in value]
    return places.get(value, value) if isinstance(value, str) else value


def make_people_of(
    tables: Mapping[str, Any], round_trip: str | Mapping[str, Any] | None = None
) -> People:
    """Make people of the tables ``flow``, ``host`` and ``tcp`` of a scenario.

    What must hold follows from the applications; there should be the most goodput of all transfers
    upstream.

    Raises
    ------
    InputError
        Beginning with the path of a key, such as ``flow.call.rtt``.
    """
    flows = tables.get("flow", {})
    _check_line(tables.get("host", {}))
    resolved = _resolve(tables)
    if round_trip is not None:
        distant = list_applications("distant")
        far = {name for name, flow in resolved.items() if name_application(flow) in distant}
        flows = {
            name: {**flow, "rtt": round_trip} if name in far else flow
            for name, flow in flows.items()
        }
    demands = tuple(
        text
        for name, flow in resolved.items()
        for text in list_demands(name, name_application(flow))
    )
    uploads = [
        f"{name}.goodput"
        for name, flow in resolved.items()
        if name_application(flow) in list_applications("bulk") and flow.get("direction") == "up"
    ]
    return People(
        copy_tables(flows),
        demands,
        f"most {' + '.join(uploads)}" if uploads else "",
        {key: copy_tables(tables[key]) for key in TABLES[1:] if tables.get(key)},
    )


def _check_line(hosts: Any) -> None:
    """Refuse hosts that are behind something else than the line of the tier."""
    for name, host in hosts.items() if isinstance(hosts, Mapping) else ():
        via = host.get("via") if isinstance(host, Mapping) else None
        if via and via != [LINE]:
            raise InputError(
                f'host.{name}.via: expected ["{LINE}"], the line of the tier, found'
                f" {write_value(via, '')}"
            )


def _resolve(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Give the flows with all defaults, in the order in which they are written."""
    scenario = {"link": {LINE: {"docsis": {}}}, **tables}
    reach = Reach(allowed=tuple(Path(name) for name in _list_files(tables)))
    try:
        loaded = read_scenario(scenario, reach).load()
    except InputError as error:
        raise InputError(str(error).removeprefix("scenario: ")) from error
    flows = json.loads(loaded.scenario.resolved_json())["flow"]
    return {name: flows[name] for name in tables.get("flow", {})}
