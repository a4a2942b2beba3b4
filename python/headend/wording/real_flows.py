"""The flows that real programs opened, as rows: the largest first, all others as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.analysis.lateness import is_open_loop
from headend.analysis.round_trips import NOT_IN_OPEN_LOOP
from headend.text.quantity import Kind, Unit, choose_unit, format_number
from headend.text.wording import capitalise
from headend.wording.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    from headend.results.record import Record

#: Flows that have a row of their own.
MOST_LISTED = 20

#: Protocols that have ports.
WITH_PORTS = ("tcp", "udp")

#: How protocols are written.
PROTOCOLS = {"tcp": "TCP", "udp": "UDP", "icmp": "ICMP"}

#: What explains the columns.
NOTE = (
    "IP down and up: bytes of packets that entered the line, headers included. Goodput: what"
    " arrived for programs to read, as a rate from a flow's first packet to its last, not over the"
    " whole measured part."
)

#: What explains the column of round trips.
TRIPS_NOTE = (
    "RTT: the least, mean and longest round trip of TCP, from data that was sent once until its"
    " acknowledgement was back at the sender."
)

#: What explains flows of which an earlier one had the same ends.
CONTINUED_NOTE = (
    "Same ports again: it went on after a pause longer than the flow's idle time, or is a new one"
    " after the first had ended."
)

#: Columns for which a terminal of the usual width has no room.
WIDE = ("goodput down", "goodput up", "sent again")

Flow = Mapping[str, Any]


@dataclass(frozen=True)
class _Column:
    """A column of numbers: several values in one cell stand one after the other."""

    name: str
    kind: Kind
    read: Callable[[Flow], tuple[float, ...]]

    def write(self, row: Flow, unit: Unit) -> str:
        values = self.read(row)
        if all(map(math.isnan, values)):
            return "–"
        if self.kind == "number":
            return f"{int(values[0]):,}"
        return " / ".join(format_number(value, unit) for value in values)


def tabulate_real_flows(
    result: Record, most: int = MOST_LISTED, *, is_narrow: bool = False
) -> Table | None:
    """Give a row for each of the largest flows of real programs, and one for the rest; or None.

    Parameters
    ----------
    result
        The run.
    most
        The most flows that have rows of their own.
    is_narrow
        Whether the peer has a column of its own, and the columns of ``WIDE`` are left out.
    """
    flows = sorted(result.real_flows.to_dicts(), key=lambda row: -_add_ways(row, "bytes"))
    if not flows:
        return None
    several = len({row["flow"] for row in flows}) > 1
    # One row that stands for one flow would say less than that flow.
    listed = flows[:most] if len(flows) > most + 1 else flows
    rest = flows[len(listed) :]
    rows = [*listed, *([_sum(rest)] if rest else [])]
    left_out = {*(WIDE if is_narrow else ()), *_list_empty(rows)}
    columns = [column for column in _COLUMNS if column.name not in left_out]
    units = [
        choose_unit((value for row in rows for value in column.read(row)), column.kind)
        for column in columns
    ]
    continued = _find_continued(flows)
    drawn = []
    for row in rows:
        label, peer, port = f"{len(rest):,} others", "", ""
        if row is not rows[-1] or not rest:
            is_continued = (row["flow"], row["number"]) in continued
            label, peer, port = _name_flow(row, several=several, is_continued=is_continued)
        numbers = [
            Cell(column.write(row, unit)) for column, unit in zip(columns, units, strict=True)
        ]
        note = f"{peer}{f' from port {port}' if port else ''}"
        drawn.append(
            Row(label, (Cell(peer), *numbers))
            if is_narrow
            else Row(Cell(label, note=note), tuple(numbers))
        )
    heads = [Column.of(column.name, unit) for column, unit in zip(columns, units, strict=True)]
    notes = (NOTE, _explain_trips(result), CONTINUED_NOTE if continued else "")
    return Table(
        (*([Column("peer")] if is_narrow else []), *heads),
        tuple(drawn),
        "flow",
        note=" ".join(filter(None, notes)),
        look="brief",
    )


def _explain_trips(result: Record) -> str:
    """Explain round trips, or say why there are none."""
    return f"{capitalise(NOT_IN_OPEN_LOOP)}." if is_open_loop(result) else TRIPS_NOTE


def _list_empty(rows: Sequence[Flow]) -> set[str]:
    """Name the columns that would be empty throughout: round trips without TCP, and marks."""
    empty = set() if any(not math.isnan(row["rtt_max_ns"]) for row in rows) else {ROUND_TRIPS}
    return empty if any(_add_ways(row, "marked") for row in rows) else {*empty, "marked"}


def _find_continued(rows: Sequence[Flow]) -> set[tuple[str, int]]:
    """Find the rows that continue after a pause: an earlier flow has the same ends."""
    ends = ("flow", "protocol", "host_address", "host_port", "peer_address", "peer_port")
    seen: set[tuple[Any, ...]] = set()
    continued = set()
    for row in sorted(rows, key=lambda row: int(row["opened_ns"])):
        key = tuple(row[name] for name in ends)
        # A port may be used again, by TCP as a new connection; without ports nothing tells.
        if key in seen and row["protocol"] in WITH_PORTS:
            continued.add((str(row["flow"]), int(row["number"])))
        seen.add(key)
    return continued


def _name_flow(row: Flow, *, several: bool, is_continued: bool = False) -> tuple[str, str, str]:
    """Say what a flow is, with whom, and from which port, by the names of servers where known."""
    protocol = str(row["protocol"])
    title = PROTOCOLS.get(protocol, f"protocol {protocol}")
    name = f"{title} {row['name']}" if row["name"] else title
    if is_continued:
        name += " (same ports again)"
    port = str(row["host_port"]) if protocol in WITH_PORTS and row["host_port"] else ""
    end = write_end(protocol, row["peer_address"], row["peer_port"])
    return f"{row['flow']}: {name}" if several else name, end, port


def write_end(protocol: str, address: str, port: int) -> str:
    """Write the end of a flow: its address, and its port where it has one (fragments have none).

    Examples
    --------
    >>> write_end("tcp", "10.0.0.2", 443), write_end("udp", "fd00::2", 53), write_end(
    ...     "icmp", "10.0.0.2", 0
    ... )
    ('10.0.0.2:443', '[fd00::2]:53', '10.0.0.2')
    >>> write_end("udp", "10.0.0.2", 0)
    '10.0.0.2 (fragments)'
    """
    if protocol not in WITH_PORTS:
        return address
    if not port:
        return f"{address} (fragments)"
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _add_ways(row: Flow, name: str) -> float:
    return float(row[f"{name}_up"] + row[f"{name}_down"])


def _measure_rate(row: Flow, way: str) -> float:
    """Give the goodput over the life of a flow; nothing is known of one of a single moment."""
    lasted = row["last_ns"] - row["opened_ns"]
    return row[f"goodput_bytes_{way}"] * 8e9 / lasted if lasted > 0 else math.nan


def _sum(rows: Sequence[Flow]) -> dict[str, Any]:
    """Give several flows as one; rates are of the time from the first of them to the last."""
    counted = {
        f"{name}_{way}": sum(row[f"{name}_{way}"] for row in rows)
        for name in ("bytes", "goodput_bytes", "retransmitted", "discarded", "marked")
        for way in ("up", "down")
    }
    timed = [row for row in rows if not math.isnan(row["rtt_mean_ns"])]
    return {
        **counted,
        "opened_ns": min(row["opened_ns"] for row in rows),
        "last_ns": max(row["last_ns"] for row in rows),
        "rtt_min_ns": min((row["rtt_min_ns"] for row in timed), default=math.nan),
        # How many round trips each mean is of, is not known.
        "rtt_mean_ns": math.nan,
        "rtt_max_ns": max((row["rtt_max_ns"] for row in timed), default=math.nan),
    }


def _both_ways(name: str) -> Callable[[Flow], tuple[float, ...]]:
    return lambda row: (_add_ways(row, name),)


#: The column of round trips.
ROUND_TRIPS = "RTT min / mean / max"

_COLUMNS = (
    _Column("IP down", "size", lambda row: (float(row["bytes_down"]),)),
    _Column("IP up", "size", lambda row: (float(row["bytes_up"]),)),
    _Column("goodput down", "rate", lambda row: (_measure_rate(row, "down"),)),
    _Column("goodput up", "rate", lambda row: (_measure_rate(row, "up"),)),
    _Column(
        ROUND_TRIPS,
        "time",
        lambda row: (row["rtt_min_ns"], row["rtt_mean_ns"], row["rtt_max_ns"]),
    ),
    _Column("sent again", "number", _both_ways("retransmitted")),
    _Column("dropped", "number", _both_ways("discarded")),
    _Column("marked", "number", _both_ways("marked")),
)
