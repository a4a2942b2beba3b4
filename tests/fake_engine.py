"""A stand-in for the compiled engine: plausible tables as in docs/reference/results.md.

It lets the Python side be tested for what it does with results, whatever the engine's numbers are.
"""

from __future__ import annotations

import json
import time
import tomllib
from typing import Any

import numpy as np
from scipy.special import stdtrit

from headend._engine import describe as describe
from headend.engine.columns import TABLES

SECOND = 1_000_000_000
UNITS = {"s": SECOND, "ms": 1_000_000}


class ScenarioError(ValueError):
    def __init__(self, message: str, path: str | None = None, line: int | None = None) -> None:
        super().__init__(f"{path}: {message} (line {line})" if path else message)
        self.path, self.line, self.column, self.message = path, line, None, message
        self.unknown: str | None = None
        self.known: list[str] = []
        self.meant: str | None = None


class RunError(RuntimeError):
    pass


class Columns:
    def __init__(self, columns: dict[str, list[str] | tuple[str, bytes]]) -> None:
        self.columns = columns

    def read(self) -> dict[str, list[str] | tuple[str, bytes]]:
        return self.columns

    def encode_parquet(self) -> bytes | None:
        return None


class Scenario:
    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.title = content.get("title", "")
        self.description = content.get("description", "")
        duration = content.get("duration", "60 s")
        self.duration_ns = 864_000 * SECOND if duration == "unlimited" else _time(duration)
        self.warmup_ns = _time(content.get("warmup", "0 s"))
        self.seed = content.get("seed", 1)
        self.expect = list(content.get("expect", {}).items())
        self.warnings: list[str] = []
        self.memory: list[tuple[str, str, int, bool]] = []
        self.bottleneck = content.get("bottleneck")
        self.queue_path = "link.cable.docsis.upstream.queue" if self.bottleneck else None

    @property
    def flows(self) -> list[tuple[str, str]]:
        names = []
        for name, flow in self.content.get("flow", {}).items():
            kind = flow.get("application", "bulk")
            kind = kind if isinstance(kind, str) else next(iter(kind))
            count = flow.get("count", 1)
            members = [f"{name}.{n}" for n in range(1, count + 1)] if count > 1 else [name]
            names += [(member, kind) for member in members]
        return names

    @property
    def queues(self) -> list[str]:
        return [f"{link}.{way}" for link in self.content.get("link", {}) for way in ("up", "down")]

    @property
    def real_hosts(self) -> list[tuple[str, str, str, str]]:
        hosts = self.content.get("host", {}).items()
        return [
            (name, "customer" if "via" in host else "network", f"10.0.0.{n}", f"fd00::{n}")
            for n, (name, host) in enumerate(hosts, 1)
            if host.get("real")
        ]

    @property
    def is_unlimited(self) -> bool:
        return self.content.get("duration") == "unlimited"

    @property
    def emulation_bounds_ns(self) -> tuple[int, int]:
        return 1_000_000, 10_000_000

    def modem_files_json(self) -> str:
        return "[]"

    def resolved_json(self) -> str:
        return json.dumps(self.content)


class Run:
    engine_version = "fake"
    slow = False

    def __init__(
        self,
        scenario: Scenario,
        seed: int | None = None,
        follow: tuple[str, int] | None = None,
        recording: bytes | None = None,
        observe: tuple[str, list[str]] | None = None,
    ) -> None:
        self.scenario, self.now, self.follow = scenario, 0, follow
        self.recording = recording and json.loads(recording)
        if self.recording:
            scenario.duration_ns = 10 * SECOND
        self.random = np.random.default_rng(scenario.seed if seed is None else seed)

    def advance(self, wall_seconds: float) -> tuple[int, bool]:
        if Run.slow:
            time.sleep(wall_seconds)
            self.now += SECOND // 10
        else:
            self.now += max(self.scenario.duration_ns // 3, 1)
        self.now = min(self.now, self.scenario.duration_ns)
        return self.now, self.now >= self.scenario.duration_ns

    def take_capture(self) -> dict[str, bytes]:
        return {}

    def frames(self) -> str | None:
        return json.dumps(self.recording["replayed"]) if self.recording else None

    def failure(self) -> str | None:
        return None

    def finish(self) -> dict[str, Columns]:
        tables = _tables(self.scenario, self.now, self.random)
        if self.follow:
            tables |= {"steps": _steps(self.follow[1])}
        return {name: Columns(columns) for name, columns in tables.items()}


def parse(text: str, *, format: str = "toml", overrides: Any = (), files: Any = None) -> Scenario:
    return Scenario(_read(text, format, overrides))


def check_recording(scenario: Scenario, content: bytes) -> None:
    hosts, real = json.loads(content)["hosts"], [own[0] for own in scenario.real_hosts]
    if hosts != real:
        raise ValueError(f"its interfaces are {hosts}: expected {real}")


def read_recording(content: bytes) -> str:
    if not content.startswith(b"{"):
        raise ValueError("expected a recording of headend emulate, found no pcapng file")
    return content.decode()


def required_files(
    text: str, *, format: str = "toml", overrides: Any = ()
) -> list[tuple[str, str | None, str]]:
    content = _read(text, format, overrides)
    return [(name, None, "data") for name in content.get("files", [])]


def refuse(text: str, path: str, why: str, *, format: str = "toml", overrides: Any = ()) -> str:
    for given, value in overrides:
        if given == path:
            return f"{path}: {why} (from --set {given}={value})"
    return f"{path}: {why} (line 1, column 1)"


def columns() -> dict[str, list[str]]:
    return {table: list(types) for table, types in TABLES.items()}


def build() -> dict[str, str | None]:
    return {"commit": None, "profile": "fake", "target": "none"}


def student_t_quantile(p: float, degrees: int) -> float:
    return float(stdtrit(degrees, p))


def schema() -> str:
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {}})


def _read(text: str, format: str, overrides: Any) -> dict[str, Any]:
    try:
        content = tomllib.loads(text) if format == "toml" else json.loads(text)
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    for key in content:
        if key not in (
            "format",
            "title",
            "description",
            "seed",
            "duration",
            "warmup",
            "bottleneck",
            "link",
            "flow",
            "host",
            "expect",
            "files",
        ):
            raise ScenarioError(f'unknown key "{key}"', key, 1)
    for path, value in overrides:
        _override(content, path, value)
    return dict(content)


def _override(content: dict[str, Any], path: str, value: str) -> None:
    if path.split(".")[0] == "queue":
        path = path.replace("queue", "link.cable.docsis.upstream.queue", 1)
    *parents, last = path.split(".")
    node: Any = content
    for name in parents:
        if not isinstance(node, dict) or (node is content and name not in content):
            raise ScenarioError(f'--set {path}: no such key "{name}"', path)
        if not isinstance(node.get(name), dict):
            node[name] = {}
        node = node[name]
    try:
        node[last] = tomllib.loads(f"x = {value}")["x"]
    except ValueError:
        node[last] = value


def _time(text: str) -> int:
    number, unit = text.split()
    return int(float(number) * UNITS[unit])


def _is_bloated(content: dict[str, Any]) -> bool:
    queue = content["link"]["cable"]["docsis"].get("upstream", {}).get("queue", "drop_tail")
    return "drop_tail" in (queue if isinstance(queue, dict) else [queue])


def _tables(scenario: Scenario, now: int, random: np.random.Generator) -> dict[str, Any]:
    content = scenario.content
    base = 0.9 if _is_bloated(content) else 0.012
    flows: dict[str, list[Any]] = {}
    series: dict[str, list[Any]] = {}
    histograms: dict[str, list[Any]] = {}
    measures: dict[str, list[Any]] = {}
    samples: dict[str, list[Any]] = {}
    connections: dict[str, list[Any]] = {}
    times = np.arange(1, max(now // (SECOND // 10), 1) + 1) * (SECOND // 10)

    def add(table: dict[str, list[Any]], **values: Any) -> None:
        for key, value in values.items():
            table.setdefault(key, []).append(value)

    def spread(delays: np.ndarray, kind: str, name: str, direction: str) -> None:
        edges = np.geomspace(1e5, 1e11, 6000)
        counts, _ = np.histogram(delays, edges)
        for index in np.flatnonzero(counts):
            add(
                histograms,
                kind=kind,
                name=name,
                direction=direction,
                lower_ns=int(edges[index]),
                upper_ns=int(edges[index + 1]),
                count=int(counts[index]),
            )

    for name, flow in content.get("flow", {}).items():
        kind = flow["application"]
        kind = next(iter(kind)) if isinstance(kind, dict) else kind
        tcp = kind in ("bulk", "web")
        both = kind in ("voice", "ping", "game")
        for direction in ("up", "down"):
            upstream = direction == flow.get("direction", "up")
            wait = base if direction == "up" else 0.002
            delays = (0.02 + random.gamma(4.0, wait / 4, 4000)) * SECOND
            carries = "data" if both or upstream else "control"
            rate = 9.2e6 if kind == "bulk" and upstream else 87e3
            discarded = int(40 * base) if direction == "up" else 0
            quantiles = {
                f"delay_p{key}_ns": float(np.quantile(delays, q))
                for key, q in {"50": 0.5, "90": 0.9, "95": 0.95, "99": 0.99, "999": 0.999}.items()
            }
            add(
                flows,
                flow=name,
                direction=direction,
                application=kind,
                transport="tcp" if tcp else "udp",
                carries=carries,
                packets_sent=4000,
                bytes_sent=4000 * 1500,
                packets_delivered=4000 - discarded,
                bytes_delivered=4000 * 1500,
                goodput_bytes=3_900_000,
                throughput_bps=rate,
                goodput_bps=rate * 0.97 if carries == "data" else 0.0,
                discarded_overlimit=discarded,
                discarded_ack_thinned=0,
                discarded_congested=0,
                discarded_corrupted=0,
                discarded_filtered=0,
                discarded_flow_limit=0,
                discarded_forced=0,
                discarded_not_registered=0,
                discarded_policed=0,
                discarded_retry_limit=0,
                discarded_service_flow_deleted=0,
                discarded_unresponsive=0,
                marked=0,
                loss_ratio=discarded / 4000,
                retransmitted=discarded if tcp else 0,
                cwnd_limited_ratio=0.9 if tcp and carries == "data" else float("nan"),
                recovery_limited_ratio=0.1 if tcp and carries == "data" else float("nan"),
                **dict.fromkeys(
                    (
                        "rwnd_limited_ratio",
                        "sndbuf_limited_ratio",
                        "app_limited_ratio",
                        "pacing_limited_ratio",
                    ),
                    0.0 if tcp and carries == "data" else float("nan"),
                ),
                delay_mean_ns=float(delays.mean()),
                delay_min_ns=float(delays.min()),
                **quantiles,
                delay_max_ns=float(delays.max()),
                jitter_ns=2e6,
            )
            spread(delays, "flow", name, direction)
            for time_ns in times:
                noise = random.uniform(0.9, 1.0)
                add(
                    series,
                    time_ns=int(time_ns),
                    flow=name,
                    direction=direction,
                    throughput_bps=rate * noise,
                    goodput_bps=rate * noise * 0.97,
                    delay_mean_ns=0.02 * SECOND + wait * SECOND * noise,
                    delay_max_ns=float("nan"),
                    discarded=0,
                    marked=0,
                )
        reports = {"voice": ("mos", "mos_down"), "ping": ("rtt",), "web": ("page_load_time",)}.get(
            kind, ()
        )
        for measure in reports:
            level = {
                "mos": 1.4 if base > 0.5 else 4.3,
                "mos_down": 4.3,
                "rtt": (0.03 + base) * SECOND,
                "page_load_time": (1 + 20 * base) * SECOND,
            }[measure]
            values = level * random.uniform(0.9, 1.02, max(now // (10 * SECOND), 1))
            quantile = {
                f"p{q}": float(np.quantile(values, q / 100)) for q in (5, 25, 50, 75, 90, 95, 99)
            }
            add(
                measures,
                flow=name,
                measure=measure,
                unit="1" if "mos" in measure else "ns",
                count=len(values),
                mean=float(values.mean()),
                min=float(values.min()),
                **quantile,
                max=float(values.max()),
            )
            for index, value in enumerate(values):
                add(
                    samples,
                    flow=name,
                    measure=measure,
                    time_ns=(index + 1) * 10 * SECOND,
                    value=float(value),
                )
        if tcp:
            for time_ns in times:
                window = 60_000 * (1 + (time_ns / SECOND) % 8)
                add(
                    connections,
                    time_ns=int(time_ns),
                    flow=name,
                    connection=0,
                    cwnd_bytes=float(window),
                    ssthresh_bytes=float("nan"),
                    srtt_ns=0.1 * SECOND,
                    in_flight_bytes=float(window),
                )

    queues: dict[str, list[Any]] = {}
    queue_series: dict[str, list[Any]] = {}
    for name, wait, rate in (("cable.up", base, 10e6), ("cable.down", 0.002, 100e6)):
        link, direction = name.split(".")
        delays = random.gamma(4.0, wait / 4, 8000) * SECOND
        quantiles = {
            f"delay_p{key}_ns": float(np.quantile(delays, q))
            for key, q in {"50": 0.5, "90": 0.9, "95": 0.95, "99": 0.99, "999": 0.999}.items()
        }
        add(
            queues,
            queue=name,
            link=link,
            direction=direction,
            discipline="drop_tail" if base > 0.5 else "docsis_pie",
            rate_bps=rate,
            limit_bytes=float("nan"),
            packets_enqueued=8000,
            packets_dequeued=7990,
            bytes_dequeued=7990 * 1500,
            discarded_overlimit=10,
            discarded_ack_thinned=0,
            discarded_congested=0,
            discarded_corrupted=0,
            discarded_filtered=0,
            discarded_flow_limit=0,
            discarded_forced=0,
            discarded_not_registered=0,
            discarded_policed=0,
            discarded_retry_limit=0,
            discarded_service_flow_deleted=0,
            discarded_unresponsive=0,
            marked=0,
            capacity_bps=float(rate),
            air_ratio=float("nan"),
            utilisation=0.97 if direction == "up" else 0.02,
            standing_ratio=1.0 if wait > 0.05 else 0.0,
            backlog_mean_bytes=wait * rate / 8,
            backlog_max_bytes=2 * wait * rate / 8,
            delay_mean_ns=float(delays.mean()),
            delay_min_ns=float(delays.min()),
            **quantiles,
            delay_max_ns=float(delays.max()),
            requests_contention=100,
            requests_piggyback=7000,
            collisions=1,
            request_retries=1,
            requests_exceeded=0,
            grants=7100,
            granted_bytes=12_000_000,
            unused_grant_bytes=100,
            maps=30_000,
            granted_maps_ratio=0.97,
        )
        spread(delays, "queue", name, direction)
        for time_ns in times:
            level = wait * (1 + 0.3 * np.sin(time_ns / SECOND))
            add(
                queue_series,
                time_ns=int(time_ns),
                queue=name,
                backlog_bytes=level * rate / 8,
                backlog_max_bytes=1.2 * level * rate / 8,
                delay_mean_ns=level * SECOND,
                delay_max_ns=1.3 * level * SECOND,
                discarded=0,
                marked=0,
                rate_bps=rate * 0.97,
                drop_probability=float("nan")
                if base > 0.5
                else 0.01 + 0.005 * np.sin(time_ns / SECOND),
                tokens_bytes=float("nan"),
                burst_allowance_ns=float("nan"),
                target_delay_ns=float("nan"),
                rate_estimate_bps=float("nan"),
                average_packets=float("nan"),
                average_bytes=float("nan"),
                queues_active=float("nan"),
                hash_collisions=float("nan"),
            )
    empty = {
        "flow": [],
        "measure": [],
        "unit": [],
        "count": np.array([], dtype=np.int64),
        **{
            key: np.array([])
            for key in ("mean", "min", "p5", "p25", "p50", "p75", "p90", "p95", "p99", "max")
        },
    }
    none = {
        "flow": [],
        "measure": [],
        "time_ns": np.array([], dtype=np.int64),
        "value": np.array([]),
    }
    no_connections = {
        "time_ns": np.array([], dtype=np.int64),
        "flow": [],
        "connection": np.array([], dtype=np.int64),
        **{
            key: np.array([])
            for key in ("cwnd_bytes", "ssthresh_bytes", "srtt_ns", "in_flight_bytes")
        },
    }
    summary = {
        "simulated_ns": [now],
        "events": [123_456],
        "packets_delivered": [7990],
        "data_packets_delivered": [4000],
        "jain_index": [float("nan")],
    }
    tables = {
        "flows": flows,
        "queues": queues,
        "measures": measures or empty,
        "samples": samples or none,
        "flow_series": series,
        "queue_series": queue_series,
        "connection_series": connections or no_connections,
        "histograms": histograms,
        "summary": summary,
    }
    return {
        name: {key: _column(values) for key, values in table.items()}
        for name, table in tables.items()
    }


def _steps(since: int) -> dict[str, Any]:
    """Tell the life of a packet whose first request collides: times in µs from when it is sent."""
    no = float("nan")
    rows = [
        (0, "sent", "", "", 0, 200.0, no, no),
        (0, "enqueued", "cable.up", "", 0, 200.0, no, no),
        (0, "deferred", "cable.up", "", 0, no, 40.0, 8.0),
        (900, "requested", "cable.up", "contention", 1000, 236.0, 40.0, no),
        (4000, "answered", "cable.up", "collided", 1000, no, no, no),
        (4000, "deferred", "cable.up", "", 4000, no, 90.0, 16.0),
        (5100, "requested", "cable.up", "contention", 5200, 236.0, 90.0, no),
        (8000, "answered", "cable.up", "heard", 5200, no, no, no),
        (8000, "granted", "cable.up", "", 9500, 236.0, no, no),
        (9300, "prepared", "cable.up", "", 9500, no, no, no),
        (9300, "dequeued", "cable.up", "", 9300, 200.0, no, no),
        (30000, "delivered", "", "", 30000, 200.0, no, no),
    ]
    names = ("at_ns", "step", "queue", "detail", "when_ns", "bytes", "opportunity", "window")
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    for name in ("at_ns", "when_ns"):
        table[name] = [since + 1000 * value for value in table[name]]
    table["until_ns"] = table["when_ns"]
    return {name: _column(values) for name, values in table.items()}


def _column(values: Any) -> list[str] | tuple[str, bytes]:
    """Give a column as the engine does: texts as a list, numbers as a type code and bytes."""
    if isinstance(values, list) and (not values or isinstance(values[0], str)):
        return values
    numbers = np.asarray(values)
    kind = np.float64 if numbers.dtype.kind == "f" else np.int64
    return "d" if kind is np.float64 else "q", numbers.astype(kind).tobytes()
