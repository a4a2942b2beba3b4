"""Reads data files of flent, versions 2 to 4: what netperf, ping and irtt told side by side.

Each file is one JSON object. ``raw_values`` holds what each tool printed, with its time, and
``results`` the same on a common grid, interpolated. Raw values are used where there are any. Their
units differ from those of results: netperf's request and response tests tell transactions per
second.
"""

from __future__ import annotations

import datetime
import itertools
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headend.errors import InputError
from headend.measurement.fields import (
    FASTEST_BIT_S,
    LATEST_S,
    LONGEST_DELAY_MS,
    LONGEST_S,
    JsonObject,
    check_span,
    describe,
    take_number,
)
from headend.measurement.marking import DSCP, name_octet
from headend.measurement.phases import find_busy, find_phases
from headend.measurement.reader import Content, Reader
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Measurement,
    Probe,
    RateSeries,
    Retransmissions,
    Senders,
    Trip,
)
from headend.measurement.sequence import find_lost
from headend.measurement.summing import sum_flows
from headend.text.reveal import reveal_line
from headend.text.wording import list_names, shorten, write_count

#: Versions of the format that are read.
VERSIONS = (2, 3, 4)

_KEYS = {"version", "x_values", "results", "metadata"}

#: Fields of the metadata that name machines, addresses or what a person wrote.
_PRIVATE = (
    "BATCH_NAME",
    "BATCH_TITLE",
    "BATCH_UUID",
    "DATA_FILENAME",
    "EGRESS_INFO",
    "GATEWAYS",
    "HOST",
    "HOSTS",
    "HTTP_GETTER_DNS",
    "HTTP_GETTER_URLLIST",
    "IP_ADDRS",
    "LOCAL_HOST",
    "NOTE",
    "REMOTE_METADATA",
    "TITLE",
)

#: How long a step of results is where a file does not say, s.
_STEP_S = 0.2

#: The first sample comes within this time of the test's begin, s; a file that says otherwise has a
#: clock that was set meanwhile.
_NEAR_S = 60.0

#: A rate: "TCP upload BE2", "TCP download::12", "UDP upload"; what flent computes has another end.
_FLOW = re.compile(r".*\b(upload|download)\b(?!.*::[a-z])", re.IGNORECASE)
_COMPUTED = re.compile(r"\b(sum|avg|average|fairness|totals?)\s*$", re.IGNORECASE)

#: A longer name is of no series of flent.
_LONGEST_NAME = 200

#: A delay.
_PING = re.compile(r"Ping \(ms\)", re.IGNORECASE)

#: The class in a series' name: that of rrul, and code points by name. flent's BK is CS1.
_CLASS = re.compile(r"\b(BK|NQB|LE|VA|EF|CS[1-7]|AF[1-4][1-3])\d*\b")

#: The octet in a command of irtt or netperf: "--dscp=0xb8", "-Y 0x20,0x20", "-Y CS1,CS1".
_OCTET = re.compile(r"(?:--dscp=|-Y )(0x[0-9a-f]{1,2}|\w{2,4})\b", re.IGNORECASE)

_CONGESTION = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)

#: Answers that netperf tells of in a time with one: its times and rates are rounded.
_LEAST_ANSWERED = 0.9

#: netperf repeats no lost request: a longer time between two answers, s, is the rest of the test.
_STALLED_S = 10.0

#: Runners of flent that say which probe a series is of.
_PROBES = {"PingRunner": Probe.ICMP, "IrttRunner": Probe.UDP}


@dataclass
class _File:
    """A file in parts.

    Parameters
    ----------
    top, metadata, series
        Its objects.
    begin
        When the measurement began, s since 1970.
    offset
        When x is 0, s since it began.
    xs
        The grid of results, s.
    """

    top: JsonObject
    metadata: JsonObject
    series: Mapping[str, Any]
    begin: float
    offset: float
    xs: Sequence[float]

    def describe_series(self, name: str) -> Mapping[str, Any]:
        found = self.series.get(name)
        return found if isinstance(found, Mapping) else {}


def recognises(content: Content) -> bool:
    """Whether some content is a data file of flent."""
    return isinstance(content.json, dict) and content.json.keys() >= _KEYS


def read(content: Content) -> Measurement:
    """Read a data file.

    Raises
    ------
    InputError
        That begins with the path: another version, a field that is no such, or no series that says
        something of a line.
    """
    top = JsonObject(content.path, content.json)
    version = top.values["version"]
    if isinstance(version, bool) or version not in VERSIONS:
        raise top.refuse("version", "2, 3 or 4, which are flent's versions of its format")
    raw = _read_raw(top)
    file = _open(top, raw)
    flows = _read_flows(file, raw)
    delays = [*_read_pings(file, raw), *_read_voip(file, raw), *_read_flow_delays(file, raw, flows)]
    if not flows and not delays:
        names = [f'"{reveal_line(shorten(name, 40))}"' for name in top.object("results").values]
        raise InputError(
            f"{content.path}: expected rates or delays, such as the series"
            f' "TCP upload" or "Ping (ms) ICMP", found {list_names(names, 6) or "no series"}'
        )
    step = file.metadata.find_number("STEP_SIZE", "a time", 1e-3, 60) or _STEP_S
    rates: list[RateSeries] = []
    for direction in Direction:
        own = [flow for _, flow in flows if flow.direction is direction]
        if own:
            rates.append(sum_flows(own, step))
        if len(own) > 1:
            rates.extend(own)
    ends = [at for rate in rates for at in rate.ends]
    times = [at for delay in delays for at in (*delay.times, *delay.lost)]
    phases = find_phases(find_busy(rates), min([*times, 0.0]), max([*times, *ends, 0.0]))
    marks, of_queues = _read_queues(raw)
    counts = {
        direction: sum(flow.direction is direction for _, flow in flows) for direction in Direction
    }
    return Measurement(
        tools=(_name_tool(file.metadata),),
        paths=(content.path,),
        started=file.begin if file.begin > 0 else None,
        phases=phases,
        rates=tuple(rates),
        delays=tuple(delays),
        retransmissions=tuple(_read_retransmissions(file, flows)),
        senders=Senders(
            counts[Direction.UP], counts[Direction.DOWN], _find_congestion(file, flows)
        ),
        marks=marks,
        medium=_find_medium(file.metadata),
        notes=tuple(_write_notes(file, flows, delays, of_queues)),
        dropped=tuple(
            [f"metadata.{key}" for key in _PRIVATE if file.metadata.values.get(key)]
            + (["metadata.SERIES_META.COMMAND"] if _has_commands(file.series) else [])
        ),
    )


def _read_raw(top: JsonObject) -> dict[str, list[dict[str, Any]]]:
    """Give the raw values of each series, in order of time; those without a time are left out."""
    raw: dict[str, list[dict[str, Any]]] = {}
    place = top.find_object("raw_values")
    for name in place.values:
        if name not in place:
            continue
        found = []
        for number, item in enumerate(place.list(name, "a list of samples")):
            if not isinstance(item, dict):
                raise InputError(
                    f"{top.path}: raw_values.{reveal_line(shorten(name, 60))}[{number}]: expected"
                    f' an object such as {{"t": 1496158967.1, "val": 10.6}}, found'
                    f" {describe(item)}"
                )
            at = take_number(item.get("t"))
            if at is not None and 0 <= at <= LATEST_S:
                found.append(item)
        if found:
            raw[name] = sorted(found, key=lambda item: float(item["t"]))
    return raw


def _open(top: JsonObject, raw: Mapping[str, list[dict[str, Any]]]) -> _File:
    metadata = top.object("metadata")
    xs = []
    for number, x in enumerate(top.list("x_values")):
        at = take_number(x)
        if at is None or not 0 <= at <= LONGEST_S:
            raise InputError(
                f"{top.path}: x_values[{number}]: expected a time in s, found {describe(x)}"
            )
        xs.append(at)
    top.object("results")
    series = metadata.find_object("SERIES_META").values
    stated = _parse_time(metadata.values.get("T0"))
    starts = [_find_start(item) for items in raw.values() for item in items]
    if not starts:
        return _File(top, metadata, series, stated or 0.0, 0.0, xs)
    begin = min(starts)
    last = max(float(items[-1]["t"]) for items in raw.values())
    check_span(f"{top.path}: raw_values", begin, last)
    if stated is not None:
        # Versions before 3 write the local time without its zone; zones differ by quarters of an
        # hour.
        stated -= round((stated - begin) / 900) * 900
    if stated is None or abs(stated - begin) > _NEAR_S:
        stated = begin
    begin = min(begin, stated)
    return _File(top, metadata, series, begin, stated - begin, xs)


def _find_start(item: Mapping[str, Any]) -> float:
    """Say when what a raw value tells of began: a bin, or a probe's way."""
    at = float(item["t"])
    if (length := take_number(item.get("dur"))) is not None:
        return at - min(max(length, 0.0), LONGEST_S)
    value = take_number(item.get("val"))
    return at - min(max(value, 0.0), LONGEST_DELAY_MS) / 1e3 if value is not None else at


def _parse_time(text: Any) -> float | None:
    """Read a time of flent's metadata as s since 1970; one without a zone as if in UTC."""
    if not isinstance(text, str):
        return None
    try:
        at = datetime.datetime.fromisoformat(text)
        at = at if at.tzinfo else at.replace(tzinfo=datetime.UTC)
        return at.timestamp()
    except (ValueError, OverflowError):
        return None


def _read_flows(
    file: _File, raw: Mapping[str, list[dict[str, Any]]]
) -> list[tuple[str, RateSeries]]:
    """Give the rate of each flow, with the name of its series."""
    results = file.top.object("results")
    found: list[tuple[str, RateSeries]] = []
    for name in sorted({**raw, **results.values}, key=_split_numbers):
        direction = _find_direction(file, name)
        if direction is None:
            continue
        bins = _read_raw_bins(file, raw.get(name, ())) or _read_result_bins(file, name)
        # A step may be less than what a float can tell of a late time.
        bins = [one for one in bins if one[0] < one[1]]
        if not bins:
            continue
        number = 1 + sum(flow.direction is direction for _, flow in found)
        marking = _find_marking(file, name)
        found.append(
            (
                name,
                RateSeries(
                    direction,
                    [start for start, _, _ in bins],
                    [end for _, end, _ in bins],
                    [rate for _, _, rate in bins],
                    # The name in the file may hold that of a server.
                    flow=" ".join(filter(None, (direction.value, str(number), marking))),
                ),
            )
        )
    return found


def _find_direction(file: _File, name: str) -> Direction | None:
    """Tell the direction of a flow by the name of its series; None of what is no flow's rate."""
    match = _FLOW.match(name) if len(name) <= _LONGEST_NAME else None
    units = file.describe_series(name).get("UNITS", "Mbits/s")
    if not match or _COMPUTED.search(name) or _PING.match(name):
        return None
    if not isinstance(units, str) or not units.lower().startswith("mbit"):
        return None
    return Direction.UP if match[1].lower() == "upload" else Direction.DOWN


def _split_numbers(name: str) -> list[tuple[int, str]]:
    """Order names as people do: "BE2" before "BE10"."""
    return [
        (int(part[:9]), "") if part.isdigit() and part.isascii() else (-1, part)
        for part in re.split(r"([0-9]+)", name)
    ]


def _read_raw_bins(
    file: _File, items: Iterable[Mapping[str, Any]]
) -> list[tuple[float, float, float]]:
    """Give bins of a flow: start, end, bit/s. netperf states when each ends and how long it was."""
    bins = []
    for item in items:
        rate, length = take_number(item.get("val")), take_number(item.get("dur"))
        # Samples of TCP's state lie between the rates, without either.
        if rate is None or length is None or not 0 < length <= LONGEST_S:
            continue
        if not 0 <= rate * 1e6 <= FASTEST_BIT_S:
            raise InputError(
                f"{file.top.path}: raw_values: expected a rate in Mbit/s, found {describe(rate)}"
            )
        end = float(item["t"]) - file.begin
        # Times since 1970 are rounded to a fraction of a microsecond.
        bins.append((max(0.0, end - length), end, rate * 1e6))
    return bins


def _read_result_bins(file: _File, name: str) -> list[tuple[float, float, float]]:
    pairs = _read_results(file, name, FASTEST_BIT_S / 1e6, "a rate in Mbit/s or null")
    steps = [b - a for a, b in itertools.pairwise(file.xs) if b > a]
    step = statistics.median(steps) if steps else _STEP_S
    return [(max(at - step, 0.0), at, value * 1e6) for at, value in pairs if at > 0]


def _read_results(file: _File, name: str, most: float, expected: str) -> list[tuple[float, float]]:
    """Give what results hold of a series: times, s, and values; what is null or NaN is left out."""
    results = file.top.object("results")
    if name not in results:
        return []
    values = results.list(name, "a list of numbers and null")
    if len(values) != len(file.xs):
        raise InputError(
            f"{file.top.path}: results.{reveal_line(shorten(name, 60))}: expected"
            f" {len(file.xs)} values, as x_values has, found {len(values)}"
        )
    pairs = []
    for number, (x, value) in enumerate(zip(file.xs, values, strict=True)):
        if value is None or (isinstance(value, float) and value != value):
            continue
        found = take_number(value)
        if found is None or not 0 <= found <= most:
            raise InputError(
                f"{file.top.path}: results.{reveal_line(shorten(name, 60))}[{number}]: expected"
                f" {expected}, found {describe(value)}"
            )
        pairs.append((x + file.offset, found))
    return pairs


def _read_pings(file: _File, raw: Mapping[str, list[dict[str, Any]]]) -> list[DelaySeries]:
    results = file.top.object("results")
    found: list[DelaySeries] = []
    for name in sorted({**raw, **results.values}, key=_split_numbers):
        if not _PING.match(name) or _COMPUTED.search(name) or "::" in name:
            continue
        if len(name) > _LONGEST_NAME:
            continue
        probe = _PROBES.get(str(file.describe_series(name).get("RUNNER")))
        if probe is None:
            words = name.upper()
            probe = Probe.ICMP if "ICMP" in words else Probe.UDP if "UDP" in words else None
        if probe is None:
            probe = Probe.REQUEST if "TCP" in name.upper() else Probe.UNKNOWN
        marking = _find_marking(file, name)
        series = _read_raw_delays(file, raw.get(name, []), probe, marking)
        if not series:
            pairs = _read_results(file, name, LONGEST_DELAY_MS, "a delay in ms or null")
            if pairs:
                series = [
                    DelaySeries(
                        Trip.ROUND,
                        probe,
                        [at for at, _ in pairs],
                        [value for _, value in pairs],
                        marking=marking,
                    )
                ]
        found.extend(series)
    return found


def _read_raw_delays(
    file: _File, items: Sequence[Mapping[str, Any]], probe: Probe, marking: str
) -> list[DelaySeries]:
    """Give what a probe's raw values tell: the round trips, and with irtt those of each way too."""
    sent: list[tuple[float, float, Mapping[str, Any]]] = []
    numbered: list[tuple[float, float]] = []
    lost: list[float] = []
    lost_on_the_way: dict[str, list[float]] = {}
    for item in items:
        at = float(item["t"]) - file.begin
        number = take_number(item.get("seq"))
        if item.get("lost") is True:
            lost.append(at)
            lost_on_the_way.setdefault(str(item.get("lost_dir")), []).append(at)
            continue
        value = take_number(item.get("val"))
        if value is None:
            continue
        if (length := take_number(item.get("dur"))) is not None:
            # netperf's requests follow one another: so many in that time, each when the last one
            # was answered.
            if value * length < _LEAST_ANSWERED or length > _STALLED_S:
                continue
            at, value = at - min(max(length, 0.0), LONGEST_S), 1e3 / value
        else:
            at -= value / 1e3
        if not 0 <= value <= LONGEST_DELAY_MS:
            raise InputError(
                f"{file.top.path}: raw_values: expected a delay in ms, found {describe(value)}"
            )
        sent.append((max(0.0, at), value, item))
        if number is not None and "owd_up" not in item and length is None:
            numbered.append((number, max(0.0, at)))
    if not sent:
        return []
    if numbered and not lost:
        kept, lost = find_lost(numbered)
        if len(numbered) == len(sent):
            sent = [sent[index] for index in kept]
    sent.sort(key=lambda one: one[0])
    lost.sort()
    return _make_series(sent, lost, lost_on_the_way, probe, marking)


def _make_series(
    sent: Sequence[tuple[float, float, Mapping[str, Any]]],
    lost: Sequence[float],
    lost_on_the_way: Mapping[str, list[float]],
    probe: Probe,
    marking: str,
) -> list[DelaySeries]:
    """Make the series of the round trips, and of each way where values of it are there."""
    series = [
        DelaySeries(
            Trip.ROUND,
            probe,
            [at for at, _, _ in sent],
            [value for _, value, _ in sent],
            lost,
            len(lost),
            marking=marking,
        )
    ]
    for trip, key in ((Trip.UP, "owd_up"), (Trip.DOWN, "owd_down")):
        ways = [
            (at, way) for at, _, item in sent if (way := take_number(item.get(key))) is not None
        ]
        gone = sorted(lost_on_the_way.get(trip.value, []))
        if ways:
            series.append(
                DelaySeries(
                    trip,
                    probe,
                    [at for at, _ in ways],
                    [way for _, way in ways],
                    gone,
                    len(gone),
                    marking=marking,
                )
            )
    return series


def _read_voip(file: _File, raw: Mapping[str, list[dict[str, Any]]]) -> list[DelaySeries]:
    """Give the delays of simulated calls, which D-ITG measures one way, by two clocks."""
    found = []
    for name in sorted(raw, key=_split_numbers):
        if not re.fullmatch(r"VoIP(::\d+)?", name):
            continue
        sent: list[tuple[float, float]] = []
        numbered: list[tuple[float, float]] = []
        for item in raw[name]:
            value = take_number(item.get("val"))
            if value is None or abs(value) > LONGEST_DELAY_MS:
                continue
            at = float(item["t"]) - file.begin - value / 1e3
            sent.append((max(0.0, at), value))
            if (number := take_number(item.get("seq"))) is not None:
                numbered.append((number, at))
        if not sent:
            continue
        lost: list[float] = []
        if len(numbered) == len(sent):
            kept, lost = find_lost(numbered)
            sent = sorted(sent[index] for index in kept)
        found.append(
            DelaySeries(
                Trip.UP,
                Probe.UDP,
                [at for at, _ in sent],
                [value for _, value in sent],
                lost,
                len(lost),
                marking=_find_marking(file, name),
            )
        )
    return found


def _read_flow_delays(
    file: _File, raw: Mapping[str, list[dict[str, Any]]], flows: Sequence[tuple[str, RateSeries]]
) -> list[DelaySeries]:
    """Give the round-trip times that TCP measured in the flows themselves."""
    found = []
    for name, flow in flows:
        pairs = [
            (float(item["t"]) - file.begin, value)
            for item in raw.get(name, ())
            if (value := take_number(item.get("tcp_rtt"))) is not None
            and 0 <= value <= LONGEST_DELAY_MS
        ] or _read_results(file, f"{name}::tcp_rtt", LONGEST_DELAY_MS, "a delay in ms or null")
        if pairs:
            found.append(
                DelaySeries(
                    Trip.ROUND,
                    Probe.IN_FLOW,
                    [at for at, _ in pairs],
                    [value for _, value in pairs],
                    flow=flow.flow,
                )
            )
    return found


def _find_marking(file: _File, name: str) -> str:
    """Find how packets of a series were marked: by its command, else by its name."""
    command = file.describe_series(name).get("COMMAND")
    if isinstance(command, str) and (match := _OCTET.search(command)):
        word = match[1].upper()
        if word in DSCP:
            return name_octet(DSCP[word] << 2)
        if word.startswith("0X"):
            return name_octet(int(word, 16))
    found = _CLASS.search(name)
    if found is None:
        return ""
    return "CS1" if found[1] == "BK" else found[1]


def _read_queues(raw: Mapping[str, list[dict[str, Any]]]) -> tuple[int | None, str]:
    """Count what the queues that flent watched marked, and say what they dropped."""
    marked: int | None = None
    dropped = 0
    many = 0
    for name, items in raw.items():
        if not name.startswith("qdisc_stats_"):
            continue
        many += 1
        for key in ("ecn_mark", "dropped"):
            counts = [count for item in items if (count := take_number(item.get(key))) is not None]
            # Counters of the system: a smaller one than before was reset.
            rises = sum(max(0.0, b - a) for a, b in itertools.pairwise(counts))
            if key == "dropped":
                dropped += round(min(rises, 1e15))
            elif counts:
                marked = (marked or 0) + round(min(rises, 1e15))
    if not many:
        return None, ""
    what = f"dropped {write_count(dropped, 'packet')}"
    if marked is not None:
        what += f" and marked {marked:,}"
    return marked, f"flent watched {write_count(many, 'queue')} on the way: {what}."


def _read_retransmissions(
    file: _File, flows: Sequence[tuple[str, RateSeries]]
) -> list[Retransmissions]:
    found = []
    for name, flow in flows:
        told = file.describe_series(name)
        again, size, sent = (
            _take_written(told.get(key)) for key in ("TCP_RETRANSMIT", "TCP_MSS", "BYTES_SENT")
        )
        if again is None or not size or not sent or again < 0 or size < 0 or sent < 0:
            continue
        found.append(Retransmissions(flow.direction, min(1.0, again * size / sent), flow.flow))
    return found


def _take_written(value: Any) -> float | None:
    """Give a number; flent writes some of them as text."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        return float(value)
    return take_number(value)


def _find_congestion(file: _File, flows: Sequence[tuple[str, RateSeries]]) -> str:
    """Find which congestion control the flows had: netperf's answer, else what was set."""
    told = [file.describe_series(name).get("CONG_CONTROL") for name, _ in flows]
    told = told if any(told) else [*_list_parameters(file.metadata)]
    if not any(told):
        told = [file.metadata.find_object("SYSCTLS").values.get("net.ipv4.tcp_congestion_control")]
    names = {name for name in told if isinstance(name, str) and _CONGESTION.fullmatch(name)}
    return ", ".join(sorted(names))


def _list_parameters(metadata: JsonObject) -> list[Any]:
    parameters = metadata.find_object("TEST_PARAMETERS").values
    keys = ("tcp_cong_control", "cc_algo", "cc_algos", "tcp_cong_controls")
    found = [parameters.get(key) for key in keys]
    return [word for text in found if isinstance(text, str) for word in re.split(r"[,;\s]+", text)]


def _find_medium(metadata: JsonObject) -> str:
    """Tell Wi-Fi from Ethernet by the name of the computer's interface, as Linux names them."""
    told = metadata.values.get("EGRESS_INFO")
    name = told.get("iface") if isinstance(told, Mapping) else None
    if not isinstance(name, str):
        return ""
    return "wifi" if name.startswith("wl") else "ethernet" if name.startswith("e") else ""


def _name_tool(metadata: JsonObject) -> str:
    version = metadata.values.get("FLENT_VERSION")
    known = isinstance(version, str) and _VERSION.fullmatch(version)
    return f"flent {version}" if known else "flent"


def _has_commands(series: Mapping[str, Any]) -> bool:
    return any(isinstance(told, Mapping) and told.get("COMMAND") for told in series.values())


def _write_notes(
    file: _File,
    flows: Sequence[tuple[str, RateSeries]],
    delays: Sequence[DelaySeries],
    of_queues: str,
) -> list[str]:
    notes = []
    failed = take_number(file.metadata.values.get("FAILED_RUNNERS"))
    if failed is not None and 0 < failed < 1e6:
        notes.append(
            f"{write_count(int(failed), 'part')} of flent's test failed: series may be missing."
        )
    if any(flow.direction is Direction.UP for _, flow in flows):
        notes.append(
            "Rates of uploads are of what the computer's sockets took, which at their begin is more"
            " than what the line carried."
        )
    raw = file.top.find_object("raw_values").values
    mean = [
        name
        for name, items in raw.items()
        if _PING.match(name) and isinstance(items, list) and items and "dur" in items[0]
    ]
    if mean:
        notes.append(
            "Delays of the UDP probes are means over some 0.2 s each, since netperf measured them;"
            " it tells of no loss and stops at the first lost packet."
        )
    if any(delay.trip is not Trip.ROUND for delay in delays):
        notes.append("Delays of one way contain the difference of two clocks.")
    if of_queues:
        notes.append(of_queues)
    return notes


#: Data files of flent.
FLENT = Reader("flent", "a data file of flent", recognises, read)
