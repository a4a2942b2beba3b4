"""The columns of every result table, as docs/reference/results.md defines them."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

from headend.engine.description import list_discards

if TYPE_CHECKING:
    from headend._engine import Columns

_DISCARDED = sorted(list_discards())
_DELAYS = tuple(
    f"delay_{name}_ns" for name in ("mean", "min", "p50", "p90", "p95", "p99", "p999", "max")
)


def _define(text: str = "", whole: str = "", real: str = "") -> dict[str, pl.DataType]:
    kinds = ((text, pl.String()), (whole, pl.Int64()), (real, pl.Float64()))
    return {name: kind for names, kind in kinds for name in names.split()}


#: The transport of a real host whose flows have several.
MIXED = "mixed"

#: Type of each column of each table.
TABLES: dict[str, dict[str, pl.DataType]] = {
    "flows": _define(
        "flow direction application transport carries",
        (
            "packets_sent bytes_sent packets_delivered bytes_delivered goodput_bytes marked"
            " retransmitted "
        )
        + " ".join(_DISCARDED),
        "throughput_bps goodput_bps loss_ratio jitter_ns cwnd_limited_ratio rwnd_limited_ratio"
        " sndbuf_limited_ratio app_limited_ratio recovery_limited_ratio pacing_limited_ratio "
        + " ".join(_DELAYS),
    ),
    "queues": _define(
        "queue link direction discipline",
        "packets_enqueued packets_dequeued bytes_dequeued marked backlog_max_bytes"
        " requests_contention requests_piggyback collisions request_retries requests_exceeded"
        " grants granted_bytes unused_grant_bytes maps " + " ".join(_DISCARDED),
        (
            "rate_bps limit_bytes capacity_bps utilisation air_ratio standing_ratio"
            " backlog_mean_bytes granted_maps_ratio "
        )
        + " ".join(_DELAYS),
    ),
    "channels": _define(
        "channel link direction",
        real="capacity_bps used_bps neighbours_bps utilisation full_ratio granted_maps_ratio "
        "collision_ratio broken_ratio idle_ratio",
    ),
    "collisions": _define("queue flow direction", "backlog packets"),
    "measures": _define("flow measure unit", "count", "mean min p5 p25 p50 p75 p90 p95 p99 max"),
    "samples": _define("flow measure", "time_ns", "value"),
    "flow_series": _define(
        "flow direction",
        "time_ns discarded marked",
        "throughput_bps goodput_bps delay_mean_ns delay_max_ns",
    ),
    "queue_series": _define(
        "queue",
        "time_ns backlog_bytes backlog_max_bytes discarded marked",
        "delay_mean_ns delay_max_ns rate_bps drop_probability tokens_bytes burst_allowance_ns"
        " target_delay_ns rate_estimate_bps average_packets average_bytes queues_active"
        " hash_collisions",
    ),
    "connection_series": _define(
        "flow", "time_ns connection cwnd_bytes in_flight_bytes", "ssthresh_bytes srtt_ns"
    ),
    "histograms": _define("kind name direction", "lower_ns upper_ns count"),
    "summary": _define(
        whole="simulated_ns events packets_delivered data_packets_delivered", real="jain_index"
    ),
}

#: Tables that only some runs have.
OPTIONAL_TABLES: dict[str, dict[str, pl.DataType]] = {
    "air_time": _define("link station use", real="air_ratio"),
    "mib": _define("link modem service_flow direction mib_table object", "value"),
    "low_latency": _define("queue flow direction", "packets bytes ce_packets"),
    "queue_protection": _define(
        "queue flow direction",
        "packets score_max_ns sanctioned sanctioned_bytes reordered",
        "congestion_bytes first_sanction_ns last_sanction_ns sanction_delay_max_ns",
    ),
    "real_flows": _define(
        "flow protocol host_address peer_address name",
        "number host_port peer_port dscp opened_ns last_ns "
        + " ".join(
            f"{counted}_{way}"
            for way in ("up", "down")
            for counted in (
                "packets",
                "bytes",
                "goodput_bytes",
                "retransmitted",
                "discarded",
                "marked",
            )
        ),
        "rtt_min_ns rtt_mean_ns rtt_max_ns",
    ),
    "lateness": _define(
        whole="time_ns frames p50_ns p99_ns max_ns stalls longest_stall_ns overruns"
    ),
    "steps": _define("step queue detail", "at_ns when_ns until_ns", "bytes opportunity window"),
}


class Frames(Mapping[str, pl.DataFrame]):
    """Frames of the engine's columns, made when first looked at: studies read only a few."""

    def __init__(self, tables: Mapping[str, Columns]) -> None:
        self._tables = tables
        self._types = TABLES | {
            name: own for name, own in OPTIONAL_TABLES.items() if name in tables
        }
        self._made: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Give a table; a table without rows still has its columns."""
        if name not in self._made:
            columns = self._tables[name].read() if name in self._tables else {}
            self._made[name] = _build_frame(columns, self._types[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        """List the tables."""
        return iter(self._types)

    def __len__(self) -> int:
        """Count the tables."""
        return len(self._types)


def build_frames(tables: Mapping[str, Columns]) -> dict[str, pl.DataFrame]:
    """Make frames of all the engine's columns; a table without rows still has its columns."""
    return dict(Frames(tables))


def name_tables(given: Collection[str]) -> list[str]:
    """List the tables of a run in their order: those of every run, and others if given."""
    return [*TABLES, *(name for name in OPTIONAL_TABLES if name in given)]


def build_frame(name: str, columns: Mapping[str, list[str] | tuple[str, bytes]]) -> pl.DataFrame:
    """Make a frame of the engine's columns of one table; without columns it has no rows."""
    return _build_frame(columns, (TABLES | OPTIONAL_TABLES)[name])


def _build_frame(
    columns: Mapping[str, list[str] | tuple[str, bytes]], types: dict[str, pl.DataType]
) -> pl.DataFrame:
    if not columns:
        return pl.DataFrame(schema=types)
    frame = pl.DataFrame([_build_series(name, column) for name, column in columns.items()])
    # A cast costs as much as a query even where there is nothing to cast, and of most tables there
    # is nothing.
    other = pl.Schema(
        (name, types[name]) for name, kind in frame.schema.items() if kind != types.get(name, kind)
    )
    return frame.cast(other) if other else frame


def _build_series(name: str, column: list[str] | tuple[str, bytes]) -> pl.Series:
    if isinstance(column, list):
        return pl.Series(name, column, dtype=pl.String)
    code, content = column
    return pl.Series(name, array(code, content), dtype=_NUMBERS[code])


#: What the engine's numbers are, by the type codes of Python's arrays.
_NUMBERS: dict[str, pl.DataType] = {"d": pl.Float64(), "q": pl.Int64()}
