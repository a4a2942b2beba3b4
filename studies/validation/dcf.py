"""The distributed coordination function in theory: Bianchi's saturated stations, turns.

Bianchi (2000) takes every station to collide with the same probability in every slot, whatever
happened before; its windows then give how often it sends, and all stations together give the
probability: a fixed point. Here it is extended by a limit of tries, by EIFS, and by stations whose
frames last differently. `draw_turns` is the process of slots itself (802.11-1999 §9.2) without
frames and time: it says who sends after whom, which a fixed point does not.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headend.study.airtime import RTS_BYTES, Airtime

#: Slots of the smallest window (CWmin + 1), and how often it doubles.
WINDOW, DOUBLINGS = 32, 5

#: SIFS, the slowest acknowledgement and DIFS: the wait after an unreadable frame, µs.
EIFS_US = 364.0

#: Tries of a frame, by the standard.
TRIES = 7

#: Of a model without a limit of tries, so many count.
ENDLESS = 2000


def find_attempt_rate(collides: float, tries: int | None = None) -> float:
    """Give the share of slots in which a station sends whose tries collide this often."""
    stages = np.arange(tries or ENDLESS)
    weights = collides**stages
    windows = WINDOW * 2.0 ** np.minimum(stages, DOUBLINGS)
    return float(weights.sum() / (weights * (windows + 1) / 2).sum())


@functools.cache
def solve_attempt_rate(stations: int, tries: int | None = None) -> float:
    """Give the share of slots in which each of so many saturated stations sends.

    Examples
    --------
    >>> round(solve_attempt_rate(1), 4), round(solve_attempt_rate(10), 4)
    (0.0606, 0.0373)
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if 1 - (1 - find_attempt_rate(middle, tries)) ** (stations - 1) > middle:
            low = middle
        else:
            high = middle
    return find_attempt_rate(low, tries)


def find_saturation_bps(
    stations: int, packet_bytes: int, airtime: Airtime, *, is_standard: bool = False
) -> float:
    """Give the IP throughput in bit/s of so many stations that always have a packet.

    Parameters
    ----------
    airtime
        What frames take; its mean backoff does not count, as the model has slots of its own.
    is_standard
        Whether a frame has seven tries and all wait for EIFS after collisions, unlike Bianchi.
    """
    sends = solve_attempt_rate(stations, TRIES if is_standard else None)
    success = airtime.exchange_us(packet_bytes) - airtime.backoff_us
    first = (
        airtime.frame_us(RTS_BYTES, airtime.rts_mbps)
        if airtime.is_announced
        else airtime.data_us(packet_bytes)
    )
    collision = first + (EIFS_US if is_standard else airtime.difs_us)
    alone = stations * sends * (1 - sends) ** (stations - 1)
    idle = (1 - sends) ** stations
    slot = idle * airtime.slot_us + alone * success + (1 - idle - alone) * collision
    return float(alone * packet_bytes * 8 / slot * 1e6)


def share_two_bps(packet_bytes: int, airtimes: Sequence[Airtime]) -> float:
    """Give the rates of two saturated stations with unlike frames, bit/s: equal turns."""
    sends = solve_attempt_rate(2, TRIES)
    times = [airtime.exchange_us(packet_bytes) - airtime.backoff_us for airtime in airtimes]
    longest = max(airtime.data_us(packet_bytes) for airtime in airtimes)
    alone, both = sends * (1 - sends), sends**2
    idle = (1 - sends) ** 2
    slot = idle * airtimes[0].slot_us + alone * sum(times) + both * (longest + EIFS_US)
    return float(alone * packet_bytes * 8 / slot * 1e6)


def draw_turns(stations: int, frames: int, seed: int = 1) -> npt.NDArray[np.int64]:
    """Draw who sends so many arriving frames, all saturated: the process of slots alone."""
    draw = random.Random(seed).random
    windows, tries = [WINDOW] * stations, [0] * stations
    until = [int(draw() * WINDOW) for _ in range(stations)]
    turns: list[int] = []
    while len(turns) < frames:
        now = min(until)
        senders = [station for station, slot in enumerate(until) if slot == now]
        if len(senders) == 1:
            turns.append(senders[0])
        for station in senders:
            tries[station] += 1
            if len(senders) == 1 or tries[station] == TRIES:
                windows[station], tries[station] = WINDOW, 0
            else:
                windows[station] = min(2 * windows[station], WINDOW * 2**DOUBLINGS)
            until[station] = now + int(draw() * windows[station])
    return np.array(turns)


def average_jain(turns: npt.NDArray[np.int64], stations: int, window: int) -> float:
    """Give Jain's index of stations' frames, averaged over all windows of so many frames."""
    one_hot = np.zeros((len(turns) + 1, stations))
    one_hot[np.arange(1, len(turns) + 1), turns] = 1
    sums = one_hot.cumsum(axis=0)
    counts = sums[window:] - sums[:-window]
    return float((window**2 / (stations * (counts**2).sum(axis=1))).mean())


@functools.cache
def draw_jain(
    stations: int, windows: tuple[int, ...], frames: int, *, by_chance: bool = False, seed: int = 1
) -> dict[int, float]:
    """Give Jain's index by window of turns of the process of slots, or of random turns."""
    if by_chance:
        turns = np.random.default_rng(seed).integers(0, stations, frames)
    else:
        turns = draw_turns(stations, frames, seed)
    return {window: average_jain(turns, stations, window) for window in windows}
