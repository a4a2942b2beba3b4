"""Real tools over an emulated line: what they wrote is imported, and tells the line that was set.

ping, irtt and iperf3 are in Debian. flent's transfers need netperf, which Debian has in its section
non-free alone: its files are tested as such, in tests/measurement.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.command import NotTrustworthyError, emulate, find_missing, repeat_until_trustworthy
from emulation.line import write_plain
from headend.fitting.estimates import Bound
from headend.fitting.estimating import estimate_line
from headend.measurement.reading import read_measurement
from headend.measurement.record import Direction, Load, Measurement, Trip

#: The line: bit/s, ms there and back, and how long the full queue of the upstream takes to empty.
UP, DOWN, BASE_MS, BUFFER_MS = 10e6, 40e6, 20.0, 120.0

SCENARIO = write_plain("10 Mbit/s", "40 Mbit/s", queue='drop_tail.limit = "120 ms"')

#: Nothing for 5 s, a download of 15 s, nothing, an upload of 15 s.
LOADS = (
    "sleep 5; iperf3 -4 -c server -P 4 -R -t 15 -i 0.5 -J > {0}/down.json;"
    " sleep 4; iperf3 -4 -c server -P 4 -t 15 -i 0.5 -J > {0}/up.json; wait"
)


def measure(folder: Path, probe: str, server: str, *tools: str) -> Measurement:
    """Test the line with a probe beside two transfers, and read the tools' files."""
    if missing := find_missing("iperf3", *tools):
        pytest.skip(missing)
    written = folder / "written"
    written.mkdir()
    command = ["sh", "-c", f"{probe.format(written)} & {LOADS.format(written)}"]
    serve = ["sh", "-c", server]
    try:
        repeat_until_trustworthy(lambda: emulate(SCENARIO, command, folder=folder, server=serve))
    except NotTrustworthyError as error:
        pytest.skip(str(error))
    return read_measurement(sorted(written.iterdir()))


def find_lateness(measurement: Measurement) -> float:
    """Find how late a probe's own programs were at most, ms: the idle line delays nothing."""
    idle = [phase for phase in measurement.phases if phase.load is Load.IDLE]
    (pings,) = (one for one in measurement.delays if one.trip is Trip.ROUND and not one.flow)
    delays = [
        delay
        for time, delay in zip(pings.times, pings.delays, strict=True)
        if any(phase.start <= time < phase.end for phase in idle)
    ]
    return max(delays) - min(delays)


def assert_found(measurement: Measurement) -> None:
    """Hold estimates against the line, by the tolerances of the round trip."""
    estimates = estimate_line(measurement)
    base = estimates.base_delay
    assert base
    assert base.value == pytest.approx(BASE_MS, abs=1.0)
    for direction, rate in ((Direction.UP, UP), (Direction.DOWN, DOWN)):
        found = estimates.directions[direction].rate
        assert found
        assert found.value == pytest.approx(rate, rel=0.03), direction
    buffer = estimates.directions[Direction.UP].buffer
    assert buffer
    assert buffer.bound is not Bound.AT_MOST
    if buffer.bound is None:
        assert buffer.value == pytest.approx(BUFFER_MS, rel=0.1)
    else:
        # The bound is the largest delay: that of a probe whose program was woken late, too.
        assert buffer.value <= 1.1 * BUFFER_MS + find_lateness(measurement)


@pytest.mark.slow
def test_ping_and_iperf3_tell_the_line_that_was_set(tmp_path: Path) -> None:
    probe = "ping -4 -D -i 0.05 -w 41 server > {0}/ping.log"
    assert_found(measure(tmp_path, probe, "exec iperf3 -s > /dev/null", "ping"))


@pytest.mark.slow
def test_irtt_and_iperf3_tell_the_line_that_was_set(tmp_path: Path) -> None:
    probe = "irtt client -i 20ms -d 41s -Q -o {0}/irtt.json server"
    server = "irtt server > /dev/null & exec iperf3 -s > /dev/null"
    assert_found(measure(tmp_path, probe, server, "irtt"))
