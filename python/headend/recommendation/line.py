"""The line of a tier: what of it stays whatever is set, and what it has today."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headend.errors import InputError, naming
from headend.modem_file.check import suppose
from headend.modem_file.reading import read_any_form
from headend.recommendation.rates import find_capacities, read_rate
from headend.recommendation.tier import LINE, Tier, copy_tables
from headend.scenario.library import refuse_standard_input
from headend.scenario.modems import write_modems
from headend.scenario.source import Overrides, read_scenario

#: What candidates replace of the primary service flow upstream, and downstream.
_REPLACED = {
    "upstream": ("queue", "low_latency", "aqm_disabled"),
    "downstream": ("low_latency",),
}

_WAYS = tuple(_REPLACED)

#: What a resolved line has of its modem's file.
_OF_FILE = ("config", "config_read", "ignore_mic")

#: What the engine advises for a file whose MIC is wrong, and what helps here, where no scenario has
#: a line.
_IGNORE_MIC = f", and link.{LINE}.docsis.ignore_mic = true simulates it as it is"
_SIGN_ANEW = (
    ", and `headend config decode FILE | headend config encode - --mic -o NEW` signs it anew"
)

#: What the engine's errors about a modem's file end with.
_PLACE = f" (link.{LINE}.docsis.config)"


def split_line(line: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the content of ``[link.cable.docsis]`` into what stays and what candidates replace.

    The downstream queue is replaced only where it belongs to low latency.

    Examples
    --------
    >>> split_line({"upstream": {"rate": "5 Mbit/s", "queue": "docsis_pie"}, "downstream": {}})
    ({'upstream': {'rate': '5 Mbit/s'}, 'downstream': {}}, {'upstream': {'queue': 'docsis_pie'},
    'downstream': {}})
    """
    stays, today = dict(line), {}
    for way, keys in _REPLACED.items():
        table = line.get(way, {})
        replaced = (*keys, "queue") if "low_latency" in table else keys
        stays[way] = {key: value for key, value in table.items() if key not in replaced}
        today[way] = {key: value for key, value in table.items() if key in replaced}
    return stays, today


def load_line(
    line: Mapping[str, Any], modem: Path | None = None, content: bytes | None = None
) -> tuple[dict[str, Any], list[Mapping[str, Any]]]:
    """Give a line with all defaults, and what became of the file of its modem.

    Raises
    ------
    InputError
        As the engine says it.
    """
    scenario = {"link": {LINE: {"docsis": line}}, "flow": {"probe": {"application": "ping"}}}
    overrides: Overrides = write_modems(modem)
    files = {str(modem): content} if modem is not None and content is not None else None
    loaded = read_scenario(scenario).load(overrides, files)
    read = json.loads(loaded.scenario.modem_files_json()) if modem is not None else []
    docsis: dict[str, Any] = loaded.resolved["link"][LINE]["docsis"]
    return docsis, read


def read_modem_tier(path: Path, preset: str, name: str | None = None) -> tuple[Tier, list[str]]:
    """Make a tier of a modem's configuration file, binary or as text, with notes on the file.

    Parameters
    ----------
    preset
        The generation of the modem, of which the file says nothing.
    name
        What the tier is called; by default as the file.

    Raises
    ------
    InputError
        Beginning with the path.
    """
    refuse_standard_input(path, "the file of a modem", "its path")
    content = read_any_form(str(path)).content
    try:
        line, read = load_line({"preset": preset}, path, content)
    except InputError as error:
        reason = str(error).removeprefix("scenario: ").removesuffix(_PLACE)
        reason = reason.replace(_IGNORE_MIC, _SIGN_ANEW)
        raise InputError(reason if reason.startswith(str(path)) else f"{path}: {reason}") from error
    upstream = _find_rate(line, "upstream", preset, path)
    downstream = _find_rate(line, "downstream", preset, path)
    stays, today = split_line(strip_line(line, preset))
    stays["preset"] = preset
    # gold of gold.cm, and of gold.cm.toml
    name = name or (Path(path.stem).stem if path.suffix in (".toml", ".json") else path.stem)
    tier = Tier(name, upstream, downstream, stays, today, path)
    notes = [note for own in read for note in own["notes"]]
    if supposed := suppose(content, preset):
        notes.insert(0, supposed)
    return replace(tier, supposed=supposed), [f"{path}: {note}" for note in notes]


def _find_rate(line: Mapping[str, Any], way: str, preset: str, path: Path) -> float:
    """Give the sustained rate of a direction; without one downstream has that of the channel."""
    rate = line[way].get("rate", "unlimited")
    if rate == "unlimited":
        if way == "downstream":
            return find_capacities(preset)[way]
        raise InputError(
            f"{path}: the primary upstream service flow has no maximum sustained rate (TLV 24.8),"
            " and buffers are chosen for a rate; expected one"
        )
    with naming(f"{path}: {way}"):
        return read_rate(rate, way, preset)


def strip_line(line: Mapping[str, Any], preset: str) -> dict[str, Any]:
    """Leave out of a resolved line what has its default there: the line is the same without."""
    own = {key: value for key, value in line.items() if key not in _OF_FILE}
    if own.pop("upstream_aqm_disabled", False):  # TLV 76, of all upstream service flows
        own["upstream"] = _disable(own["upstream"])
        own["service_flow"] = {
            name: {**flow, "aqm_disabled": True} if flow.get("direction") == "up" else flow
            for name, flow in own.get("service_flow", {}).items()
        }
    named = {way: _sketch(line[way], names_queue=True) for way in _WAYS}
    base, _ = load_line({"preset": preset, **named})
    kept = {key: value for key, value in own.items() if key not in _WAYS and base.get(key) != value}
    kept |= {way: dict(_list_differing(own[way], base[way])) for way in _WAYS}
    usual = {way: _sketch(line[way], names_queue=False) for way in _WAYS}
    if (
        load_line({"preset": preset, **usual})[0]["downstream"]["queue"]
        == own["downstream"]["queue"]
    ):
        del kept["downstream"]["queue"]
    return {key: copy_tables(value) for key, value in kept.items()}


def _sketch(table: Mapping[str, Any], *, names_queue: bool) -> dict[str, Any]:
    """Give what the defaults of the other keys depend on."""
    found: dict[str, Any] = {"queue": next(iter(table["queue"]))} if names_queue else {}
    if "rate" in table:
        found["rate"] = table["rate"]
    if "low_latency" in table:
        found["low_latency"] = {}
    return found


def _list_differing(table: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give what a table has besides a base; rates, queue and low latency are always named."""
    for key, value in table.items():
        if key == "queue":
            ((kind, settings),) = value.items()
            yield key, {kind: _subtract(settings, base[key][kind])}
        elif key == "low_latency":
            yield key, _subtract(value, base[key])
        elif key == "rate" or base.get(key) != value:
            yield key, value


def _subtract(table: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in base or base[key] != value}


def _disable(table: Mapping[str, Any]) -> dict[str, Any]:
    found = {**table, "aqm_disabled": True}
    if "low_latency" in table:
        found["low_latency"] = {**table["low_latency"], "aqm_disabled": True}
    return found
