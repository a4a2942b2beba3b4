"""Cells of what a home's router and a provider's policer do, for `linux_qdiscs.py`.

Several hosts, classes by DSCP, ECN, downloads whose acknowledgements fill the way up, and policers;
`programs/flows.sh` is what the kernel runs.

**What is set.** CAKE shapes by itself, and counts IP bytes and 14 of the Ethernet header on both
sides; its link in headend has 1 Gbit/s, as the kernel's wires have no rate. It hands a packet on
at the beginning of the time that it is given, on both sides. A download has CAKE of the line's
other rate on its way down. A policer counts IP bytes where packets come in (`police`), and the
Ethernet header too where they go out (`police_out`): `tc -s` shows it. FQ-PIE and FQ-CoDel stand
under HTB, and what is scaled and shortened is as in `linux_qdiscs.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from emulation.line import PACKET
from virtual.cells import COUNTED
from virtual.flows import FlowsOrder, Group

#: IP bytes of a ping, the time between two, and how long samples are fine, s.
PING_PACKET, PING, FINE = 84, 0.05, 1

#: Of a receiver of Linux 6.12 and before, the third number of its tcp_rmem; 6.18 has 32 MiB.
BUFFER = 'receive_buffer = "6 MiB"'

#: DSCPs: Expedited Forwarding and Lower Effort.
EF, LE = 46, 1

#: CAKE by the name in a cell: tc's words, and headend's keys.
CAKES = {
    "cake": ("besteffort", 'tins = "besteffort"'),
    "cake_ecn": ("besteffort", 'tins = "besteffort"'),
    "cake_rtt20": ("besteffort rtt 20ms", 'tins = "besteffort", rtt = "20 ms"'),
    "cake_diffserv4": ("diffserv4", 'tins = "diffserv4"'),
    "cake_flows": ("besteffort flows", 'tins = "besteffort", isolation = "flows"'),
    "cake_dual_srchost": (
        "besteffort dual-srchost",
        'tins = "besteffort", isolation = "dual_srchost"',
    ),
    "cake_ack_filter": ("besteffort ack-filter", 'tins = "besteffort", ack_filter = "normal"'),
    "cake_ack_aggressive": (
        "besteffort ack-filter-aggressive",
        'tins = "besteffort", ack_filter = "aggressive"',
    ),
}

#: Rate and round-trip time, queue or policer, connections and their congestion control.
#: `100/1 Mbit/s` is a download, with the rates down and up. `8+1` are connections of two hosts;
#: `1+1le` gives those of the second one the DSCP LE. Beside classes the ping has EF.
HOME_CELLS = (
    "10 Mbit/s 20 ms cake 4 cubic",
    "1 Mbit/s 20 ms cake 1 cubic",
    "10 Mbit/s 80 ms cake 1 reno",
    "47 Mbit/s 20 ms cake 1 cubic",
    "47 Mbit/s 20 ms cake 1 bbr",
    "47 Mbit/s 20 ms cake 4 cubic",
    "47 Mbit/s 20 ms cake_ecn 4 cubic",
    "95 Mbit/s 20 ms cake 1 cubic",
    "50 Mbit/s 20 ms cake_rtt20 1 cubic",
    "50 Mbit/s 20 ms cake_diffserv4 1+1le cubic",
    "50 Mbit/s 20 ms cake_flows 8+1 cubic",
    "50 Mbit/s 20 ms cake 8+1 cubic",
    "50 Mbit/s 20 ms cake_dual_srchost 8+1 cubic",
    "100/1 Mbit/s 20 ms cake 1 cubic",
    "100/1 Mbit/s 20 ms cake_ack_filter 1 cubic",
    "100/1 Mbit/s 20 ms cake_ack_aggressive 1 cubic",
    "10 Mbit/s 80 ms fq_pie 1 cubic",
    "50 Mbit/s 20 ms fq_pie 4 cubic",
    "50 Mbit/s 20 ms fq_codel_ecn 4 cubic",
    "15 Mbit/s 20 ms police_10k 1 cubic",
    "15 Mbit/s 20 ms police_30k 1 cubic",
    "15 Mbit/s 20 ms police_100k 1 cubic",
    "15 Mbit/s 20 ms police_300k 1 cubic",
    "15 Mbit/s 20 ms police_1000k 1 cubic",
    "15 Mbit/s 20 ms police_100k 4 cubic",
    "15 Mbit/s 20 ms police_out_100k 1 cubic",
)

#: How many cells a guest is started for, in their order.
TOGETHER = 4


@dataclass(frozen=True)
class HomeCell:
    """A line, a queue discipline or a policer, and who sends through it; rates are tc's, bit/s."""

    name: str
    rate: int
    #: Of the way down, where the connections are downloads.
    down: int | None
    rtt_ms: int
    queue: str
    groups: tuple[Group, ...]
    congestion: str

    @classmethod
    def read(cls, name: str) -> HomeCell:
        """Read a name such as ``"100/1 Mbit/s 20 ms cake_ack_filter 1 cubic"``."""
        rates, _, rtt, _, queue, groups, congestion = name.split()
        *down, up = (1_000_000 * int(rate) for rate in rates.split("/"))
        return cls(
            name,
            up,
            down[0] if down else None,
            int(rtt),
            queue,
            tuple(
                Group(int(text.removesuffix("le")), LE if text.endswith("le") else 0)
                for text in groups.split("+")
            ),
            congestion,
        )

    @property
    def way(self) -> str:
        """Where the connections' data goes."""
        return "down" if self.down else "up"

    @property
    def discipline(self) -> str:
        """The queue without what the connections ask for."""
        return self.queue.removesuffix("_ecn")

    @property
    def has_ecn(self) -> bool:
        """Whether the connections ask for ECN."""
        return self.queue.endswith("_ecn")

    @property
    def ping_dscp(self) -> int:
        """DSCP of the pings."""
        return EF if self.queue == "cake_diffserv4" else 0

    def order(self, seconds: int) -> FlowsOrder:
        """Give what the guest is to do."""
        device = "ra" if self._policer and not self._policer[0] else "rd"
        return FlowsOrder(
            self.name,
            self.rtt_ms,
            seconds,
            self.way,
            self.groups,
            self.congestion,
            self.has_ecn,
            self.ping_dscp,
            PING,
            FINE,
            device,
            self._setup(),
        )

    @property
    def _policer(self) -> tuple[bool, int] | None:
        """Whether a policer is where packets go out, and its burst in KiB."""
        found = re.fullmatch(r"police(_out)?_(\d+)k", self.queue)
        return (bool(found[1]), int(found[2])) if found else None

    def _setup(self) -> str:
        """Give the words of the guest that set the queue."""
        if self._policer:
            goes_out, burst = self._policer
            return f"police_{'out' if goes_out else 'in'} {self.rate}bit {burst}k"
        if self.queue in CAKES:
            words = f"cake bandwidth {self.rate}bit {CAKES[self.queue][0]}"
            return f"both {self.down}bit {words}" if self.down else f"up {words}"
        return f"shaped rd {self.rate}bit {self.discipline}"

    def write_line(self, queue: str) -> str:
        """Give what headend's scenario has of the line, the hosts and the flows.

        Parameters
        ----------
        queue
            headend's queue under HTB, as TOML; not used where there is no HTB.
        """
        up, shortened = self._write_up(queue)
        down = 'down.rate = "1 Gbit/s"\n'
        if self.down:
            down += f'down.queue.cake = {{ rate = "{self.down} bit/s", tins = "besteffort" }}\n'
        hosts = "".join(
            f'[host.home{number}]\nvia = ["line"]\n\n' for number in range(1, len(self.groups) + 1)
        )
        flows = "".join(
            f"""[flow.group{number}]
application = "bulk"
direction = "{self.way}"
host = "home{number}"
peer = "server"
count = {group.count}
dscp = {group.dscp}
path.jitter = "100 us"
tcp = {{ system = "linux", congestion = "{self.congestion}", ecn = "{self._ecn}", {BUFFER} }}

"""
            for number, group in enumerate(self.groups, 1)
        )
        return f"""[link.line.point_to_point]
{up}{down}
[host.server]
rtt = "{self._shorten(PACKET) if shortened else f"{self.rtt_ms} ms"}"

[host.pinged]
rtt = "{self._shorten(PING_PACKET) if shortened else f"{self.rtt_ms} ms"}"

[host.pinging]
via = ["line"]

{hosts}{flows}[flow.ping]
application.ping.interval = "{round(1000 * PING)} ms"
host = "pinging"
peer = "pinged"
dscp = {self.ping_dscp}
path.jitter = "100 us"
"""

    @property
    def _ecn(self) -> str:
        return "on" if self.has_ecn else "off"

    def _write_up(self, queue: str) -> tuple[str, bool]:
        """Give the way up, and whether a packet is there at the beginning of its time in Linux."""
        if self._policer:
            goes_out, burst = self._policer
            framing = "raw" if goes_out else "ip"
            bucket = f'rate = "{self.rate} bit/s", burst = "{burst} KiB"'
            return (
                f'up.rate = "1 Gbit/s"\nup.framing = "{framing}"\nup.policer = {{ {bucket} }}\n',
                False,
            )
        if self.queue in CAKES:
            keys = f'rate = "{self.rate} bit/s", {CAKES[self.queue][1]}'
            return f'up.rate = "1 Gbit/s"\nup.queue.cake = {{ {keys} }}\n', False
        rate = round(self.rate * PACKET / COUNTED)
        return f'up.rate = "{rate} bit/s"\nup.queue.{queue}\n', True

    def _shorten(self, size: int) -> str:
        sending = (size + COUNTED - PACKET) * 8e3 / self.rate
        return f"{self.rtt_ms - sending:.4f} ms"
