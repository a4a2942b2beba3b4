"""qlog and tcp_info of a run's TCP senders: the published schema, and sums beside the tables."""

from __future__ import annotations

import copy
import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.errors import InputError
from headend.loading import senders
from headend.results.replacing import find_foreign

SYN_BYTES = 60
HEADER_BYTES = 52

#: A queue that overflows, a path that loses, and a flow that is not TCP.
LOSSY: dict[str, Any] = {
    "duration": "8 s",
    "link": {
        "line": {
            "point_to_point": {
                "up": {"rate": "8 Mbit/s", "queue": {"drop_tail": {"limit": "40 ms"}}},
                "down": {"rate": "20 Mbit/s"},
            }
        }
    },
    "flow": {
        "upload": {
            "application": "bulk",
            "direction": "up",
            "rtt": "30 ms",
            "path": {"loss": {"up": "0.3 %"}},
        },
        "call": {"application": "voice"},
    },
}

SENDERS: dict[str, dict[str, Any]] = {
    "cubic": {"flow.upload.tcp.congestion": "cubic"},
    "bbr": {"flow.upload.tcp.congestion": "bbr"},
    "bbr3": {"flow.upload.tcp.congestion": "bbr3"},
    "of the standards": {"flow.upload.tcp.system": "rfc"},
    "without sack": {"flow.upload.tcp.system": "freebsd4"},
    "tahoe": {"flow.upload.tcp.congestion": "tahoe", "flow.upload.tcp.system": "rfc"},
}

Event = dict[str, Any]


def read_sequence(path: Path) -> tuple[Event, list[Event]]:
    """Give header and events of a JSON text sequence (RFC 7464)."""
    text = path.read_text("utf-8")
    assert text.startswith("\x1e")
    records = text.split("\x1e")[1:]
    assert all(record.endswith("\n") for record in records)
    first, *rest = map(json.loads, records)
    return first, rest


def pick(events: list[Event], name: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["name"] == name]


class Trace:
    """One trace, with the fate of each packet."""

    def __init__(self, path: Path) -> None:
        self.header, self.events = read_sequence(path)
        self.sent = pick(self.events, "transport:packet_sent")
        self.numbers = [packet["header"]["packet_number"] for packet in self.sent]
        self.received = pick(self.events, "transport:packet_received")
        lost = pick(self.events, "recovery:packet_lost")
        self.lost = [packet["header"]["packet_number"] for packet in lost]
        self.triggers = Counter(packet["trigger"] for packet in lost)
        self.acked = [
            number
            for packet in self.received
            for frame in packet["frames"]
            if frame["frame_type"] == "ack"
            for first, last in ((one[0], one[-1]) for one in frame.get("acked_ranges", []))
            for number in range(first, last + 1)
        ]
        self.next = max((packet["tcp"]["ack"] for packet in self.received), default=0)

    def metric(self, name: str) -> float:
        """Give the latest value of a metric."""
        updates = pick(self.events, "recovery:metrics_updated")
        return float([update[name] for update in updates if name in update][-1])


@pytest.fixture(scope="module", params=SENDERS)
def observed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[headend.Result, Trace, pl.DataFrame, str]:
    place = tmp_path_factory.mktemp("run")
    result = headend.run(LOSSY, set=SENDERS[request.param], out=place / "run", report=False)
    (path,) = headend.export_qlog(place / "run", place / "qlog")
    (table,) = headend.export_tcp_info(place / "run", place)
    assert table.name == "tcp_info.csv"
    return result, Trace(path), pl.read_csv(table, infer_schema_length=None), request.param


def row_of(result: headend.Result) -> dict[str, Any]:
    return result.flows.row(
        by_predicate=(pl.col("flow") == "upload") & (pl.col("direction") == "up"), named=True
    )


def test_packets_sent_are_those_of_the_flow(
    observed: tuple[headend.Result, Trace, pl.DataFrame, str],
) -> None:
    result, trace, _, _ = observed
    row = row_of(result)
    assert trace.numbers == list(range(len(trace.sent)))
    # The rest is the SYN: data takes the acknowledgement of the SYN-ACK along.
    assert len(trace.sent) == row["packets_sent"] - 1
    sizes = sum(packet["raw"]["length"] for packet in trace.sent)
    payload = sum(packet["tcp"]["len"] for packet in trace.sent)
    assert sizes == HEADER_BYTES * len(trace.sent) + payload
    syn = row["bytes_sent"] - sizes
    assert 40 < syn <= SYN_BYTES
    assert sum(packet["tcp"]["again"] for packet in trace.sent) == row["retransmitted"] > 0


def test_each_packet_is_acknowledged_lost_or_in_flight(
    observed: tuple[headend.Result, Trace, pl.DataFrame, str],
) -> None:
    result, trace, _, _ = observed
    assert len(set(trace.acked)) == len(trace.acked)
    assert len(set(trace.lost)) == len(trace.lost) > 0
    fates = {*trace.acked, *trace.lost}
    assert fates <= set(trace.numbers)
    by_seq = {packet["tcp"]["seq"]: packet for packet in trace.sent}
    acked = {trace.sent[number]["tcp"]["seq"] for number in trace.acked}
    assert acked <= set(by_seq)
    # What has neither fate is in flight, or an earlier transmission of what has arrived since.
    open_ones = [number for number in trace.numbers if number not in fates]
    in_flight = [number for number in open_ones if trace.sent[number]["tcp"]["seq"] not in acked]
    size = sum(trace.sent[number]["tcp"]["len"] for number in in_flight)
    if result.manifest["scenario"]["flow"]["upload"]["tcp"]["sack"]:
        assert size == trace.metric("bytes_in_flight")
    contiguous = sum(len_of for seq, len_of in lengths(trace).items() if seq in acked)
    assert (
        contiguous
        >= trace.next
        == sum(length for seq, length in lengths(trace).items() if seq < trace.next)
    )


def lengths(trace: Trace) -> dict[int, int]:
    return {packet["tcp"]["seq"]: packet["tcp"]["len"] for packet in trace.sent}


def test_losses_are_what_queue_and_path_discarded(
    observed: tuple[headend.Result, Trace, pl.DataFrame, str],
) -> None:
    """Nothing overtakes here, so that what counting and RACK deem lost is lost."""
    result, trace, _, name = observed
    row = row_of(result)
    discarded = sum(value for key, value in row.items() if key.startswith("discarded_"))
    in_flight = len(trace.sent) - len({*trace.acked, *trace.lost})
    if trace.triggers.keys() <= {"time_threshold"} or name == "bbr":
        assert discarded - in_flight <= len(trace.lost) <= discarded
    else:
        # A timeout, and Tahoe, deem all lost that is outstanding.
        assert len(trace.lost) >= discarded - in_flight
    assert ("time_threshold" in trace.triggers) == (name in ("cubic", "bbr", "bbr3"))


def test_tcp_info_adds_up_with_qlog_and_tables(
    observed: tuple[headend.Result, Trace, pl.DataFrame, str],
) -> None:
    result, trace, infos, _ = observed
    last = infos.row(-1, named=True)
    assert last["time_ns"] == 8_000_000_000
    payload = [packet["tcp"] for packet in trace.sent]
    assert last["data_segs_out"] == len(trace.sent)
    assert last["bytes_sent"] == sum(one["len"] for one in payload)
    assert last["bytes_retrans"] == sum(one["len"] for one in payload if one["again"])
    assert last["total_retrans"] == row_of(result)["retransmitted"]
    assert last["bytes_acked"] == trace.next
    assert last["delivered"] == len(trace.acked)
    assert infos["flow"].unique().to_list() == ["upload"]
    assert infos["direction"].unique().to_list() == ["up"]
    # The series begins with the SYN, and this when the connection is open.
    series = result.connection_series.filter(pl.col("time_ns") >= infos["time_ns"][0])
    assert infos["time_ns"].to_list() == series["time_ns"].to_list()
    windows = (series["cwnd_bytes"] // infos["snd_mss"]).to_list()
    assert infos["snd_cwnd"].to_list() == windows
    for own, row in zip(infos["rtt"], series["srtt_ns"], strict=True):
        assert math.isclose(own * 1e3, row)
    for name in ("busy_time", "rwnd_limited", "sndbuf_limited", "total_retrans", "bytes_acked"):
        assert infos[name].is_sorted()
    assert (infos["unacked"] >= infos["sacked"] + infos["lost"]).all()
    assert (infos["lost"] >= infos["retrans"]).all() or "time_threshold" not in trace.triggers
    assert set(infos["ca_state"]) <= {"open", "disorder", "recovery", "loss"}


def test_events_fit_the_published_schema(
    observed: tuple[headend.Result, Trace, pl.DataFrame, str],
) -> None:
    _, trace, _, name = observed
    check_header(trace.header)
    times = [event["time"] for event in trace.events]
    assert times == sorted(times)
    assert 0 <= times[0] < times[-1] <= 8000
    for event in trace.events:
        assert event.keys() == {"time", "name", "data"}
        CHECKS[event["name"]](event["data"])
    assert {event["name"] for event in trace.events} == set(CHECKS)
    states = [
        (data.get("old"), data["new"])
        for data in pick(trace.events, "recovery:congestion_state_updated")
    ]
    assert states[0][0] is None
    assert [old for old, _ in states[1:]] == [new for _, new in states[:-1]]
    own = {"bbr": "probe_bw", "bbr3": "probe_bw_up"}.get(name, "congestion_avoidance")
    assert own in {new for _, new in states}


# draft-ietf-quic-qlog-main-schema-05 and draft-ietf-quic-qlog-quic-events-04, by their CDDL: types
# by field, an optional one with "?". Where the drafts allow more fields, "*" stands.
Uint, Number = "uint64", "float"


def fits(value: Any, kind: Any) -> bool:
    if kind == Uint:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64
    if kind == Number:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(kind, type):
        return isinstance(value, kind)
    if isinstance(kind, frozenset):
        return value in kind
    if isinstance(kind, list):
        return isinstance(value, list) and all(fits(one, kind[0]) for one in value)
    return bool(kind(value))


def of_fields(fields: Mapping[str, Any]) -> Any:
    def check(data: Any) -> bool:
        assert isinstance(data, dict)
        for key, kind in fields.items():
            name = key.rstrip("?")
            if name in data:
                assert fits(data[name], kind), (name, data)
            else:
                assert key.endswith("?") or key == "*", (name, data)
        unknown = data.keys() - {key.rstrip("?") for key in fields}
        assert "*" in fields or not unknown, unknown
        return True

    return check


def is_range(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) in (1, 2)
        and fits(value, [Uint])
        and value == sorted(set(value))
    )


PACKET_HEADER = of_fields({"packet_type": frozenset({"1RTT"}), "packet_number": Uint})
RAW = of_fields({"length": Uint, "payload_length": Uint})
STREAM = of_fields(
    {
        "frame_type": frozenset({"stream"}),
        "stream_id": Uint,
        "offset": Uint,
        "length": Uint,
        "fin?": frozenset({True}),
    }
)
ACK = of_fields({"frame_type": frozenset({"ack"}), "acked_ranges?": [is_range]})


def is_frame(value: Any) -> bool:
    return bool({"stream": STREAM, "ack": ACK}[value["frame_type"]](value))


CHECKS = {
    "transport:packet_sent": of_fields(
        {"header": PACKET_HEADER, "frames": [is_frame], "raw": RAW, "tcp": dict, "*": None}
    ),
    "transport:packet_received": of_fields(
        {"header": PACKET_HEADER, "frames": [is_frame], "raw": RAW, "tcp": dict, "*": None}
    ),
    "recovery:packet_lost": of_fields(
        {
            "header": PACKET_HEADER,
            "frames": [is_frame],
            "trigger": frozenset({"reordering_threshold", "time_threshold", "pto_expired"}),
        }
    ),
    "recovery:metrics_updated": of_fields(
        {
            "min_rtt?": Number,
            "smoothed_rtt?": Number,
            "latest_rtt?": Number,
            "rtt_variance?": Number,
            "congestion_window?": Uint,
            "bytes_in_flight?": Uint,
            "ssthresh?": Uint,
            "pacing_rate?": Uint,
        }
    ),
    "recovery:congestion_state_updated": of_fields({"old?": str, "new": str}),
}


def check_header(header: Event) -> None:
    # "in the first 256 characters"
    assert list(header)[:2] == ["qlog_version", "qlog_format"]
    of_fields(
        {
            "qlog_version": frozenset({"0.3"}),
            "qlog_format": frozenset({"JSON-SEQ"}),
            "title?": str,
            "description?": str,
            "trace": of_fields(
                {
                    "title?": str,
                    "common_fields?": of_fields(
                        {
                            "time_format?": frozenset({"relative"}),
                            "reference_time?": Number,
                            "protocol_type?": [str],
                            "*": None,
                        }
                    ),
                    "vantage_point?": of_fields(
                        {"name?": str, "type": frozenset({"client", "server"})}
                    ),
                }
            ),
        }
    )(header)
    assert header["trace"]["common_fields"]["protocol_type"] == ["TCP"]


def test_each_end_that_sends_has_a_trace_of_its_own(tmp_path: Path) -> None:
    scenario = {**LOSSY, "duration": "3 s"}
    web = {"application": "web", "rtt": "20 ms"}
    scenario["flow"] = {
        "web": {**web, "count": 2},
        "film": {"application": "bulk", "direction": "down"},
    }
    result = headend.run(scenario)
    paths = headend.export_qlog(result, tmp_path, flows=["web"])
    names = [path.name for path in paths]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert {name.split(".")[1] for name in names} == {"1", "2"}
    assert "web.1.0.client.sqlog" in names
    server = Trace(tmp_path / "web.1.0.server.sqlog")
    client = Trace(tmp_path / "web.1.0.client.sqlog")
    assert server.header["trace"]["vantage_point"] == {"name": "network", "type": "server"}
    assert client.header["trace"]["vantage_point"]["type"] == "client"
    assert client.header["trace"]["common_fields"]["flow"] == "web.1"
    # What the server sends, the client receives: the stream that qvis draws.
    arrived = {
        (frame["offset"], frame["length"])
        for packet in client.received
        for frame in packet["frames"]
        if frame["frame_type"] == "stream"
    }
    gone = {(packet["tcp"]["seq"], packet["tcp"]["len"]) for packet in server.sent}
    assert arrived
    assert arrived <= gone
    (film,) = headend.export_qlog(result, tmp_path / "film", flows=["film"])
    # Of a bulk transfer, who sends opens the connection.
    assert film.name == "film.0.client.sqlog"
    place = {"name": "network", "type": "client"}
    assert Trace(film).header["trace"]["vantage_point"] == place


def test_time_at_the_receivers_window_is_that_of_the_tables(tmp_path: Path) -> None:
    """Of a connection that is open for all of the run but its handshake."""
    result = headend.run(
        LOSSY, set={"flow.upload.tcp.receive_window": "8 kB", "flow.upload.path.loss": "0"}
    )
    (table,) = headend.export_tcp_info(result, tmp_path)
    last = pl.read_csv(table).row(-1, named=True)
    row = row_of(result)
    open_us = 8e6 - last["min_rtt"]
    assert row["rwnd_limited_ratio"] > 0.9
    assert math.isclose(last["rwnd_limited"] / open_us, row["rwnd_limited_ratio"], rel_tol=1e-3)
    assert last["sndbuf_limited"] == 0
    assert last["busy_time"] <= open_us


def test_what_cannot_be_observed_is_refused_in_one_line(tmp_path: Path) -> None:
    result = headend.run(LOSSY, set={"duration": "1 s"})

    def fails(flows: list[str] | None, found: headend.Result = result) -> str:
        with pytest.raises(InputError) as caught:
            headend.export_qlog(found, tmp_path, flows=flows)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no flow is called" in fails(["uplaod"])
    assert 'did you mean "upload"?' in fails(["uplaod"])
    assert fails(["call"]) == (
        "--flow call: expected a flow that uses TCP (upload), found one that uses UDP"
    )
    assert "flows: expected a list of names" in fails([])
    calls = copy.deepcopy(LOSSY)
    del calls["flow"]["upload"]
    assert "none of its flows uses TCP" in fails(None, headend.run(calls, set={"duration": "1 s"}))
    result.tables["flows"] = result.flows.with_columns(pl.col("packets_sent") + 1)
    assert "simulated again, its table flows is another one" in fails(None)
    assert not list(tmp_path.iterdir())
    result.manifest["partial"] = True
    assert "was stopped before its end" in fails(None)


def test_a_comparison_names_its_runs(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    choices = {"queue": ["drop_tail", "codel"]}
    scenario = {**LOSSY, "duration": "1 s", "bottleneck": "line.up"}
    headend.compare(scenario, choices, out=folder, report=False)
    with pytest.raises(InputError, match="its runs are folders in it, such as"):
        headend.export_qlog(folder, tmp_path / "qlog")
    (run,) = headend.export_qlog(next(folder.glob("codel*")), tmp_path / "qlog")
    assert run.name == "upload.0.client.sqlog"


def test_ends_beyond_the_first_hundred_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scenario = {**LOSSY, "duration": "1 s"}
    scenario["flow"] = {"many": {"application": "bulk", "direction": "up", "count": 102}}
    result = headend.run(scenario)
    assert len(headend.export_qlog(result, tmp_path)) == 100
    assert "2 more have none; choose flows with --flow" in caplog.text


def test_more_events_than_any_program_draws_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(senders, "LARGEST_QLOG_BYTES", 10_000)
    result = headend.run(LOSSY, set={"duration": "1 s"})
    with pytest.raises(InputError, match="its events take more than"):
        headend.export_qlog(result, tmp_path / "qlog")
    assert not list((tmp_path / "qlog").iterdir())


def test_the_command_writes_beside_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    headend.run(LOSSY, set={"duration": "1 s"}, out="run", report=False)

    def call(*words: str, code: int = 0) -> str:
        found = CliRunner().invoke(app, ["export", "run", *words])
        assert found.exit_code == code, found.output
        return found.output

    assert call("--format", "qlog") == "1 trace in run/qlog; qvis draws them\n"
    assert Path("run/qlog/upload.0.client.sqlog").is_file()
    assert "exists; choose another folder" in call("--format", "qlog", code=2)
    call("--format", "qlog", "--force", "--flow", "upload")
    assert call("--format", "tcp_info") == "1 table in run/tables\n"
    assert json.loads(call("--format", "tcp_info", "--out", "own", "--json")) == {
        "tables": ["own/tcp_info.csv"]
    }
    assert call("--format", "jsonl", "--table", "flows", "--out", "own") == "1 table in own\n"
    assert Path("own/flows.jsonl").is_file()
    assert "leave out --format" in call("--csv", "own", "--format", "jsonl", code=2)
    assert "leave out --out" in call("--jsonl", "own", "--out", "own", code=2)
    assert "no effect on tables" in call("--flow", "upload", code=2)
    assert "--table: has no effect" in call("--format", "qlog", "--table", "flows", code=2)
    # They belong to the results: --force may replace them.
    assert find_foreign(Path("run")) == []


def test_find_leads_there() -> None:
    for word in ("qlog", "qvis", "tcp_info", "ss -ti"):
        term, command = headend.find(word)[:2]
        assert "headend export --format" in term.what, word
        assert (command.name, command.kind) == ("export", "command"), word
