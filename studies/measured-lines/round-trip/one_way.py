"""One-way delays of the probes of a run: those of crusader and irtt, which stamp both ends.

The samples of a run have round-trip times only. The captures of a flow's two ends have each packet
with its number as the identification of its IP header (docs/models/capture_and_replay.md).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from headend.measurement.record import DelaySeries, Measurement, Trip
from headend.results.capture import Capture

#: pcapng: the type of an enhanced packet block, and what stands before its packet: type, length,
#: interface, time (high and low half), captured and original length.
_PACKET, _HEAD = 6, struct.Struct("<7I")

#: Where an IPv4 header has its identification, and its source address.
_IDENTIFICATION, _SOURCE = slice(4, 6), slice(12, 16)

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Probes:
    """Each probe of a flow, by its number.

    Parameters
    ----------
    sent
        When, s.
    up, down
        The delay of the probe and that of its answer, ms; NaN of one that did not arrive.
    """

    sent: Numbers
    up: Numbers
    down: Numbers

    @property
    def total(self) -> Numbers:
        """The round-trip times, ms; NaN without an answer."""
        return self.up + self.down


def read_probes(capture: Capture, flow: str) -> Probes:
    """Read the probes of a flow, whose both ends were captured."""
    host, peer = (list(_read(capture.folder / f"{flow}.{end}.pcapng")) for end in ("host", "peer"))
    own = host[0][0]
    times = [
        {number: time for source, number, time in packets if (source == own) is is_request}
        for packets, is_request in ((host, True), (peer, True), (peer, False), (host, False))
    ]
    # The numbers of 16 bits are of one probe each.
    assert len(times[0]) == sum(source == own for source, *_ in host)
    numbers = sorted(times[0])
    sent, reached, answered, back = (
        np.asarray([own.get(number, np.nan) for number in numbers]) for own in times
    )
    return Probes(sent, 1e3 * (reached - sent), 1e3 * (back - answered))


def add_one_way(measurement: Measurement, probes: Probes, place: int) -> Measurement:
    """Give a measurement with the one-way delays of one of its probes.

    Parameters
    ----------
    measurement
        Of the run.
    probes
        Of a flow of the same run.
    place
        That of the flow's round-trip times in ``measurement.delays``; those up and down go behind.
    """
    whole = measurement.delays[place]
    ways = [_make_series(whole, trip, probes) for trip in (Trip.UP, Trip.DOWN)]
    delays = (*measurement.delays[: place + 1], *ways, *measurement.delays[place + 1 :])
    return replace(measurement, delays=delays)


def _make_series(whole: DelaySeries, trip: Trip, probes: Probes) -> DelaySeries:
    delays = probes.up if trip is Trip.UP else probes.down
    # An answer to a probe that did not arrive was never sent.
    is_sent = np.ones(len(delays), bool) if trip is Trip.UP else ~np.isnan(probes.up)
    is_lost = is_sent & np.isnan(delays)
    arrived = is_sent & ~is_lost
    lost = probes.sent[is_lost]
    return replace(
        whole,
        trip=trip,
        times=probes.sent[arrived].tolist(),
        delays=delays[arrived].tolist(),
        lost=lost.tolist(),
        lost_count=len(lost),
    )


def _read(path: Path) -> Iterator[tuple[bytes, int, float]]:
    """Give the packets of a capture: source, number and time in s."""
    data = path.read_bytes()
    place = 0
    while place < len(data):
        kind, length = struct.unpack_from("<II", data, place)
        if kind == _PACKET:
            _, _, _, high, low, _, _ = _HEAD.unpack_from(data, place)
            start = place + _HEAD.size
            header = data[start : start + 20]
            number = int.from_bytes(header[_IDENTIFICATION], "big")
            yield header[_SOURCE], number, ((high << 32) + low) / 1e9
        place += length
