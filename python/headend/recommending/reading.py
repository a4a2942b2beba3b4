"""Reads what a recommendation is asked: from options, a file of tiers, and modems' files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headend.recommending.request import SEEDS, Request
from headend.recommending.tier import Tier
from headend.scenario.source import Overrides
from headend.sweeps.definition import list_seeds
from headend.text.quantity import format_quantity, parse_quantity


def read_request(
    sources: Sequence[str | Path] = (),
    *,
    upstream: Sequence[str] = (),
    downstream: Sequence[str] = (),
    preset: str | None = None,
    traffic: str | None = None,
    rtt: str | None = None,
    may_set: Sequence[str] = (),
    expect: Sequence[str] = (),
    prefer: str | None = None,
    seeds: int | Sequence[int] | None = None,
    overrides: Overrides = (),
    allow_files: Sequence[str | Path] = (),
) -> Request:
    """Understand what is asked.

    Parameters
    ----------
    sources
        A file of tiers (TOML), or modems' configuration files, a tier each.
    upstream, downstream
        Rates of tiers; as many downstream as upstream, or one for all, or none: ten times upstream.
    """
    tiers = []
    for number, text in enumerate(upstream):
        rate = parse_quantity(text, "rate").value
        down = parse_quantity(downstream[number], "rate").value if downstream else rate * 10
        link = {
            "preset": preset or "docsis31",
            "upstream": {"rate": f"{rate:.0f} bit/s"},
            "downstream": {"rate": f"{down:.0f} bit/s"},
        }
        tiers.append(Tier(format_quantity(rate, "rate"), rate, down, link))
    wanted = SEEDS if seeds is None else list_seeds(seeds)
    return Request("tiers", tuple(tiers), seeds=wanted, overrides=overrides)
