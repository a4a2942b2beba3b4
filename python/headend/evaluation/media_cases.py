"""The cases of RFC 8867, "Test Cases for Evaluating Congestion Control for ... Real-Time Media"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headend.engine.metrics import compute_jain
from headend.evaluation.case import Bottleneck, Case, Extent, Scenario, Span, Untested
from headend.evaluation.criterion import Bound, BoundSource, Criterion, Read, Values, take
from headend.evaluation.curves import Curve, Trade
from headend.evaluation.line import QUEUE, make_line, vary_rate, write_rate, write_time

#: §4.2: the reference capacity of 1 Mbit/s, 50 ms one way, a queue of 300 ms (3 BDP).
REFERENCE = Bottleneck(1e6, 100e6, 3.0)

#: §4.2: the largest jitter of the path.
_JITTER = {"jitter": "30 ms"}

#: §4.3: video of 150 kbit/s to 1.5 Mbit/s that begins at the least, and sound of 20 kbit/s.
_LEAST, _MOST, _SOUND = 150e3, 1.5e6, 20e3
_MEDIA: Scenario = {
    "application": {
        "video_call": {
            "least_rate": write_rate(_LEAST + _SOUND),
            "most_rate": write_rate(_MOST + _SOUND),
            "start_rate": write_rate(_LEAST + _SOUND),
            "audio": write_rate(_SOUND),
        }
    },
    "direction": "both",
    "path": _JITTER,
}

#: What the RFC says in words only: near the capacity, a short delay, fair shares, little loss.
_NEAR = Bound(BoundSource.OURS, 0.6)
_SHORT = Bound(BoundSource.OURS, 100e6)
_FAIR = Bound(BoundSource.OURS, 0.8)
_RARE = Bound(BoundSource.OURS, 0.02)

#: §5.6 and §5.7: at worst the media fall to their least rate.
_AT_LEAST = Bound(BoundSource.RFC, _LEAST)

_PATHS = ("flow.video.application",)
_DELAY = {"delay": f"{QUEUE}.delay.mean"}


def _make(rate: float, flows: Mapping[str, Any], duration: float, **more: Any) -> Scenario:
    """Make a scenario over a bottleneck of a rate in bit/s, whose queue holds 300 ms of it."""
    bottleneck = Bottleneck(rate, REFERENCE.rtt, REFERENCE.buffer)
    return make_line(bottleneck, flows, duration=duration, **{"warmup": 0, **more})


def _step(scenario: Scenario, rate: float, table: Sequence[tuple[float, float]]) -> Scenario:
    """Let the capacity vary by a table of start times and ratios to the reference."""
    return vary_rate(scenario, [(at, ratio * rate) for at, ratio in table])


#: Tables 1 to 4: start times in seconds, and ratios to the reference capacity.
_TABLE_1 = ((0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0))
_TABLE_2 = ((0, 2.0), (25, 1.0), (50, 1.75), (75, 0.5), (100, 1.0))
_TABLE_3 = ((0, 2.0), (20, 1.0), (40, 0.5), (60, 2.0))
_TABLE_4 = ((0, 2.0), (35, 0.8), (70, 2.0))


def _list_phases(table: Sequence[tuple[float, float]], end: float) -> dict[str, Span]:
    """List the second half of each phase: a mean rate of the media, and a mean queueing delay."""
    found = {}
    ends = [at for at, _ in table[1:]] + [end]
    for number, ((at, _), until) in enumerate(zip(table, ends, strict=True), start=1):
        middle = (at + until) / 2
        found[f"rate {number}"] = Span(
            "flow_series", "video", "throughput_bps", middle, until, "down"
        )
        found[f"delay {number}"] = Span("queue_series", QUEUE, "delay_mean_ns", middle, until)
    return found


def _judge_phases(
    table: Sequence[tuple[float, float]], rate: float, flows: int
) -> tuple[Criterion, ...]:
    """Ask of the second half of each phase a rate near what there is, and a short delay."""
    found = []
    for number, (at, ratio) in enumerate(table, start=1):
        most = min(ratio * rate, flows * (_MOST + _SOUND))
        when = f"in the phase from {at:g} s on ({ratio * rate / 1e6:g} Mbit/s)"
        found.append(
            Criterion(
                f"rate-{number}",
                f"{when}, the rate comes near the capacity",
                f"rate {when}, of what is possible",
                "ratio",
                _share(f"rate {number}", most),
                False,
                _NEAR,
            )
        )
        found.append(
            Criterion(
                f"delay-{number}",
                f"{when}, the queue is short",
                f"mean queueing delay {when}",
                "time",
                take(f"delay {number}"),
                True,
                _SHORT,
            )
        )
    return tuple(found)


def _share(name: str, of: float) -> Read:
    def read(values: Values) -> float | None:
        return values[name] / of if name in values else None

    return read


def _index(*names: str) -> Read:
    """Read Jain's index of several rates."""

    def read(values: Values) -> float | None:
        rates = [values[name] for name in names if name in values]
        return compute_jain(rates) if len(rates) == len(names) else None

    return read


def _judge_sharing(names: Sequence[str], rate: float) -> tuple[Criterion, ...]:
    """Ask of several flows fair shares, use of the capacity, a short queue and little loss."""
    return (
        Criterion("fair", "the flows share evenly", "Jain's index", "number", _index(*names), False,
                  _FAIR),
        Criterion("use", "together they come near the capacity", "their rates, of the capacity",
                  "ratio", lambda values: _add(values, names, rate), False, _NEAR),
        Criterion("delay", "the queue is short", "mean queueing delay", "time", take("delay"), True,
                  _SHORT),
        Criterion("loss", "little is lost", "largest loss of a flow", "ratio", take("loss"), True,
                  _RARE),
    )  # fmt: skip


def _add(values: Values, names: Sequence[str], of: float) -> float | None:
    rates = [values[name] for name in names if name in values]
    return sum(rates) / of if len(rates) == len(names) else None


def _build_capacity(_: Bottleneck, variant: str) -> Scenario:
    one_way = float(variant.removesuffix(" ms one way")) * 1e6
    flow = {**_MEDIA, "rtt": write_time(2 * one_way)}
    return _step(_make(1e6, {"video": flow}, 99), 1e6, _TABLE_1)


def _build_two(_: Bottleneck, variant: str) -> Scenario:
    scenario = _make(2e6, {"video": {**_MEDIA, "count": 2}}, 125)
    return _step(scenario, 2e6, _TABLE_2)


def _build_feedback(_: Bottleneck, variant: str) -> Scenario:
    scenario = _step(_make(1e6, {"video": _MEDIA}, 99), 1e6, _TABLE_3)
    steps = _TABLE_4 if variant == "congested" else ((0, 10.0),)
    scenario["link"]["line"]["point_to_point"]["up"] = {
        "rate": {"steps": [[f"{at:g} s", write_rate(own * 1e6)] for at, own in steps]},
        "queue": {"drop_tail": {"limit": f"{0.3 * 1e6 / 8:.0f} B"}},
    }
    return scenario


def _build_sharing(_: Bottleneck, variant: str) -> Scenario:
    flow = {**_MEDIA, "count": 3, "start": {"from": "0 s", "every": "20 s"}}
    return _make(3.5e6, {"video": flow}, 119, warmup=70)


#: §5.5: the flows' round trips, twice the propagation delays, in ms.
_ROUND_TRIPS = {"v1": 20, "v2": 50, "v3": 100, "v4": 200, "v5": 300}


def _build_round_trips(_: Bottleneck, variant: str) -> Scenario:
    flows = {
        name: {**_MEDIA, "rtt": f"{rtt} ms", "start": f"{10 * number} s"}
        for number, (name, rtt) in enumerate(_ROUND_TRIPS.items())
    }
    return _make(4e6, flows, 299, warmup=100)


def _build_long(_: Bottleneck, variant: str) -> Scenario:
    tcp = {"application": "bulk", "tcp": {"system": "rfc", "congestion": "reno"}}
    flows = {"video": {**_MEDIA, "start": "5 s"}, "tcp": tcp}
    scenario = _make(2e6, flows, 119, warmup=35)
    way = scenario["link"]["line"]["point_to_point"]["down"]
    way["queue"]["drop_tail"]["limit"] = variant
    return scenario


def _build_short(_: Bottleneck, variant: str) -> Scenario:
    short = {
        "application": {"bulk": {"size": "40 kB", "sigma": 0.15, "pause": "10 s"}},
        "tcp": {"system": "rfc", "congestion": "reno"},
        "count": 10,
        "start": {"from": "0 s", "to": "10 s"},
    }
    return _make(
        2e6, {"video": {**_MEDIA, "count": 2, "start": "5 s"}, "tcp": short}, 299, warmup=35
    )


def _build_several(_: Bottleneck, variant: str) -> Scenario:
    flows = {
        "v1": {**_MEDIA, "host": "a", "rtt": "200 ms"},
        "v2": {**_MEDIA, "host": "b", "rtt": "80 ms"},
        "v3": {**_MEDIA, "host": "c", "rtt": "80 ms"},
    }
    scenario = _make(2e6, flows, 299, warmup=60)
    narrow = _make(1.5e6, {}, 299)["link"]["line"]
    scenario["link"] = {"first": scenario["link"]["line"], "second": narrow}
    # Media go down: S1 crosses the first bottleneck, then the second; S2 and S3 one of them.
    scenario["host"] = {"a": {"via": ["second", "first"]}, "b": {"via": ["first"]},
                        "c": {"via": ["second"]}}  # fmt: skip
    scenario["bottleneck"] = "second.down"
    return scenario


_RATES = ("r1", "r2", "r3")

CASES = (
    Case(
        "capacity",
        "5.1",
        "Variable available capacity with a single flow",
        "One call over 1, 2.5, 0.6 and 1 Mbit/s, with 50 and 100 ms one way; the second half of"
        " each phase counts.",
        _build_capacity,
        {"loss": "video.down.loss", "frozen": "video.down.frozen.mean"},
        _judge_phases(_TABLE_1, 1e6, 1),
        spans=_list_phases(_TABLE_1, 99),
        variants=("50 ms one way", "100 ms one way"),
        extent=Extent.ONE,
        paths=_PATHS,
    ),
    Case(
        "two",
        "5.2",
        "Variable available capacity with multiple flows",
        "Two calls over 4, 2, 3.5, 1 and 2 Mbit/s; the second half of each phase counts.",
        _build_two,
        {"loss": "video.down.loss"},
        _judge_phases(_TABLE_2, 2e6, 2),
        spans=_list_phases(_TABLE_2, 125),
        extent=Extent.ONE,
        paths=_PATHS,
    ),
    Case(
        "feedback",
        "5.3",
        "Congested feedback link with bidirectional media",
        "One call with media both ways over 2, 1, 0.5 and 2 Mbit/s, whose way back has 2, 0.8 and"
        " 2 Mbit/s; and for reference, with a way back that is never congested.",
        _build_feedback,
        {"loss": "video.down.loss"},
        _judge_phases(_TABLE_3, 1e6, 1),
        spans=_list_phases(_TABLE_3, 99),
        variants=("congested", "reference"),
        extent=Extent.ONE,
        paths=_PATHS,
    ),
    Case(
        "sharing",
        "5.4",
        "Competing media flows with the same algorithm",
        "Three calls over 3.5 Mbit/s that begin 20 s after each other; shares from 70 s on.",
        _build_sharing,
        {
            "r1": "video.1.down.throughput", "r2": "video.2.down.throughput",
            "r3": "video.3.down.throughput", "loss": "video.down.loss", **_DELAY,
        },
        _judge_sharing(_RATES, 3.5e6),
        extent=Extent.ONE,
        paths=_PATHS,
    ),
    Case(
        "round-trips",
        "5.5",
        "Round trip time fairness",
        "Five calls over 4 Mbit/s with 10, 25, 50, 100 and 150 ms one way, which begin 10 s after"
        " each other; shares from 100 s on.",
        _build_round_trips,
        {
            **{name: f"{name}.down.throughput" for name in _ROUND_TRIPS},
            "loss": "v5.down.loss", **_DELAY,
        },
        _judge_sharing(tuple(_ROUND_TRIPS), 4e6),
        extent=Extent.ONE,
        paths=tuple(f"flow.{name}.application" for name in _ROUND_TRIPS),
    ),
    Case(
        "long",
        "5.6",
        "Media flow competing with a long TCP flow",
        "One call beside one NewReno flow without end over 2 Mbit/s, with a queue of 300 ms and of"
        " 1 s; from 35 s on.",
        _build_long,
        {"rate": "video.down.throughput", "tcp": "tcp.goodput", "frozen":
         "video.down.frozen.mean", **_DELAY},
        (
            Criterion("rate", "the media keep their least rate", "rate of the media", "rate",
                      take("rate"), False, _AT_LEAST),
            Criterion("frozen", "the picture seldom stands still", "time in which it stood still",
                      "ratio", take("frozen"), True, Bound(BoundSource.OURS, 0.02)),
        ),
        variants=("300 ms", "1 s"),
        extent=Extent.ONE,
        paths=_PATHS,
    ),
    Case(
        "short",
        "5.7",
        "Media flow competing with short TCP flows",
        "Two calls beside ten programs that fetch 30 to 50 kB each and then rest for 10 s, over"
        " 2 Mbit/s; from 35 s on.",
        _build_short,
        {"rate": "video.1.down.throughput", "frozen": "video.down.frozen.mean", **_DELAY},
        (
            Criterion("rate", "the media keep their least rate", "rate of a call", "rate",
                      take("rate"), False, _AT_LEAST),
            Criterion("frozen", "the picture seldom stands still", "time in which it stood still",
                      "ratio", take("frozen"), True, Bound(BoundSource.OURS, 0.02)),
        ),
        extent=Extent.ONE,
        paths=_PATHS,
    ),
    Case(
        "several",
        "6.3",
        "Multiple bottlenecks",
        "One call over bottlenecks of 2 and 1.5 Mbit/s one after the other, and one over each of"
        " them alone; from 60 s on.",
        _build_several,
        {
            "r1": "v1.down.throughput", "r2": "v2.down.throughput", "r3": "v3.down.throughput",
            "first": "first.down.utilisation", "second": "second.down.utilisation",
        },
        (
            Criterion("starved", "no call is starved", "least rate of a call", "rate",
                      lambda values: min(values.get(name, 0.0) for name in _RATES), False,
                      Bound(BoundSource.OURS, _LEAST + _SOUND)),
            Criterion("fair", "the second bottleneck is shared evenly",
                      "Jain's index of the two calls over it", "number", _index("r1", "r3"), False,
                      _FAIR),
            Criterion("use", "the second bottleneck is used", "use of the second bottleneck",
                      "ratio", take("second"), False, _NEAR),
        ),
        extent=Extent.ONE,
        paths=("flow.v1.application", "flow.v2.application", "flow.v3.application"),
    ),
)  # fmt: skip

UNTESTED = (
    Untested(
        "4.3",
        "Responsiveness of the encoder",
        "the encoder here takes a new rate at the next frame, where the RFC has 100 ms",
    ),
    Untested(
        "5.1 to 5.3",
        "Capacity taken by datagrams",
        "the capacity itself varies here, which is the first of the RFC's two ways",
    ),
    Untested(
        "5.8",
        "Media pause and resume",
        "a call here that is absent for a time comes back as a new call, without what it had"
        " learned",
    ),
    Untested("6.1", "Media flows with priority", "calls here have no priorities among themselves"),
    Untested("6.2", "Explicit congestion notification", "no call here slows down for marks"),
    Untested("7", "Wireless access links", "they are the cases of RFC 8869"),
)

CURVES = (
    Curve(
        "beside-tcp",
        "The media's rate beside a long TCP flow",
        "The call's rate beside one NewReno flow over 2 Mbit/s, by the size of the queue (section"
        " 5.6); the bars are 95 % intervals over seeds.",
        "long",
        take("rate"),
        "rate",
        "rate of the media",
        "queue",
        is_numeric=False,
    ),
)
TRADES: tuple[Trade, ...] = ()
