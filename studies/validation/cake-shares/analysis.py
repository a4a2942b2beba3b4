"""Cells in which two share a line, beside those that a real kernel filled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..kernel_rows import check_counts, check_lab, check_row, draw_ratios

if TYPE_CHECKING:
    import polars as pl

    from headend.figures.figure import Panel

__all__ = ["check_counts", "check_lab", "check_row", "draw_rows"]


def draw_rows(points: pl.DataFrame) -> list[Panel]:
    """Draw goodput and the probe's delays beside the kernel's."""
    return draw_ratios(points, Path(__file__).with_name("study.toml"))
