"""The cases of RFC 9743, "Specifying New Congestion Control Algorithms" (BCP 133)."""

from __future__ import annotations

from typing import Any

from headend.evaluation.case import Bottleneck, Case, Extent, Scenario, Span, Untested
from headend.evaluation.criterion import (
    Bound,
    BoundSource,
    Criterion,
    divide,
    take,
)
from headend.evaluation.curves import Curve, Trade
from headend.evaluation.line import (
    PACKET,
    QUEUE,
    make_line,
    vary_rate,
    write_rate,
)

#: The flow whose congestion control is evaluated; its key gets the name.
OWN = "flow.own.tcp.congestion"
_OWN = (OWN,)

#: RFC 9743 §5 gives no thresholds: the comparison with standard senders is its own, the rest ours.
NO_LONGER = Bound(BoundSource.MARGIN, factor=1.1, section="5.2")
KEPT = Bound(BoundSource.MARGIN, factor=0.9, section="5.2")

#: How much less a standard sender may get beside this one than beside a standard one.
NO_HARM = Bound(BoundSource.MARGIN, factor=0.5)

#: §5.1.4 names no number; of two flows, one then has three times what the other has.
FAIR = Bound(BoundSource.OURS, 0.8)

_DELAY = {"delay": f"{QUEUE}.delay.mean", "delay_p99": f"{QUEUE}.delay.p99"}
_LOSS = {"lost": "own.discarded", "sent": "own.sent"}
_BULK: Scenario = {"application": "bulk"}

#: Flows that share the bottleneck in cases of several.
_FEW = 4


def _start_apart(count: int, seconds: float = 1.0) -> Scenario:
    """Make flows without end that start within some seconds, so that they are not in step."""
    return {**_BULK, "count": count, "start": {"from": "0 s", "to": f"{seconds:g} s"}}


def _keep(name: str, what: str, bound: Bound = KEPT, **more: Any) -> Criterion:
    """Ask that a rate is not much less than with the baseline."""
    return Criterion(name, f"{what} is kept", what, "rate", take(name), False, bound, **more)


def _keep_short(**more: Any) -> Criterion:
    statement = "the queue is no longer than with the standard sender"
    what = "mean queueing delay"
    return Criterion("delay", statement, what, "time", take("delay"), True, NO_LONGER, **more)


def _limit_loss(factor: float = 2.0) -> Criterion:
    return Criterion(
        "loss",
        "no lasting loss beyond what the standard sender causes",
        "loss",
        "ratio",
        divide("lost", "sent"),
        True,
        Bound(BoundSource.MARGIN, 0.01, factor),
    )


# §5.1: one algorithm alone


#: Flows of extreme congestion, and packets that each can have in a round trip.
_CROWD, _LITTLE = 40, 0.2


def _build_collapse(bottleneck: Bottleneck, _: str) -> Scenario:
    rate = _CROWD * _LITTLE * PACKET * 8 / (bottleneck.rtt / 1e9)
    narrow = Bottleneck(rate, bottleneck.rtt, bottleneck.buffer)
    return make_line(narrow, {"own": _start_apart(_CROWD, 5)}, duration=120, warmup=40)


def _build_corruption(bottleneck: Bottleneck, variant: str) -> Scenario:
    loss = {"down": variant.removesuffix(" lost")}
    return make_line(bottleneck, {"own": {**_BULK, "path": {"loss": loss}}}, duration=60, warmup=20)


def _build_alone(bottleneck: Bottleneck, variant: str) -> Scenario:
    return make_line(bottleneck, {"own": _start_apart(int(variant.split()[0]))}, duration=80)


def _build_buffers(bottleneck: Bottleneck, variant: str) -> Scenario:
    own = Bottleneck(bottleneck.rate, bottleneck.rtt, float(variant.split()[0]))
    return make_line(own, {"own": _start_apart(_FEW)})


#: When the later flow of two joins, and from when on their shares count, in seconds.
_JOINS, _SETTLED, _END = 20, 110, 160


def _build_late(bottleneck: Bottleneck, _: str) -> Scenario:
    late = {**_BULK, "start": f"{_JOINS} s"}
    return make_line(bottleneck, {"own": _BULK, "late": late}, duration=_END, warmup=_SETTLED)


#: A short flow: a file of this size, over a connection of its own.
_SHORT: Scenario = {"application": {"bulk": {"size": "100 kB", "pause": "1 s"}}, "start": "10 s"}


def _build_short(bottleneck: Bottleneck, _: str) -> Scenario:
    return make_line(bottleneck, {"own": _BULK, "short": _SHORT})


# §5.2: beside others


def _build_beside(bottleneck: Bottleneck, variant: str) -> Scenario:
    other = {**_BULK, "tcp": {"congestion": variant}, "start": "500 ms"}
    return make_line(bottleneck, {"own": _BULK, "other": other}, duration=120, warmup=30)


def _build_call(bottleneck: Bottleneck, _: str) -> Scenario:
    flows = {
        "own": _BULK,
        "call": {"application": "voice", "direction": "both"},
        "video": {"application": "video_call", "direction": "both"},
    }
    return make_line(bottleneck, flows, duration=90, warmup=40)


def _build_mixed_short(bottleneck: Bottleneck, variant: str) -> Scenario:
    return make_line(
        bottleneck, {"own": _BULK, "short": {**_SHORT, "tcp": {"congestion": variant}}}
    )


# §6.4, §7: wireless paths and special cases


def _build_wireless(bottleneck: Bottleneck, _: str) -> Scenario:
    low, middle, high = (write * bottleneck.rate for write in (0.4, 0.8, 1.6))
    scenario = make_line(
        bottleneck, {"own": {**_BULK, "path": {"loss": {"down": "0.01 %"}}}}, duration=90
    )
    return vary_rate(scenario, [(0, high), (2, low), (3, middle), (5, low), (6, middle)], 8)


def _build_aqm(bottleneck: Bottleneck, variant: str) -> Scenario:
    return _put_queue(make_line(bottleneck, {"own": _start_apart(_FEW)}, duration=80), variant)


def _build_aqm_beside(bottleneck: Bottleneck, variant: str) -> Scenario:
    return _put_queue(_build_beside(bottleneck, "reno"), variant)


def _build_ecn(bottleneck: Bottleneck, variant: str) -> Scenario:
    own = {**_start_apart(_FEW), "tcp": {"ecn": "on"}}
    return _put_queue(make_line(bottleneck, {"own": own}, duration=80), variant)


def _put_queue(scenario: Scenario, queue: str) -> Scenario:
    """Put an AQM with its defaults, and the buffer of the bottleneck, in place of drop-tail."""
    way = scenario["link"]["line"]["point_to_point"]["down"]
    way["queue"] = {queue: way["queue"]["drop_tail"]}
    return scenario


def _build_jitter(bottleneck: Bottleneck, variant: str) -> Scenario:
    return make_line(bottleneck, {"own": {**_BULK, "path": {"jitter": variant}}}, duration=80)


def _build_far(bottleneck: Bottleneck, variant: str) -> Scenario:
    rtt = float(variant.removesuffix(" ms")) * 1e6
    far = Bottleneck(bottleneck.rate, rtt, bottleneck.buffer)
    return make_line(far, {"own": _BULK}, duration=180, warmup=60)


#: When unresponsive traffic comes and goes (§7.8), and when the rate falls and rises (§7.9).
_ONSET, _OVER = 30, 50


def _build_onset(bottleneck: Bottleneck, _: str) -> Scenario:
    flood = {
        "application": {"cbr": {"rate": write_rate(0.8 * bottleneck.rate), "size": f"{PACKET} B"}},
        "start": f"{_ONSET} s",
        "stop": f"{_OVER} s",
    }
    return make_line(bottleneck, {"own": _BULK, "flood": flood}, duration=80, warmup=15)


def _build_change(bottleneck: Bottleneck, _: str) -> Scenario:
    scenario = make_line(bottleneck, {"own": _BULK}, duration=80, warmup=15)
    steps = [(0, bottleneck.rate), (_ONSET, bottleneck.rate / 5), (_OVER, bottleneck.rate)]
    return vary_rate(scenario, [(at, rate) for at, rate in steps])


def _span(name: str, column: str, start: float, end: float) -> Span:
    table = "queue_series" if name == QUEUE else "flow_series"
    return Span(table, name, column, start, end)  # type: ignore[arg-type]


#: What becomes of a flow during an event and after it, by seconds.
_EVENTS = {
    "during": _span("own", "goodput_bps", _ONSET + 5, _OVER),
    "after": _span("own", "goodput_bps", _OVER + 5, 80),
    "delay during": _span(QUEUE, "delay_mean_ns", _ONSET, _OVER),
}

_EVENT_CRITERIA = (
    _keep("during", "goodput during the event, from 5 s on"),
    _keep("after", "goodput after it, from 5 s on"),
    Criterion(
        "delay",
        "the queue during the event is no longer than with the standard sender",
        "mean queueing delay during the event",
        "time",
        take("delay during"),
        True,
        NO_LONGER,
    ),
)

#: Buffers of the case of lasting loss: BBR version 1 failed below roughly 1.5 (§5.1.3).
_BUFFERS = tuple(f"{own} BDP" for own in ("0.25", "0.5", "1", "1.5", "2", "4"))

#: The AQMs that §7.1 names, and CoDel alone.
_AQMS = ("codel", "pie", "fq_codel", "dualpi2")

_UNMARKED = "None of its packets was marked: it does not support ECN."

CASES = (
    Case(
        "collapse",
        "5.1.1",
        "Protection against congestion collapse",
        "Forty flows without end over a bottleneck of a fifth of a packet for each flow in each"
        " round trip.",
        _build_collapse,
        {**_LOSS, "goodput": "own.goodput", "utilisation": f"{QUEUE}.utilisation"},
        (
            Criterion(
                "loss",
                "it backs off as far as the standard sender does",
                "loss under extreme congestion",
                "ratio",
                divide("lost", "sent"),
                True,
                Bound(BoundSource.MARGIN, 0.01, 1.5),
            ),
            _keep("goodput", "goodput of all flows"),
        ),
        extent=Extent.ONE,
        paths=_OWN,
    ),
    Case(
        "bufferbloat",
        "5.1.2",
        "Protection against bufferbloat",
        "One flow without end, and four, behind drop-tail.",
        _build_alone,
        {**_LOSS, **_DELAY, "goodput": "own.goodput"},
        (_keep_short(), _keep("goodput", "goodput")),
        variants=("1 flow", "4 flows"),
        paths=_OWN,
    ),
    Case(
        "loss",
        "5.1.3",
        "Protection against high packet loss",
        "Four flows without end behind drop-tail, with buffers of 0.25 to 4 bandwidth-delay"
        " products.",
        _build_buffers,
        {**_LOSS, **_DELAY, "goodput": "own.goodput"},
        (_limit_loss(),),
        variants=_BUFFERS,
        extent=Extent.PATHS,
        paths=_OWN,
    ),
    Case(
        "high-loss",
        "5.1.3",
        "Response to high packet loss",
        "One flow over a path that loses 10 or 30 % of the packets at random.",
        _build_corruption,
        {"utilisation": f"{QUEUE}.utilisation", "goodput": "own.goodput"},
        (
            Criterion(
                "backs-off",
                "it reduces its rate under high loss",
                "use of the bottleneck",
                "ratio",
                take("utilisation"),
                True,
                Bound(BoundSource.OURS, 0.5),
            ),
        ),
        variants=("10 % lost", "30 % lost"),
        extent=Extent.ONE,
        paths=_OWN,
    ),
    Case(
        "self-fairness",
        "5.1.4",
        "Fairness within the algorithm",
        "Four flows without end that start within a second.",
        _build_alone,
        {"jain": "own.jain_index"},
        (
            Criterion(
                "jain",
                "flows that start together share evenly",
                "Jain's index of four flows",
                "number",
                take("jain"),
                False,
                FAIR,
            ),
        ),
        variants=("4 flows",),
        paths=_OWN,
    ),
    Case(
        "late",
        "5.1.4",
        "Fairness to and of a flow that joins later",
        "One flow without end, and a second one that joins after 20 s; their shares from 110 to"
        " 160 s.",
        _build_late,
        {"first": "own.goodput", "late": "late.goodput"},
        (
            Criterion(
                "latecomer",
                "the one that joins gets enough",
                "share of the flow that joins",
                "ratio",
                divide("late", "first", "late"),
                False,
                Bound(BoundSource.OURS, 0.25),
            ),
            Criterion(
                "first",
                "the one that was there keeps enough",
                "share of the flow that was there",
                "ratio",
                divide("first", "first", "late"),
                False,
                Bound(BoundSource.OURS, 0.25),
            ),
        ),
        paths=(OWN, "flow.late.tcp.congestion"),
    ),
    Case(
        "short",
        "5.1.5",
        "Short flows",
        "One flow without end, and files of 100 kB one after the other, all with the same sender.",
        _build_short,
        {"goodput": "own.goodput", "completion": "short.completion_time.mean"},
        (
            Criterion(
                "completion",
                "short flows are not slower",
                "mean completion time of a short flow",
                "time",
                take("completion"),
                True,
                NO_LONGER,
            ),
            _keep("goodput", "goodput of the long flow"),
        ),
        paths=(OWN, "flow.short.tcp.congestion"),
    ),
    Case(
        "beside",
        "5.2.1",
        "Beside existing general-purpose congestion control",
        "One flow without end beside one of CUBIC (RFC 9438), and beside one of NewReno (RFC"
        " 5681).",
        _build_beside,
        {"own": "own.goodput", "other": "other.goodput", **_DELAY},
        (
            Criterion(
                "harm",
                "the standard sender gets enough of what it gets beside a standard one",
                "goodput of the standard sender",
                "rate",
                take("other"),
                False,
                NO_HARM,
            ),
            Criterion(
                "starvation",
                "the standard sender is not starved",
                "share of the standard sender",
                "ratio",
                divide("other", "other", "own"),
                False,
                Bound(BoundSource.OURS, 0.05),
                section="5.2",
            ),
            Criterion(
                "delay",
                "the standard sender waits no longer",
                "mean queueing delay",
                "time",
                take("delay"),
                True,
                NO_LONGER,
                section="5.2",
            ),
        ),
        variants=("cubic", "reno"),
        paths=_OWN,
    ),
    Case(
        "real-time",
        "5.2.2",
        "Beside real-time congestion control",
        "One flow without end beside a telephone call and a video call (Google Congestion"
        " Control).",
        _build_call,
        {
            "mos": "call.down.mos.mean", "video": "video.down.video_rate.mean",
            "late": "video.down.frames_late.mean",
        },
        (
            Criterion(
                "call",
                "the telephone call is no worse than beside the standard sender",
                "mean opinion score",
                "number",
                take("mos"),
                False,
                Bound(BoundSource.MARGIN, factor=0.95),
            ),
            Criterion(
                "video",
                "the video call keeps its rate",
                "mean rate of the video call",
                "rate",
                take("video"),
                False,
                NO_HARM,
            ),
            Criterion(
                "late",
                "no more of its frames are late or lost",
                "share of frames late or lost",
                "ratio",
                take("late"),
                True,
                Bound(BoundSource.MARGIN, 0.01, 1.1),
            ),
        ),
        paths=_OWN,
    ),
    Case(
        "mixed-short",
        "5.2.3",
        "Short flows of others",
        "One flow without end beside files of 100 kB by CUBIC.",
        _build_mixed_short,
        {"completion": "short.completion_time.mean"},
        (
            Criterion(
                "completion",
                "short flows of others are not slower",
                "mean completion time of a short flow",
                "time",
                take("completion"),
                True,
                NO_LONGER,
            ),
        ),
        variants=("cubic",),
        paths=_OWN,
    ),
    Case(
        "wireless",
        "6.4",
        "Wireless paths",
        "One flow over a bottleneck whose rate varies between 0.4 and 1.6 times that of the"
        " condition within seconds, and 0.01 % of packets lost at random.",
        _build_wireless,
        {"goodput": "own.goodput", **_DELAY},
        (_keep("goodput", "goodput"), _keep_short()),
        extent=Extent.PATHS,
        paths=_OWN,
    ),
    Case(
        "aqm",
        "7.1",
        "Active queue management",
        "Four flows without end behind CoDel, PIE, FQ-CoDel and DualPI2.",
        _build_aqm,
        {**_LOSS, **_DELAY, "goodput": "own.goodput"},
        (_keep_short(), _keep("goodput", "goodput"), _limit_loss()),
        variants=_AQMS,
        extent=Extent.PATHS,
        paths=_OWN,
    ),
    Case(
        "aqm-beside",
        "7.1",
        "Beside NewReno behind active queue management",
        "One flow without end beside one of NewReno, behind CoDel and PIE.",
        _build_aqm_beside,
        {"own": "own.goodput", "other": "other.goodput"},
        (
            Criterion(
                "harm",
                "NewReno gets enough of what it gets beside a standard sender",
                "goodput of NewReno",
                "rate",
                take("other"),
                False,
                NO_HARM,
            ),
        ),
        variants=("codel", "pie"),
        extent=Extent.PATHS,
        paths=_OWN,
    ),
    Case(
        "ecn",
        "7.1",
        "Response to ECN",
        "Four flows without end with ECN on, behind CoDel and PIE.",
        _build_ecn,
        {**_DELAY, "marked": f"{QUEUE}.marked", "goodput": "own.goodput"},
        (
            _keep_short(needs="marked", absent=_UNMARKED),
            _keep("goodput", "goodput with ECN", needs="marked", absent=_UNMARKED),
        ),
        variants=("codel", "pie"),
        extent=Extent.RATES,
        paths=_OWN,
    ),
    Case(
        "jitter",
        "7.3",
        "Paths with varying delay",
        "One flow without end over a path that delays each packet by up to 5 or 20 ms more, without"
        " overtaking.",
        _build_jitter,
        {"goodput": "own.goodput", **_DELAY},
        (_keep("goodput", "goodput"),),
        variants=("5 ms", "20 ms"),
        extent=Extent.RATES,
        paths=_OWN,
    ),
    Case(
        "far",
        "7.5",
        "Paths with high delay",
        "One flow without end over a round trip of 600 ms, as over a satellite.",
        _build_far,
        {"goodput": "own.goodput", **_DELAY},
        (_keep("goodput", "goodput"),),
        variants=("600 ms",),
        extent=Extent.RATES,
        paths=_OWN,
    ),
    Case(
        "onset",
        "7.8",
        "Transient events: sudden onset of congestion",
        "One flow without end; from 30 to 50 s datagrams take 80 % of the rate.",
        _build_onset,
        {"goodput": "own.goodput"},
        _EVENT_CRITERIA,
        spans=_EVENTS,
        extent=Extent.PATHS,
        paths=_OWN,
    ),
    Case(
        "change",
        "7.9",
        "Sudden changes in the path",
        "One flow without end; from 30 to 50 s the bottleneck has a fifth of its rate.",
        _build_change,
        {"goodput": "own.goodput"},
        _EVENT_CRITERIA,
        spans=_EVENTS,
        extent=Extent.PATHS,
        paths=_OWN,
    ),
)  # fmt: skip

UNTESTED = (
    Untested("5.3", "Other criteria", "they are discussions, and no tests"),
    Untested(
        "6.2", "Tunnel behaviour", "no link here marks an outer header apart from an inner one"
    ),
    Untested("7.2", "Network circuit breakers", "no queue here ends flows"),
    Untested(
        "7.4", "Internet of things and constrained nodes", "hosts here have no limits of power"
    ),
    Untested("7.6", "Misbehaving nodes", "all receivers and routers here do as they should"),
    Untested("7.7", "Extreme packet reordering", "packets here do not overtake each other"),
    Untested("7.10", "Multipath transport", "a connection here has one path"),
    Untested("7.11", "Data centres", "it is a controlled environment of its own (section 4)"),
)

TRADES = (Trade("alone-trade", "Goodput over delay behind drop-tail", "bufferbloat"),)

CURVES = (
    Curve(
        "loss-buffer",
        "Loss by the size of the buffer",
        "The loss that four flows cause behind drop-tail, by its buffer in bandwidth-delay products"
        " (section 5.1.3); the bars are 95 % intervals over seeds.",
        "loss",
        divide("lost", "sent"),
        "ratio",
        "loss",
        "buffer (BDP)",
    ),
    Curve(
        "beside-standard",
        "What a standard sender gets beside it",
        "The share of CUBIC, and of NewReno, beside one flow of each name (section 5.2.1): half is"
        " an equal share. The bars are 95 % intervals over seeds.",
        "beside",
        divide("other", "other", "own"),
        "ratio",
        "share of the standard sender",
        "standard sender",
        is_numeric=False,
    ),
)
