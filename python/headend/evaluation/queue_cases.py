"""The cases of RFC 7928, "Characterization Guidelines for Active Queue Management (AQM)"."""

from __future__ import annotations

from typing import Any

from headend.evaluation.case import Bottleneck, Case, Extent, Scenario, Span, Untested
from headend.evaluation.criterion import (
    Bound,
    BoundSource,
    Criterion,
    Values,
    divide,
    min_max_ratio,
    take,
)
from headend.evaluation.curves import Curve, Trade
from headend.evaluation.line import (
    PACKET,
    QUEUE,
    count_flows,
    make_direction,
    make_line,
    size_buffer,
    vary_rate,
    write_rate,
    write_time,
)

#: RFC 7928 §3.3: the baseline is NewReno with SACK; §5.1.1: an initial window of three packets.
RENO = {"system": "rfc", "congestion": "reno", "initial_window": 3}

#: Factors of the congestion levels (§8.2.2 to §8.2.4).
MILD, MEDIUM, HEAVY = 0.036, 0.081, 0.114

#: §1.2: "better than drop-tail (with a BDP-sized buffer)".
SHORTER = Bound(BoundSource.RFC, factor=1.0, section="1.2")

#: §1.1 asks for a high goodput besides, and says no number: a tenth may be its price.
KEPT = Bound(BoundSource.MARGIN, factor=0.9, section="1.2")

#: The same for what people wait for.
NO_LONGER = Bound(BoundSource.MARGIN, factor=1.1, section="1.2")

_DELAY = {"delay": f"{QUEUE}.delay.mean", "delay_p99": f"{QUEUE}.delay.p99"}
_USE = {"utilisation": f"{QUEUE}.utilisation"}


#: The statement of `SHORTER`, of the mean and of the tail.
_SHORT = "the queue is no longer than drop-tail's"
_SHORT_TAIL = "the longest delays are no longer than drop-tail's"


def _keep_short(
    name: str = "delay",
    what: str = "mean queueing delay",
    statement: str = _SHORT,
    **more: Any,
) -> Criterion:
    return Criterion(name, statement, what, "time", take(name), True, SHORTER, **more)


def _keep_goodput(name: str = "goodput", what: str = "goodput", **more: Any) -> Criterion:
    statement = f"{what} is kept"
    return Criterion(name, statement, what, "rate", take(name), False, KEPT, **more)


def _make_bulk(count: int = 1, **tcp: Any) -> Scenario:
    """Make transfers without end, which start within a second so that they are not in step."""
    flow: Scenario = {"application": "bulk", "tcp": {**RENO, **tcp}}
    return {**flow, "count": count, "start": {"from": "0 s", "to": "1 s"}} if count > 1 else flow


# §5: transport protocols


def _build_friendly(bottleneck: Bottleneck, _: str) -> Scenario:
    return make_line(bottleneck, {"tcp": _make_bulk()})


def _build_short(bottleneck: Bottleneck, variant: str) -> Scenario:
    window = int(variant.removeprefix("IW "))
    short = {
        # §5.1.2: more than 10 packets and less than 100.
        "application": {"bulk": {"size": f"{40 * 1448} B", "pause": "1 s"}},
        "tcp": {**RENO, "initial_window": window},
        "start": "20 s",
    }
    return make_line(bottleneck, {"tcp": _make_bulk(), "short": short})


def _build_aggressive(bottleneck: Bottleneck, _: str) -> Scenario:
    return make_line(bottleneck, {"tcp": _make_bulk(congestion="cubic", initial_window=10)})


#: The rate of unresponsive traffic as a share of the bottleneck's: above it, and above half of it.
_FLOOD, _LARGE = 1.2, 0.75


def _make_datagrams(bottleneck: Bottleneck, share: float) -> Scenario:
    rate = write_rate(share * bottleneck.rate)
    return {"application": {"cbr": {"rate": rate, "size": f"{PACKET} B", "random_phase": True}}}


def _build_flood(bottleneck: Bottleneck, _: str) -> Scenario:
    return make_line(bottleneck, {"udp": _make_datagrams(bottleneck, _FLOOD)})


def _build_unresponsive(bottleneck: Bottleneck, _: str) -> Scenario:
    flows = {"tcp": _make_bulk(), "udp": _make_datagrams(bottleneck, _LARGE)}
    return make_line(bottleneck, flows)


#: §5.4's target for LEDBAT, and the one that RFC 6817 allows at most. §5.4 recommends a gain of 10
#: besides, which RFC 6817 forbids: it is at most 1 (§2.5 there), and 1 here.
_LEDBAT = {"target 5 ms": "5 ms", "target 100 ms": "100 ms"}


def _build_background(bottleneck: Bottleneck, variant: str) -> Scenario:
    ledbat = {"system": "rfc", "congestion": {"ledbat": {"target": _LEDBAT[variant]}}}
    lbe = {"application": "bulk", "tcp": ledbat, "start": "5 s"}
    return make_line(bottleneck, {"tcp": _make_bulk(), "lbe": lbe}, duration=90, warmup=30)


# §4.4, §4.5, §6: packet sizes, ECN, and round trips


def _build_sizes(bottleneck: Bottleneck, _: str) -> Scenario:
    half = max(count_flows(bottleneck, MILD) // 2, 1)
    flows = {"small": _make_bulk(half, mtu=500), "large": _make_bulk(half)}
    return make_line(bottleneck, flows)


#: The round trips of Category II (§6.2), in ms.
_ROUND_TRIPS = ("5 ms", "20 ms", "50 ms", "100 ms", "200 ms", "560 ms")


def _build_round_trips(bottleneck: Bottleneck, variant: str, **tcp: Any) -> Scenario:
    other = float(variant.removesuffix(" ms")) * 1e6
    flows = {
        "first": _make_bulk(**tcp),
        "second": {**_make_bulk(**tcp), "rtt": write_time(other), "start": "500 ms"},
    }
    longest = max(bottleneck.rtt, other)
    return make_line(bottleneck, flows, duration=120, warmup=30, rtt=longest)


def _build_marked(bottleneck: Bottleneck, variant: str) -> Scenario:
    return _build_round_trips(bottleneck, variant, ecn="on")


# §7: bursts

#: What each case of Figure 2 has besides the page and the datagrams.
_BURSTS = {"I": (), "II": ("bulk",), "III": ("video",), "IV": ("video", "bulk")}


def _make_page() -> Scenario:
    """Make pages of 50 objects of 10 kB over six connections, one page after the other (§7.2)."""
    page = {
        "html": "10 kB", "page": "510 kB", "resources": 50, "sigma": 0.0, "servers": 1,
        "connections": 6, "pause": "500 ms",
    }  # fmt: skip
    return {"application": {"web": page}, "tcp": {**RENO, "initial_window": 10}}


#: A frame of the video is late so long after the path alone would have carried it, in ns.
_LATE = 100e6


def _build_burst(bottleneck: Bottleneck, variant: str) -> Scenario:
    flows = {"page": _make_page(), "cbr": _make_datagrams(bottleneck, 0.1)}
    if "video" in _BURSTS[variant]:
        video = {
            "rate": write_rate(0.3 * bottleneck.rate),
            "frame_rate": 30,
            "scoring": {"deadline": write_time(bottleneck.rtt / 2 + _LATE)},
        }
        flows["video"] = {"application": {"cloud_gaming": video}}
    if "bulk" in _BURSTS[variant]:
        flows["bulk"] = _make_bulk()
    return make_line(bottleneck, flows, duration=90, warmup=15)


# §8: stability


def _build_level(bottleneck: Bottleneck, variant: str) -> Scenario:
    factor = {"mild": MILD, "medium": MEDIUM, "heavy": HEAVY}[variant]
    return make_line(bottleneck, {"tcp": _make_bulk(count_flows(bottleneck, factor))})


#: The phases of §8.2.5, in seconds, after those of congestion avoidance.
_PHASES = {"mild": (20, 40), "medium": (40, 60), "heavy": (60, 80), "mild again": (80, 100)}


def _build_levels(bottleneck: Bottleneck, _: str) -> Scenario:
    mild, medium, heavy = (count_flows(bottleneck, own) for own in (MILD, MEDIUM, HEAVY))
    flows = {
        "first": _make_bulk(mild),
        "second": {**_make_bulk(max(medium - mild, 1)), "start": "40 s", "stop": "80 s"},
        "third": {**_make_bulk(max(heavy - medium, 1)), "start": "60 s", "stop": "80 s"},
    }
    return make_line(bottleneck, flows, duration=100, warmup=20)


#: How often the capacity changes (§8.2.6), in seconds.
_CHANGES = {"every 20 s": 20.0, "every 100 ms": 0.1}

#: The flows of §8.2.6.
_FEW = 4


def _build_capacity(bottleneck: Bottleneck, variant: str) -> Scenario:
    wide, length = (
        Bottleneck(10 * bottleneck.rate, bottleneck.rtt, bottleneck.buffer),
        _CHANGES[variant],
    )
    scenario = make_line(wide, {"tcp": _make_bulk(_FEW)}, duration=100, warmup=20)
    return vary_rate(scenario, [(0, wide.rate), (length, bottleneck.rate)], 2 * length)


# §9: traffic mix, and both directions


def _build_mix(bottleneck: Bottleneck, _: str) -> Scenario:
    flows = {
        "call": {"application": "voice", "direction": "both"},
        "page": {**_make_page(), "count": 6, "start": {"from": "0 s", "to": "5 s"}},
        "cbr": _make_datagrams(bottleneck, 0.05),
        "film": {"application": "streaming"},
        "bulk": _make_bulk(5),
    }
    return make_line(bottleneck, flows, duration=120, warmup=20)


#: §9.2: how much faster the downstream is; it depends on the context.
_ASYMMETRY = 4


def _build_both(bottleneck: Bottleneck, _: str) -> Scenario:
    flows = {
        "down": _make_bulk(count_flows(bottleneck, MILD)),
        "up": {**_make_bulk(count_flows(bottleneck, MILD)), "direction": "up"},
    }
    scenario = make_line(bottleneck, flows)
    limit = max(size_buffer(bottleneck) // _ASYMMETRY, 4 * PACKET)
    scenario["link"]["line"]["point_to_point"]["up"] = {
        "rate": write_rate(bottleneck.rate / _ASYMMETRY),
        "queue": {"drop_tail": {"limit": f"{limit} B"}},
    }
    return scenario


# §10: several queues on the path


def _build_several(bottleneck: Bottleneck, _: str) -> Scenario:
    half = max(count_flows(bottleneck, MILD) // 2, 1)
    flows = {
        "first": {**_make_bulk(half), "host": "a"},
        "second": {**_make_bulk(half), "host": "b"},
    }
    scenario = make_line(bottleneck, flows)
    link = make_direction(bottleneck, size_buffer(bottleneck))
    # Downstream, A's packets cross router L and then router M, B's router M alone.
    scenario["link"] = {"l": {"point_to_point": link}, "m": {"point_to_point": link}}
    scenario["host"] = {"a": {"via": ["m", "l"]}, "b": {"via": ["m"]}}
    scenario["bottleneck"] = "m.down"
    return scenario


def _compare_losses(values: Values) -> float | None:
    small = divide("small_lost", "small_sent")(values)
    large = divide("large_lost", "large_sent")(values)
    return small / large if small is not None and large else None


CASES = (
    Case(
        "sizes",
        "4.4",
        "Packet sizes and congestion notification",
        "NewReno flows of mild congestion, half of them with packets of 500 B and half with"
        " 1500 B.",
        _build_sizes,
        {
            "small_lost": "small.discarded", "small_sent": "small.sent",
            "large_lost": "large.discarded", "large_sent": "large.sent",
            **_DELAY,
        },
        (
            Criterion(
                "bias",
                "small packets have no undue advantage",
                "loss of small packets, over that of large ones",
                "number",
                _compare_losses,
                False,
                Bound(BoundSource.OURS, 0.5),
                needs="large_lost",
                absent="No large packet was lost.",
            ),
        ),
        extent=Extent.PATHS,
    ),
    Case(
        "ecn",
        "4.5",
        "Interaction with ECN",
        "The two flows of §6.2 with ECN on, over 100 ms and over 20 ms.",
        _build_marked,
        {
            "lost": f"{QUEUE}.discarded", "marked": f"{QUEUE}.marked",
            "goodput": "first.goodput + second.goodput", **_DELAY,
        },
        (
            Criterion(
                "marks",
                "with ECN, the queue marks in place of dropping",
                "drops among drops and marks",
                "ratio",
                divide("lost", "lost", "marked"),
                True,
                Bound(BoundSource.OURS, 0.1),
                needs="marked",
                absent="It marked nothing: it does not support ECN, or is not set to.",
            ),
            Criterion(
                "goodput",
                "with ECN, goodput is kept",
                "goodput with ECN",
                "rate",
                take("goodput"),
                False,
                KEPT,
                needs="marked",
                absent="It marked nothing: it does not support ECN, or is not set to.",
            ),
        ),
        variants=("20 ms",),
        extent=Extent.RATES,
    ),
    Case(
        "friendly",
        "5.1.1",
        "TCP-friendly sender",
        "One NewReno flow without end, with an initial window of three packets.",
        _build_friendly,
        {"goodput": "tcp.goodput", **_DELAY, **_USE},
        (_keep_short(), _keep_goodput()),
    ),
    Case(
        "short",
        "5.1.2",
        "TCP-friendly sender with different initial windows",
        "One NewReno flow without end; once it is settled, files of 40 packets one after the other,"
        " each over a connection of its own with an initial window of 3 or 10 packets.",
        _build_short,
        {"goodput": "tcp.goodput", "completion": "short.completion_time.mean", **_DELAY},
        (
            Criterion(
                "completion",
                "a short flow is not slower",
                "mean completion time of the short flow",
                "time",
                take("completion"),
                True,
                NO_LONGER,
            ),
            _keep_goodput(what="goodput of the long flow"),
        ),
        variants=("IW 3", "IW 10"),
    ),
    Case(
        "aggressive",
        "5.2",
        "Aggressive transport sender",
        "One CUBIC flow without end, with an initial window of ten packets.",
        _build_aggressive,
        {"goodput": "tcp.goodput", **_DELAY, **_USE},
        (_keep_short(), _keep_goodput()),
    ),
    Case(
        "flood",
        "5.3",
        "Unresponsive sender, faster than the bottleneck",
        "Datagrams at 120 % of the bottleneck's rate.",
        _build_flood,
        {"goodput": "udp.throughput", **_DELAY},
        (_keep_short(), _keep_goodput(what="throughput")),
    ),
    Case(
        "unresponsive",
        "5.3",
        "Unresponsive sender beside TCP",
        "Datagrams at 75 % of the bottleneck's rate, beside one NewReno flow without end.",
        _build_unresponsive,
        {"goodput": "tcp.goodput", **_DELAY},
        (_keep_short(), _keep_goodput(what="goodput of TCP")),
    ),
    Case(
        "background",
        "5.4",
        "Less-than-best-effort sender",
        "One LEDBAT flow beside one NewReno flow, both without end: with the target of 5 ms that"
        " the RFC recommends (its gain of 10 is more than RFC 6817 allows: it is 1), and with the"
        " 100 ms of RFC 6817.",
        _build_background,
        {"goodput": "tcp.goodput", "lbe": "lbe.goodput", **_DELAY},
        (
            Criterion(
                "yields",
                "the background flow has less than half",
                "share of LEDBAT",
                "ratio",
                divide("lbe", "lbe", "goodput"),
                True,
                Bound(BoundSource.OURS, 0.5),
            ),
            _keep_short(),
        ),
        variants=tuple(_LEDBAT),
    ),
    Case(
        "round-trips",
        "6.2",
        "Round-trip time fairness",
        "Two NewReno flows without end, one over 100 ms and one over 5 to 560 ms. The buffer is a"
        " multiple of the bandwidth-delay product of the longer one.",
        _build_round_trips,
        {
            "first": "first.goodput", "second": "second.goodput",
            "first_lost": "first.loss", "second_lost": "second.loss", **_DELAY,
        },
        (
            Criterion(
                "fairness",
                "the flows are no more unequal than behind drop-tail",
                "goodput of the slower flow, over that of the faster",
                "ratio",
                min_max_ratio("first", "second"),
                False,
                KEPT,
                section="6.3",
            ),
        ),
        variants=_ROUND_TRIPS,
        extent=Extent.RATES,
    ),
    Case(
        "bursts",
        "7.2",
        "Burst absorption",
        "Pages of 50 objects over six connections with an initial window of ten, and datagrams at"
        " 10 % of the rate (case I); besides one NewReno flow (II), bursty video at 30 % of the"
        " rate (III), or both (IV).",
        _build_burst,
        {"page": "page.page_load_time.mean", "lost": "cbr.loss", **_DELAY},
        (
            Criterion(
                "page",
                "pages load no slower",
                "mean page load time",
                "time",
                take("page"),
                True,
                NO_LONGER,
            ),
            Criterion(
                "video",
                "no more video frames are late or lost",
                "share of frames late or lost",
                "ratio",
                take("late"),
                True,
                Bound(BoundSource.MARGIN, 0.01, 1.1, "1.2"),
            ),
            Criterion(
                "datagrams",
                "no more datagrams are lost",
                "loss of the datagrams",
                "ratio",
                take("lost"),
                True,
                Bound(BoundSource.MARGIN, 0.01, 1.1, "1.2"),
            ),
            _keep_short("delay_p99", "99th percentile of the queueing delay", _SHORT_TAIL),
        ),
        variants=tuple(_BURSTS),
        extent=Extent.PATHS,
        more={
            variant: {"late": "video.down.frames_late.mean"}
            for variant, own in _BURSTS.items()
            if "video" in own
        },
    ),
    Case(
        "levels",
        "8.2.2 to 8.2.4",
        "Mild, medium and heavy congestion",
        "As many NewReno flows without end as cause a loss of about 0.1, 0.5 and 1 % behind"
        " drop-tail: 0.036, 0.081 and 0.114 of the packets that path and buffer hold.",
        _build_level,
        {"goodput": "tcp.goodput", **_DELAY},
        (_keep_short(), _keep_goodput()),
        variants=("mild", "medium", "heavy"),
    ),
    Case(
        "varying-level",
        "8.2.5",
        "Varying the congestion level",
        "Mild congestion for 20 s, then medium, then heavy, then mild again.",
        _build_levels,
        {"goodput": "first.goodput + second.goodput + third.goodput", **_DELAY},
        (
            *(
                _keep_short(f"delay {phase}", f"mean queueing delay, {phase}", f"{_SHORT}, {phase}")
                for phase in _PHASES
            ),
            _keep_goodput(),
        ),
        spans={
            f"delay {phase}": Span("queue_series", QUEUE, "delay_mean_ns", *times)
            for phase, times in _PHASES.items()
        },
        extent=Extent.PATHS,
    ),
    Case(
        "varying-capacity",
        "8.2.6",
        "Varying available capacity",
        "Four NewReno flows without end; the rate is ten times that of the condition, then that"
        " rate, in turn, every 20 s (experiment 1) or every 100 ms (experiment 2). The buffer is a"
        " multiple of the larger bandwidth-delay product.",
        _build_capacity,
        {"goodput": "tcp.goodput", **_DELAY, **_USE},
        (
            _keep_short(),
            _keep_short("delay_p99", "99th percentile of the queueing delay", _SHORT_TAIL),
            _keep_goodput(),
        ),
        variants=tuple(_CHANGES),
        extent=Extent.ONE,
    ),
    Case(
        "mix",
        "9.1",
        "Traffic mix",
        "One telephone call both ways, six people who load pages, one stream of datagrams at 5 % of"
        " the rate, one adaptive video, and five NewReno flows without end.",
        _build_mix,
        {
            "mos": "call.down.mos.mean", "page": "page.page_load_time.mean",
            "film": "film.segment_rate.mean", "goodput": "bulk.goodput", **_DELAY,
        },
        (
            Criterion(
                "call",
                "the call is no worse",
                "mean opinion score",
                "number",
                take("mos"),
                False,
                Bound(BoundSource.MARGIN, factor=0.95, section="1.2"),
            ),
            Criterion(
                "page",
                "pages load no slower",
                "mean page load time",
                "time",
                take("page"),
                True,
                NO_LONGER,
            ),
            Criterion(
                "film",
                "the video's picture is no worse",
                "mean rate of the video's segments",
                "rate",
                take("film"),
                False,
                KEPT,
            ),
            _keep_goodput(what="goodput of the transfers"),
            _keep_short(),
        ),
        extent=Extent.PATHS,
    ),
    Case(
        "both-directions",
        "9.2",
        "Bidirectional traffic",
        "NewReno flows of mild congestion in both directions; upstream has a quarter of the rate,"
        " and drop-tail, or the same queue in both directions.",
        _build_both,
        {
            "goodput": "down.goodput", "goodput_up": "up.goodput",
            "delay_up": "line.up.delay.mean", **_DELAY,
        },
        (
            _keep_short(),
            _keep_goodput(what="goodput downstream"),
            _keep_goodput("goodput_up", "goodput upstream"),
        ),
        variants=("AQM downstream", "AQM both ways"),
        extent=Extent.PATHS,
        further={"AQM both ways": ("link.line.point_to_point.up.queue",)},
    ),
    Case(
        "several",
        "10.2",
        "Several AQMs on the path",
        "Two routers with the same queue and the same rate one after the other: half of the NewReno"
        " flows of mild congestion cross both, the other half the second alone.",
        _build_several,
        {
            "delay": "m.down.delay.mean", "delay_first": "l.down.delay.mean",
            "goodput": "first.goodput + second.goodput", "far": "first.goodput",
        },
        (
            _keep_short(what="mean queueing delay at the second router"),
            _keep_goodput(what="goodput of all flows"),
            _keep_goodput("far", "goodput of those that cross both"),
        ),
        extent=Extent.PATHS,
        paths=("link.l.point_to_point.down.queue", "link.m.point_to_point.down.queue"),
    ),
)  # fmt: skip

#: How far the RFC wants each scenario (§13, Figure 4).
NEEDS = {
    "4.5": "must be discussed if supported",
    **dict.fromkeys(
        ("5.1.1", "5.1.2", "5.2", "5.3", "6.2", "7.2", "8.2.5", "8.2.6"), "must be considered"
    ),
    "9.1": "is recommended",
    **dict.fromkeys(("5.4", "9.2", "10.2"), "may be considered"),
}

UNTESTED = (
    Untested(
        "2.4",
        "Packet loss synchronisation",
        "no measure here counts which flows lose packets at the same time",
    ),
    Untested(
        "4.6",
        "Interaction with scheduling",
        "the RFC leaves tests of schedulers out of its scope; queues that have one are run as all"
        " others",
    ),
    Untested(
        "8.3", "Parameter sensitivity and stability analysis", "it is a discussion, and no test"
    ),
    Untested("11", "Implementation cost", "it is a discussion, and no test"),
    Untested("12", "Operator control and auto-tuning", "it is a discussion, and no test"),
)

TRADES = (
    Trade("levels-trade", "Goodput over delay by the congestion level", "levels"),
    Trade("friendly-trade", "Goodput over delay of one NewReno flow", "friendly"),
    Trade("aggressive-trade", "Goodput over delay of one CUBIC flow", "aggressive"),
)

CURVES = (
    Curve(
        "rtt-fairness",
        "Round-trip time fairness",
        "The goodput of a NewReno flow over that of one over 100 ms, by its round trip (section 6):"
        " 1 is fair. The bars are 95 % intervals over seeds.",
        "round-trips",
        divide("second", "first"),
        "number",
        "goodput, over that of the flow of 100 ms",
        "round trip (ms)",
        bound=1.0,
    ),
    Curve(
        "burst-pages",
        "Page load times by the traffic beside",
        "The mean load time of a page of 50 objects beside datagrams (I), also one transfer (II),"
        " bursty video (III), or both (IV), as section 7.2 has them.",
        "bursts",
        take("page"),
        "time",
        "page load time",
        "traffic beside",
        is_numeric=False,
    ),
)
