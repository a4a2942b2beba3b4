"""Cells in which two share a line, beside those that a real kernel filled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..kernel_rows import check_figures, draw_ratios

if TYPE_CHECKING:
    import polars as pl

    from headend.figures.figure import Panel
    from headend.study import ClaimResult


def check_row(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the goodput and the probe's delays of a cell against the kernel's."""
    return check_figures(points, limits)


def check_counts(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the drops and marks of a cell against the kernel's."""
    return check_figures(points, limits)


def check_lab(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold figures of a cell against those of a public laboratory."""
    return check_figures(points, limits)


def draw_rows(points: pl.DataFrame) -> list[Panel]:
    """Draw goodput and the probe's delays beside the kernel's."""
    return draw_ratios(points, Path(__file__).with_name("study.toml"))
