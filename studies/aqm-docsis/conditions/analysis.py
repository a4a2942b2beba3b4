"""The AQM paper's conditions as the shipped scenarios have them, and some sums."""

from __future__ import annotations

import functools
import itertools
import tomllib
from typing import Any

import polars as pl

from headend.errors import InputError
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, colour, make_chart, mark_across
from headend.scenario.library import find_study
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import read_scenario
from headend.study import ClaimResult, ClaimVerdict, decide
from headend.study.definition import read_study

Resolved = dict[str, Any]

#: Table 1: near and far uploads, file size, web users, calls, datagrams in Mb/s, torrents.
TABLE_1 = {
    1: (0, 0, "", 1, 1, 0, 0),
    2: (1, 1, "infinite", 1, 1, 0, 0),
    3: (3, 3, "50 MB", 1, 1, 0, 0),
    4: (3, 3, "50 MB", 1, 1, 6, 0),
    5: (1, 1, "19 MB", 1, 1, 0, 0),
    6: (3, 3, "50 MB", 4, 4, 0, 0),
    7: (3, 3, "50 MB", 4, 4, 6, 0),
    8: (5, 5, "2.5 MB", 4, 4, 6, 0),
    9: (3, 3, "50 MB", 4, 1, 0, 100),
}

#: Bytes of a packet of the calls: sound, RTP, UDP, IP, Ethernet.
CALL_BYTES = {"sound": 160, "RTP": 12, "UDP": 8, "IP": 20, "Ethernet": 18}

SUSTAINED, PEAK = 200, 250


@functools.cache
def resolve(load: int) -> Resolved:
    """Give a load's scenario with all defaults."""
    return read_scenario(f"aqm/load-{load}").load().resolved


def differ(wrong: list[str], right: str) -> ClaimResult:
    """Give what was found to be otherwise, or say that nothing was."""
    return ClaimResult("; ".join(wrong) or right, decide(not wrong))


def check_service(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold the service flows against §2.1."""
    expected = {
        "upstream": ("200 Mbit/s", "250 Mbit/s", "30 MB"),
        "downstream": ("1 Gbit/s", "1.5 Gbit/s", "330 MB"),
    }
    wrong = []
    for load, (direction, values) in itertools.product(TABLE_1, expected.items()):
        line = resolve(load)["link"]["cable"]["docsis"][direction]
        found = tuple(line[key] for key in ("rate", "peak", "burst"))
        if found != values:
            wrong.append(f"load {load}, {direction}: {', '.join(found)}")
    # Bits that pass at the peak rate: the bucket drains at the difference.
    up = 30e6 * 8 / (PEAK - SUSTAINED) / 1e6
    down = 330e6 * 8 / (1500 - 1000) / 1e6
    right = (
        f"as stated; the peak rate lasts {up:.1f} s and {up * PEAK / 8:.0f} MB upstream,"
        f" {down:.2f} s and {down * 1500 / 8:.0f} MB downstream"
    )
    return differ(wrong, right)


def read_load(load: int) -> tuple[int, int, str, int, int, float, int]:
    """Give a scenario's row of Table 1."""
    flows = resolve(load)["flow"]
    uploads = [flows[name] for name in ("near", "far") if name in flows]
    near, far = (flows[name]["count"] if name in flows else 0 for name in ("near", "far"))
    sizes = {flow["application"]["bulk"].get("size", "infinite") for flow in uploads}
    trips = [flow["rtt"] for flow in uploads]
    if trips not in ([], ["20 ms", "100 ms"]) or len(sizes) > 1:
        raise InputError(f"load {load}: uploads over {trips} of {sizes}")
    steady = flows["steady"]["application"]["cbr"]["rate"] if "steady" in flows else "0 Mbit/s"
    torrent = flows["torrent"]["application"]["torrent"]["connections"] if "torrent" in flows else 0
    size = next(iter(sizes), "")
    calls, users = flows["call"]["count"], flows["page"]["count"]
    return near, far, size, users, calls, float(steady.split()[0]), torrent


def check_loads(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold the scenarios against Table 1."""
    wrong = [
        f"load {load}: {found}, not {row}"
        for load, row in TABLE_1.items()
        if (found := read_load(load)) != row
    ]
    return differ(wrong, "nine of nine as in the table")


def check_pages(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold the pages against §2.2.1."""
    expected = {"resources": 100, "servers": 4, "connections": 6, "page": "7 MB", "pause": "5 s"}
    wrong = []
    for load in TABLE_1:
        page = resolve(load)["flow"]["page"]["application"]["web"]
        wrong += [
            f"load {load}, {key}: {page[key]}"
            for key, value in expected.items()
            if page[key] != value
        ]
    sigma = resolve(1)["flow"]["page"]["application"]["web"]["sigma"]
    mean = 7e6 / 101
    return differ(
        wrong, f"as stated; 101 files of {mean:,.0f} bytes on the mean, sigma = {sigma:g} is ours"
    )


def check_calls(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold the calls against §2.2.1."""
    wrong = []
    for load in TABLE_1:
        voice = resolve(load)["flow"]["call"]["application"]["voice"]
        if (voice["codec"], voice["interval"]) != ("g711", "20 ms"):
            wrong.append(f"load {load}: {voice['codec']} every {voice['interval']}")
    size = sum(CALL_BYTES.values())
    right = f"{size} bytes 50 times a second, {size * 8 * 50 / 1000:.1f} kb/s"
    if size != 218:
        wrong.append(right)
    return differ(wrong, right)


def check_torrent(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold load 9's torrent against §2.2.1."""
    flow = resolve(9)["flow"]["torrent"]
    torrent, control = flow["application"]["torrent"], flow["tcp"]["congestion"]
    text = (
        f"{torrent['connections']} connections of {next(iter(control))}, {torrent['rate']} together"
    )
    agrees = torrent["connections"] == 100 and torrent["rate"] == "100 Mbit/s"
    return ClaimResult(text, decide(agrees and "ledbat" in control))


def read_patterns() -> dict[str, list[tuple[float, float]]]:
    """Give the matrix's RF schedules: from when on (s), how much (Mb/s)."""
    study = read_study("aqm-docsis/matrix", find_study("aqm-docsis/matrix"))
    factor = next(factor for factor in study.design.factors if factor.name == "rf")
    patterns = {}
    for number, value in enumerate(factor.values):
        text = dict(factor.write(number))["link.cable.docsis.upstream.capacity"]
        if not text.startswith("{"):
            patterns[str(value)] = [(0.0, float(text.split()[0]) * 1000)]
            continue
        schedule = tomllib.loads(f"capacity = {text}")["capacity"]
        patterns[str(value)] = [
            (float(begin.split()[0]), float(rate.split()[0])) for begin, rate in schedule["steps"]
        ]
        if schedule["period"] != "120 s":
            raise InputError(f"{value}: expected a period of 120 s, found {schedule['period']}")
    return patterns


def check_values(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold the RF schedules' values against §2.3."""
    agrees, found = True, []
    for name, steps in read_patterns().items():
        rates = [rate for _, rate in steps]
        if name != "none":
            times = [begin for begin, _ in steps]
            agrees &= times == [10.0 * slot for slot in range(12)]
            agrees &= all(rates.count(rate) == 3 for rate in set(rates))
        agrees &= sorted(set(rates)) == limits[name]
        found.append(f"{name} {sum(rates) / len(rates):.0f}")
    return ClaimResult(f"means, Mb/s: {', '.join(found)}", decide(agrees))


def check_transitions(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Count the steps of the RF schedules."""
    agrees, found = True, []
    for name, steps in read_patterns().items():
        rates = [rate for _, rate in steps]
        if len(rates) < 2:
            continue
        pairs = {(first, second) for first, second in itertools.pairwise([*rates, rates[0]])}
        agrees &= len(pairs) == 12 and all(first != second for first, second in pairs)
        found.append(f"{name} {len(pairs)}")
    return ClaimResult(f"different steps in a period: {', '.join(found)}", decide(agrees))


def check_downstream(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Hold the CMTS's queue against §2.4."""
    queues = {
        str(resolve(load)["link"]["cable"]["docsis"]["downstream"]["queue"]) for load in TABLE_1
    }
    agrees = queues == {str({"drop_tail": {"limit": "250 kB"}})}
    return ClaimResult(
        f"drop-tail, 250 kB: {250e3 * 8 / 1e9 * 1e3:.1f} ms at 1 Gb/s"
        if agrees
        else "; ".join(queues),
        decide(agrees),
        why=""
        if not agrees
        else (
            "the paper's authors' ns-2 example has 250 kB at 10 Mb/s, 200 ms; aqm-docsis/choices"
            " has a run with 250 ms"
        ),
    )


def check_queues(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Multiply."""
    found = [flows * queues for queues in (1024, 32) for flows in (16, 32)]
    return ClaimResult(", ".join(map(str, found)), decide(found == [16384, 32768, 512, 1024]))


def find_meeting(load: int, queues: int) -> tuple[int, float]:
    """Give a load's uploads and torrents, and how likely a call meets one in a queue."""
    near, far, _, _, _, _, torrent = TABLE_1[load]
    flows = near + far + torrent
    return flows, 1 - (1 - 1 / queues) ** flows


def check_meeting(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Calculate how likely a call shares its queue in each load, and over all does not."""
    found = {load: find_meeting(load, limits["queues"])[1] for load in TABLE_1}
    alone = 1 - sum(found.values()) / len(found)
    text = f"alone with {alone:.1%}; shared in " + ", ".join(
        f"load {load} {share:.1%}" for load, share in found.items()
    )
    return ClaimResult(text, decide(alone > 0.5))


def check_complexity(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Say why the order cannot be tested."""
    return ClaimResult(
        "no silicon here",
        ClaimVerdict.UNTESTABLE,
        why="the order is one of gates and die area in existing designs, which a simulation has"
        " not. What the laws cost in instructions is measured by `make bench`"
        ' (docs/models/validation.md, "What they cost"): the step from one queue to many is the'
        " same, but a timestamp costs software nothing, so that CoDel is the cheapest there",
    )


def check_service_flow(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Give the line a second service flow, with everything that §3.1 names."""
    gaming = {
        "direction": "up",
        "match": {"dscp": 46},
        "rate": "10 Mbit/s",
        "peak": "20 Mbit/s",
        "burst": "100 kB",
        "minimum_reserved": "1 Mbit/s",
        "priority": 5,
        "queue": {"codel": {"target": "5 ms"}},
    }
    content = tomllib.loads(list_scenarios()["aqm/load-1"].read_text(encoding="utf-8"))
    content["link"]["cable"]["docsis"]["service_flow"] = {"gaming": gaming}
    queues = [name for name in read_scenario(content).load().scenario.queues if "down" not in name]
    return ClaimResult(f"upstream queues: {', '.join(queues)}", decide(len(queues) >= 2))


def check_options(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Use each option of §9."""
    base = resolve(1)["link"]["cable"]["docsis"]["upstream"]["queue"]
    changed = read_scenario("aqm/load-1").load([("queue", "{ docsis_pie = { target = '20 ms' } }")])
    target = changed.resolved["link"]["cable"]["docsis"]["upstream"]["queue"]["docsis_pie"][
        "target"
    ]
    off = read_scenario("aqm/load-1").load([("queue", "drop_tail")])
    disabled = off.resolved["link"]["cable"]["docsis"]["upstream"]["queue"]
    limit = base.get("docsis_pie", {}).get("limit", "")
    text = (
        f"default {next(iter(base))} with {limit}; a target of {target}; disabled:"
        f" {next(iter(disabled))} with {disabled['drop_tail']['limit']}"
    )
    agrees = (limit, target, disabled) == ("250 ms", "20 ms", {"drop_tail": {"limit": "250 ms"}})
    return ClaimResult(text, decide(agrees))


def check_counter(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Look for a counter of drops by a law in the tables of results."""
    from headend.engine.columns import TABLES

    reasons = sorted(name for name in TABLES["queues"] if name.startswith("discarded_"))
    agrees = {"discarded_congested", "discarded_overlimit"} <= set(reasons)
    return ClaimResult(f"{len(reasons)} counters of drops, by reason", decide(agrees))


def check_judgement(_points: pl.DataFrame, _limits: dict[str, Any]) -> ClaimResult:
    """Say why it cannot be tested."""
    return ClaimResult(
        "a judgement",
        ClaimVerdict.UNTESTABLE,
        why="what of it can be measured is in aqm-docsis/matrix: latency, loss and page load of the"
        " SFQ kinds beside the single-queue kinds",
    )


def draw_patterns(_points: pl.DataFrame) -> list[Panel]:
    """Draw the capacity over one period."""
    rows = []
    patterns = {name: steps for name, steps in read_patterns().items() if len(steps) > 1}
    for slot, (name, steps) in enumerate(patterns.items()):
        for begin, rate in [*steps, (120.0, steps[-1][1])]:
            rows.append({"time": begin, "rate": rate, "series": name, "slot": slot})
    frame = pl.DataFrame(rows)
    chart = (
        make_chart(frame)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=vl.X("time:Q", title="time (s)", scale=vl.Scale(domain=[0, 120], nice=False)),
            y=vl.Y(
                "rate:Q",
                title="channel capacity (Mb/s)",
                scale=vl.Scale(domain=[0, 275], nice=False),
            ),
            color=colour(frame),
        )
    )
    marks = [mark_across(SUSTAINED, "sustained"), mark_across(PEAK, "peak")]
    return [Panel("", vl.layer(chart, *marks))]


def draw_loads(_points: pl.DataFrame) -> list[Panel]:
    """Draw Table 1 as the shipped scenarios have it."""
    heads = ("near files", "far files", "size", "web users", "calls", "datagrams, Mb/s", "LEDBAT")
    rows = pl.DataFrame(
        [
            {"load": load, "head": head, "cell": _write_cell(value)}
            for load in TABLE_1
            for head, value in zip(heads, read_load(load), strict=True)
        ]
    )
    chart = (
        make_chart(rows)
        .mark_text()
        .encode(
            x=vl.X(
                "head:O",
                title=None,
                sort=list(heads),
                axis=vl.Axis(orient="top", labelAngle=0, grid=False),
            ),
            y=vl.Y("load:O", title="load", axis=vl.Axis(grid=False)),
            text="cell:N",
        )
    )
    return [Panel("", chart)]


def _write_cell(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value) or "-"


def draw_meeting(_points: pl.DataFrame) -> list[Panel]:
    """Draw how likely a call shares its queue, by load."""
    rows = pl.DataFrame(
        [
            {
                "load": load,
                "share": find_meeting(load, queues)[1],
                "series": f"{queues} queues",
                "slot": slot,
            }
            for slot, queues in enumerate((32, 1024))
            for load in TABLE_1
        ]
    )
    chart = (
        make_chart(rows)
        .mark_bar()
        .encode(
            x=vl.X("load:O", title="load (Table 1)", axis=vl.Axis(labelAngle=0)),
            xOffset=vl.XOffset("series:N", sort=["32 queues", "1024 queues"]),
            y=vl.Y("share:Q", title="probability to share a queue", axis=vl.Axis(format="~%")),
            color=vl.Color(
                "series:N",
                title=None,
                sort=["32 queues", "1024 queues"],
                scale=vl.Scale(domain=["32 queues", "1024 queues"], range=list(PALETTE[:2])),
            ),
            tooltip=["series:N", "load:O", vl.Tooltip("share:Q", format=".1%")],
        )
    )
    return [Panel("", chart)]
