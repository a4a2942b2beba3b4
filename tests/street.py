"""Results of a street of many homes, made up: as large as a plant's, with known worst.

Home N loads pages (``web.N``) and holds a call (``call.N``); every tenth uploads (``upload.1`` …);
one ping watches. Each home has a modem with its own queues (``cable.home.N.up``,
``cable.home.N.down``). The higher the number, the worse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from headend.engine.columns import TABLES
from headend.running.result import Result

SECOND = 1_000_000_000
DURATION = 60 * SECOND
QUANTILES = {"p50": 1.0, "p90": 1.5, "p95": 1.7, "p99": 2.2, "p999": 3.0, "max": 4.0}


def make_street(
    homes: int, *, intervals: int = 60, label: str = "street", strain: float = 1.0
) -> Result:
    """Make the results of a street; strain makes everything worse."""
    uploads = max(homes // 10, 1)
    flows = [("ping", "ping", 1)]
    flows += [(f"web.{n}", "web", n) for n in range(1, homes + 1)]
    flows += [(f"call.{n}", "voice", n) for n in range(1, homes + 1)]
    flows += [(f"upload.{n}", "bulk", n) for n in range(1, uploads + 1)]
    queues = [
        (f"cable.home.{n}.{way}", way, n) for n in range(1, homes + 1) for way in ("up", "down")
    ]
    waits = {name: _wait(number, homes, strain) for name, _, number in [*flows, *queues]}
    times = np.linspace(DURATION / intervals, DURATION, intervals).astype(np.int64)
    tables = {
        "flows": _complete("flows",
                           [_flow(name, kind, way, waits[name]) for name, kind,
                            _ in flows for way in ("up", "down")]),
        "queues": _complete("queues", [_queue(name, way, waits[name]) for name, way, _ in queues]),
        "channels": _complete("channels", [_channel(way) for way in ("up", "down")]),
        "collisions": pl.DataFrame(schema=TABLES["collisions"]),
        "measures": _complete("measures",
                              [row for name, kind,
                               _ in flows for row in _measures(name, kind, waits[name])]),
        "samples": _samples(flows, waits),
        "flow_series": _series("flow_series",
                               [(name, way) for name, _, _ in flows for way in ("up", "down")],
                               times, waits),
        "queue_series": _series("queue_series", [(name, way) for name, way, _ in queues], times,
                                waits),
        "connection_series": _connections([name for name, kind, _ in flows if kind == "bulk"],
                                          times),
        "histograms": _histograms([(name, way) for name, _, _ in flows for way in ("up", "down")],
                                  queues, waits),
        "summary": _complete("summary",
                             [{"simulated_ns": DURATION, "events": 1, "packets_delivered": 1,
                               "data_packets_delivered": 1}]),
    }  # fmt: skip
    manifest: dict[str, Any] = {
        "headend": "0.0.0", "format": 3, "kind": "run", "name": label,
        "title": f"A street of {homes} homes",
        "description": "", "seed": 1, "duration_ns": DURATION, "simulated_ns": DURATION,
        "warmup_ns": 0,
        "partial": False, "bottleneck": None, "expectations": [], "warnings": [],
        "scenario": {"link": {"cable": {"docsis": {"modem": {"home": {"count": homes}}}}}},
    }  # fmt: skip
    return Result(tables, manifest, label)


def _channel(way: str) -> dict[str, Any]:
    """Give a channel that is far from full."""
    return {
        "channel": f"cable.{way}", "link": "cable", "direction": way, "capacity_bps": 1e9,
        "used_bps": 1e8,
        "neighbours_bps": 0.0, "utilisation": 0.1, "full_ratio": 0.01,
        "granted_maps_ratio": 0.1,
    }  # fmt: skip


def _wait(number: int, homes: int, strain: float) -> float:
    """Give a queue's median delay, in ns: from 5 ms in the first home to 200 ms in the last."""
    return strain * (5e6 + 195e6 * (number - 1) / max(homes - 1, 1) if number > 1 else 5e6)


def _complete(table: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    types = TABLES[table]
    given = pl.DataFrame(rows, infer_schema_length=None)
    empty = {int: pl.lit(0), float: pl.lit(float("nan")), str: pl.lit("")}
    return given.select(
        (pl.col(name) if name in given.columns else empty[kind]).cast(kind).alias(name)
        for name, kind in types.items()
    )


def _flow(name: str, kind: str, way: str, wait: float) -> dict[str, Any]:
    sends = "up" if kind == "bulk" else "down"
    data = way == sends or kind in ("ping", "voice")
    rate = 2e9 / wait * 1e4 if kind == "bulk" else 8e4
    return {
        "flow": name, "direction": way, "application": kind,
        "transport": "tcp" if kind in ("bulk", "web") else "udp",
        "carries": "data" if data else "control", "packets_sent": 3000, "bytes_sent": 600_000,
        "packets_delivered": 2990,
        "bytes_delivered": 598_000, "discarded_overlimit": 10, "loss_ratio": 10 / 3000,
        "throughput_bps": rate,
        "goodput_bps": rate if data else 0.0, "goodput_bytes": 500_000,
        **{f"delay_{key}_ns": 20e6 + wait * factor for key, factor in QUANTILES.items()},
    }  # fmt: skip


def _queue(name: str, way: str, wait: float) -> dict[str, Any]:
    return {
        "queue": name, "link": "cable", "direction": way, "discipline": "docsis_pie",
        "rate_bps": 5e6,
        "packets_enqueued": 9000, "packets_dequeued": 8990, "discarded_congested": 10,
        "utilisation": 0.5,
        "standing_ratio": float(wait > 50e6),
        "delay_mean_ns": wait,
        **{f"delay_{key}_ns": wait * factor for key, factor in QUANTILES.items()},
    }  # fmt: skip


def _measures(name: str, kind: str, wait: float) -> list[dict[str, Any]]:
    if kind == "bulk":
        return []
    measure, middle = {
        "web": ("page_load_time", 1e9 + 30 * wait),
        "voice": ("mos", max(4.4 - wait / 100e6, 1.0)),
        "ping": ("rtt", 20e6 + wait),
    }[kind]
    spread = {"p5": 0.8, "p25": 0.9, "p50": 1.0, "p75": 1.1, "p90": 1.2, "p95": 1.3, "p99": 1.5}
    values = {key: middle * factor for key, factor in spread.items()}
    unit = "1" if measure == "mos" else "ns"
    return [{"flow": name, "measure": measure, "unit": unit, "count": 6, "mean": middle, **values}]


def _samples(flows: list[tuple[str, str, int]], waits: dict[str, float]) -> pl.DataFrame:
    rows = [
        {"flow": name, "measure": row["measure"], "time_ns": (index + 1) * 10 * SECOND,
         "value": row["p50"]}
        for name, kind, _ in flows
        for row in _measures(name, kind, waits[name])
        for index in range(6)
    ]  # fmt: skip
    return _complete("samples", rows)


def _series(
    table: str, names: list[tuple[str, str]], times: np.ndarray, waits: dict[str, float]
) -> pl.DataFrame:
    level = np.repeat([waits[name] for name, _ in names], len(times))
    wave = 1 + 0.3 * np.sin(np.tile(times, len(names)) / SECOND)
    subject = "flow" if table == "flow_series" else "queue"
    columns = {
        subject: np.repeat([name for name, _ in names], len(times)).tolist(),
        "direction": np.repeat([way for _, way in names], len(times)).tolist(),
        "time_ns": np.tile(times, len(names)),
        "throughput_bps": 8e4 * wave, "goodput_bps": 8e4 * wave, "rate_bps": 2e6 * wave,
        "delay_mean_ns": level * wave, "delay_max_ns": 2 * level * wave,
        "backlog_bytes": level * wave / 1e4, "backlog_max_bytes": level * wave / 5e3,
    }  # fmt: skip
    types = TABLES[table]
    frame = pl.DataFrame({name: values for name, values in columns.items() if name in types})
    missing = {name: kind for name, kind in types.items() if name not in frame.columns}
    return frame.with_columns(
        pl.lit(0 if kind is int else float("nan")).cast(kind).alias(name)
        for name, kind in missing.items()
    ).select(pl.col(name).cast(kind) for name, kind in types.items())


def _connections(names: list[str], times: np.ndarray) -> pl.DataFrame:
    rows = [
        {"flow": name, "time_ns": int(at), "connection": 0,
         "cwnd_bytes": 3e4 + 1e3 * (at // SECOND % 8)}
        for name in names
        for at in times
    ]  # fmt: skip
    return _complete("connection_series", rows)


def _histograms(
    flows: list[tuple[str, str]], queues: list[tuple[str, str, int]], waits: dict[str, float]
) -> pl.DataFrame:
    spread = np.geomspace(0.2, 4, 60)
    counts = np.maximum((1000 * np.exp(-((np.log(spread)) ** 2) * 2)).astype(np.int64), 1)
    subjects = [("flow", *pair) for pair in flows] + [
        ("queue", name, way) for name, way, _ in queues
    ]
    lower = np.concatenate([waits[name] * spread for _, name, _ in subjects]).astype(np.int64)
    return pl.DataFrame(
        {
            "kind": [kind for kind, _, _ in subjects for _ in spread],
            "name": [name for _, name, _ in subjects for _ in spread],
            "direction": [way for _, _, way in subjects for _ in spread],
            "lower_ns": lower,
            "upper_ns": (lower * 1.001).astype(np.int64) + 1,
            "count": np.tile(counts, len(subjects)),
        }
    )
