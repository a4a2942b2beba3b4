"""Figures made from results: one definition each, for the report as for papers.

A figure is drawn from finished tables, never from a live run. For one run its series are flows or
queues; for several runs each flow or queue has a panel of its own and the series are the runs.
"""

from headend.figures.catalogue import draw_figures
from headend.figures.figure import Figure, Panel

__all__ = ["Figure", "Panel", "draw_figures"]
