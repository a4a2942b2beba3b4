"""The people behind a tier: their flows, and what must hold for each by default.

What people demand of an application is the engine's to say; the bounds are marks of
`headend.analysis.marks`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headend.analysis.grading import ORDER, Grade
from headend.analysis.marks import list_marks
from headend.engine.description import find_application
from headend.errors import InputError, find_near
from headend.recommendation.tier import copy_tables
from headend.text.quantity import read_digits

#: The round-trip time to the servers of uploads and pages: in the middle of the 45 means of
#: CM-GL-Buffer, Appendix I.
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


def list_demands(flow: str, application: str) -> list[str]:
    """List what must hold of a flow by its application, in the words of ``[expect]``.

    Examples
    --------
    >>> list_demands("anna", "voice"), list_demands("shop", "web"), list_demands("backup", "bulk")
    (['anna.mos.p5 >= 4.0'], ['shop.page_load_time.p50 <= 2 s'], [])
    """
    marks = {mark.metric: mark for mark in list_marks(application)}
    kinds = dict.fromkeys(kind for kind, _ in find_application(application).measures)
    found = []
    for kind in sorted(kinds, key=lambda kind: kind.place):
        statistic, grade = kind.demand or ("", "")
        if mark := marks.get(f"{kind.name}.{statistic}"):
            place = ORDER.index(Grade(grade)) - 1
            is_score = mark.kind == "number"
            bound = f">= {mark.bounds[place]:.1f}" if is_score else mark.write_bound(place)
            found.append(f"{flow}.{mark.metric} {bound}")
    return found


#: Who can be named with ``--traffic``, and what they do.
KNOWN: Mapping[str, Mapping[str, Any]] = {
    "call": {"application": "voice", "rtt": "40 ms", "dscp": 46},
    "game": {"application": "game", "rtt": "30 ms", "dscp": 45},
    "page": {"application": {"web": {"page": "2 MB", "pause": "4 s"}}},
    "upload": {"application": "bulk", "direction": "up", "start": "2 s"},
    "video": {"application": "video_call", "rtt": "40 ms"},
}

#: Other words for them.
_ALIASES = {"video call": "video", "voice call": "call", "web page": "page"}

#: Those whose servers are as far as ``--rtt`` says.
_FAR = ("page", "upload")

#: Digits of the largest number of people.
MOST_DIGITS = 9

#: One of a list: how many, and of whom.
_ITEM = re.compile(r"(?:([+-]?[0-9]+)\s*[x×]?\s*)?(.*)", re.IGNORECASE | re.DOTALL)


def make_people(
    names: Sequence[str] = tuple(KNOWN),
    round_trip: str | Mapping[str, Any] = ROUND_TRIP,
    counts: Mapping[str, int] | None = None,
) -> People:
    """Make the people of a list of names.

    Parameters
    ----------
    names
        Of `KNOWN`.
    round_trip
        To the servers of uploads and pages: a time, or a table as in a scenario.
    counts
        How many there are of a name, where there are several.
    """
    flows: dict[str, dict[str, Any]] = {name: {**KNOWN[name]} for name in names}
    for name, flow in flows.items():
        if name in _FAR:
            flow["rtt"] = round_trip
        if (count := (counts or {}).get(name, 1)) > 1:
            flow["count"] = count
    conditions = tuple(
        text for name in names for text in list_demands(name, name_application(flows[name]))
    )
    return People(flows, conditions, MOST if "upload" in names else "")


def name_application(flow: Mapping[str, Any]) -> str:
    """Give the application of a flow, written as a name or as a table with its parameters."""
    application = flow.get("application", "")
    return next(iter(application), "") if isinstance(application, Mapping) else str(application)


def count_people(text: str, besides: Sequence[str] = ()) -> dict[str, int]:
    """Read a list of names, such as ``call, game, 2 uploads``: counts of each, in `KNOWN`'s order.

    Parameters
    ----------
    text
        The list.
    besides
        What else may be meant by an unknown name.

    Raises
    ------
    InputError
        Without saying where the list is written.

    Examples
    --------
    >>> count_people("2 uploads, call"), count_people("video-call")
    ({'call': 1, 'upload': 2}, {'video': 1})
    """
    found: dict[str, int] = {}
    for item in text.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None or not match[2].strip():
            raise InputError(
                f'expected people such as "call, game, 2 uploads" ({", ".join(KNOWN)}), found'
                f' "{text}"'
            )
        name = find_person(match[2])
        if name is None:
            known = (*KNOWN, *_ALIASES, *besides)
            raise InputError(
                f'nobody is called "{match[2].strip()}"{find_hint(match[2].strip(), known)}'
            )
        try:
            count = read_digits(match[1] or "1", MOST_DIGITS)
        except ValueError as error:
            raise InputError(
                f"expected fewer than 10^{MOST_DIGITS} of {name}, found more"
            ) from error
        if count < 1:
            raise InputError(f'expected 1 {name} or more, found "{item.strip()}"')
        found[name] = found.get(name, 0) + count
    return {name: found[name] for name in KNOWN if name in found}


def find_hint(word: str, known: Sequence[str]) -> str:
    """Give the end of an error about an unknown name: the nearest one, or all people."""
    near = find_near(word, known)
    return f'; did you mean "{near}"?' if near else f"; there are {', '.join(KNOWN)}"


def find_person(word: str) -> str | None:
    """Give the name in `KNOWN` that a word stands for, singular or plural, in any case; or None.

    Examples
    --------
    >>> find_person("Pages"), find_person("video_call"), find_person("phone")
    ('page', 'video', None)
    """
    spelled = " ".join(re.split(r"[\s_-]+", word.strip().lower()))
    for own in (spelled, spelled.removesuffix("s")):
        if own in KNOWN:
            return own
        if own in _ALIASES:
            return _ALIASES[own]
    return None
