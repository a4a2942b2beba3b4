"""What a modem's file sets of its line, as the engine describes it.

Each number is in its base unit and has the path of its TLV; what follows of the numbers and of the
engine's defaults, such as the delay of a full buffer, is the engine's too. Times are in ns.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from headend import _engine
from headend.modem_file.classifying import Classifier
from headend.modem_file.document import Document, Tlv
from headend.modem_file.generation import PRESET, Generation, find_generation
from headend.modem_file.words import DIRECTIONS, write_rate, write_size

#: Service flows and aggregate service flows by their TLV.
FLOWS = {24: "up", 25: "down"}
AGGREGATES = {70: "up", 71: "down"}

#: The unit of rates in bit/s, by the data rate unit (TLV 41).
RATE_UNITS = {0: 1, 1: 10**3, 2: 10**6, 3: 10**9}

#: Scheduling types (TLV 24.15): the words of operators.
SCHEDULING = {
    1: "undefined",
    2: "best effort",
    3: "nrtPS",
    4: "rtPS",
    5: "UGS-AD",
    6: "UGS",
    7: "PGS",
}

#: Scheduling types whose grants do not follow the backlog: a buffer says little about their delay.
UNSOLICITED = (5, 6)

#: Scheduling types whose requests have opportunities of their own.
POLLED = (3, 4, 5)

#: AQM algorithms (TLV 40.3).
PIE, IMMEDIATE = 1, 2

#: The most flows, aggregates and classifiers that are read of each kind. A modem has some dozens.
MOST_READ = 1000


class Setting(NamedTuple):
    """A number of the file in its base unit, and the path of the TLV that holds it."""

    value: int
    path: str

    @property
    def as_size(self) -> str:
        """Itself, written as bytes."""
        return write_size(self.value)

    @property
    def as_rate(self) -> str:
        """Itself, written as a rate."""
        return write_rate(self.value)


class Ramp(NamedTuple):
    """Thresholds of the immediate AQM: it marks some packets between them, and all above.

    ``floor`` is the least ``low`` at the flow's rate: the time of two large frames.
    """

    low: float
    high: float
    floor: float


@dataclass(frozen=True)
class Buffer:
    """The buffer of a service flow, as a modem makes it by the file and the specification.

    Rates are in bit/s, and None where there is no limit, or where ``peak`` is no more than
    ``rate``. Delays are those of the last packet of a full buffer at these rates.
    """

    #: In bytes.
    size: int
    #: The TLV that sets its size; None where that is a default.
    path: str | None
    #: The rate that empties it, and the one that does so while the burst lasts.
    rate: int | None
    peak: int | None
    delay: float | None
    peak_delay: float | None
    #: Whose default its size is; empty where a TLV sets it.
    default: str = ""


@dataclass(frozen=True)
class Aqm:
    """The AQM of a service flow.

    It is ``off`` where the file turns it off, ``on`` where the file gives an algorithm or a target,
    or says that it is not disabled (40.1 or, of upstream flows, 76 is 0), ``unsaid`` where the file
    has nothing about it: ``runs`` then says what modems of the generation do.
    """

    state: Literal["on", "off", "unsaid"]
    #: The TLVs that decide the state.
    paths: list[str]
    #: Whether it is the immediate AQM of a low-latency flow, not DOCSIS-PIE.
    is_immediate: bool
    #: The delay that it keeps: the latency target, or the maximum threshold of the immediate AQM.
    target: float
    #: Whether the modem runs it. Of a downstream flow of which nothing is said nobody knows: its
    #: queue is the CMTS's.
    runs: bool
    #: Whether the modem would run it if the file said nothing.
    is_default: bool = False

    @property
    def switches(self) -> str:
        """The TLVs that decide the state, in a sentence."""
        return " and ".join(self.paths)

    @property
    def advice(self) -> str:
        """Say how to turn it on where it is off."""
        them = "it" if len(self.paths) == 1 else "them"
        otherwise = f", or leave {them} out" if self.is_default else ""
        return f"Set {self.switches} to 0{otherwise}."


@dataclass(frozen=True)
class Protection:
    """Queue protection of an aggregate.

    Packets of a flow go to the classic queue where the queue delay is above ``latency``, and the
    product of delay and score above that of ``latency`` and ``score``. Scores decay at ``drain``, a
    rate in bit/s of marked packets.
    """

    is_on: bool
    latency: float
    score: float
    drain: float


@dataclass(frozen=True)
class Defaults:
    """What stands for numbers that a file does not set.

    The coupling counts tenths, sizes are in bytes, the drain rates in bit/s.
    """

    aqm_target: float
    coupling: int
    weight: int
    weights: int
    protection_score: float
    drain: float
    drain_2019: float
    largest_frame: int
    low_latency_limit: int
    #: Types that the CMTS MIC covers in a file without an extended one.
    covered: list[int]


@functools.cache
def read_defaults() -> Defaults:
    """Ask the engine for its defaults, once."""
    return Defaults(**json.loads(_engine.config_defaults()))


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """What flows and aggregates have in common; a setting that the file does not have is None.

    ``limit`` is the rate that limits it: its sustained rate, or its peak where that is less.
    """

    #: What it is called.
    WHAT: ClassVar[str]

    path: str
    direction: str
    tlv: Tlv = field(repr=False)
    limit: int | None
    reference: Setting | None = None
    priority: Setting | None = None
    rate_unit: Setting | None = None
    rate: Setting | None = None
    burst: Setting | None = None
    reserved: Setting | None = None
    peak: Setting | None = None

    @property
    def name(self) -> str:
        """Such as ``upstream service flow 1``."""
        return f"{DIRECTIONS[self.direction]} {self.WHAT} {self.number}"

    @property
    def number(self) -> str:
        """Its reference, or where it stands if it has none."""
        return f"{self.reference.value}" if self.reference else f"at {self.path}"

    @property
    def service_class(self) -> str | None:
        """The name of a service class of the CMTS (.4), or its bytes where they are no text."""
        found = self.tlv.get(4)
        return (found.text or found.words) if found else None

    @property
    def unit(self) -> int:
        """The unit of its rates in the file, in bit/s."""
        return RATE_UNITS.get(self.rate_unit.value, 1) if self.rate_unit else 1

    @property
    def rates(self) -> Iterator[tuple[int, str, Setting]]:
        """The rates that it has: their sub-TLVs, what they are called, and themselves."""
        for number, what in RATES.items():
            if rate := self.get_rate(number):
                yield number, what, rate

    def get_rate(self, number: int) -> Setting | None:
        """Give the rate of a sub-TLV."""
        return {8: self.rate, 10: self.reserved, 27: self.peak}[number]


#: Rates of a flow or an aggregate by their sub-TLV.
RATES = {8: "sustained rate", 10: "reserved rate", 27: "peak rate"}


@dataclass(frozen=True, kw_only=True)
class ServiceFlow(Bundle):
    """A service flow (TLV 24 or 25).

    Intervals and the maximum threshold count µs, the AQM's target ms. ``drained_at`` is the rate
    that empties its buffer: the least limit of the flow and its aggregate.
    """

    WHAT = "service flow"

    #: The place of its aggregate among those of the file.
    aggregate: int | None
    is_low_latency: bool
    drained_at: int | None
    #: None where neither the file nor a default gives its size.
    buffer: Buffer | None
    aqm: Aqm
    ramp: Ramp
    set_type: Setting | None = None
    minimum_buffer: Setting | None = None
    target_buffer: Setting | None = None
    maximum_buffer: Setting | None = None
    aggregate_reference: Setting | None = None
    aqm_disabled: Setting | None = None
    aqm_target: Setting | None = None
    aqm_algorithm: Setting | None = None
    maximum_threshold: Setting | None = None
    ramp_exponent: Setting | None = None
    scheduling: Setting | None = None
    polling_interval: Setting | None = None
    grant_size: Setting | None = None
    grant_interval: Setting | None = None
    grants_per_interval: Setting | None = None
    guaranteed_interval: Setting | None = None
    guaranteed_rate: Setting | None = None
    request_interval: Setting | None = None

    @property
    def is_unsolicited(self) -> bool:
        """Whether its grants come at fixed intervals, as those of a call."""
        return bool(self.scheduling and self.scheduling.value in UNSOLICITED)

    @property
    def is_polled(self) -> bool:
        """Whether the CMTS gives it opportunities to request."""
        return bool(self.scheduling and self.scheduling.value in POLLED)

    @property
    def load(self) -> str:
        """What fills its buffer."""
        return "upload" if self.direction == "up" else "download"


@dataclass(frozen=True, kw_only=True)
class Aggregate(Bundle):
    """An aggregate service flow (TLV 70 or 71), which joins a classic and a low-latency flow.

    ``low``, ``classic`` and ``members`` are places of its flows among those of the file. ``weighs``
    is the scheduling weight and ``couples`` the coupling factor in tenths, with defaults.
    """

    WHAT = "aggregate service flow"

    low: int | None
    classic: int | None
    members: list[int]
    weighs: int
    #: The rate of the low-latency flow while both flows have packets; 0 without one.
    low_latency_rate: int
    couples: int
    queue_protection: Protection | None
    low_latency_reference: Setting | None = None
    coupling: Setting | None = None
    weight: Setting | None = None
    protection: Setting | None = None
    protection_threshold: Setting | None = None
    protection_score: Setting | None = None
    drain_exponent: Setting | None = None

    @property
    def low_latency(self) -> Tlv | None:
        """Low-latency encodings (.42)."""
        return self.tlv.get(42)


@dataclass(frozen=True)
class Settings:
    """All that a file sets of its line, in the order of the file.

    The switches are the default upstream target buffer (68) in ms, whether the modem runs no AQM at
    all (76), and whether low latency is off for all aggregates (91): not 0.
    """

    document: Document
    generation: Generation
    flows: tuple[ServiceFlow, ...]
    aggregates: tuple[Aggregate, ...]
    classifiers: tuple[Classifier, ...]
    default_buffer: Setting | None
    upstream_aqm_disabled: Setting | None
    low_latency_disabled: Setting | None

    @property
    def absent(self) -> list[str]:
        """The TLVs of which some upstream service flow has the generation's default."""
        own = [flow for flow in self.upstream if not flow.is_unsolicited]
        found = []
        if any(flow.aqm.state == "unsaid" and not flow.aqm.is_immediate for flow in own):
            found.append("24.40")
        supposed = [
            flow for flow in own if flow.buffer and flow.buffer.default == self.generation.preset
        ]
        if supposed:
            has_bounds = all(flow.minimum_buffer or flow.maximum_buffer for flow in supposed)
            found.append("24.35.2" if has_bounds else "24.35")
        return found

    @property
    def supposed(self) -> str:
        """What is supposed of an upstream service flow of which the file says nothing; or empty."""
        return self.generation.describe_absent(self.absent)

    @property
    def bundles(self) -> tuple[ServiceFlow | Aggregate, ...]:
        """Its service flows, then its aggregates."""
        return (*self.flows, *self.aggregates)

    @property
    def is_low_latency_off(self) -> bool:
        """Whether the file turns the low latency of all aggregates off."""
        return bool(self.low_latency_disabled and self.low_latency_disabled.value)

    @property
    def upstream(self) -> list[ServiceFlow]:
        """Its upstream service flows."""
        return self.list_flows("up")

    def list_flows(self, direction: str) -> list[ServiceFlow]:
        """Give the service flows of a direction."""
        return [flow for flow in self.flows if flow.direction == direction]

    def find_flow(self, direction: str, reference: int) -> ServiceFlow | None:
        """Find the first flow of a direction that has a reference."""
        return self._by_reference.get((direction, reference))

    @cached_property
    def _by_reference(self) -> dict[tuple[str, int], ServiceFlow]:
        named = [flow for flow in self.flows if flow.reference]
        return {
            (flow.direction, flow.reference.value): flow
            for flow in reversed(named)
            if flow.reference
        }

    def find_low(self, aggregate: Aggregate) -> ServiceFlow | None:
        """Find the low-latency flow of an aggregate."""
        return None if aggregate.low is None else self.flows[aggregate.low]

    def find_classic(self, aggregate: Aggregate) -> ServiceFlow | None:
        """Find the classic flow of an aggregate with low latency."""
        return None if aggregate.classic is None else self.flows[aggregate.classic]

    def list_low_latency(self) -> Iterator[tuple[Aggregate, ServiceFlow]]:
        """Give each aggregate with a low-latency flow that is in the file, with that flow."""
        for aggregate in self.aggregates:
            if flow := self.find_low(aggregate):
                yield aggregate, flow


def read_settings(document: Document, preset: str = PRESET) -> Settings:
    """Read what a file sets of its line, and what modems of a generation do about the rest."""
    found = json.loads(_engine.config_settings(document.content))
    tlvs = {tlv.path: tlv for tlv in document.tlvs}
    generation = find_generation(preset)

    def read_switch(name: str) -> Setting | None:
        return Setting(*found[name]) if found[name] else None

    joined = {place for own in found["aggregates"] for place in (own["low"], own["classic"])}
    is_off = (read_switch("low_latency_disabled") or Setting(0, "")).value > 0
    flows = [_read_flow(tlvs, own) for own in found["flows"]]
    return Settings(
        document,
        generation,
        tuple(
            _suppose(
                flow,
                generation,
                is_joined=place in joined and not is_off,
                has_default=bool(found["default_buffer"]),
            )
            for place, flow in enumerate(flows)
        ),
        tuple(_read_aggregate(tlvs, own) for own in found["aggregates"]),
        tuple(Classifier(tlv=tlvs[own["path"]], **own) for own in found["classifiers"]),
        read_switch("default_buffer"),
        read_switch("upstream_aqm_disabled"),
        read_switch("low_latency_disabled"),
    )


def _suppose(
    flow: ServiceFlow, generation: Generation, *, is_joined: bool, has_default: bool
) -> ServiceFlow:
    """Give a flow the AQM and the buffer that modems have where the file says nothing.

    The two flows of an aggregate with low latency (``is_joined``) have the specification's own
    buffers; ``has_default`` says that the file has a default for all (TLV 68).
    """
    is_upstream = flow.direction == "up" and not flow.is_unsolicited
    is_default = is_joined if flow.aqm.is_immediate else is_upstream and generation.has_aqm
    runs = is_default if flow.aqm.state == "unsaid" else flow.aqm.state == "on"
    buffer = flow.buffer
    if flow.direction == "up" and not has_default:
        buffer = _suppose_buffer(flow, None if is_joined else generation)
    return replace(flow, aqm=replace(flow.aqm, runs=runs, is_default=is_default), buffer=buffer)


def _suppose_buffer(flow: ServiceFlow, generation: Generation | None) -> Buffer | None:
    buffer = flow.buffer
    has_target = flow.target_buffer and flow.target_buffer.value
    if buffer is None or has_target or not buffer.rate:
        return buffer
    if generation is None or flow.is_unsolicited:
        return replace(buffer, default="" if buffer.path else "the specification")
    size, path = generation.find_size(buffer.rate), None
    for bound, choose in ((flow.maximum_buffer, min), (flow.minimum_buffer, max)):
        if bound and bound.value and choose(bound.value, size) != size:
            size, path = bound.value, bound.path
    return Buffer(
        size,
        path,
        buffer.rate,
        buffer.peak,
        size * 8e9 / buffer.rate,
        size * 8e9 / buffer.peak if buffer.peak else None,
        "" if path else generation.preset,
    )


def _read_flow(tlvs: Mapping[str, Tlv], own: dict[str, Any]) -> ServiceFlow:
    own["buffer"] = own["buffer"] and Buffer(**own["buffer"])
    own["aqm"], own["ramp"] = Aqm(**own["aqm"], runs=False), Ramp(*own["ramp"])
    return _read(ServiceFlow, tlvs, own)


def _read_aggregate(tlvs: Mapping[str, Tlv], own: dict[str, Any]) -> Aggregate:
    own["queue_protection"] = own["queue_protection"] and Protection(**own["queue_protection"])
    return _read(Aggregate, tlvs, own)


_Read = TypeVar("_Read", ServiceFlow, Aggregate)


def _read(kind: type[_Read], tlvs: Mapping[str, Tlv], own: dict[str, Any]) -> _Read:
    settings: dict[str, Any] = {name: Setting(*number) for name, number in own.pop("set").items()}
    return kind(tlv=tlvs[own["path"]], **own, **settings)
