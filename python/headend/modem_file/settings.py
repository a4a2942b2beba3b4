"""The settings of a modem's file: service flows, aggregates, classifiers, with their TLVs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import ClassVar

from headend.modem_file.classifying import CLASSIFIERS, Classifier
from headend.modem_file.document import Document, Tlv
from headend.modem_file.words import DIRECTIONS, write_value

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

#: The largest maximum buffer means that there is none.
NO_LIMIT = 2**32 - 1


@dataclass(frozen=True)
class Setting:
    """A number of the file in its base unit, and the TLV that holds it."""

    value: int
    tlv: Tlv

    @property
    def path(self) -> str:
        """The TLV's path."""
        return self.tlv.path


def read_setting(tlv: Tlv | None, unit: int = 1) -> Setting | None:
    """Read a number and multiply it by the unit; None if absent or of wrong length."""
    number = tlv.number if tlv else None
    return None if tlv is None or number is None else Setting(number * unit, tlv)


@dataclass(frozen=True)
class Bundle:
    """The settings that flows and aggregates have in common.

    Rates are in bit/s with the data rate unit (TLV 41) applied, sizes in bytes.
    """

    #: What it is called.
    WHAT: ClassVar[str]

    direction: str
    tlv: Tlv

    @property
    def path(self) -> str:
        """Its TLV's path."""
        return self.tlv.path

    @property
    def name(self) -> str:
        """Such as ``upstream service flow 1``."""
        which = f"{self.reference.value}" if self.reference else f"at {self.path}"
        return f"{DIRECTIONS[self.direction]} {self.WHAT} {which}"

    @cached_property
    def reference(self) -> Setting | None:
        """The number by which others refer to it (.1)."""
        return read_setting(self.tlv.get(1))

    @cached_property
    def service_class(self) -> str | None:
        """The name of a service class that the CMTS defines (.4), or its bytes if not text."""
        found = self.tlv.get(4)
        return (found.text or write_value(found.shown, found.hex)) if found else None

    @cached_property
    def priority(self) -> Setting | None:
        """Traffic priority (.7)."""
        return read_setting(self.tlv.get(7))

    @cached_property
    def rate_unit(self) -> Setting | None:
        """Data rate unit (.41), as its number."""
        return read_setting(self.tlv.get(41))

    @cached_property
    def rate(self) -> Setting | None:
        """Maximum sustained rate (.8); 0 is no limit."""
        return self._read_rate(8)

    @cached_property
    def burst(self) -> Setting | None:
        """Maximum traffic burst (.9)."""
        return read_setting(self.tlv.get(9))

    @cached_property
    def reserved(self) -> Setting | None:
        """Minimum reserved rate (.10)."""
        return self._read_rate(10)

    @cached_property
    def peak(self) -> Setting | None:
        """Peak traffic rate (.27); 0 is none."""
        return self._read_rate(27)

    @cached_property
    def sustained(self) -> int | None:
        """The rate that limits the flow, in bit/s: the sustained, or a lower peak; or None."""
        limits = [own.value for own in (self.rate, self.peak) if own and own.value]
        return min(limits, default=None)

    @cached_property
    def fastest(self) -> int | None:
        """The larger of the sustained and the peak rate, in bit/s; None without either."""
        limits = [own.value for own in (self.rate, self.peak) if own and own.value]
        return max(limits, default=None)

    def _read_rate(self, number: int) -> Setting | None:
        unit = RATE_UNITS.get(self.rate_unit.value, 1) if self.rate_unit else 1
        return read_setting(self.tlv.get(number), unit)


@dataclass(frozen=True)
class ServiceFlow(Bundle):
    """A service flow (TLV 24 or 25)."""

    WHAT = "service flow"

    @cached_property
    def set_type(self) -> Setting | None:
        """Quality-of-service parameter set type (.6)."""
        return read_setting(self.tlv.get(6))

    @cached_property
    def scheduling(self) -> Setting | None:
        """Scheduling type (24.15)."""
        return self._read_upstream(15)

    @cached_property
    def is_unsolicited(self) -> bool:
        """Whether its grants come at fixed intervals, as those of a call."""
        return bool(self.scheduling and self.scheduling.value in UNSOLICITED)

    @cached_property
    def is_polled(self) -> bool:
        """Whether the CMTS gives it opportunities to request."""
        return bool(self.scheduling and self.scheduling.value in POLLED)

    @cached_property
    def polling_interval(self) -> Setting | None:
        """Nominal polling interval (24.17), µs."""
        return self._read_upstream(17)

    @cached_property
    def grant_size(self) -> Setting | None:
        """Unsolicited grant size (24.19), B."""
        return self._read_upstream(19)

    @cached_property
    def grant_interval(self) -> Setting | None:
        """Nominal grant interval (24.20), µs."""
        return self._read_upstream(20)

    @cached_property
    def grants_per_interval(self) -> Setting | None:
        """Grants per interval (24.22)."""
        return self._read_upstream(22)

    @cached_property
    def guaranteed_rate(self) -> Setting | None:
        """Guaranteed grant rate (24.45), bit/s."""
        return self._read_upstream(45)

    @cached_property
    def guaranteed_interval(self) -> Setting | None:
        """Guaranteed grant interval (24.44), µs."""
        return self._read_upstream(44)

    @cached_property
    def request_interval(self) -> Setting | None:
        """Guaranteed request interval (24.46), µs."""
        return self._read_upstream(46)

    @cached_property
    def minimum_buffer(self) -> Setting | None:
        """Minimum buffer (.35.1), B."""
        return read_setting(self.tlv.get(35, 1))

    @cached_property
    def target_buffer(self) -> Setting | None:
        """Target buffer (.35.2), B; 0 leaves it to the device."""
        return read_setting(self.tlv.get(35, 2))

    @cached_property
    def maximum_buffer(self) -> Setting | None:
        """Maximum buffer (.35.3), B; None also where the number stands for no limit."""
        found = read_setting(self.tlv.get(35, 3))
        return found if found and found.value < NO_LIMIT else None

    @cached_property
    def aggregate_reference(self) -> Setting | None:
        """The aggregate that it belongs to (.36)."""
        return read_setting(self.tlv.get(36))

    @cached_property
    def aqm_disabled(self) -> Setting | None:
        """Whether its AQM is off (.40.1)."""
        return read_setting(self.tlv.get(40, 1))

    @cached_property
    def aqm_target(self) -> Setting | None:
        """Classic AQM latency target (.40.2), ms; 0 is the default."""
        return read_setting(self.tlv.get(40, 2))

    @cached_property
    def aqm_algorithm(self) -> Setting | None:
        """AQM algorithm (.40.3)."""
        return read_setting(self.tlv.get(40, 3))

    @cached_property
    def maximum_threshold(self) -> Setting | None:
        """Maximum threshold of the immediate AQM (.40.4), µs."""
        return read_setting(self.tlv.get(40, 4))

    @cached_property
    def ramp_exponent(self) -> Setting | None:
        """Ramp range exponent of the immediate AQM (.40.5), log2 ns."""
        return read_setting(self.tlv.get(40, 5))

    def _read_upstream(self, number: int) -> Setting | None:
        """Read a number that only upstream service flows have."""
        return read_setting(self.tlv.get(number)) if self.direction == "up" else None


@dataclass(frozen=True)
class Aggregate(Bundle):
    """An aggregate service flow (TLV 70 or 71), which joins a classic and a low-latency flow."""

    WHAT = "aggregate service flow"

    @cached_property
    def low_latency(self) -> Tlv | None:
        """Low-latency encodings (.42)."""
        return self.tlv.get(42)

    @cached_property
    def low_latency_reference(self) -> Setting | None:
        """The low-latency service flow (.42.1)."""
        return self._read(1)

    @cached_property
    def classic_class(self) -> Tlv | None:
        """The service class of the classic flow (.42.3)."""
        return self.tlv.get(42, 3)

    @cached_property
    def low_latency_class(self) -> Tlv | None:
        """The service class of the low-latency flow (.42.4)."""
        return self.tlv.get(42, 4)

    @cached_property
    def coupling(self) -> Setting | None:
        """AQM coupling factor (.42.5), tenths."""
        return self._read(5)

    @cached_property
    def weight(self) -> Setting | None:
        """Scheduling weight of the low-latency flow (.42.6), of 256."""
        return self._read(6)

    @cached_property
    def protection(self) -> Setting | None:
        """Whether queue protection is on (.42.7)."""
        return self._read(7)

    @cached_property
    def protection_threshold(self) -> Setting | None:
        """Latency threshold of queue protection (.42.8), µs."""
        return self._read(8)

    @cached_property
    def protection_score(self) -> Setting | None:
        """Score threshold of queue protection (.42.9), µs."""
        return self._read(9)

    @cached_property
    def drain_exponent(self) -> Setting | None:
        """Drain rate exponent of queue protection (.42.10)."""
        return self._read(10)

    def _read(self, number: int) -> Setting | None:
        return read_setting(self.tlv.get(42, number))


@dataclass(frozen=True)
class Settings:
    """All that a file sets of its line.

    Parameters
    ----------
    document
        The file's TLVs.
    """

    document: Document

    @cached_property
    def flows(self) -> tuple[ServiceFlow, ...]:
        """Its service flows, in the order of the file."""
        return tuple(
            ServiceFlow(FLOWS[tlv.type], tlv) for tlv in _take_nested(self.document, FLOWS)
        )

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """Its aggregate service flows, in the order of the file."""
        return tuple(
            Aggregate(AGGREGATES[tlv.type], tlv) for tlv in _take_nested(self.document, AGGREGATES)
        )

    @cached_property
    def classifiers(self) -> tuple[Classifier, ...]:
        """Its classifiers and upstream drop classifiers, in the order of the file."""
        return tuple(
            Classifier(CLASSIFIERS[tlv.type], tlv)
            for tlv in _take_nested(self.document, CLASSIFIERS)
        )

    @cached_property
    def default_buffer(self) -> Setting | None:
        """Default upstream target buffer (68), ms."""
        return read_setting(self.document.get(68))

    @cached_property
    def upstream_aqm_disabled(self) -> Setting | None:
        """Whether the modem runs no AQM at all (76)."""
        return read_setting(self.document.get(76))

    @cached_property
    def low_latency_disabled(self) -> Setting | None:
        """Whether low latency is off for all aggregates (91): not 0."""
        return read_setting(self.document.get(91))

    def list_flows(self, direction: str) -> list[ServiceFlow]:
        """Give the service flows of a direction."""
        return [flow for flow in self.flows if flow.direction == direction]

    def find_flow(self, direction: str, reference: int) -> ServiceFlow | None:
        """Find the first flow of a direction that has a reference."""
        return self._flows_by_reference.get((direction, reference))

    def find_aggregate(self, flow: ServiceFlow) -> Aggregate | None:
        """Find the aggregate that a flow belongs to, by its own or the aggregate's reference."""
        own = flow.aggregate_reference
        found = self._aggregates_by_reference.get((flow.direction, own.value)) if own else None
        return found or self._find_naming(flow)

    def is_low_latency(self, flow: ServiceFlow) -> bool:
        """Whether a flow is the low-latency one of an aggregate."""
        return self._find_naming(flow) is not None

    def find_low(self, aggregate: Aggregate) -> ServiceFlow | None:
        """Find the low-latency flow of an aggregate.

        An aggregate with low latency that names none (.42.1) has the flow that names it, where that
        is one besides the first flow of the direction.
        """
        if named := aggregate.low_latency_reference:
            return self.find_flow(aggregate.direction, named.value)
        if aggregate.low_latency is None or aggregate.low_latency_class:
            return None
        primary = next(iter(self.list_flows(aggregate.direction)), None)
        found = [flow for flow in self.list_members(aggregate) if flow is not primary]
        return found[0] if len(found) == 1 else None

    def find_classic(self, aggregate: Aggregate) -> ServiceFlow | None:
        """Find the classic flow of an aggregate: it names it and is not the low-latency flow."""
        low = self.find_low(aggregate)
        found = [flow for flow in self.list_members(aggregate) if flow is not low]
        return found[0] if aggregate.low_latency and len(found) == 1 else None

    def list_members(self, aggregate: Aggregate) -> list[ServiceFlow]:
        """Give the flows that name an aggregate."""
        own = aggregate.reference
        return [
            flow
            for flow in self.list_flows(aggregate.direction)
            if own and flow.aggregate_reference and flow.aggregate_reference.value == own.value
        ]

    def list_low_latency(self) -> Iterator[tuple[Aggregate, ServiceFlow]]:
        """Give each aggregate with a low-latency flow that is in the file, with that flow."""
        for aggregate in self.aggregates:
            if flow := self.find_low(aggregate):
                yield aggregate, flow

    def _find_naming(self, flow: ServiceFlow) -> Aggregate | None:
        return self._aggregates_by_flow.get(flow.path)

    @cached_property
    def _flows_by_reference(self) -> dict[tuple[str, int], ServiceFlow]:
        found: dict[tuple[str, int], ServiceFlow] = {}
        for flow in self.flows:
            if flow.reference:
                found.setdefault((flow.direction, flow.reference.value), flow)
        return found

    @cached_property
    def _aggregates_by_reference(self) -> dict[tuple[str, int], Aggregate]:
        found: dict[tuple[str, int], Aggregate] = {}
        for aggregate in self.aggregates:
            if aggregate.reference:
                found.setdefault((aggregate.direction, aggregate.reference.value), aggregate)
        return found

    @cached_property
    def _aggregates_by_flow(self) -> dict[str, Aggregate]:
        """Aggregates by the path of their low-latency flow."""
        found: dict[str, Aggregate] = {}
        for aggregate, flow in self.list_low_latency():
            found.setdefault(flow.path, aggregate)
        return found


def _take_nested(document: Document, types: Collection[int]) -> Iterator[Tlv]:
    """Give the first TLVs of these types that could be decoded."""
    return islice(
        (tlv for tlv in document.tlvs if tlv.type in types and tlv.nested is not None), MOST_READ
    )


def read_settings(document: Document) -> Settings:
    """Read what a file sets of its line."""
    return Settings(document)
