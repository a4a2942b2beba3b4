"""Reads a file of tiers: their rates or modems' files, and the options of ``headend recommend``.

::

    title = "What shall our tiers have?"
    preset = "docsis31"
    traffic = "call, game, 2 uploads"

    [tier.bronze]
    upstream = "5 Mbit/s"
    downstream = "50 Mbit/s"

    [tier.silver]
    upstream = { rate = "10 Mbit/s", peak = "15 Mbit/s", burst = "1 MB" }

    [tier.gold]
    modem = "gold.cm"

    [expect]
    call = "call.mos.p5 >= 4.0"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headend.design.place import add_line, read_toml
from headend.design.reading import refuse_unknown, show_value
from headend.errors import InputError, find_near, naming, suggest
from headend.modem_file.generation import PRESET, read_preset
from headend.recommendation.line import load_line, read_modem_tier, split_line
from headend.recommendation.people import TABLES
from headend.recommendation.rates import read_rate, suppose_downstream, write_rate
from headend.recommendation.tier import LINE, Tier, copy_tables
from headend.scenario.file_access import FileAccess
from headend.text.reveal import reveal_line

#: The options that a file can have, each with the name of the command line's, and what belongs to
#: the tiers and people.
OPTIONS = ("preset", "traffic", "rtt", "may_set", "prefer", "senders", "seeds")

_KEYS = ("format", "title", *OPTIONS, "tier", "expect", *TABLES)

_TIER_KEYS = ("upstream", "downstream", "modem", "preset")

#: What comes before a path of a tier's line in the engine's errors.
_PLACE = f"scenario: link.{LINE}.docsis."


@dataclass(frozen=True)
class TiersFile:
    """The content of a file of tiers: options as they are written, and conditions by name."""

    path: Path
    tiers: tuple[Tier, ...]
    title: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    people: Mapping[str, Any] = field(default_factory=dict)
    expect: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: Traces of the lines.
    files: tuple[Path, ...] = ()
    #: The duration and warmup of the scenario of one's own line, as far as they are written.
    times: Mapping[str, str] = field(default_factory=dict)

    def refuse(self, error: InputError) -> InputError:
        """Give an error about a value of the file with the file and the line."""
        return InputError(f"{self.path}: {add_line(str(error), self.path)}")


def is_tiers(content: Mapping[str, Any]) -> bool:
    """Say whether the content of a TOML file is one of tiers, not of a modem or a scenario.

    Examples
    --------
    >>> is_tiers({"teir": {}}), is_tiers({"upstream_service_flow": []}), is_tiers({"link": {}})
    (True, False, False)
    """
    if "link" in content:
        return False
    return any(key in _KEYS or find_near(key, ("tier",)) for key in content)


def read_tiers_file(
    path: Path, preset: str | None = None, allowed: tuple[Path, ...] = ()
) -> TiersFile:
    """Read a file of tiers; a preset and allowed files are those of the command line."""
    content = read_toml(path, "file of tiers")
    try:
        return _read(path, content, preset, FileAccess(scenario=path.parent, allowed=allowed))
    except InputError as error:
        raise InputError(f"{path}: {add_line(str(error), path)}") from error


def _read(
    path: Path, content: Mapping[str, Any], preset: str | None, access: FileAccess
) -> TiersFile:
    refuse_unknown(content, _KEYS)
    if content.get("format", 1) != 1:
        raise InputError(f"format: expected 1, found {show_value(content['format'])}")
    tables = content.get("tier", {})
    if not isinstance(tables, Mapping) or not tables:
        raise InputError(
            f"{'tier' if 'tier' in content else 'missing tiers'}: expected tables such as"
            ' [tier.bronze] with upstream = "5 Mbit/s"'
        )
    options = {key: content[key] for key in OPTIONS if key in content}
    if "traffic" in options and "flow" in content:
        raise InputError("traffic: there is [flow] too; expected one of them")
    general = preset or _read_preset(content, "preset", PRESET)
    tiers: list[Tier] = []
    notes: list[str] = []
    for name, table in tables.items():
        tier, own = _read_tier(access, name, table, preset, general)
        tiers.append(tier)
        notes += own
    title = content.get("title", "")
    if not isinstance(title, str):
        raise InputError(f"title: expected text, found {show_value(title)}")
    people, expect = _read_people(content), content.get("expect", {})
    if not isinstance(expect, Mapping):
        raise InputError(
            f"expect: expected a table [expect] of conditions, found {show_value(expect)}"
        )
    for name, text in expect.items():
        if not isinstance(text, str):
            raise InputError(
                f'expect.{name}: expected a condition such as "call.mos.p5 >= 4.0", found'
                f" {show_value(text)}"
            )
    return TiersFile(
        path,
        tuple(tiers),
        title,
        options,
        people,
        dict(expect),
        tuple(notes),
    )


def _read_preset(table: Mapping[str, Any], where: str, default: str) -> str:
    if "preset" not in table:
        return default
    with naming(where):
        return read_preset(table["preset"])


def _read_people(content: Mapping[str, Any]) -> dict[str, Any]:
    tables = {key: content[key] for key in TABLES if key in content}
    for key, table in tables.items():
        if not isinstance(table, Mapping):
            raise InputError(f"{key}: expected a table [{key}], found {show_value(table)}")
        if "flow" not in tables:
            raise InputError(f"{key}: expected [flow] beside it, whose people need it")
    if "flow" in tables and not tables["flow"]:
        raise InputError("flow: expected tables such as [flow.call], found none")
    return tables


def _read_tier(
    access: FileAccess, name: str, table: Any, preset: str | None, general: str
) -> tuple[Tier, list[str]]:
    """Read one tier, and the notes on its modem's file."""
    where = f"tier.{name}"
    if not name.strip() or reveal_line(name) != name:
        raise InputError(f'tier: expected a name in one line, found "{reveal_line(name)}"')
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: expected a table [{where}], found {show_value(table)}")
    for key in table:
        if key not in _TIER_KEYS:
            raise InputError(f"{where}.{key}: unknown key{suggest(key, _TIER_KEYS)}")
    own = preset or _read_preset(table, f"{where}.preset", general)
    if "modem" in table:
        if beside := next((key for key in ("upstream", "downstream") if key in table), None):
            raise InputError(
                f"{where}.{beside}: the rates are those of the modem's file; expected modem or"
                f" {beside}"
            )
        file = table["modem"]
        if not isinstance(file, str) or not file.strip():
            raise InputError(
                f"{where}.modem: expected the path of a file, found {show_value(file)}"
            )
        with naming(f"{where}.modem: {file}"):
            path = access.locate(file)
        with naming(f"{where}.modem"):
            return read_modem_tier(path, own, name)
    if "upstream" not in table:
        raise InputError(
            f'{where}: missing key "upstream" (or modem): its rate, such as "5 Mbit/s"'
        )
    line = {}
    for way in ("upstream", "downstream"):  # a rate each, or the keys of a service flow
        value = table.get(way, {})
        line[way] = copy_tables(value) if isinstance(value, Mapping) else {"rate": value}
    up = _read_rate(line["upstream"], f"{where}.upstream", own)
    down = suppose_downstream(up, own)
    if "downstream" in table:
        down = _read_rate(line["downstream"], f"{where}.downstream", own)
    line["downstream"]["rate"] = write_rate(down)
    whole = {"preset": own, **line}
    try:
        load_line(whole)
    except InputError as error:
        raise InputError(str(error).replace(_PLACE, f"{where}.", 1)) from error
    stays, today = split_line(whole)
    return Tier(name, up, down, stays, today if any(today.values()) else None), []


def _read_rate(table: dict[str, Any], where: str, preset: str) -> float:
    """Read the rate of a direction, and write it to its table with its usual unit."""
    if "rate" not in table:
        raise InputError(f'{where}: missing key "rate", such as rate = "5 Mbit/s"')
    with naming(where):
        rate = read_rate(table["rate"], where.rpartition(".")[2], preset)
    table["rate"] = write_rate(rate)
    return rate
