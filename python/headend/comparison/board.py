"""The figures of a comparison as data: means, intervals, differences and marks, per tier."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headend.analysis.estimate import Estimate
from headend.comparison.comparison import Row, Variant, compare_figures
from headend.comparison.grid import Tier, find_grid
from headend.text.quantity import Kind

if TYPE_CHECKING:
    import polars as pl

#: The name of the table among those of a comparison.
NAME = "figures"

#: The base unit of each kind of quantity, as the table writes it.
UNITS: dict[Kind, str] = {
    "time": "ns",
    "rate": "bit/s",
    "size": "byte",
    "ratio": "1",
    "number": "1",
}


def describe_figures(variants: Sequence[Variant]) -> list[dict[str, Any]]:
    """Give the figures of variants as plain values for JSON, by tier and then by choice."""
    return [
        {
            "tier": tier.label,
            "subject": row.figure.subject,
            "figure": row.figure.name,
            "unit": UNITS[row.figure.kind],
            "more_is_better": row.figure.rising,
            "runs": {
                variant.label: cell and asdict(cell)
                for variant, cell in zip(tier.present, row.cells, strict=True)
            },
        }
        for tier, row in _compare_within_tiers(variants)
    ]


def tabulate_figures(variants: Sequence[Variant]) -> pl.DataFrame:
    """Give the figures of variants as a table, a row for each figure and choice of each tier.

    Parameters
    ----------
    variants
        The settings, each with its runs.

    Returns
    -------
    polars.DataFrame
        ``tier`` (empty where there is only one), ``choice``, ``subject``, ``figure``, ``unit``,
        ``more_is_better``, ``seeds`` (how many), ``mean`` with ``low`` and ``high`` of its 95 %
        interval, ``difference`` to the first choice of the tier with ``difference_low`` and
        ``difference_high``, and ``mark`` (``best``, ``worst`` or null). Numbers are in base units;
        values that need several seeds are null with one seed.
    """
    import polars as pl

    rows = [
        {
            "tier": tier.label,
            "choice": variant.label,
            "subject": row.figure.subject,
            "figure": row.figure.name,
            "unit": UNITS[row.figure.kind],
            "more_is_better": row.figure.rising,
            "seeds": cell.estimate.count,
            **_spread("mean", "", cell.estimate),
            **_spread("difference", "difference_", cell.difference),
            "mark": cell.mark or None,
        }
        for tier, row in _compare_within_tiers(variants)
        for variant, cell in zip(tier.present, row.cells, strict=True)
        if cell
    ]
    text, number = pl.String(), pl.Float64()
    return pl.DataFrame(
        rows,
        schema={
            **dict.fromkeys(("tier", "choice", "subject", "figure", "unit"), text),
            "more_is_better": pl.Boolean(),
            "seeds": pl.UInt64(),
            **dict.fromkeys(("mean", "low", "high"), number),
            **dict.fromkeys(("difference", "difference_low", "difference_high"), number),
            "mark": text,
        },
    )


def _compare_within_tiers(variants: Sequence[Variant]) -> Iterator[tuple[Tier, Row]]:
    for tier in find_grid(variants).tiers:
        for row in compare_figures(tier.present):
            yield tier, row


def _spread(name: str, before: str, estimate: Estimate | None) -> dict[str, float | None]:
    """Give an estimate as cells; unknown values are None."""
    known = (estimate.mean, estimate.low, estimate.high) if estimate else ()
    cells = [None if math.isnan(value) else value for value in known] or [None] * 3
    return dict(zip((name, f"{before}low", f"{before}high"), cells, strict=True))
