"""Measured lines: what speed tests and probes wrote, read into one record; runs written as such."""
