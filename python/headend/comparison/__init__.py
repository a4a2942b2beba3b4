"""Runs beside each other: variants and their seeds, intervals and ties, grids of tiers and choices, and what a comparison says."""
