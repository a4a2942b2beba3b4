"""Runs as data files of flent: series by flent's names, raw values, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.errors import InputError
from headend.measurement.flent_file import write_flent
from headend.measurement.record import DelaySeries, Measurement, Probe, Trip

LINE = {"line": {"point_to_point": {"up": {"rate": "5 Mbit/s"}, "down": {"rate": "20 Mbit/s"}}}}
PING = {"application": {"ping": {"interval": "200 ms"}}}


def load(direction: str, count: int = 1) -> dict[str, Any]:
    span = {"start": "1 s", "stop": "4 s"}
    return {"application": "bulk", "direction": direction, "count": count, **span}


def run(**flows: Any) -> headend.Result:
    scenario = {"duration": "5 s", "warmup": "0 s", "link": LINE, "flow": flows}
    return headend.run({**scenario, "title": "A line"})


def export(result: headend.Result, folder: Path) -> dict[str, Any]:
    (path,) = headend.export_flent(result, folder, force=True)
    return json.loads(gzip.decompress(path.read_bytes()))  # type: ignore[no-any-return]


def test_the_test_of_flent_follows_from_the_directions_of_the_transfers(tmp_path: Path) -> None:
    names = {}
    cases: dict[str, dict[str, Any]] = {
        "up": {"up": load("up", 3), "ping": PING},
        "down": {"down": load("down"), "ping": PING},
        "both": {"up": load("up", 2), "down": load("down"), "ping": PING},
        "idle": {"ping": PING, "probe": {"application": "isochronous"}},
    }
    for key, flows in cases.items():
        file = export(run(**flows), tmp_path)
        metadata = file["metadata"]
        series = [name for name in sorted(file["results"]) if "tcp_rtt" not in name]
        names[key] = metadata["NAME"], metadata["TEST_PARAMETERS"], series
    assert names["up"][:2] == ("tcp_nup", {"upload_streams": "3"})
    assert names["up"][2] == [
        "Ping (ms) ICMP",
        "TCP upload avg",
        "TCP upload sum",
        *(f"TCP upload::{number}" for number in (1, 2, 3)),
    ]
    assert names["down"][:2] == ("tcp_ndown", {"download_streams": "1"})
    assert names["both"][:2] == (
        "rrul_be_nflows",
        {"upload_streams": "2", "download_streams": "1"},
    )
    assert "TCP upload BE::2" in names["both"][2]
    assert "TCP totals" in names["both"][2]
    assert names["idle"] == ("ping", {}, ["Ping (ms) ICMP", "Ping (ms) UDP"])


def test_a_file_holds_what_the_tables_hold(tmp_path: Path) -> None:
    result = run(up=load("up", 2), ping=PING)
    file = export(result, tmp_path)
    assert file["version"] == 4
    assert {len(values) for values in file["results"].values()} == {len(file["x_values"])}
    pings = file["raw_values"]["Ping (ms) ICMP"]
    samples = result.samples.filter(measure="rtt")
    assert [ping["val"] for ping in pings] == pytest.approx((samples["value"] / 1e6).to_list())
    assert [ping["seq"] for ping in pings] == list(range(len(pings)))
    # TCP's state stands among the rates.
    rates = [item for item in file["raw_values"]["TCP upload::1"] if "val" in item]
    assert len(rates) < len(file["raw_values"]["TCP upload::1"])
    bits = sum(item["val"] * 1e6 * item["dur"] for item in rates)
    goodput = result.flows.filter(flow="up.1", direction="up")["goodput_bytes"][0] * 8
    assert bits == pytest.approx(goodput, rel=1e-6)
    step = file["metadata"]["STEP_SIZE"]
    total = sum(value or 0.0 for value in file["results"]["TCP upload sum"]) * step * 1e6
    whole = result.flows.filter(direction="up", application="bulk")["goodput_bytes"].sum() * 8
    assert total == pytest.approx(whole, rel=1e-4)
    metadata = file["metadata"]
    assert metadata["TITLE"].startswith("A line")
    assert '"bulk"' in metadata["NOTE"]
    assert metadata["SERIES_META"]["TCP upload::1"]["FLOW"] == "up.1"
    assert metadata["SERIES_META"]["Ping (ms) ICMP"]["UNITS"] == "ms"


def test_equal_runs_give_equal_files(tmp_path: Path) -> None:
    first, second = (
        headend.export_flent(run(ping=PING), tmp_path / name)[0].read_bytes() for name in "ab"
    )
    assert first == second


def test_a_lost_ping_leaves_a_gap_in_the_numbers_and_in_the_line() -> None:
    times = [0.0, 0.2, 0.4, 0.8, 1.0]
    pings = DelaySeries(Trip.ROUND, Probe.ICMP, times, [10.0, 11.0, 12.0, 13.0, 14.0], [0.6], 1)
    file = json.loads(gzip.decompress(write_flent(Measurement(("tool",), delays=(pings,)))))
    assert [item["seq"] for item in file["raw_values"]["Ping (ms) ICMP"]] == [0, 1, 2, 4, 5]
    assert file["results"]["Ping (ms) ICMP"] == [10.0, 11.0, 12.0, None, 13.0, 14.0]
    meta = file["metadata"]["SERIES_META"]["Ping (ms) ICMP"]
    assert (meta["PACKETS_SENT"], meta["PACKETS_RECEIVED"]) == (6, 5)


def test_a_run_without_pings_and_transfers_is_refused(tmp_path: Path) -> None:
    result = run(call={"application": "voice"})
    with pytest.raises(InputError, match="flent has no series for what it holds; expected a flow"):
        headend.export_flent(result, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_command_writes_a_file_for_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = {"duration": "1 s", "warmup": "0 s", "link": LINE, "flow": {"ping": PING}}
    headend.run(scenario, out="run", report=False)
    headend.compare(scenario, {"queue": ["codel", "pie"]}, seeds=2, out="both", report=False)

    def call(*words: str, code: int = 0) -> str:
        found = CliRunner().invoke(app, ["export", *words])
        assert found.exit_code == code, found.output
        return found.output

    assert call("run", "--format", "flent").startswith("run/flent/scenario.flent.gz; flent draws")
    assert "exists; choose another folder" in call("run", "--format", "flent", code=2)
    call("run", "--format", "flent", "--force")
    written = json.loads(call("both", "--format", "flent", "--out", "own", "--json"))["files"]
    assert written[0] == "own/codel-seed-1.flent.gz"
    assert len(written) == len(set(written)) == 4
    for option in (["--flow", "ping"], ["--table", "flows"]):
        assert "has no effect with --format flent" in call(
            "run", "--format", "flent", *option, code=2
        )
    # What is written later does not keep the folder from being replaced.
    headend.run(scenario, out="run", report=False, force=True)
    assert not Path("run/flent").exists()
