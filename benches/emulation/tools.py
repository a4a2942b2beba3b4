"""iperf3 and ping: how they are called, and what they say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

#: What serves one test and ends; what it prints would stand among what the client does.
IPERF_SERVER = ["sh", "-c", "exec iperf3 -s -1 >/dev/null 2>&1"]

#: How much of the start is left out, so that slow start does not count, s.
OMITTED = 2


def call_iperf(
    seconds: int,
    *,
    to: str = "server",
    down: bool = False,
    streams: int = 1,
    congestion: str = "cubic",
) -> list[str]:
    """Give the client's words; what is measured begins OMITTED s after its start.

    iperf3 sets the congestion control of a connection that is there already. What the first round
    trips are about needs it before, as a host's default: ``headend emulate --congestion``.
    """
    words = [
        "iperf3",
        "-4",
        "-c",
        to,
        "-J",
        "-t",
        str(seconds),
        "-O",
        str(OMITTED),
        "-P",
        str(streams),
    ]
    words += ["-C", congestion]
    return [*words, "-R"] if down else words


def read_goodput(output: str) -> float:
    """Give what arrived at iperf3's receiver, bit/s."""
    # Something else may be printed before it and after it.
    document: dict[str, Any] = json.JSONDecoder().raw_decode(output[output.index("{") :])[0]
    if "error" in document:
        raise ValueError(document["error"])
    return float(document["end"]["sum_received"]["bits_per_second"])


@dataclass(frozen=True)
class Pings:
    """What ping says at its end: times in ms."""

    sent: int
    received: int
    least: float
    mean: float
    most: float
    deviation: float
    times: list[float]

    def find_percentile(self, percent: float) -> float:
        """Give a percentile of the round trips, to the 0.1 ms or less that ping prints of each."""
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def read_pings(output: str) -> Pings:
    """Read what ``ping`` (iputils) printed."""
    counts = re.search(r"(\d+) packets transmitted, (\d+) received", output)
    figures = re.search(r"= ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms", output)
    if counts is None or figures is None:
        raise ValueError(f"ping had no answer:\n{output[-500:]}")
    least, mean, most, deviation = map(float, figures.groups())
    times = [float(time) for time in re.findall(r"time=([\d.]+) ms", output)]
    return Pings(int(counts[1]), int(counts[2]), least, mean, most, deviation, times)
