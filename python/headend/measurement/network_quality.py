"""Results of Apple's ``networkQuality -c``, loading both directions at once or one after the other.

The program's JSON has no published description; the fields are those of captured output. What its
arrays are of is described in draft-ietf-ippm-responsiveness: probes of their own connections
("foreign") beside requests in the connections that fill the line ("self").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headend.errors import InputError
from headend.measurement.fields import (
    FASTEST_BIT_S,
    LONGEST_DELAY_MS,
    JsonObject,
    describe,
    take_number,
)
from headend.measurement.private import name_private
from headend.measurement.reader import Content, Reader
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Probe,
    Quantity,
    Senders,
    Statistic,
    Summary,
    Trip,
)
from headend.text.reveal import reveal_line
from headend.text.wording import shorten

#: JsonObject that name the computer's interface, the server, the place or the time zone.
_PRIVATE: dict[str, tuple[str, ...]] = {
    "interface_name": (),
    "test_endpoint": (),
    "cli_options": (),
    "start_date": (),
    "end_date": (),
}

#: A file with one of these is this tool's; one of those after a failure is too.
_MEASURED = ("dl_throughput", "ul_throughput", "base_rtt")
_FAILED = ("error_code", "error_domain")

#: Names of arrays of delays: idle, or under load. Runs that load one direction after the other name
#: it.
_ARRAY = re.compile(r"(?:il|lud_(?P<whose>foreign|self)(?:_(?P<direction>dl|ul))?)_(?P<what>\w+)")

#: What loads the line while a direction is measured alone.
_ALONE = {"dl": Load.DOWN, "ul": Load.UP}

#: Draft, section 4.3.1: responsiveness is in round trips a minute.
_MS_PER_MINUTE = 60_000.0

#: More connections than a computer has ports to one server.
_MOST_FLOWS = 2**16

_VERSION = re.compile(r"Version ([0-9]+(?:\.[0-9]+)*)\b")

#: Most characters of the name of an error that a line quotes.
_MOST_QUOTED = 60


def recognises(content: Content) -> bool:
    """Whether some content is a result of ``networkQuality``."""
    value = content.json
    if not isinstance(value, dict):
        return False
    return (
        "dl_throughput" in value
        or "ul_throughput" in value
        or ("base_rtt" in value and "os_version" in value)
        or all(key in value for key in (*_FAILED, "os_version"))
    )


def read(content: Content) -> Measurement:
    """Read a result.

    Raises
    ------
    InputError
        That begins with the path; also for the result of a run that failed.
    """
    if not isinstance(content.json, dict):
        raise InputError(f"{content.path}: expected an object of networkQuality, found none")
    fields = JsonObject(content.path, content.json)
    if not any(key in fields.values for key in _MEASURED):
        raise _refuse_failed(fields)
    other = fields.find_object("other")
    measurement = Measurement(
        tools=(_name_tool(fields),),
        paths=(content.path,),
        delays=tuple(_read_arrays(fields)),
        summaries=tuple(_read_summaries(fields)),
        senders=Senders(up=_read_count(fields, "ul_flows"), down=_read_count(fields, "dl_flows")),
        medium=_read_medium(other),
        notes=tuple(_write_notes(fields, other)),
        dropped=tuple(name_private(fields.values, _PRIVATE)),
    )
    if not measurement.summaries and not measurement.delays:
        raise InputError(
            f"{content.path}: expected rates and delays (dl_throughput, ul_throughput, base_rtt),"
            " found none"
        )
    return measurement


def _refuse_failed(fields: JsonObject) -> InputError:
    code = fields.find_number("error_code", "a number of an error", -1e9, 1e9)
    domain = shorten(reveal_line(fields.find_text("error_domain")), _MOST_QUOTED)
    error = " ".join(filter(None, (domain, "" if code is None else f"{code:.0f}")))
    return InputError(
        f"{fields.path}: expected a result of networkQuality, found that the run failed"
        f"{f' ({error})' if error else ''}"
    )


def _name_tool(fields: JsonObject) -> str:
    """Give the tool with the system's version, which is its own; without the build's name."""
    found = _VERSION.search(fields.find_text("os_version"))
    return f"networkQuality of macOS {found[1]}" if found else "networkQuality"


def _is_alone(fields: JsonObject) -> bool:
    """Whether each direction was loaded alone; else both were at once, as is the default."""
    if any(f"{direction}_responsiveness" in fields for direction in _ALONE):
        return True
    if any(match["direction"] for _, match in _match_arrays(fields)):
        return True
    return ("dl_throughput" in fields) != ("ul_throughput" in fields)


def _match_arrays(fields: JsonObject) -> Iterator[tuple[str, re.Match[str]]]:
    for key in sorted(fields.values):
        if match := _ARRAY.fullmatch(key):
            yield key, match


def _read_arrays(fields: JsonObject) -> Iterator[DelaySeries]:
    """Give each array as delays without times, with the load at the time."""
    alone = _is_alone(fields)
    for key, match in _match_arrays(fields):
        delays = _read_list(fields, key)
        if not delays:
            continue
        if match["whose"] is None:
            load = Load.IDLE
        elif match["direction"]:
            load = _ALONE[match["direction"]]
        elif alone:
            load = Load.DOWN if "dl_throughput" in fields else Load.UP
        else:
            load = Load.BOTH
        probe = Probe.IN_FLOW if match["whose"] == "self" else Probe.REQUEST
        yield DelaySeries(Trip.ROUND, probe, (), delays, load=load)


def _read_list(fields: JsonObject, key: str) -> list[float]:
    """Give the delays of an array, ms."""
    delays: list[float] = []
    for index, value in enumerate(
        fields.list(key, "a list of times in ms") if key in fields else ()
    ):
        delay = take_number(value)
        if delay is None or not 0 <= delay <= LONGEST_DELAY_MS:
            raise InputError(
                f"{fields.path}: {key}[{index}]: expected a time in ms, found {describe(value)}"
            )
        delays.append(delay)
    return delays


def _read_summaries(fields: JsonObject) -> Iterator[Summary]:
    alone = _is_alone(fields)
    for key, direction in (("dl", Direction.DOWN), ("ul", Direction.UP)):
        load = _ALONE[key] if alone else Load.BOTH
        # Units: bit/s in the file. It is 0 where the direction was not measured.
        rate = fields.find_number(f"{key}_throughput", "a rate in bit/s", 0, FASTEST_BIT_S)
        if rate:
            yield Summary(Quantity.RATE, Statistic.MEAN, rate, load, direction)
    base = fields.find_number("base_rtt", "a time in ms", 0, LONGEST_DELAY_MS)
    if base is not None:
        yield Summary(Quantity.DELAY, Statistic.MEAN, base, Load.IDLE, probe=Probe.REQUEST)
    for key, load in (
        ("responsiveness", Load.BOTH),
        ("dl_responsiveness", Load.DOWN),
        ("ul_responsiveness", Load.UP),
    ):
        rpm = fields.find_number(key, "round trips a minute", 0)
        # It is 0 where no round trip ended.
        if rpm is not None and rpm >= _MS_PER_MINUTE / LONGEST_DELAY_MS:
            yield Summary(Quantity.DELAY, Statistic.MEAN, _MS_PER_MINUTE / rpm, load)


def _read_count(fields: JsonObject, key: str) -> int | None:
    count = fields.find_number(key, "a number of connections", 0, _MOST_FLOWS)
    return None if count is None else round(count)


def _read_medium(other: JsonObject) -> str:
    """Give the medium that the program counted most connections over."""
    counts = other.find_object("interface-type")
    if counts.find_number("wifi"):
        return "wifi"
    return "ethernet" if counts.find_number("wired") else ""


def _write_notes(fields: JsonObject, other: JsonObject) -> Iterator[str]:
    if any(f"{key}responsiveness" in fields for key in ("", "dl_", "ul_")):
        yield (
            "the responsiveness of networkQuality is a mean over handshakes and requests, half of"
            " them in the connections that fill the line"
        )
    if fields.find_number("error_code", "a number of an error", -1e9, 1e9):
        yield "the run of networkQuality ended with an error"
    if other.find_object("proxy_state").find_number("proxied"):
        yield "the test went through a proxy"


NETWORK_QUALITY = Reader(
    "networkQuality", "a result of Apple's networkQuality -c", recognises, read
)
