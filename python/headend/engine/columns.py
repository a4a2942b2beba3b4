"""The columns of every result table, as docs/reference/results.md defines them.

What only counts and picks reads `Lists`; a data frame is made where somebody asks for one, since
the library of frames takes longer to import than most runs take to simulate.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headend.engine.description import list_discards

if TYPE_CHECKING:
    import polars as pl

    from headend._engine import Columns

#: What a column holds; Polars takes these as its types String, Int64 and Float64.
Kind = type[str] | type[int] | type[float]

_DISCARDED = sorted(list_discards())
_DELAYS = tuple(
    f"delay_{name}_ns" for name in ("mean", "min", "p50", "p90", "p95", "p99", "p999", "max")
)


def _define(text: str = "", whole: str = "", real: str = "") -> dict[str, Kind]:
    kinds: tuple[tuple[str, Kind], ...] = ((text, str), (whole, int), (real, float))
    return {name: kind for names, kind in kinds for name in names.split()}


#: The transport of a real host whose flows have several.
MIXED = "mixed"

#: Type of each column of each table.
TABLES: dict[str, dict[str, Kind]] = {
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
OPTIONAL_TABLES: dict[str, dict[str, Kind]] = {
    "air_time": _define("link station use", real="air_ratio"),
    "rate_control": _define(
        "link station direction", "mcs streams rate_bps mpdus", "unacknowledged_ratio"
    ),
    "tins": _define(
        "queue tin",
        "target_ns interval_ns delay_max_ns backlog_bytes packets bytes hash_collisions dropped"
        " marked acks_dropped sparse_flows bulk_flows unresponsive_flows packet_max_bytes"
        " quantum_bytes",
        "threshold_bps delay_mean_ns sparse_delay_mean_ns",
    ),
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


class Lists:
    """A table as lists, one for each column, which a few rows are read from faster than by queries.

    Parameters
    ----------
    table
        A frame, or the lists by column.
    """

    def __init__(self, table: pl.DataFrame | Mapping[str, list[Any]]) -> None:
        self._table = table
        self._lists: dict[str, list[Any]] = {}
        # Each is asked for as often as there are quantities of the table.
        self._numbers: dict[str, list[float]] = {}

    @classmethod
    def of(cls, tables: Tables, name: str) -> Lists:
        """Give the lists of one of some tables, without making a frame."""
        if isinstance(tables, Frames):
            return tables.lists(name)
        table = tables[name]
        return table if isinstance(table, Lists) else cls(table)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._table) if isinstance(self._table, Mapping) else self._table.columns

    def __getitem__(self, name: str) -> list[Any]:
        """Give a column."""
        if name not in self._lists:
            column = self._table[name]
            self._lists[name] = column if isinstance(column, list) else column.to_list()
        return self._lists[name]

    def list_numbers(self, name: str) -> list[float]:
        """Give a column of numbers; ``discarded`` is the sum over the reasons."""
        if name not in self._numbers:
            self._numbers[name] = list(self._read_numbers(name))
        return self._numbers[name]

    def _read_numbers(self, name: str) -> Iterator[float]:
        if name == "discarded":
            reasons = [column for column in self.columns if column.startswith("discarded_")]
            return (float(sum(row)) for row in zip(*map(self.__getitem__, reasons), strict=True))
        return (float("nan") if value is None else float(value) for value in self[name])

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A dict of each row, by column; never change one."""
        names = self.columns
        rows = zip(*(self[name] for name in names), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def find_rows(self, **wanted: Collection[str]) -> list[int]:
        """Find the rows that hold one of the wanted texts in each column."""
        found = list(range(len(self[self.columns[0]])))
        for name, texts in wanted.items():
            column, known = self[name], set(texts)
            found = [index for index in found if column[index] in known]
        return found


#: Tables by name: frames, or lists of them.
Tables = Mapping[str, "pl.DataFrame"] | Mapping[str, Lists]


class Frames(MutableMapping[str, "pl.DataFrame"]):
    """Frames of the engine's columns, made when first looked at: studies read only a few."""

    def __init__(self, tables: Mapping[str, Columns]) -> None:
        self._tables = tables
        self._types = TABLES | {
            name: own for name, own in OPTIONAL_TABLES.items() if name in tables
        }
        self._made: dict[str, pl.DataFrame] = {}
        self._lists: dict[str, Lists] = {}
        self._replaced: set[str] = set()

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Give a table; a table without rows still has its columns."""
        if name not in self._made:
            self._made[name] = build_frame(name, self._read(name))
        return self._made[name]

    def __setitem__(self, name: str, table: pl.DataFrame) -> None:
        """Put another frame in place of a table."""
        self._types = {**self._types, name: self._types.get(name, {})}
        self._made[name] = table
        self._lists[name] = Lists(table)
        self._replaced.add(name)

    def __delitem__(self, name: str) -> None:
        """Leave a table out."""
        self._made.pop(name, None)
        self._lists.pop(name, None)
        self._types = {own: types for own, types in self._types.items() if own != name}

    def __contains__(self, name: object) -> bool:
        """Say whether there is a table, without making its frame."""
        return name in self._types

    def __iter__(self) -> Iterator[str]:
        """List the tables."""
        return iter(self._types)

    def __len__(self) -> int:
        """Count the tables."""
        return len(self._types)

    def lists(self, name: str) -> Lists:
        """Give a table as lists."""
        if name not in self._lists:
            columns = self._read(name) or {column: [] for column in self._types[name]}
            self._lists[name] = Lists(
                {
                    column: content if isinstance(content, list) else array(*content).tolist()
                    for column, content in columns.items()
                }
            )
        return self._lists[name]

    def encode(self, name: str) -> bytes | None:
        """Give a table as the engine writes it, the bytes of a Parquet file.

        None for what the engine cannot write: another frame that was put in place of its table, and
        a table whose columns it gives only with a row.
        """
        if name not in self._types:
            raise KeyError(name)
        if name in self._replaced or name not in self._tables:
            return None
        return self._tables[name].encode_parquet()

    def _read(self, name: str) -> Mapping[str, list[str] | tuple[str, bytes]]:
        if name not in self._types:
            raise KeyError(name)
        return self._tables[name].read() if name in self._tables else {}


def name_tables(given: Collection[str]) -> list[str]:
    """List the tables of a run in their order: those of every run, and others if given."""
    return [*TABLES, *(name for name in OPTIONAL_TABLES if name in given)]


def build_frame(name: str, columns: Mapping[str, list[str] | tuple[str, bytes]]) -> pl.DataFrame:
    """Make a frame of the engine's columns of one table; without columns it has no rows."""
    import polars as pl

    types = (TABLES | OPTIONAL_TABLES)[name]
    if not columns:
        return pl.DataFrame(schema=types)
    frame = build_plain_frame(columns)
    # A cast costs as much as a query even where there is nothing to cast, and of most tables there
    # is nothing.
    other = {
        name: types[name]
        for name, kind in frame.schema.items()
        if name in types and kind.to_python() is not types[name]
    }
    return frame.cast(other) if other else frame  # type: ignore[arg-type]


def build_plain_frame(columns: Mapping[str, list[str] | tuple[str, bytes]]) -> pl.DataFrame:
    """Make a frame of the engine's columns, with the types that they have there."""
    import polars as pl

    return pl.DataFrame(
        [
            pl.Series(name, column, dtype=pl.String)
            if isinstance(column, list)
            # The engine's numbers, by the type codes of Python's arrays.
            else pl.Series(name, array(*column), dtype=pl.Float64 if column[0] == "d" else pl.Int64)
            for name, column in columns.items()
        ]
    )
