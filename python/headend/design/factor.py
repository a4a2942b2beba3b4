"""One thing that an experiment varies, with its values; and what its path is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from headend.scenario.source import Overrides, Source, write_overrides
from headend.text.quantity import UNITS, Kind, parse_quantity

Value = int | float | str | bool

#: Whether somebody can choose its values (a queue, a target), or the line and its load give them
#: (a rate, a round-trip time), or they are whole scenarios.
Role = Literal["choice", "given", "scenario"]

#: Last keys of paths whose values nobody chooses: the line, its distance or its load sets them.
GIVEN = frozenset(
    [
        "capacity", "channels", "count", "distance", "duration", "load", "loss", "mix",
        "neighbours", "number", "page", "pause", "peak_rate", "preset", "rate", "rtt", "share",
        "size", "snr", "start", "stop", "trace", "warmup",
    ]
)  # fmt: skip

#: A path with one of these keys before its last one is a choice, whatever its last key.
CHOSEN = frozenset({"queue", "tcp", "congestion", "router", "shaper"})

#: Words of paths that are written in capitals.
_ACRONYMS = {"rtt": "RTT", "mtu": "MTU", "ecn": "ECN", "mss": "MSS"}

#: Names of some keys in sentences.
_WORDS = {
    "congestion": "congestion control",
    "low_latency": "low-latency setting",
    "rtt": "RTT",
    "snr": "SNR",
}

#: Keys that name a direction, with the word that goes into the factor's name.
_DIRECTIONS = {
    "upstream": "upstream", "downstream": "downstream", "up": "upstream", "down": "downstream",
}  # fmt: skip

NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(\S.*)?")


@dataclass(frozen=True)
class Factor:
    """One thing that is varied.

    Parameters
    ----------
    path
        Of the scenario; ``scenario`` for the scenario itself, empty where several paths vary
        together.
    name
        What its column is called; by default the path.
    values
        The values, as they are written.
    labels
        What the column holds for each.
    role
        Who sets its values; by default what the path tells.
    spaced
        Whether the values are so many (``count``) between two ends, maybe written by nobody.
    writes
        What each value writes to the scenario, where that is more than the value at the path.
    scenarios
        Which scenario each value runs; None where a value leaves that alone.
    """

    path: str
    name: str
    values: tuple[Any, ...]
    labels: tuple[Value, ...]
    role: Role | None = None
    spaced: bool = False
    writes: tuple[Overrides, ...] = ()
    scenarios: tuple[Source | None, ...] = ()

    def __post_init__(self) -> None:
        """Take the role from the path where none is given."""
        if self.role is None:
            object.__setattr__(self, "role", find_role(self.path))

    @property
    def chooses_scenario(self) -> bool:
        """Whether its values are scenarios."""
        return self.role == "scenario"

    @property
    def words(self) -> str:
        """What it is called in texts: its name, or a path's last words, such as "upstream rate"."""
        if self.name != self.path:
            return self.name
        parts = [part.replace("_", " ") for part in self.path.split(".")]
        return " ".join(_ACRONYMS.get(part, part) for part in parts[-2:])

    @property
    def scale(self) -> tuple[list[float], str] | None:
        """Its labels as numbers, and their unit; None where they are names."""
        if all(isinstance(label, int | float) for label in self.labels):
            return [float(label) for label in self.labels], ""
        kinds: tuple[Kind, ...] = ("time", "rate", "size")
        for kind in kinds:
            try:
                values = [parse_quantity(str(label), kind).value for label in self.labels]
            except ValueError:
                continue
            match = NUMBER.fullmatch(str(self.labels[0]))
            unit = (match and match[2]) or ""
            return [value / UNITS[kind][unit] for value in values], unit
        return None

    def write(self, index: int) -> Overrides:
        """Give what one of its values writes to the scenario."""
        if self.writes:
            return self.writes[index]
        if self.chooses_scenario:
            return ()
        return write_overrides({self.path: self.values[index]})

    def find_scenario(self, index: int) -> Source | None:
        """Give the scenario that one of its values runs; None where it leaves that alone."""
        if self.scenarios:
            return self.scenarios[index]
        return self.values[index] if self.chooses_scenario else None

    def as_labelled(self) -> Factor:
        """Give what a results folder keeps of it: no more than its labels."""
        return replace(self, values=self.labels, spaced=False, writes=(), scenarios=())


def find_role(path: str) -> Role:
    """Say who sets the values at a path.

    Examples
    --------
    >>> find_role("queue.codel.target"), find_role("flow.call.rtt"), find_role("scenario")
    ('choice', 'given', 'scenario')
    """
    if path == "scenario":
        return "scenario"
    keys = path.split(".")
    return "given" if keys[-1] in GIVEN and not CHOSEN & set(keys) else "choice"


def choose_main(paths: Sequence[str]) -> str:
    """Choose which of several paths is compared; the others make tiers.

    Examples
    --------
    >>> choose_main(["queue", "link.cable.docsis.upstream.rate"])
    'queue'
    >>> choose_main(["flow.call.scoring.de_jitter", "queue"])
    'queue'
    """
    chosen = [path for path in paths if find_role(path) != "given"]
    return (chosen or list(paths))[-1]


def name_path(path: str) -> str:
    """Give the name of a path in sentences.

    Examples
    --------
    >>> name_path("link.cable.docsis.upstream.rate"), name_path("flow.call.rtt")
    ('upstream rate', 'RTT of call')
    >>> name_path("queue"), name_path("queue.buffer_control.target")
    ('queue', 'target')
    >>> name_path("low_latency"), name_path("link.cable.docsis.modem.home.count")
    ('low-latency setting', 'number of home modems')
    """
    keys = path.split(".")
    if keys[-1] == "count" and keys[-3:-2] == ["modem"]:
        return f"number of {keys[-2]} modems"
    name = _WORDS.get(keys[-1], keys[-1].replace("_", " "))
    if keys[0] == "flow" and len(keys) > 2:
        return f"{name} of {keys[1]}"
    direction = _DIRECTIONS.get(keys[-2]) if len(keys) > 1 else None
    return f"{direction} {name}" if direction else name
