"""What a measuring tool would have recorded of a run: its probes, and what its transfers brought.

A run is one more source of a `Measurement`. The exports to tools' formats write this record, and
what is estimated from it can be held against the scenario, which knows the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headend.measurement.marking import name_octet
from headend.measurement.phases import find_busy, find_phases
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
from headend.text.quantity import parse_quantity
from headend.version import read_version

if TYPE_CHECKING:
    from headend.results.record import Record

#: The applications that are probes, and what they send.
PROBES = {"ping": Probe.ICMP, "isochronous": Probe.UDP}

#: The codes of the ECN field (RFC 3168).
_ECN = {"ect0": 2, "ect1": 1}

#: How often at most a transfer's own round-trip time is taken, s: as often as ndt7 sends TCP's
#: state.
POLL = 0.1

_NS = 1e9


def record_run(run: Record) -> Measurement:
    """Give what probes and transfers of a run measured, as of any other tool.

    A probe is an application ``ping`` or ``isochronous``. A transfer is any flow over TCP; its rate
    is what its receiver read, in the intervals of the run's series, and its round-trip time is what
    the sender of its first connection has smoothed. A direction is loaded while transfers bring
    something in it.

    Returns
    -------
    Measurement
        Without any series, of a run that has neither probes nor transfers. Times are since the
        run's start.
    """
    rates = [*_list_rates(run)]
    flows = run.manifest["scenario"]["flow"]
    carrying = [_find_flow(flows, series.flow) for series in rates]
    counts = {own: sum(series.direction is own for series in rates) for own in Direction}
    return Measurement(
        tools=(f"headend {read_version()}",),
        paths=(run.folder,) if run.folder else (),
        phases=find_phases(find_busy(rates), 0.0, run.manifest["simulated_ns"] / _NS),
        rates=(*_add_up(rates), *rates),
        delays=(*_list_delays(run, flows), *_list_in_flow(run, rates)),
        retransmissions=tuple(_list_retransmissions(run)),
        senders=Senders(counts[Direction.UP], counts[Direction.DOWN], _name_congestion(carrying)),
        marks=int(run.flows["marked"].sum()),
    )


def _list_rates(run: Record) -> Iterator[RateSeries]:
    """Give the series of each transfer."""
    import polars as pl

    series = run.flow_series
    ends = series["time_ns"].unique().sort()
    if len(ends) < 2:
        return
    # An interval that is as the one before it has no row.
    step = min(after - before for before, after in pairwise(ends.to_list()))
    grid = pl.DataFrame({"time_ns": pl.int_range(step, ends[-1] + 1, step, eager=True)})
    times = grid["time_ns"].to_list()
    transfers = run.flows.filter(transport="tcp", carries="data")
    for flow, direction in transfers.select("flow", "direction").iter_rows():
        own = series.filter(flow=flow, direction=direction).select("time_ns", "goodput_bps")
        full = grid.join_asof(own.sort("time_ns"), on="time_ns").fill_null(0.0)
        yield RateSeries(
            Direction(direction),
            [(time - step) / _NS for time in times],
            [time / _NS for time in times],
            full["goodput_bps"].to_list(),
            flow=flow,
        )


def _list_retransmissions(run: Record) -> Iterator[Retransmissions]:
    """Give what each transfer sent again, as a share of its segments."""
    transfers = run.flows.filter(transport="tcp", carries="data")
    columns = ("flow", "direction", "retransmitted", "packets_sent")
    for flow, direction, again, sent in transfers.select(columns).iter_rows():
        if sent:
            yield Retransmissions(Direction(direction), min(1.0, again / sent), flow)


def _add_up(rates: Sequence[RateSeries]) -> Iterator[RateSeries]:
    """Give the sum of each direction's series, which all have the same bins."""
    for direction in Direction:
        own = [series for series in rates if series.direction is direction]
        if own:
            total = [sum(rates) for rates in zip(*(series.rates for series in own), strict=True)]
            yield RateSeries(direction, own[0].starts, own[0].ends, total)


def _list_delays(run: Record, flows: Mapping[str, Any]) -> Iterator[DelaySeries]:
    """Give the round-trip times of each probe, and when those were sent that had no answer."""
    import polars as pl

    applications = dict(run.flows.select("flow", "application").iter_rows())
    samples = run.samples.filter(measure="rtt")
    for flow, application in applications.items():
        own = samples.filter(flow=flow)
        if application not in PROBES or own.is_empty():
            continue
        settings = _find_flow(flows, flow)
        timeout = parse_quantity(settings["application"][application]["timeout"], "time").value
        took = pl.col("value").fill_nan(timeout)
        own = own.with_columns(sent=(pl.col("time_ns") - took) / _NS).sort("sent")
        answered = own.filter(pl.col("value").is_not_nan())
        lost = own.filter(pl.col("value").is_nan())["sent"].to_list()
        yield DelaySeries(
            Trip.ROUND,
            PROBES[application],
            answered["sent"].to_list(),
            (answered["value"] / 1e6).to_list(),
            lost,
            len(lost),
            marking=_name_marking(settings),
        )


def _list_in_flow(run: Record, rates: Sequence[RateSeries]) -> Iterator[DelaySeries]:
    """Give the smoothed round-trip times of each transfer, as TCP's state has them."""
    import polars as pl

    series = run.connection_series.filter(connection=0)
    # Of a connection whose both ends send data, an interval has a row for each end.
    series = series.unique(["time_ns", "flow"], keep="first", maintain_order=True)
    poll = pl.col("time_ns") // int(POLL * _NS)
    series = series.with_columns(poll=poll).unique(["poll", "flow"], keep="first")
    for name in dict.fromkeys(one.flow for one in rates):
        own = series.filter(pl.col("flow") == name, pl.col("srtt_ns").is_not_nan()).sort("time_ns")
        if not own.is_empty():
            yield DelaySeries(
                Trip.ROUND,
                Probe.IN_FLOW,
                (own["time_ns"] / _NS).to_list(),
                (own["srtt_ns"] / 1e6).to_list(),
                flow=name,
            )


def _find_flow(flows: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Find the settings of a flow, which may be one of several: ``web`` of ``web.1``."""
    while name not in flows and "." in name:
        name = name.rpartition(".")[0]
    return flows.get(name, {})  # type: ignore[no-any-return]


def _name_marking(settings: Mapping[str, Any]) -> str:
    """Name the DSCP and the ECN marking of a flow's datagrams; empty for best effort."""
    return name_octet(4 * int(settings.get("dscp", 0)) + _ECN.get(settings.get("ecn", ""), 0))


def _name_congestion(flows: Sequence[Mapping[str, Any]]) -> str:
    """Name the congestion control of all flows; empty where they have several."""
    names = {next(iter(flow["tcp"]["congestion"])) for flow in flows if "tcp" in flow}
    return names.pop() if len(names) == 1 else ""
