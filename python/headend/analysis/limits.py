"""What held the TCP senders of a flow back for most of the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headend.analysis.key_figure import read_number
from headend.engine.metrics import SEND_LIMITS
from headend.text.quantity import format_quantity

#: The column of tables of flows.
LIMITS_COLUMN = "TCP limited by"

#: Explains the column below a table.
LIMITS_NOTE = (
    "TCP limited by: what held the sender back for the largest share of the time, and that share."
)


def describe_limit(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what held the senders of a flow back for most of the time, with its share; or empty.

    Parameters
    ----------
    rows
        The rows of the table ``flows`` for the directions that carry the flow's data. Of several,
        the direction that sent most counts.
    """
    measured = [row for row in rows if read_number(row["cwnd_limited_ratio"]) is not None]
    if not measured:
        return ""
    row = max(measured, key=lambda row: row["bytes_sent"])
    column = max(SEND_LIMITS, key=lambda name: float(row[name]))
    return f"{SEND_LIMITS[column]} {format_quantity(round(row[column], 2), 'ratio')}"
