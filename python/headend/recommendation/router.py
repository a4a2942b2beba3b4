"""A home's own router as a setting: which are tried, and what to type for one.

The router stands before the modem and sends a little slower than the line, so that packets wait in
it. Before a cable line CAKE counts bytes as that does (``docsis``). Before a plain link, whose
framing nobody knows, and in a shaper with FQ-CoDel behind it a Linux counts the Ethernet header
besides the IP packet (``raw``).

Nobody at home knows the line's rate to the last percent: a tariff names it, and a speed test shows
it within some percent. A share that leaves less than 5 % is therefore not recommended, and is there
to show where the edge is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headend.text.quantity import format_quantity

if TYPE_CHECKING:
    from headend.recommendation.tier import Tier

#: Shares of the line's rate that are tried, in percent, in the order of preference: of two that are
#: as good, the one that is usual.
SHARES = (95, 90, 85)

#: The same with CAKE, besides, on a line that varies: one of them may be what it has at its worst.
LOW_SHARES = (70, 50, 35, 25)

#: Shares that show with CAKE where the edge is.
EDGES = (100, 105)

#: The burst of a shaper in time (sqm-scripts: SHAPER_BURST_DUR_US), s, and at least a packet, B.
_BURST, _PACKET = 0.001, 1514

#: The port to the modem, and the device that shapes what comes in there.
_PORT, _MIRROR = "eth0", "ifb0"


@dataclass(frozen=True)
class Router:
    """A router's setting.

    Parameters
    ----------
    queue
        ``cake`` or ``fq_codel``.
    share
        Its rate, in percent of the line's, in both directions.
    has_autorate
        Whether the rate follows the delay from there, as cake-autorate does it.
    """

    queue: str
    share: int
    has_autorate: bool = False

    @property
    def label(self) -> str:
        """What it is called, such as ``cake 95 %``."""
        return f"{self.queue} {self.share} %{' autorate' if self.has_autorate else ''}"

    @property
    def is_edge(self) -> bool:
        """Whether it leaves too little to be recommended."""
        return self.share in EDGES

    def write(self, tier: Tier) -> dict[str, Any]:
        """Give the content of ``[router]`` before the line of a tier.

        Whoever has set a rate has set it also where the line turns out to be another one.
        """
        rate: dict[str, Any] = {"rate": f"{self.share} %"}
        if tier.variation:
            up, down = (f"{own:.0f} bit/s" for own in self.find_rates(tier))
            rate = {"up": up, "down": down}
        framing = "docsis" if self.queue == "cake" and tier.is_cable else "raw"
        found = {"queue": self.queue, **rate, "framing": framing}
        return {**found, "autorate": True} if self.has_autorate else found

    def find_rates(self, tier: Tier) -> tuple[float, float]:
        """Give its rates to the network and to the home, in bit/s."""
        up, down = (rate * self.share / 100 for rate in (tier.upstream, tier.downstream))
        return up, down


def list_routers(*, varies: bool) -> list[Router]:
    """List the settings of a router that are tried, in the order of preference.

    A rate that follows the delay is for a line that varies. On a steady line it would keep filling
    the queue to find a rate that is known.
    """
    fixed = [Router(queue, share) for queue in ("cake", "fq_codel") for share in SHARES]
    edges = [Router("cake", share) for share in EDGES]
    if not varies:
        return [*fixed, *edges]
    low = [Router("cake", share) for share in LOW_SHARES]
    return [*fixed, *low, Router("cake", SHARES[0], has_autorate=True), *edges]


def advise_router(tier: Tier, router: Router) -> str:
    """Say what to set, as an imperative sentence without its full stop."""
    up, down = (format_quantity(float(f"{own:.3g}"), "rate") for own in router.find_rates(tier))
    follows = ", from where cake-autorate lets it follow the delay" if router.has_autorate else ""
    place = "modem" if tier.is_cable else "line"
    return (
        f"Put a router before the {place}, with {router.queue} at {router.share} % of the line's"
        f" rate: {up} upstream and {down} downstream{follows}"
    )


def write_commands(tier: Tier, router: Router) -> list[str]:
    """Write the commands that set a Linux router, whose port to the modem is ``eth0``.

    Examples
    --------
    >>> from headend.recommendation.tier import Tier
    >>> tier = Tier("10 Mbit/s", 10e6, 100e6, {})
    >>> for line in write_commands(tier, Router("cake", 95)): print(line)
    tc qdisc replace dev eth0 root cake bandwidth 9500kbit docsis nat
    ip link add ifb0 type ifb
    ip link set ifb0 up
    tc qdisc replace dev eth0 handle ffff: ingress
    tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0
    tc qdisc replace dev ifb0 root cake bandwidth 95000kbit docsis ingress nat
    """
    up, down = router.find_rates(tier)
    mirror = [
        f"ip link add {_MIRROR} type ifb",
        f"ip link set {_MIRROR} up",
        f"tc qdisc replace dev {_PORT} handle ffff: ingress",
        f"tc filter add dev {_PORT} parent ffff: matchall action mirred egress redirect"
        f" dev {_MIRROR}",
    ]
    if router.queue == "cake":
        framing = "docsis" if tier.is_cable else "raw"
        own = [
            f"tc qdisc replace dev {port} root cake bandwidth {_kbit(rate)} {framing}{ingress} nat"
            for port, rate, ingress in ((_PORT, up, ""), (_MIRROR, down, " ingress"))
        ]
        return [own[0], *mirror, own[1]]
    return [*_shape(_PORT, up), *mirror, *_shape(_MIRROR, down)]


def write_autorate(tier: Tier, router: Router) -> list[str]:
    """Write the lines of cake-autorate's configuration file; none for a rate that stays.

    Examples
    --------
    >>> from headend.recommendation.tier import Tier
    >>> tier = Tier("10 Mbit/s", 10e6, 100e6, {})
    >>> write_autorate(tier, Router("cake", 95, has_autorate=True))[:3]
    ['ul_if=eth0', 'dl_if=ifb0', 'min_ul_shaper_rate_kbps=2500']
    """
    if not router.has_autorate:
        return []
    found = [f"ul_if={_PORT}", f"dl_if={_MIRROR}"]
    for word, base, rate in zip(
        ("ul", "dl"), router.find_rates(tier), (tier.upstream, tier.downstream), strict=True
    ):
        bounds = {"min": rate / 4, "base": base, "max": rate}
        found += [
            f"{name}_{word}_shaper_rate_kbps={own / 1000:.0f}" for name, own in bounds.items()
        ]
    return found


def _shape(port: str, rate: float) -> list[str]:
    """Write HTB with FQ-CoDel behind it."""
    burst = max(_PACKET, round(rate * _BURST / 8))
    return [
        f"tc qdisc replace dev {port} root handle 1: htb default 1",
        f"tc class replace dev {port} parent 1: classid 1:1 htb rate {_kbit(rate)}"
        f" burst {burst}b cburst {burst}b",
        f"tc qdisc replace dev {port} parent 1:1 fq_codel",
    ]


def _kbit(rate: float) -> str:
    return f"{rate / 1000:.0f}kbit"


def list_sqm_settings(tier: Tier, router: Router) -> list[tuple[str, str]]:
    """List the fields of OpenWrt's SQM (``luci-app-sqm``) with their values.

    Examples
    --------
    >>> from headend.recommendation.tier import Tier
    >>> tier = Tier("10 Mbit/s", 10e6, 100e6, {})
    >>> list_sqm_settings(tier, Router("cake", 95))[2:5]
    [('Download speed (kbit/s)', '95000'), ('Upload speed (kbit/s)', '9500'),
    ('Queueing discipline', 'cake')]
    """
    up, down = router.find_rates(tier)
    is_cake = router.queue == "cake"
    # The scripts that keep CAKE's tins, and HTB with one queue.
    script = "layer_cake.qos" if is_cake else "simplest.qos"
    layer = [
        ("Link layer", "Ethernet with overhead"),
        ("Per packet overhead (bytes)", "18"),
        ("MPU (bytes, advanced)", "64"),
    ]
    return [
        ("Interface name", "the port to the modem"),
        ("Enable this SQM instance", "yes"),
        ("Download speed (kbit/s)", f"{down / 1000:.0f}"),
        ("Upload speed (kbit/s)", f"{up / 1000:.0f}"),
        ("Queueing discipline", router.queue),
        ("Queue setup script", script),
        *(layer if is_cake and tier.is_cable else [("Link layer", "none")]),
    ]


def join_settings(settings: Sequence[tuple[str, str]]) -> str:
    """Write settings in a line, such as ``Download speed (kbit/s): 95000; …``."""
    return "; ".join(f"{name}: {value}" for name, value in settings)
