"""The values that SNMP would show of a cable line: service flows and latency histograms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record

#: Units of objects, by the end of their names; the first that fits.
_UNITS = (
    (r"Rate$", "bit/s"),
    (r"UsTargetBuffer$", "ms"),
    (r"(Burst|Buffer|BufferSize|Octets|GrantSize)$", "B"),
    (r"LatencyTarget$", "ms"),
    (r"Threshold$", "µs"),
    (r"CouplingFactor$", "tenths"),
    (r"SchedulingWeight$", "of 256"),
    (r"RangeExponentRampFunc$", "log2(ns)"),
    (r"DrainRateExponent$", "log2(B/s)"),
    (r"GrantsPerInterval$", "grants"),
    (r"(Interval|Jitter|UpperEdge|MaxLatency)$", "µs"),
    (r"Pkts$", "packets"),
    (r"TxSlots\w+$", "minislots"),
)

#: The meanings of numbers of enumerated objects, by the end of the object's name.
_MEANINGS = {
    "AqmUsEnable": {1: "true", 2: "false"},
    "AqmDisabled": {1: "true", 2: "false"},
    "LowLatencyAsf": {1: "true", 2: "false"},
    "AqmAlgInUse": {1: "unknown", 2: "other", 3: "docsisPIE", 4: "immediateAqm"},
    "SchedulingType": {
        1: "undefined",
        2: "bestEffort",
        3: "nonRealTimePollingService",
        4: "realTimePollingService",
        6: "unsolictedGrantService",
        7: "proactiveGrantService",
    },
}


@dataclass(frozen=True)
class ObjectRow:
    """An object of the MIB, and its values.

    Parameters
    ----------
    table
        The table that it is a column of.
    name
        Its name.
    unit
        The unit of its values, or nothing.
    values
        Its value for each service flow, written; empty where it has none.
    """

    table: str
    name: str
    unit: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class ManagedModem:
    """The values that SNMP shows of a modem's service flows.

    Parameters
    ----------
    label
        The line, with the modem's name where it has one.
    service_flows
        Their names, upstream ones first.
    rows
        The objects, in the order of the table `mib`; a modem's own have the same value for all its
        upstream service flows.
    """

    label: str
    service_flows: tuple[str, ...]
    rows: tuple[ObjectRow, ...]


@dataclass(frozen=True)
class LatencyHistogram:
    """The latency histogram of a service flow.

    Parameters
    ----------
    queue
        The name of its queue.
    direction
        ``up`` or ``down``.
    edges_us
        The upper edges of all bins but the last, in µs.
    packets
        The packets of each bin: one more than there are edges.
    """

    queue: str
    direction: str
    edges_us: tuple[int, ...]
    packets: tuple[int, ...]

    def list_bins(self) -> Iterator[tuple[int, int | None, int]]:
        """Give each bin: its edges in µs (the last has no upper one), and its packets."""
        lower = (0, *self.edges_us)
        upper = (*self.edges_us, None)
        yield from zip(lower, upper, self.packets, strict=True)


def find_histograms(result: Record) -> list[LatencyHistogram]:
    """Give the latency histograms of all service flows that have one, in the order of the table."""
    import polars as pl

    table = result.mib.filter(pl.col("object").str.contains(r"^docsQosSfLatencyBin\d+"))
    histograms = []
    for (queue, direction), rows in name_service_queues(table).group_by(
        "queue", "direction", maintain_order=True
    ):
        values = dict(rows.select("object", "value").iter_rows())
        edges, packets = (
            tuple(value for name, value in values.items() if name.endswith(kind))
            for kind in ("UpperEdge", "Pkts")
        )
        histograms.append(LatencyHistogram(str(queue), str(direction), edges, packets))
    return histograms


def gather_modem(result: Record, queue: str) -> ManagedModem | None:
    """Give the values that SNMP shows of the modem that a queue belongs to.

    Parameters
    ----------
    queue
        The name of the queue, such as the one that a run is judged by.

    Returns
    -------
    ManagedModem or None
        None where the queue is not one of a cable line.
    """
    import polars as pl

    table = result.mib
    service_rows = name_service_queues(table).filter(pl.col("queue") == queue)
    if service_rows.is_empty():
        return None
    link, modem = service_rows.row(0, named=True)["link"], service_rows.row(0, named=True)["modem"]
    rows = table.filter(pl.col("link") == link, pl.col("modem") == modem)
    flows = rows.filter(pl.col("service_flow") != "").select("service_flow", "direction")
    pairs = list(
        flows.unique(maintain_order=True)
        .sort("direction", descending=True, maintain_order=True)
        .iter_rows()
    )
    values = {
        (name, service_flow): value
        for name, service_flow, value in rows.select("object", "service_flow", "value").iter_rows()
    }
    objects = _order_objects(rows)
    return ManagedModem(
        f"{link}, {modem}" if modem else link,
        tuple(name for name, _ in pairs),
        tuple(
            ObjectRow(
                table_name,
                name,
                _find_unit(name),
                tuple(
                    _write_value(
                        name,
                        values.get((name, flow), values.get((name, "")) if way == "up" else None),
                    )
                    for flow, way in pairs
                ),
            )
            for table_name, name in objects
        ),
    )


def name_service_queues(table: pl.DataFrame) -> pl.DataFrame:
    """Give the rows of service flows, each with the name of its queue."""
    import polars as pl

    modem = pl.when(pl.col("modem") == "").then(pl.lit(".")).otherwise("." + pl.col("modem") + ".")
    return table.filter(pl.col("service_flow") != "").with_columns(
        queue=pl.col("link") + modem + pl.col("service_flow")
    )


def _order_objects(rows: pl.DataFrame) -> Sequence[tuple[str, str]]:
    """Give tables with their objects, those of one table together, in the order of first rows."""
    met = list(dict.fromkeys(rows.select("mib_table", "object").iter_rows()))
    tables = list(dict.fromkeys(table for table, _ in met))
    return sorted(met, key=lambda pair: tables.index(pair[0]))


def _find_unit(name: str) -> str:
    """Give the unit of an object's values.

    Examples
    --------
    >>> _find_unit("docsQosParamSetHCMaxTrafficRate"), _find_unit("docsQosParamSetTargetBuffer")
    ('bit/s', 'B')
    >>> _find_unit("docsQosCmSystemCfgStateDefaultUsTargetBuffer"), _find_unit(
    ...     "docsQosParamSetPriority"
    ... )
    ('ms', '')
    >>> _find_unit("docsQosParamSetGrantsPerInterval"), _find_unit(
    ...     "docsQosParamSetNomGrantInterval"
    ... )
    ('grants', 'µs')
    """
    return next((unit for end, unit in _UNITS if re.search(end, name)), "")


def _write_value(name: str, value: int | None) -> str:
    """Write a value, with its meaning if it is enumerated.

    Examples
    --------
    >>> _write_value("docsQosParamSetAqmAlgInUse", 3), _write_value("docsQosServiceFlowPkts", 1234)
    ('docsisPIE(3)', '1,234')
    >>> _write_value("docsQosParamSetRequestPolicyOct", 113)
    '0x71'
    """
    if value is None:
        return ""
    if name.endswith("RequestPolicyOct"):
        return f"{value:#04x}"
    meanings = next((numbers for end, numbers in _MEANINGS.items() if name.endswith(end)), {})
    return f"{meanings[value]}({value})" if value in meanings else f"{value:,}"
