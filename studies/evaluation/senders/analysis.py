"""Judges the claims on an evaluation by its verdicts."""

from __future__ import annotations

from ..verdicts import check_range, check_standing

__all__ = ["check_range", "check_standing"]
