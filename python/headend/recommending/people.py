"""The people behind a tier: their flows, and what must hold for each of them where nobody says otherwise.

All bounds are marks of `headend.judging.grading`: a call is good in its bad spells, a game is good, a page is good, and a video
call is at least fair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headend.recommending.tier import copy_tables

#: The round-trip time to the servers of uploads and pages: in the middle of the 45 means of CM-GL-Buffer, Appendix I.
ROUND_TRIP = "46.9 ms"

#: What there should be most of, where somebody uploads.
MOST = "most upload.goodput"


@dataclass(frozen=True)
class People:
    """The people behind the line.

    Parameters
    ----------
    flows
        The ``[flow]`` tables of the scenario.
    conditions
        What must hold for them by default, in the words of ``[expect]``.
    objective
        What there should be most or least of then, as ``--prefer`` has it; empty for nothing.
    others
        Other tables of the scenario that the flows need: ``host``, ``tcp``.
    """

    flows: Mapping[str, Mapping[str, Any]]
    conditions: tuple[str, ...]
    objective: str
    others: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it; `from_dict` makes the same people of it."""
        return {
            "flow": copy_tables(self.flows),
            "conditions": list(self.conditions),
            "objective": self.objective,
            "others": copy_tables(self.others),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> People:
        """Make the people of what `to_dict` gave."""
        return cls(
            flows=content["flow"],
            conditions=tuple(content["conditions"]),
            objective=content["objective"],
            others=content["others"],
        )


#: Who can be named with ``--traffic``: what they do, and what must hold for them.
KNOWN: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "call": ({"application": "voice", "rtt": "40 ms", "dscp": 46}, "call.mos.p5 >= 4.0"),
    "game": ({"application": "game", "rtt": "30 ms", "dscp": 45}, "game.missed.mean <= 5 %"),
    "page": (
        {"application": {"web": {"page": "2 MB", "pause": "4 s"}}},
        "page.page_load_time.p50 <= 2 s",
    ),
    "upload": ({"application": "bulk", "direction": "up", "start": "2 s"}, ""),
    "video": ({"application": "video_call", "rtt": "40 ms"}, "video.frames_late.mean <= 5 %"),
}

#: Those whose servers are as far as ``--rtt`` says.
_FAR = ("page", "upload")


def make_people(
    names: tuple[str, ...] = tuple(KNOWN), round_trip: str | Mapping[str, Any] = ROUND_TRIP
) -> People:
    """Make the people of a list of names."""
    flows = {name: {**KNOWN[name][0]} for name in names}
    for name in names:
        if name in _FAR:
            flows[name]["rtt"] = round_trip
    conditions = tuple(KNOWN[name][1] for name in names if KNOWN[name][1])
    return People(flows, conditions, MOST if "upload" in names else "")
