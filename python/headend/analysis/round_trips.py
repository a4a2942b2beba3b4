"""Round trips of real programs: where they are not measured, and why.

They are those of TCP, from data until its acknowledgement is back. In open loop they would mean
nothing: recorded acknowledgements enter the line when they were recorded, however late the data was
that they answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from headend.engine.columns import Lists, Tables
from headend.engine.description import REAL

if TYPE_CHECKING:
    import polars as pl

#: The measure, as tables and expectations call it.
ROUND_TRIPS = "rtt"

#: Said wherever they would stand.
NOT_IN_OPEN_LOOP = "round trips are not measured in open loop"


def list_real(tables: Tables, among: Collection[str] | None = None) -> list[str]:
    """Name the flows of real programs, of all or among some."""
    flows = Lists.of(tables, "flows")
    found = dict.fromkeys(flows["flow"][row] for row in flows.find_rows(application=[REAL]))
    return [name for name in found if among is None or name in among]


def leave_out_round_trips(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Take the round trips of real programs out of the tables of a replay in open loop."""
    import polars as pl

    kept = dict(tables)
    real = list_real(tables)
    is_real_trip = pl.col("flow").is_in(real) & (pl.col("measure") == ROUND_TRIPS)
    for name in ("measures", "samples"):
        kept[name] = tables[name].filter(~is_real_trip)
    if (flows := tables.get("real_flows")) is not None:
        columns = ("rtt_min_ns", "rtt_mean_ns", "rtt_max_ns")
        kept["real_flows"] = flows.with_columns(pl.lit(float("nan")).alias(own) for own in columns)
    return kept


def explain_round_trips(flow: str, tables: Tables, *, is_open_loop: bool) -> str:
    """Say why a real program has no round trips, and what to ask instead.

    Parameters
    ----------
    flow
        The program's flow.
    tables
        Those of the run.
    is_open_loop
        Whether it was a replay under other settings.
    """
    instead = f"{flow}.up.delay.p95 and {flow}.down.delay.p95 are of every packet"
    if is_open_loop:
        return f"{NOT_IN_OPEN_LOOP}; {instead}"
    flows = Lists.of(tables, "flows")
    if not any(flows["packets_sent"][row] for row in flows.find_rows(flow=[flow])):
        return f"{flow} sent nothing"
    if "real_flows" in tables and Lists.of(tables, "real_flows").find_rows(
        flow=[flow], protocol=["tcp"]
    ):
        return f"no data of its TCP was acknowledged; {instead}"
    return f"rtt is of TCP only, and {flow} had none; {instead}"
