"""What held the TCP senders of a flow back for most of the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headend.engine.metrics import SEND_LIMITS
from headend.text.quantity import format_quantity

if TYPE_CHECKING:
    import polars as pl

#: The column of tables of flows.
LIMITS_COLUMN = "TCP limited by"

#: What explains the column.
LIMITS_NOTE = (
    "TCP limited by: what held the sender back for the largest share of the time, and that share."
)


def tell_limit(data: pl.DataFrame) -> str:
    """Say what held the senders of a flow back for most of the time, with its share; or empty.

    Parameters
    ----------
    data
        The rows of the table ``flows`` with the flow's data. Of several directions, the one that
        sent most counts.
    """
    known = data.drop_nulls("cwnd_limited_ratio").drop_nans("cwnd_limited_ratio")
    if known.is_empty():
        return ""
    row = known.sort("bytes_sent", descending=True, maintain_order=True).row(0, named=True)
    column = max(SEND_LIMITS, key=lambda name: float(row[name]))
    return f"{SEND_LIMITS[column]} {format_quantity(round(row[column], 2), 'ratio')}"
