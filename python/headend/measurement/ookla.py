"""Results of Ookla's ``speedtest --format=json``, and of the older ``speedtest-cli --json``.

Each gives one rate of each direction and a few numbers of delay. Ookla's own has the delay under
load since about version 1.1. Fields as in the program's output; it has no published description.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from headend.errors import InputError
from headend.measurement.fields import FASTEST_BIT_S, LONGEST_DELAY_MS, JsonObject
from headend.measurement.private import name_private
from headend.measurement.reader import Content, Reader
from headend.measurement.record import (
    Direction,
    Load,
    Measurement,
    Probe,
    Quantity,
    Statistic,
    Summary,
)
from headend.text.wording import write_count

#: Fields that name the customer, the place or the server.
_PRIVATE = {
    "isp": (),
    "interface": ("internalIp", "externalIp", "macAddr", "name"),
    "server": ("id", "host", "port", "name", "location", "country", "ip"),
    "result": ("id", "url"),
}

#: The same of ``speedtest-cli``.
_PRIVATE_OF_CLI = {
    "client": ("ip", "lat", "lon", "isp", "country"),
    "server": ("url", "lat", "lon", "name", "country", "sponsor", "id", "host"),
    "share": (),
}

#: Each direction with the load that measures it.
_DIRECTIONS = ((Direction.DOWN, Load.DOWN, "download"), (Direction.UP, Load.UP, "upload"))

#: The numbers of delay and what they are. Which middle the idle ``latency`` is, is not published.
_STATISTICS = {
    "latency": Statistic.MEDIAN,
    "iqm": Statistic.IQM,
    "low": Statistic.LEAST,
    "high": Statistic.MOST,
    "jitter": Statistic.JITTER,
}

#: How the names of network interfaces begin in Linux: after systemd.net-naming-scheme, and the
#: kernel's own ``eth0`` and ``wlan0``. Those of macOS and Windows tell nothing.
_MEDIA = (
    ("wl", "wifi"),
    ("eth", "ethernet"),
    ("eno", "ethernet"),
    ("enp", "ethernet"),
    ("ens", "ethernet"),
    ("enx", "ethernet"),
)


def _is_result(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "result"


def _is_result_of_cli(value: Any) -> bool:
    """Whether a value is a result of ``speedtest-cli``: its rates are plain numbers."""
    return (
        isinstance(value, dict)
        and "ping" in value
        and "download" in value
        and "bytes_received" in value
    )


def _is_message(value: Any) -> bool:
    """Whether a value is what Ookla's program writes beside or in place of a result."""
    if not isinstance(value, dict):
        return False
    return ("timestamp" in value and value.get("type") in _MESSAGES) or (
        value.get("type") == "log" and "level" in value
    )


#: Types of what ``--format=jsonl`` writes before the result.
_MESSAGES = ("testStart", "ping", "download", "upload")


def recognises(content: Content) -> bool:
    """Whether some content is a result of Ookla's test."""
    return any(
        _is_result(value) or _is_result_of_cli(value) or _is_message(value)
        for value in content.list_values()
    )


def read(content: Content) -> Measurement:
    """Read a result; of several in one file, the last.

    Raises
    ------
    InputError
        That begins with the path.
    """
    values = content.list_values()
    results = [value for value in values if _is_result(value) or _is_result_of_cli(value)]
    if not results:
        raise InputError(
            f'{content.path}: expected a result of speedtest ("type": "result"),'
            f" found {write_count(len(values), 'message')} of a test without one"
        )
    fields = JsonObject(content.path, results[-1])
    measurement = _read_result(fields) if _is_result(results[-1]) else _read_result_of_cli(fields)
    if not measurement.summaries:
        raise InputError(
            f"{content.path}: expected rates and delays (download.bandwidth, upload.bandwidth,"
            " ping.latency), found none"
        )
    if len(results) == 1:
        return measurement
    note = f"the file holds {len(results)} results; the last is read"
    return replace(measurement, notes=(*measurement.notes, note))


def _read_result(fields: JsonObject) -> Measurement:
    """Read a result of Ookla's own program."""
    interface = fields.find_object("interface")
    return Measurement(
        tools=("speedtest by Ookla",),
        paths=(fields.path,),
        started=fields.find_moment("timestamp"),
        summaries=(*_read_rates(fields), *_read_delays(fields), *_read_loss(fields)),
        medium=_guess_medium(interface.text("name") if "name" in interface else ""),
        notes=("the test went through a VPN",) if interface.values.get("isVpn") is True else (),
        dropped=tuple(name_private(fields.values, _PRIVATE)),
    )


def _read_rates(fields: JsonObject) -> Iterator[Summary]:
    for direction, load, key in _DIRECTIONS:
        # Units: bytes/s in the file.
        rate = fields.find_object(key).find_number(
            "bandwidth", "bytes a second", 0, FASTEST_BIT_S / 8
        )
        if rate:  # it is 0 where the direction was not measured
            yield Summary(Quantity.RATE, Statistic.MEAN, 8 * rate, load, direction)


def _read_delays(fields: JsonObject) -> Iterator[Summary]:
    yield from _read_statistics(fields.find_object("ping"), Load.IDLE)
    for _, load, key in _DIRECTIONS:
        yield from _read_statistics(fields.find_object(key).find_object("latency"), load)


def _read_statistics(fields: JsonObject, load: Load) -> Iterator[Summary]:
    for key, statistic in _STATISTICS.items():
        value = fields.find_number(key, "a time in ms", 0, LONGEST_DELAY_MS)
        if value is not None:
            yield Summary(Quantity.DELAY, statistic, value, load, probe=Probe.REQUEST)


def _read_loss(fields: JsonObject) -> Iterator[Summary]:
    """Read the loss of the whole test, in which both directions were loaded one after the other."""
    percent = fields.find_number("packetLoss", "a percentage", 0, 100)
    if percent is not None:
        yield Summary(Quantity.LOSS, Statistic.MEAN, percent / 100, Load.BOTH)


def _read_result_of_cli(fields: JsonObject) -> Measurement:
    """Read a result of ``speedtest-cli``: rates in bit/s, and the delay of an HTTP request."""
    summaries = [
        Summary(Quantity.RATE, Statistic.MEAN, rate, load, direction)
        for direction, load, key in _DIRECTIONS
        if (rate := fields.find_number(key, "a rate in bit/s", 0, FASTEST_BIT_S))  # as above
    ]
    ping = fields.find_number("ping", "a time in ms", 0, LONGEST_DELAY_MS)
    if ping is not None:
        summaries.append(
            Summary(Quantity.DELAY, Statistic.MEAN, ping, Load.IDLE, probe=Probe.REQUEST)
        )
    return Measurement(
        tools=("speedtest-cli",),
        paths=(fields.path,),
        started=fields.find_moment("timestamp"),
        summaries=tuple(summaries),
        dropped=tuple(name_private(fields.values, _PRIVATE_OF_CLI)),
    )


def _guess_medium(interface: str) -> str:
    return next((medium for start, medium in _MEDIA if interface.startswith(start)), "")


OOKLA = Reader("speedtest by Ookla", "a result of Ookla's speedtest", recognises, read)
