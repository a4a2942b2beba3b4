"""Section 6 of the Buffer Control guideline: the device's minimum, target and maximum."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from headend import InputError, run
from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import colour, make_chart
from headend.study import ClaimResult, decide

LINE = Path(__file__).with_name("line.toml")

#: Granularity that is drawn, in bytes; and bounds for the second curve.
DRAWN_BLOCK, DRAWN_BOUNDS = 4096, (12 * 1024, 30 * 1024)


def choose(**settings: int) -> int | str:
    """Give the buffer that the device chooses, in bytes, or why it refuses the flow."""
    return ask({"docsis": {"upstream": {"queue": _write(settings)}}})


def ask(change: Mapping[str, Any], queue: str = "cable.up") -> int | str:
    """Give a queue's limit, in bytes, with some tables changed, or why the line is refused."""
    return _ask(json.dumps(change, sort_keys=True), queue)


@functools.cache
def _ask(change: str, queue: str) -> int | str:
    scenario = tomllib.loads(LINE.read_text(encoding="utf-8"))
    _merge(scenario["link"]["cable"], json.loads(change))
    try:
        tables = run(scenario).tables
    except InputError as error:
        return str(error)
    return int(tables["queues"].filter(pl.col("queue") == queue)["limit_bytes"].item())


def search(block: int, minimum: int, target: int, maximum: int) -> int | None:
    """Find the multiple of the block within bounds nearest to the target, by trying all."""
    offers = [size for size in range(block, 2 * maximum, block) if minimum <= size <= maximum]
    return min(offers, key=lambda size: (abs(size - target), size), default=None)


def check_nearest(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Compare the device's choice with a search, over blocks, targets, and bounds around them."""
    wrong, count = [], 0
    for block, target, slack in itertools.product(
        limits["blocks"], limits["targets"], limits["slack"]
    ):
        minimum, maximum = int(target * (1 - slack)), int(target * (1 + slack))
        settings = {"minimum": minimum, "target": target, "maximum": maximum, "block": block}
        for case in (settings, {"target": target, "block": block}):
            bounds = (case.get("minimum", 0), target, case.get("maximum", target + 2 * block))
            wanted, chosen = search(block, *bounds), choose(**case)
            count += 1
            if (wanted is None) != isinstance(chosen, str) or (wanted and wanted != chosen):
                wrong.append(f"{case}: {chosen}, not {wanted}")
    return ClaimResult(
        f"{count - len(wrong)} of {count} cases", decide(not wrong), why="; ".join(wrong[:3])
    )


def check_minimum(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Ask for as much as the device has, and for more."""
    agrees, why = True, ""
    for kib in limits["device_kib"]:
        size = kib * 1024
        why = str(choose(minimum=size + limits["over"], device_maximum=size))
        agrees &= "at most" in why and choose(minimum=size, device_maximum=size) == size
    return ClaimResult(f"so at {limits['device_kib']} KiB", decide(agrees), why=_shorten(why))


def check_maximum(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Ask for no more than the least the device has, and for less."""
    agrees, why = True, ""
    for kib in limits["device_kib"]:
        size = kib * 1024
        why = str(choose(maximum=size - limits["under"], device_minimum=size))
        agrees &= "at least" in why and choose(maximum=size, device_minimum=size) == size
    return ClaimResult(f"so at {limits['device_kib']} KiB", decide(agrees), why=_shorten(why))


def check_range(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Try both ends of the range, and one byte more."""
    largest = limits["largest"]
    taken = [choose(target=0), choose(target=largest), choose(minimum=0), choose(maximum=largest)]
    beyond = choose(target=largest + 1)
    agrees = all(isinstance(size, int) for size in taken) and isinstance(beyond, str)
    return ClaimResult(
        f"targets of 0 and {largest} B are taken", decide(agrees), why=_shorten(beyond)
    )


def check_optional(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Leave out each combination of the parameters."""
    found, agrees = [], True
    for count in range(len(limits) + 1):
        for names in itertools.combinations(limits, count):
            size = choose(**{name: limits[name] for name in names})
            found.append(f"{'+'.join(names) or 'none'}: {size}")
            agrees &= isinstance(size, int) and (
                ("minimum" not in names or size >= limits["minimum"])
                and ("maximum" not in names or size <= limits["maximum"])
            )
    return ClaimResult(
        f"{len(found)} combinations", decide(agrees), why="bytes for " + ", ".join(found)
    )


def check_guaranteed(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Ask a device that has what is guaranteed for that, for more, and for a large target."""
    size = limits["guaranteed"]
    fits = choose(minimum=size, device_maximum=size)
    more = choose(minimum=size + 1, device_maximum=size)
    large = choose(target=10 * size, device_maximum=size)
    agrees = fits == size and isinstance(more, str) and large == size
    return ClaimResult(
        f"a target of {10 * size} B gives {large} B", decide(agrees), why=_shorten(more)
    )


def check_levels(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Set the same target in each of three ways, and see how full a flood makes the buffer."""
    queue = _write({"target": limits["target"]})
    by_class = {
        "service_class": {"basic": {"upstream": {"queue": queue}}},
        "modem": {"home": {"service_class": "basic"}},
    }
    changed = {"change": {"later": {"at": "200 ms", "service_flow": "up", "queue": queue}}}
    sizes = {
        "none of them": fill({}, "cable.up"),
        "configuration": fill({"modem": {"home": {"upstream": {"queue": queue}}}}, HOME),
        "service class": fill(by_class, HOME),
        "change": fill(changed, "cable.up"),
    }
    text = ", ".join(f"{name} {size} B" for name, size in sizes.items())
    before = sizes.pop("none of them")
    agrees = all(0 <= limits["target"] - size < limits["packet"] for size in sizes.values())
    return ClaimResult(text, decide(agrees and before > limits["target"]))


def fill(change: Mapping[str, Any], queue: str) -> int:
    """Flood the line, its docsis table changed; give the most in a queue after 0.5 s, in bytes."""
    scenario = tomllib.loads(LINE.read_text(encoding="utf-8"))
    _merge(scenario["link"]["cable"], {"docsis": change})
    scenario["duration"] = "1 s"
    scenario["flow"]["flood"] = {"application": {"cbr": {"rate": "20 Mbit/s"}}, "direction": "up"}
    rows = run(scenario).tables["queue_series"]
    rows = rows.filter(pl.col("queue") == queue, pl.col("time_ns") > 500_000_000)
    return int(rows["backlog_max_bytes"].max())  # type: ignore[arg-type]


def check_downstream(_points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Set a target downstream."""
    change = {"docsis": {"downstream": {"queue": _write({"target": limits["target"]})}}}
    size = ask(change, "cable.down")
    return ClaimResult(f"{size} B", decide(size == limits["target"]))


def draw_choice(_points: pl.DataFrame) -> list[Panel]:
    """Draw the chosen size over the target, with and without bounds."""
    low, high = DRAWN_BOUNDS
    rows = []
    for target in range(1024, 40 * 1024 + 1, 1024):
        rows.append(("no bounds", 0, target, choose(target=target, block=DRAWN_BLOCK)))
        held = min(max(target, low), high)
        chosen = choose(minimum=low, target=held, maximum=high, block=DRAWN_BLOCK)
        rows.append(("minimum 12 KiB, maximum 30 KiB", 1, target, chosen))
    frame = pl.DataFrame(rows, schema=["series", "slot", "target", "chosen"], orient="row")
    frame = frame.with_columns(pl.col("target", "chosen") / 1024)
    steps = (
        make_chart(frame)
        .mark_line(interpolate="step", strokeWidth=2)
        .encode(
            x=vl.X("target:Q", title="target (KiB)", scale=vl.Scale(domain=[0, 40])),
            y=vl.Y("chosen:Q", title="buffer chosen (KiB)", scale=vl.Scale(domain=[0, 40])),
            color=colour(frame),
        )
    )
    ends = pl.DataFrame({"target": [0, 40], "chosen": [0, 40]})
    diagonal = (
        make_chart(ends).mark_line(color="#8c8c8c", strokeDash=[5, 4], strokeWidth=1)
    ).encode(x="target:Q", y="chosen:Q")
    return [Panel("", vl.layer(diagonal, steps))]


#: The queue of a modem by name.
HOME = "cable.home.up"


def _write(settings: Mapping[str, int]) -> dict[str, Any]:
    return {"buffer_control": {name: f"{size} B" for name, size in settings.items()}}


def _merge(table: dict[str, Any], change: Mapping[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(table.get(key), dict):
            _merge(table[key], value)
        else:
            table[key] = copy.deepcopy(value)


def _shorten(refusal: object) -> str:
    """Leave out where the engine found the setting."""
    return str(refusal).split(": ", 2)[-1]
