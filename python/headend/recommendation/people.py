"""The people behind a tier: ``--traffic`` and ``--rtt``, and what must hold for each by default.

What people demand of an application is the engine's to say; the bounds are marks of
`headend.analysis.grading`.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headend.analysis.grading import ORDER, Grade, list_marks
from headend.engine.description import find_application, list_applications
from headend.errors import InputError, find_near, naming, suggest
from headend.files import parse_toml
from headend.recommendation.tier import LINE, copy_tables
from headend.scenario.file_access import FileAccess
from headend.scenario.library import find_scenario
from headend.scenario.parameters import name_choice
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import Text, read_scenario, write_value
from headend.text.quantity import read_digits
from headend.text.wording import join_names

#: The round-trip time to the servers of uploads and pages: in the middle of the 45 means of
#: CM-GL-Buffer, Appendix I.
ROUND_TRIP = "46.9 ms"

#: A round-trip time as scenarios have it: a time, or a table with its distribution.
RoundTrip = str | Mapping[str, Any]

#: The tables of a scenario that say who the people are.
TABLES = ("flow", "host", "tcp")


@dataclass(frozen=True)
class People:
    """The people behind the line.

    Parameters
    ----------
    flows
        The ``[flow]`` tables of the scenario.
    conditions
        What must hold for them by default, in the words of ``[expect]``.
    objective
        What there should be most or least of then, as ``--prefer`` has it; empty for nothing.
    others
        Other tables of the scenario that the flows need: ``host``, ``tcp``.
    local
        The flows that stay at home, in a cell before the line.
    """

    flows: Mapping[str, Mapping[str, Any]]
    conditions: tuple[str, ...]
    objective: str
    others: Mapping[str, Any] = field(default_factory=dict)
    local: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it; `from_dict` makes the same people of it."""
        return {
            "flow": copy_tables(self.flows),
            "conditions": list(self.conditions),
            "objective": self.objective,
            "others": copy_tables(self.others),
            **({"local": list(self.local)} if self.local else {}),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> People:
        """Make the people of what `to_dict` gave."""
        conditions, local = tuple(content["conditions"]), tuple(content.get("local", ()))
        return cls(content["flow"], conditions, content["objective"], content["others"], local)


#: People, and the traces that they replay.
Traffic = tuple[People, tuple[Path, ...]]


def list_demands(flow: str, application: str) -> list[str]:
    """List what must hold of a flow by its application, in the words of ``[expect]``.

    Examples
    --------
    >>> list_demands("anna", "voice"), list_demands("shop", "web"), list_demands("backup", "bulk")
    (['anna.mos.p5 >= 4.0'], ['shop.page_load_time.p50 <= 2 s'], [])
    """
    marks = {mark.metric: mark for mark in list_marks(application)}
    kinds = dict.fromkeys(kind for kind, _ in find_application(application).measures)
    found = []
    for kind in sorted(kinds, key=lambda kind: kind.place):
        statistic, grade = kind.demand or ("", "")
        if mark := marks.get(f"{kind.name}.{statistic}"):
            place = ORDER.index(Grade(grade)) - 1
            is_score = mark.kind == "number"
            bound = f">= {mark.bounds[place]:.1f}" if is_score else mark.write_bound(place)
            found.append(f"{flow}.{mark.metric} {bound}")
    return found


def name_application(flow: Mapping[str, Any]) -> str:
    """Give the application of a flow, written as a name or as a table with its parameters."""
    return name_choice(flow.get("application"))


# People by name.

#: Who can be named with ``--traffic``, and what they do.
KNOWN: Mapping[str, Mapping[str, Any]] = {
    "call": {"application": "voice", "rtt": "40 ms", "dscp": 46},
    "game": {"application": "game", "rtt": "30 ms", "dscp": 45},
    "page": {"application": {"web": {"page": "2 MB", "pause": "4 s"}}},
    "upload": {"application": "bulk", "direction": "up", "start": "2 s"},
    "video": {"application": "video_call", "rtt": "40 ms"},
}

#: Other words for them.
_ALIASES = {"video call": "video", "voice call": "call", "web page": "page"}

#: Digits of the largest number of people.
MOST_DIGITS = 9

#: One of a list: how many, and of whom.
_ITEM = re.compile(r"(?:([+-]?[0-9]+)\s*[x×]?\s*)?(.*)", re.IGNORECASE | re.DOTALL)


def make_people(
    names: Sequence[str] = tuple(KNOWN),
    round_trip: RoundTrip = ROUND_TRIP,
    counts: Mapping[str, int] | None = None,
) -> People:
    """Make the people of a list of names in `KNOWN`.

    Parameters
    ----------
    round_trip
        To the servers of uploads and pages.
    counts
        How many there are of a name, where there are several.
    """
    flows: dict[str, dict[str, Any]] = {}
    for name in names:
        flow = flows[name] = {**KNOWN[name]}
        flow.setdefault("rtt", round_trip)
        if (count := (counts or {}).get(name, 1)) > 1:
            flow["count"] = count
    return People(
        flows, _list_all_demands(flows), "most upload.goodput" if "upload" in flows else ""
    )


def _list_all_demands(flows: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    demands = (list_demands(name, name_application(flow)) for name, flow in flows.items())
    return tuple(text for own in demands for text in own)


def count_people(text: str, besides: Sequence[str] = ()) -> dict[str, int]:
    """Read a list of names, such as ``call, game, 2 uploads``: counts of each, in `KNOWN`'s order.

    Parameters
    ----------
    besides
        What else may be meant by an unknown name.

    Raises
    ------
    InputError
        Without saying where the list is written.

    Examples
    --------
    >>> count_people("2 uploads, call"), count_people("video-call")
    ({'call': 1, 'upload': 2}, {'video': 1})
    """
    found: dict[str, int] = {}
    for item in text.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None or not (word := match[2].strip()):
            raise InputError(
                f'expected people such as "call, game, 2 uploads" ({", ".join(KNOWN)}), found'
                f' "{text}"'
            )
        name = _find_person(word)
        if name is None:
            near = find_near(word, (*KNOWN, *_ALIASES, *besides))
            hint = f'did you mean "{near}"?' if near else f"there are {', '.join(KNOWN)}"
            raise InputError(f'nobody is called "{word}"; {hint}')
        try:
            count = read_digits(match[1] or "1", MOST_DIGITS)
        except ValueError as error:
            raise InputError(
                f"expected fewer than 10^{MOST_DIGITS} of {name}, found more"
            ) from error
        if count < 1:
            raise InputError(f'expected 1 {name} or more, found "{item.strip()}"')
        found[name] = found.get(name, 0) + count
    return {name: found[name] for name in KNOWN if name in found}


def _find_person(word: str) -> str | None:
    """Give the name in `KNOWN` that a word stands for, singular or plural, in any case; or None.

    Examples
    --------
    >>> _find_person("Pages"), _find_person("video_call"), _find_person("phone")
    ('page', 'video', None)
    """
    spelled = " ".join(re.split(r"[\s_-]+", word.lower()))
    known = {name: name for name in KNOWN} | _ALIASES
    return known.get(spelled) or known.get(spelled.removesuffix("s"))


# People of a scenario.


def read_traffic(
    text: str,
    round_trip: RoundTrip | None = None,
    folder: Path | None = None,
    allowed: tuple[Path, ...] = (),
    line: str = LINE,
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
    line
        The name of the tiers' line.

    Raises
    ------
    InputError
        Without saying where it is written.
    """
    name, shipped = text.strip(), list_scenarios()
    path = (folder or Path()) / name
    is_path = "/" in name or Path(name).suffix in (".toml", ".json")
    if "," not in name and is_path and (path.exists() or name not in shipped):
        source = str(path)
    elif name in shipped:
        source = name
    else:
        counts = count_people(text, () if "," in text else tuple(shipped))
        return make_people(tuple(counts), round_trip or ROUND_TRIP, counts), ()
    if folder is not None and source not in shipped:
        with naming(name):
            FileAccess(scenario=folder, allowed=allowed).locate(name)
    scenario = read_scenario(source, FileAccess(allowed=allowed))
    scenario.load()
    content = scenario.parse()
    own = _find_line(content, source)
    tables = {key: copy_tables(content[key]) for key in TABLES if content.get(key)}
    for host in tables.get("host", {}).values():
        if host.get("via") == [own]:
            host["via"] = [line]
    return read_tables(tables, round_trip, find_scenario(source)[1].parent, allowed, line)


def _find_line(content: Mapping[str, Any], source: str) -> str:
    """Give the name of a scenario's only link, a cable line with one modem, or a plain link."""
    links = content.get("link", {})
    if len(links) != 1:
        raise InputError(
            f"{source}: expected flows on a single line, found the links {join_names(list(links))}"
        )
    ((name, link),) = links.items()
    if "point_to_point" in link:
        return str(name)
    if "docsis" not in link:
        raise InputError(
            f"{source}: expected flows on a cable line (docsis) or a plain link, found the link"
            f' "{name}"'
            f" ({next(iter(link), '')})"
        )
    if modems := link["docsis"].get("modem"):
        raise InputError(
            f"{source}: expected flows behind a single modem, found link.{name}.docsis.modem"
            f" ({', '.join(modems)})"
        )
    return str(name)


def read_tables(
    tables: Mapping[str, Any],
    round_trip: RoundTrip | None,
    folder: Path,
    allowed: tuple[Path, ...] = (),
    line: str = LINE,
    cells: Mapping[str, Any] | None = None,
) -> Traffic:
    """Make people of the tables ``flow``, ``host`` and ``tcp`` of a file in a folder.

    What must hold follows from the applications; there should be the most goodput of all transfers
    upstream. Errors begin with the path of a key, such as ``flow.call.rtt``.

    Parameters
    ----------
    cells
        The cells of Wi-Fi before the line, over which hosts may reach it.
    """
    access = FileAccess(scenario=folder, allowed=allowed)
    places, links = {}, {**(cells or {}), line: {"docsis": {}}}
    for name in _list_files(tables, links):
        with naming(f"flow: {name}"):
            places[name] = str(access.locate(name))
    tables = {key: _place(table, places) for key, table in tables.items()}
    hosts = tables.get("host", {})
    for name, host in hosts.items() if isinstance(hosts, Mapping) else ():
        via = host.get("via") if isinstance(host, Mapping) else None
        if via and via != [line] and not _is_behind_cells(via, line, cells or {}):
            raise InputError(
                f'host.{name}.via: expected ["{line}"], the line of the tier, found'
                f" {write_value(via, '')}"
            )
    access = FileAccess(allowed=tuple(map(Path, _list_files(tables, links))))
    try:
        loaded = read_scenario({"link": links, **tables}, access).load()
    except InputError as error:
        raise InputError(str(error).removeprefix("scenario: ")) from error
    flows, known = tables.get("flow", {}), json.loads(loaded.scenario.resolved_json())["flow"]
    resolved = {name: known[name] for name in flows}  # with all defaults, as they are ordered
    applications = {name: name_application(flow) for name, flow in resolved.items()}
    if round_trip is not None:
        distant = list_applications("distant")
        flows = {
            name: {**flow, "rtt": round_trip} if applications[name] in distant else flow
            for name, flow in flows.items()
        }
    bulk, local = list_applications("bulk"), _list_local(resolved, hosts, line)
    uploads = [
        f"{name}.goodput"
        for name, flow in resolved.items()
        if applications[name] in bulk and flow.get("direction") == "up" and name not in local
    ]
    people = People(
        copy_tables(flows),
        _list_all_demands(resolved),
        f"most {' + '.join(uploads)}" if uploads else "",
        {key: copy_tables(tables[key]) for key in TABLES[1:] if tables.get(key)},
        local,
    )
    return people, tuple(map(Path, places.values()))


def _is_behind_cells(via: Any, line: str, cells: Mapping[str, Any]) -> bool:
    """Say whether a host's way leads over cells, and then over the line or nowhere."""
    if not isinstance(via, list) or not all(isinstance(hop, str) for hop in via):
        return False
    before = via[:-1] if via[-1] == line else via
    return bool(before) and all(hop.partition(".")[0] in cells for hop in before)


def _list_local(
    flows: Mapping[str, Mapping[str, Any]], hosts: Mapping[str, Any], line: str
) -> tuple[str, ...]:
    """List the flows between two hosts of which one is not on the line: they stay at home."""
    ways = {name: host.get("via") for name, host in hosts.items()}
    return tuple(
        name
        for name, flow in flows.items()
        if flow.get("peer")
        and any(
            (via := ways.get(str(flow.get(end, "")).partition(".")[0])) and line not in via
            for end in ("host", "peer")
        )
    )


def place_files(text: Text, tables: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """Copy a scenario's tables, with the paths of its files in place of names; and these paths."""
    places = {name: str(text.access.locate(name)) for name in _list_needed(text)}
    return {key: _place(own, places) for key, own in tables.items()}, tuple(
        map(Path, places.values())
    )


def _list_files(tables: Mapping[str, Any], links: Mapping[str, Any]) -> list[str]:
    """List the files that flows name; none where the tables cannot be read."""
    return _list_needed(read_scenario({"link": links, **tables}))


def _list_needed(text: Text) -> list[str]:
    """List the files that a scenario names; none where it cannot be read."""
    from headend import _engine

    try:
        needed = _engine.required_files(text.content, format=text.format, overrides=[])
    except _engine.ScenarioError:
        return []
    # Code is executed only where a person names it.
    return [
        name for name, _, kind in needed if kind in ("config", "data") and not name.endswith(".py")
    ]


def _place(value: Any, places: Mapping[str, str]) -> Any:
    """Copy tables, with the paths of files in place of their names."""
    if isinstance(value, Mapping):
        return {key: _place(own, places) for key, own in value.items()}
    if isinstance(value, list):
        return [_place(own, places) for own in value]
    return places.get(value, value) if isinstance(value, str) else value


# Round-trip times.

#: Between the ends of a range.
_TO = re.compile(r"\s+to\s+|\s*\.\.\s*|\s*–\s*|(?<=\w)\s*-\s*(?=[0-9])")

#: A number without a unit, which has that of the other end.
_BARE = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")

#: What the engine's errors begin with.
_PLACE = re.compile(r"scenario: flow\.probe\.rtt(?:\.([\w.]+))?")


def read_round_trip(value: Any) -> RoundTrip:
    """Read ``--rtt``.

    Parameters
    ----------
    value
        ``20 ms``, ``20 ms to 100 ms`` (evenly), a city of CM-GL-Buffer, Appendix I, such as
        ``boston``, ``all`` for all three, or a table as in a scenario.

    Raises
    ------
    InputError
        Without saying where it is written.

    Examples
    --------
    >>> read_round_trip("20 to 100 ms"), read_round_trip("Boston"), read_round_trip("35 ms")
    ({'from': '20 ms', 'to': '100 ms'}, {'sites': 'boston'}, '35 ms')
    """
    found = _read_round_trip(value)
    probe = {"application": "ping", "rtt": found}
    try:
        read_scenario({"link": {"line": {"docsis": {}}}, "flow": {"probe": probe}}).load()
    except InputError as error:
        match = _PLACE.match(str(error))
        reason = str(error)[match.end() :].lstrip(": ") if match else str(error)
        raise InputError(f"{match[1]}: {reason}" if match and match[1] else reason) from error
    return found


def _read_round_trip(value: Any) -> RoundTrip:
    if isinstance(value, Mapping):
        return value
    cities = _list_cities()
    expected = (
        'expected a time such as "40 ms", two such as "20 ms to 100 ms",'
        f" or a city ({', '.join(cities)})"
    )
    if not isinstance(value, str):
        raise InputError(f"{expected}, found {json.dumps(value, default=str)}")
    text = value.strip().replace("µ", "u")
    if text.startswith("{"):
        try:
            table = parse_toml(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError as error:
            raise InputError(
                f'{expected}, or a table such as {{ sites = "boston" }}, found "{text}"'
            ) from error
        return table if isinstance(table, Mapping) else {}
    word = text.lower()
    if word in cities:
        return {"sites": word}
    if not any(letter.isdigit() for letter in text):
        raise InputError(f'{expected}, found "{value}"{suggest(word, cities)}')
    ends = _TO.split(text)
    if len(ends) == 2:
        first, last = ends
        unit = last.lstrip("0123456789. ")
        return {"from": f"{first} {unit}" if _BARE.fullmatch(first) else first, "to": last}
    return text


@functools.cache
def _list_cities() -> tuple[str, ...]:
    """List the cities whose distances to popular sites are known, and the word for all of them."""
    from headend import _engine

    place = json.loads(_engine.schema())["$defs"]["Place"]
    forms = place.get("oneOf", [place])
    return tuple(
        sorted(name for form in forms for name in (form.get("enum") or [form.get("const")]))
    )
