"""What a measuring tool would have recorded of a run: its probes, and what its transfers brought.

A run is one more source of a `Measurement`. The exports to tools' formats write this record, and
what is estimated from it can be held against the scenario, which knows the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    RateSeries,
    Senders,
    Trip,
)
from headend.text.quantity import parse_quantity
from headend.version import read_version

if TYPE_CHECKING:
    from headend.results.record import Record

#: The applications that are probes, and what they send.
PROBES = {"ping": Probe.ICMP, "isochronous": Probe.UDP}

#: A direction in which nothing arrives for longer than this is no longer loaded, s: a transfer that
#: repairs losses brings nothing for some round trips.
PAUSE = 1.0

#: What DSCPs are called in scenarios and tools (RFC 3246, RFC 8622, RFC 9956).
MARKINGS = {46: "EF", 45: "NQB", 1: "LE"}

#: How often at most a transfer's own round-trip time is taken, s: as often as ndt7 sends TCP's
#: state.
POLL = 0.1

_NS = 1e9


def record_run(run: Record) -> Measurement:
    """Give what probes and transfers of a run measured, as of any other tool.

    A probe is an application ``ping`` or ``isochronous``. A transfer is any flow over TCP; its rate
    is what its receiver read, in the intervals of the run's series, and its round-trip time is what
    the sender of its first connection has smoothed. A direction is loaded from the first byte of a
    transfer to its last one.

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
        phases=find_phases(rates, run.manifest["simulated_ns"] / _NS),
        rates=(*_add_up(rates), *rates),
        delays=(*_list_delays(run, flows), *_list_in_flow(run, rates)),
        senders=Senders(counts[Direction.UP], counts[Direction.DOWN], _name_congestion(carrying)),
        marks=int(run.flows["marked"].sum()),
    )


def find_phases(rates: Sequence[RateSeries], end: float) -> tuple[Phase, ...]:
    """Find when which direction was loaded.

    Parameters
    ----------
    rates
        Of transfers.
    end
        Of the measurement, s.

    Examples
    --------
    >>> series = RateSeries(Direction.UP, [0, 1, 2, 3], [1, 2, 3, 4], [0, 8, 8, 0])
    >>> [(phase.load.value, phase.start, phase.end) for phase in find_phases([series], 4)]
    [('idle', 0.0, 1.0), ('up', 1.0, 3.0), ('idle', 3.0, 4.0)]
    """
    spans = {own: _find_spans([one for one in rates if one.direction is own]) for own in Direction}
    edges = {0.0, float(end)} | {edge for own in spans.values() for span in own for edge in span}
    phases: list[Phase] = []
    inner = sorted(edge for edge in edges if edge <= end)
    for start, stop in pairwise(inner):
        middle = (start + stop) / 2
        loaded = [own for own in Direction if any(low < middle < high for low, high in spans[own])]
        load = Load.BOTH if len(loaded) > 1 else Load(loaded[0]) if loaded else Load.IDLE
        since = phases.pop().start if phases and phases[-1].load is load else start
        phases.append(Phase(load, since, stop))
    return tuple(phases)


def _find_spans(rates: Sequence[RateSeries]) -> list[tuple[float, float]]:
    """Give the times in which any of the series had data, with short pauses inside them."""
    busy = sorted(
        {
            (float(start), float(end))
            for series in rates
            for start, end, rate in zip(series.starts, series.ends, series.rates, strict=True)
            if rate > 0
        }
    )
    spans: list[tuple[float, float]] = []
    for start, end in busy:
        if spans and start - spans[-1][1] <= PAUSE:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def _list_rates(run: Record) -> Iterator[RateSeries]:
    """Give the series of each transfer."""
    import numpy as np
    import polars as pl

    series = run.flow_series
    ends = np.sort(series["time_ns"].unique().to_numpy())
    if len(ends) < 2:
        return
    # An interval that is as the one before it has no row.
    step = int(np.diff(ends).min())
    grid = pl.DataFrame({"time_ns": np.arange(step, int(ends[-1]) + 1, step)})
    transfers = run.flows.filter(transport="tcp", carries="data")
    for flow, direction in transfers.select("flow", "direction").iter_rows():
        own = series.filter(flow=flow, direction=direction).select("time_ns", "goodput_bps")
        full = grid.join_asof(own.sort("time_ns"), on="time_ns").fill_null(0.0)
        times = full["time_ns"].to_numpy()
        yield RateSeries(
            Direction(direction),
            ((times - step) / _NS).tolist(),
            (times / _NS).tolist(),
            full["goodput_bps"].to_list(),
            flow=flow,
        )


def _add_up(rates: Sequence[RateSeries]) -> Iterator[RateSeries]:
    """Give the sum of each direction's series, which all have the same bins."""
    for direction in Direction:
        own = [series for series in rates if series.direction is direction]
        if own:
            total = [sum(rates) for rates in zip(*(series.rates for series in own), strict=True)]
            yield RateSeries(direction, own[0].starts, own[0].ends, total)


def _list_delays(run: Record, flows: Mapping[str, Any]) -> Iterator[DelaySeries]:
    """Give the round-trip times of each probe, and when those were sent that had no answer."""
    import numpy as np

    applications = dict(run.flows.select("flow", "application").iter_rows())
    samples = run.samples.filter(measure="rtt")
    for flow, application in applications.items():
        own = samples.filter(flow=flow)
        if application not in PROBES or own.is_empty():
            continue
        settings = _find_flow(flows, flow)
        timeout = parse_quantity(settings["application"][application]["timeout"], "time").value
        values = own["value"].to_numpy()
        done = own["time_ns"].to_numpy()
        is_lost = np.isnan(values)
        sent = np.where(is_lost, done - timeout, done - values) / _NS
        order = np.argsort(sent[~is_lost], kind="stable")
        lost = np.sort(sent[is_lost])
        yield DelaySeries(
            Trip.ROUND,
            PROBES[application],
            sent[~is_lost][order].tolist(),
            (values[~is_lost][order] / 1e6).tolist(),
            lost.tolist(),
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
    """Name the DSCP or the ECN marking of a flow's datagrams; empty for best effort."""
    if settings.get("ecn") == "ect1":
        return "ECT(1)"
    dscp = int(settings.get("dscp", 0))
    return MARKINGS.get(dscp, f"DSCP {dscp}") if dscp else ""


def _name_congestion(flows: Sequence[Mapping[str, Any]]) -> str:
    """Name the congestion control of all flows; empty where they have several."""
    names = {next(iter(flow["tcp"]["congestion"])) for flow in flows if "tcp" in flow}
    return names.pop() if len(names) == 1 else ""
