"""The rates of tiers: how they are read, which are refused, and how tiers are named after them."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Sequence

from headend.errors import InputError, naming
from headend.recommendation.tier import LINE, Tier
from headend.results.folder import name_folders
from headend.scenario.source import read_scenario
from headend.text.quantity import UNITS, format_quantity, parse_quantity

#: No tier is slower, in bit/s.
LEAST_RATE = 64e3

#: How much faster downstream is where nobody says.
DOWNSTREAM_FACTOR = 10

#: The share of the channel's rate that a tier has downstream where that is less.
_OF_CHANNEL = 0.9

#: Other spellings of rates.
_SPELLED = re.compile(
    r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kmg])(?:bps|bit|bits|b|bit/s|bits/s|b/s)?", re.IGNORECASE
)

#: The end of a rate in a name: ``5 Mbit/s`` is ``5M`` in that of a file.
_BIT_RATE = re.compile(r"(?<=\d)\s*([kMG]?)bit/s")

#: The engine's warning of a rate that the channel has not got.
_CARRIES = re.compile(rf"link\.{LINE}\.docsis\.(\w+)\.rate is .*, and the channel carries ([^:]+):")


@functools.cache
def find_capacities(preset: str) -> dict[str, float]:
    """Give what a generation's channels carry up and down, in bit/s with three digits."""
    line = {"preset": preset, **{way: {"rate": "100 Gbit/s"} for way in ("upstream", "downstream")}}
    scenario = {"link": {LINE: {"docsis": line}}, "flow": {"probe": {"application": "ping"}}}
    warnings = read_scenario(scenario).load().scenario.warnings
    found = [match for match in map(_CARRIES.match, warnings) if match]
    return {match[1]: parse_quantity(match[2], "rate").value for match in found}


def read_rate(text: object, way: str, preset: str) -> float:
    """Give a sustained rate in bit/s.

    Raises
    ------
    InputError
        For what is no rate, or none of a tier; without saying where it is written.

    Examples
    --------
    >>> read_rate("5 Mbit/s", "upstream", "docsis31")
    5000000.0
    """
    if not isinstance(text, str):
        raise InputError(
            f'expected a rate such as "5 Mbit/s", found {json.dumps(text, default=str)}'
        )
    try:
        rate = float(round(parse_quantity(text, "rate").value))
    except ValueError as error:
        match, hint = _SPELLED.fullmatch(text.strip()), ""
        if match:
            unit = {"k": "kbit/s", "m": "Mbit/s", "g": "Gbit/s"}[match[2].lower()]
            hint = f'; did you mean "{match[1]} {unit}"?'
        raise InputError(f"{error}{hint}") from error
    if rate < LEAST_RATE:
        least = format_quantity(LEAST_RATE, "rate")
        raise InputError(f'expected a rate of {least} or more, found "{text}"')
    most = find_capacities(preset)[way]
    if rate > most:
        raise InputError(
            f"expected a rate that the {way} channel of {preset} carries,"
            f' {format_quantity(most, "rate")} at most, found "{text}"'
        )
    return rate


def suppose_downstream(upstream: float, preset: str) -> float:
    """Give the downstream rate of a tier without one: ten times upstream, if it fits."""
    most = find_capacities(preset)["downstream"] * _OF_CHANNEL
    return min(upstream * DOWNSTREAM_FACTOR, float(f"{most:.2g}"))


def write_rate(rate: float) -> str:
    """Write a rate with all its digits, in the largest unit in which it is 1 or more.

    Examples
    --------
    >>> write_rate(5e6), write_rate(512e3), write_rate(1_234_567_000)
    ('5 Mbit/s', '512 kbit/s', '1.234567 Gbit/s')
    """
    name, size = max(
        (unit for unit in UNITS["rate"].items() if rate >= unit[1]), key=lambda unit: unit[1]
    )
    return f"{rate / size:.12g} {name}"


def make_tiers(upstream: Sequence[str], downstream: Sequence[str], preset: str) -> list[Tier]:
    """Make a tier of each upstream rate; downstream has as many, one for all, or none.

    Raises
    ------
    InputError
        Beginning with the option.
    """
    if downstream and not upstream:
        raise InputError(f"--downstream {downstream[0]}: expected --upstream beside it")
    if len(downstream) not in (0, 1, len(upstream)):
        raise InputError(
            f"--downstream: expected as many as --upstream ({len(upstream)}), one for all tiers, or"
            f" none, found {len(downstream)}"
        )
    with naming("--upstream"):
        ups = [read_rate(text, "upstream", preset) for text in upstream]
    with naming("--downstream"):
        downs = [read_rate(text, "downstream", preset) for text in downstream]
    downs = downs * len(ups) if len(downs) == 1 else downs
    pairs = list(zip(ups, downs or [suppose_downstream(up, preset) for up in ups], strict=True))
    if twice := next((pair for pair, count in Counter(pairs).items() if count > 1), None):
        raise InputError(f"--upstream {write_rate(twice[0])}: this tier is there twice")
    tiers = []
    for up, down in pairs:
        rates = {"upstream": write_rate(up), "downstream": write_rate(down)}
        name = rates["upstream"]
        if ups.count(up) > 1:  # named after both rates, such as 5/50 Mbit/s
            number, _, unit = name.partition(" ")
            own = rates["downstream"]
            name = f"{number}/{own}" if own.endswith(f" {unit}") else f"{name} / {own}"
        link = {"preset": preset, **{way: {"rate": rate} for way, rate in rates.items()}}
        tiers.append(Tier(name, up, down, link))
    return tiers


def shorten_rate(rate: float) -> str:
    """Write a rate as in the name of a file.

    Examples
    --------
    >>> shorten_rate(5e6), shorten_rate(1.5e9), shorten_rate(512e3)
    ('5M', '1.5G', '512k')
    """
    number, _, unit = write_rate(rate).partition(" ")
    return f"{number}{unit.removesuffix('bit/s')}"


def name_files(tiers: Sequence[Tier]) -> list[str]:
    """Give each tier a name for its files: a rate without its unit's end, in safe characters.

    Examples
    --------
    >>> name_files([Tier(name, 1e6, 1e7, {}) for name in ("5 Mbit/s", "gold plus")])
    ['5M', 'gold-plus']
    """
    return name_folders([_BIT_RATE.sub(r"\1", tier.name) for tier in tiers])
