"""Runs beside each other: variants, seeds, intervals, ties, grids, and a comparison's words."""
