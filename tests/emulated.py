"""Results of runs with real programs, made from a simulated run, without a namespace.

The host ``laptop`` downloads over a line on which a simulated call is held. Its flows, and how late
its frames were, are invented.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import polars as pl

import headend
from headend.engine.columns import OPTIONAL_TABLES
from headend.running.result import Result

SECOND = 1_000_000_000

#: A call beside what stands for the real host: a download, whose round trips are those of a probe.
SCENARIO = {
    "title": "A laptop beside a call",
    "duration": "12 s",
    "warmup": "0 s",
    "bottleneck": "line.down",
    "link": {
        "line": {
            "point_to_point": {
                "up": {"rate": "5 Mbit/s"},
                "down": {"rate": "10 Mbit/s", "queue": {"drop_tail": {"limit": "128 KiB"}}},
            }
        }
    },
    "flow": {
        "laptop": {"application": "bulk", "direction": "down"},
        "call": {"application": "voice"},
        "probe": {"application": "ping"},
    },
}

#: A run that kept to real time.
ON_TIME = {
    "frames": 12_345, "p50_ns": 21_000, "p99_ns": 84_000, "max_ns": 412_000, "mean_ns": 24_500,
    "stalls": 0,
    "longest_stall_ns": 0, "overruns": 0, "bound_p99_ns": 1_000_000, "bound_stall_ns": 10_000_000,
    "trustworthy": True,
    "why": None,
}  # fmt: skip

#: A run that did not.
LATE = ON_TIME | {
    "p99_ns": 3_200_000, "max_ns": 101_000_000, "stalls": 1, "longest_stall_ns": 100_400_000,
    "trustworthy": False,
}  # fmt: skip

#: What became of its frames.
FRAMES = {"entered": 12_400, "delivered": 12_345, "discarded": 55, "marked": 0, "digest": 77}


@functools.cache
def _run() -> Result:
    return headend.run(SCENARIO)


def make_emulated(
    *,
    kind: str = "emulated",
    lateness: dict[str, Any] | None = ON_TIME,
    flows: int = 3,
    label: str = "laptop-and-call",
    **others: Any,
) -> Result:
    """Make the results of a run with a real host.

    Parameters
    ----------
    kind
        ``emulated``, ``replayed`` or ``open_loop``.
    lateness
        That of the whole run; None for a replay.
    flows
        How many flows the real host opened.
    others
        Further entries of the manifest's ``emulation``.
    """
    run = _run()
    tables = dict(run.tables)
    is_laptop, is_probe = pl.col("flow") == "laptop", pl.col("flow") == "probe"
    for name in ("flows", "flow_series"):
        tables[name] = tables[name].filter(~is_probe)
    tables["flows"] = tables["flows"].with_columns(
        application=pl.when(is_laptop).then(pl.lit("real")).otherwise("application"),
        carries=pl.lit("data"),
    )
    for name in ("measures", "samples"):
        tables[name] = tables[name].with_columns(
            flow=pl.when(is_probe).then(pl.lit("laptop")).otherwise("flow")
        )
    tables["connection_series"] = tables["connection_series"].clear()
    tables["real_flows"] = pl.DataFrame(
        [_make_flow(number) for number in range(flows)], OPTIONAL_TABLES["real_flows"]
    )
    if lateness:
        tables["lateness"] = _make_lateness(lateness)
    emulation = {
        "kind": kind,
        "hosts": {
            "laptop": {"command": ["curl", "-o", "/dev/null", "http://server/"], "exit": 7,
                       "ended": "exited"},
            "server": {"command": ["python3", "-m", "http.server", "80"], "exit": None,
                       "ended": "stopped"},
        },
        "outside": False, "scheduling": "fifo" if lateness else None, "lateness": lateness,
        "overruns": 0, "strays": 2,
        "frames": FRAMES, "recording": None if kind == "emulated" else "evening.pcapng",
        "changed": [], "equal": None,
        **others,
    }  # fmt: skip
    return Result(tables, run.manifest | {"emulation": emulation}, label)


def _make_flow(number: int) -> dict[str, Any]:
    """Make a flow, each smaller than the one before."""
    is_tcp = number % 3 != 2
    size = 5_000_000 // (number + 1)
    return {
        "flow": "laptop", "number": number, "protocol": "tcp" if is_tcp else "udp",
        "host_address": "198.18.0.2" if number % 2 == 0 else "fd00:6865:6164::2",
        "host_port": 50_000 + number,
        "peer_address": "198.18.1.1" if number % 2 == 0 else "fd00:6865:6164::101",
        "peer_port": 443, "dscp": 0,
        "name": "www.example.org" if is_tcp else "", "opened_ns": number * SECOND // 20,
        "last_ns": 5 * SECOND,
        "packets_up": size // 4000, "bytes_up": size // 80, "goodput_bytes_up": size // 400,
        "packets_down": size // 1500, "bytes_down": size, "goodput_bytes_down": size,
        "retransmitted_down": 50 // (number + 1), "discarded_down": 50 // (number + 1),
        **dict.fromkeys(("retransmitted_up", "discarded_up", "marked_up", "marked_down"), 0),
        **{f"rtt_{name}_ns": value if is_tcp else float("nan") for name,
           value in (("min", 20.4e6), ("mean", 71.2e6), ("max", 128.9e6))},
    }  # fmt: skip


def _make_lateness(whole: dict[str, Any]) -> pl.DataFrame:
    """Make the lateness of intervals of 100 ms; one of them is the whole run's worst."""
    times = np.arange(1, 121) * SECOND // 10
    p50 = (whole["p50_ns"] * (1 + 0.2 * np.sin(times / SECOND))).astype(np.int64)
    p99 = (84_000 * (1 + 0.3 * np.sin(times / SECOND))).astype(np.int64)
    worst = p99 * 3
    p99[40], worst[40] = whole["p99_ns"], whole["max_ns"]
    stalls = np.zeros(120, dtype=np.int64)
    stalls[40] = whole["stalls"]
    return pl.DataFrame(
        {
            "time_ns": times, "frames": np.full(120, 200), "p50_ns": p50, "p99_ns": p99,
            "max_ns": worst, "stalls": stalls,
            "longest_stall_ns": stalls * whole["longest_stall_ns"],
            "overruns": np.zeros(120, dtype=np.int64),
        },
        OPTIONAL_TABLES["lateness"],
    )  # fmt: skip
