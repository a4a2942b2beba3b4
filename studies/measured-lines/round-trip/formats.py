"""The formats of the round trip: of which test each is, and what can be told from it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from headend.loading.senders import export_tcp_info

from .lines import (
    CRUSADER,
    EMPTYING,
    FLENT,
    IDLE,
    IRTT,
    LOADED,
    NDT7,
    PARTS,
    SPANS,
    LineTest,
    Probing,
)
from .one_way import read_probes
from .tool_files import (
    write_crusader,
    write_csv,
    write_flent_files,
    write_iperf3,
    write_irtt,
    write_ndt7,
    write_network_quality,
    write_ookla,
    write_ping,
)

#: The octet of ECT(1) in best effort.
ECT1 = 1

#: The part of each direction, s.
_PARTS = {own: (start, start + IDLE + LOADED + EMPTYING) for own, start in PARTS.items()}


@dataclass(frozen=True)
class Format:
    """A format, or several files of one test.

    Parameters
    ----------
    name
        As claims and figures call it.
    probing
        What its tool sends.
    write
        Gives the files of a test by their names.
    has_samples
        Whether it keeps the delays of single probes with their times. One that does not cannot tell
        a buffer or a queue.
    low_latency
        The lines that classify one of its probes into their low-latency queue, by their medium. On
        others its probes meet the classic queue beside it only, which is like PIE.
    """

    name: str
    probing: Probing
    write: Callable[[LineTest], dict[str, bytes]]
    has_samples: bool = True
    low_latency: tuple[str, ...] = ()


def _write_flent(test: LineTest) -> dict[str, bytes]:
    return write_flent_files(test.measurement, _PARTS)


def _write_crusader(test: LineTest) -> dict[str, bytes]:
    assert test.result.capture
    return write_crusader(test.measurement, read_probes(test.result.capture, "udp"), SPANS)


def _write_irtt(test: LineTest) -> dict[str, bytes]:
    capture, measurement = test.result.capture, test.measurement
    assert capture
    started = measurement.started or 0.0
    return {
        **write_irtt(read_probes(capture, "udp"), started),
        **write_irtt(read_probes(capture, "ect1"), started, ECT1, "ect1"),
        **write_iperf3(measurement, SPANS),
    }


def _write_ping(test: LineTest) -> dict[str, bytes]:
    return {**write_ping(test.measurement), **write_iperf3(test.measurement, SPANS)}


def _write_ndt7(test: LineTest) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        (path,) = export_tcp_info(test.result, folder)
        states = pl.read_csv(path, infer_schema_length=None)
    return write_ndt7(states, test.measurement, SPANS)


FORMATS = (
    # A cable line classifies EF and ECT(1), DualPI2 on a plain link ECT(1) only (RFC 9332).
    Format("flent", FLENT, _write_flent, low_latency=("cable",)),
    Format("crusader", CRUSADER, _write_crusader),
    Format("irtt + iperf3", IRTT, _write_irtt, low_latency=("plain", "cable")),
    Format("ping + iperf3", FLENT, _write_ping),
    Format("CSV", FLENT, lambda test: write_csv(test.measurement)),
    Format(
        "networkQuality",
        FLENT,
        lambda test: write_network_quality(test.measurement, SPANS),
        has_samples=False,
    ),
    Format("Ookla", FLENT, lambda test: write_ookla(test.measurement, SPANS), has_samples=False),
    Format("ndt7", NDT7, _write_ndt7, has_samples=False),
)
