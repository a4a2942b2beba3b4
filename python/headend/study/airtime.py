"""Air time of 802.11b frames in closed form: by the document's assumptions and the cell's.

Nguyen and Armitage (2004, §II.A and §III.B) reckon an exchange of frames as DIFS, an RTS and a CTS
before every frame, the frame, its answer, and the SIFS between them; nobody backs off, and nothing
collides. Each of these assumptions is a parameter here. The cell of the engine
(docs/models/dot11b.md) makes others: no RTS, a mean backoff, answers at a basic rate. What a second
of games or pings takes is what a download cannot have, so that both give what is "stolen" from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Bytes of control frames (802.11-1999 §7.2.1), and of the document's 42 B of headers.
RTS_BYTES, CTS_BYTES, ACK_BYTES = 20, 14, 14
MAC_HEADER_BYTES, LLC_SNAP_BYTES, FCS_BYTES = 30, 8, 4

#: Bytes of the long preamble and of the PLCP header, which are sent at 1 Mbit/s.
PREAMBLE_BYTES, PLCP_HEADER_BYTES = 18, 6

IP_HEADER_BYTES = 20

SECOND_US = 1e6


@dataclass(frozen=True)
class Airtime:
    """What an exchange of frames is taken to cost. Defaults are the document's assumptions.

    Parameters
    ----------
    difs_us, sifs_us
        Before an exchange, and before each answer.
    plcp_us
        Preamble and header before every frame: 192 is the long one, 96 the short.
    data_mbps, answer_mbps, rts_mbps
        Rates in Mbit/s of frames, of their acknowledgements, and of RTS and CTS.
    overhead_bytes
        What an MPDU has beyond the IP packet. The document counts 42 B, with a MAC header of four
        addresses; between a station and its access point it has three, which makes 36.
    is_announced
        Whether every frame has an RTS and a CTS.
    backoff_slots, slot_us
        Idle slots before an exchange on average, and their length. Half of the smallest window,
        15.5, is a lone station's.
    whole_us
        Whether frames last whole microseconds, as 802.11b §18.3.4 has it.
    """

    difs_us: float = 50.0
    sifs_us: float = 10.0
    plcp_us: float = 192.0
    data_mbps: float = 11.0
    answer_mbps: float = 11.0
    rts_mbps: float = 1.0
    overhead_bytes: int = MAC_HEADER_BYTES + LLC_SNAP_BYTES + FCS_BYTES
    is_announced: bool = True
    backoff_slots: float = 0.0
    slot_us: float = 20.0
    whole_us: bool = False

    def frame_us(self, size_bytes: float, mbps: float) -> float:
        """Give the time of a frame of so many MPDU bytes."""
        bits_us = size_bytes * 8 / mbps
        return self.plcp_us + (math.ceil(bits_us - 1e-9) if self.whole_us else bits_us)

    @property
    def spaces_us(self) -> float:
        """Time of DIFS and of the SIFS between the frames."""
        return self.difs_us + self.sifs_us * (3 if self.is_announced else 1)

    @property
    def backoff_us(self) -> float:
        """Time of the mean backoff."""
        return self.backoff_slots * self.slot_us

    @property
    def announcement_us(self) -> float:
        """Time of RTS and CTS, or none."""
        if not self.is_announced:
            return 0.0
        return self.frame_us(RTS_BYTES, self.rts_mbps) + self.frame_us(CTS_BYTES, self.rts_mbps)

    @property
    def answer_us(self) -> float:
        """Time of an acknowledgement."""
        return self.frame_us(ACK_BYTES, self.answer_mbps)

    def data_us(self, packet_bytes: float) -> float:
        """Give the time of the frame that carries an IP packet."""
        return self.frame_us(packet_bytes + self.overhead_bytes, self.data_mbps)

    def exchange_us(self, packet_bytes: float) -> float:
        """Give the time an IP packet takes, from DIFS to the end of its acknowledgement.

        Examples
        --------
        >>> round(DOCUMENT.exchange_us(1500), 1), round(CELL.exchange_us(1500), 1)
        (2251.6, 1928.0)
        """
        return (
            self.spaces_us
            + self.backoff_us
            + self.announcement_us
            + self.data_us(packet_bytes)
            + self.answer_us
        )


#: The document's assumptions.
DOCUMENT = Airtime()

#: What the engine's cell does by default with one sender at a time: no RTS, a mean backoff, answers
#: at 2 Mbit/s, three addresses.
CELL = Airtime(
    answer_mbps=2.0,
    rts_mbps=2.0,
    overhead_bytes=36,
    is_announced=False,
    backoff_slots=15.5,
    whole_us=True,
)


@dataclass(frozen=True)
class Transfer:
    """What a TCP transfer sends for each segment. Defaults are the document's. Sizes are IP bytes.

    Parameters
    ----------
    segment_bytes, acknowledgement_bytes
        A segment and an acknowledgement with their headers.
    counted_bytes
        What of a segment counts as throughput: the document's 2.05 Mb/s come of 1460 B.
    acknowledgements
        For each segment; half of one where they are delayed.
    """

    segment_bytes: int = 1500
    acknowledgement_bytes: int = 40
    counted_bytes: int = 1460
    acknowledgements: float = 1.0

    def exchange_us(self, airtime: Airtime) -> float:
        """Give the time of a segment and of its share of an acknowledgement."""
        answer = self.acknowledgements * airtime.exchange_us(self.acknowledgement_bytes)
        return airtime.exchange_us(self.segment_bytes) + answer

    def find_rate_bps(self, airtime: Airtime, busy_us: float = SECOND_US) -> float:
        """Give the throughput in bit/s that so much time of a second carries."""
        return busy_us / self.exchange_us(airtime) * self.counted_bytes * 8


#: The document's transfer, and the engine's: timestamps, and an acknowledgement for two segments.
DOCUMENT_TRANSFER = Transfer()
CELL_TRANSFER = Transfer(acknowledgement_bytes=52, counted_bytes=1448, acknowledgements=0.5)


@dataclass(frozen=True)
class Stream:
    """Packets of one length, in IP bytes, so many a second."""

    packet_bytes: float
    per_second: float


@dataclass(frozen=True)
class Game:
    """What one player's client sends, and what the server sends to it."""

    client: Stream
    server: Stream

    @property
    def nominal_bps(self) -> float:
        """IP bits a second of one player, both ways."""
        return 8 * sum(side.packet_bytes * side.per_second for side in (self.client, self.server))

    def busy_us(self, airtime: Airtime) -> float:
        """Give the time of a second that one player takes."""
        sides = (self.client, self.server)
        return sum(side.per_second * airtime.exchange_us(side.packet_bytes) for side in sides)


def describe_quake3(players: int) -> Game:
    """Give what the document takes one of so many players of Quake III to send (§IV.A)."""
    return Game(Stream(64.151, 93), Stream(13 * players + 53.34, 20))


#: Mean length of the server's packets in Half-Life by map, bytes (§IV.B).
HALF_LIFE_MAPS = {"childm": 202.9, "odyssey": 154.1, "rats3": 129.6, "xflight": 109.7}


def describe_half_life(game_map: str) -> Game:
    """Give what the document takes a player of Half-Life to send: 25 and 16 packets a second.

    The intervals that it states, 33 or 50 ms and 60 ms, make 24.1 and 16.7.
    """
    return Game(Stream(72.3, 25), Stream(HALF_LIFE_MAPS[game_map], 16))
