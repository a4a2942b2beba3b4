"""Tests of the table `mib`: its objects are documented, its counters agree, and pages show
it."""

from __future__ import annotations

import functools
import html
import re
import tempfile
from pathlib import Path

import polars as pl
import pytest

import headend
from headend.analysis.mib import find_histograms, gather_modem
from headend.comparison.pooling import pool_runs
from headend.engine.columns import OPTIONAL_TABLES
from headend.figures.catalogue import draw_figures
from headend.loading.tables import export_tables

PAGE = Path(__file__).parents[2] / "docs/reference/results.md"

#: Every kind of service flow, and one that is deleted.
LINE = """
duration = "4 s"
warmup = "1 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "4 Mbit/s", latency_histogram = ["1 ms", "4 ms", "16 ms"] }
downstream = { rate = "50 Mbit/s", queue = "codel" }
[link.cable.docsis.service_flow]
ugs = { direction = "up", scheduling = "ugs", match.destination_port = 1 }
pgs = { direction = "up", scheduling = "pgs", match.destination_port = 2 }
rtps = { direction = "up", scheduling = "rtps", match.destination_port = 3 }
[link.cable.docsis.change]
first = { at = "1 s", service_flow = "call",\
 create = { direction = "up", match.destination_port = 4 } }
last = { at = "3 s", service_flow = "call", delete = true }
[flow.upload]
application = "bulk"
direction = "up"
rtt = "20 ms"
[flow.download]
application = "bulk"
direction = "down"
rtt = "20 ms"
"""

#: An aggregate with low latency.
LOW_LATENCY = """
duration = "2 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "20 Mbit/s", low_latency = {} }
downstream = { rate = "50 Mbit/s" }
[flow.upload]
application = "bulk"
direction = "up"
"""

PLAIN = """
duration = "2 s"
[link.line.point_to_point]
up.rate = "4 Mbit/s"
down.rate = "9 Mbit/s"
[flow.upload]
application = "bulk"
direction = "up"
rtt = "20 ms"
"""


@functools.cache
def run(text: str, seed: int = 1) -> headend.Result:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "line.toml"
        path.write_text(text, encoding="utf-8")
        return headend.run(path, seed=seed)


def read(result: headend.Result, service_flow: str) -> dict[str, int]:
    rows = result.mib.filter(service_flow=service_flow)
    return dict(zip(rows["object"].to_list(), rows["value"].to_list(), strict=True))


def test_every_object_and_table_is_documented_and_every_documented_object_is_given() -> None:
    section = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (page,) = (text for text in section if text.startswith("`mib`"))
    cells = [row.split("|")[1:3] for row in page.splitlines() if row.startswith(("| `docs", "| |"))]
    documented = {
        name
        for tables, objects in cells
        for name in [*re.findall(r"`(docsQos\w+)`", tables), *re.findall(r"`(\w+)`", objects)]
    }
    table = pl.concat([run(LINE).mib, run(LOW_LATENCY).mib])
    given = {name.removeprefix("docsQos") for name in table["object"].unique()}
    # Bins of a histogram are documented by the first.
    given = {re.sub(r"Bin\d+", "Bin1", name) for name in given}
    assert given | set(table["mib_table"].unique()) == documented


@pytest.mark.parametrize("direction", ["up", "down"])
def test_the_counters_are_those_of_the_queues(direction: str) -> None:
    result = run(LINE)
    found = read(result, direction)
    queue = result.queues.row(by_predicate=pl.col("queue") == f"cable.{direction}", named=True)
    dropped = {
        "docsQosServiceFlowPolicedDropPkts": ["overlimit"],
        "docsQosServiceFlowAqmDroppedPkts": ["congested", "forced", "flow_limit", "unresponsive"],
    }
    for name, reasons in dropped.items():
        assert found[name] == sum(queue[f"discarded_{reason}"] for reason in reasons), name
    assert found["docsQosServiceFlowAqmDroppedPkts"] > 0
    packets = found["docsQosServiceFlowPkts"]
    assert packets == queue["packets_dequeued"]
    # Acknowledgements of 52 B and data: none is shorter than Ethernet's 46 B.
    assert found["docsQosServiceFlowOctets"] == queue["bytes_dequeued"] + 18 * packets


def test_the_bins_hold_every_packet_of_the_measured_part() -> None:
    result = run(LINE)
    found = read(result, "up")
    bins = [value for name, value in found.items() if re.search(r"Bin\d+Pkts$", name)]
    assert len(bins) == 4
    assert sum(bins) == found["docsQosServiceFlowPkts"]
    assert sum(bins) == found["docsQosSfLatencyNumHistUpdates"]
    delays = result.histograms.filter(kind="queue", name="cable.up")
    longest = result.queues.filter(queue="cable.up")["delay_max_ns"].item()
    assert found["docsQosSfLatencyMaxLatency"] == pytest.approx(longest / 1e3, rel=2e-3)
    within = delays.filter(pl.col("upper_ns") <= 16_000_000)["count"].sum()
    assert sum(bins[:3]) == pytest.approx(within, rel=0.02)


def test_a_run_without_a_cable_line_has_an_empty_table_and_no_file(tmp_path: Path) -> None:
    result = run(PLAIN)
    assert "mib" not in result.tables
    assert result.mib.is_empty()
    assert result.mib.schema.to_python() == OPTIONAL_TABLES["mib"]
    folder = result.save(tmp_path / "plain")
    assert not (folder / "mib.parquet").exists()
    assert headend.Result.load(folder).mib.is_empty()


def test_the_table_is_saved_loaded_and_exported(tmp_path: Path) -> None:
    result = run(LINE)
    folder = result.save(tmp_path / "cable")
    assert headend.Result.load(folder).mib.equals(result.mib)
    (path,) = export_tables(folder, tmp_path / "csv", tables=["mib"])
    text = path.read_text(encoding="utf-8").splitlines()
    assert text[0] == ",".join(OPTIONAL_TABLES["mib"])
    row = "cable,,up,up,docsQosParamSetTable,docsQosParamSetMaxTrafficRate,4000000"
    assert text.count(row) == 1 or text.count(row.replace(",,", ',"",')) == 1


def test_over_several_seeds_settings_stay_and_counters_are_means() -> None:
    runs = [run(LINE, seed) for seed in (1, 2)]
    pooled = dict(pool_runs(runs).tables["mib"].select("object", "value").iter_rows())
    assert pooled["docsQosSfLatencyBin3UpperEdge"] == 16_000
    own = [read(one, "up")["docsQosSfLatencyNumHistUpdates"] for one in runs]
    assert min(own) <= pooled["docsQosSfLatencyNumHistUpdates"] <= max(own)


def test_a_modem_is_shown_with_a_column_for_each_service_flow() -> None:
    modem = gather_modem(run(LINE), "cable.up")
    assert modem is not None
    assert modem.label == "cable"
    assert modem.service_flows == ("up", "pgs", "rtps", "ugs", "call", "down")
    rows = {row.name.removeprefix("docsQos"): row for row in modem.rows}
    up, down = 0, 5
    rate = rows["ParamSetMaxTrafficRate"]
    assert (rate.unit, rate.values[up], rate.values[down]) == ("bit/s", "4,000,000", "50,000,000")
    algorithm = rows["ParamSetAqmAlgInUse"]
    assert (algorithm.values[up], algorithm.values[down]) == ("docsisPIE(3)", "other(2)")
    enabled = rows["CmSystemCfgStateAqmUsEnable"]
    assert (enabled.values[up], enabled.values[down]) == ("true(1)", "")
    assert rows["SfLatencyBin2UpperEdge"].values[up] == "4,000"
    assert rows["ServiceFlowLogPkts"].values == ("", "", "", "", "0", "")
    tables = [row.table for row in modem.rows]
    assert tables == sorted(tables, key=tables.index)
    assert gather_modem(run(PLAIN), "line.up") is None


def test_the_report_shows_what_the_mib_counts_of_a_cable_line_alone(tmp_path: Path) -> None:
    pages = {}
    for name, text in (("cable", LINE), ("plain", PLAIN)):
        result = run(text)
        page = result.report(tmp_path / f"{name}.html").read_text(encoding="utf-8")
        pages[name] = html.unescape(page)
    heading = "As the modem's MIB counts it"
    assert heading in pages["cable"]
    assert heading not in pages["plain"]
    assert "<code>docsQosServiceFlowAqmDroppedPkts</code>" in pages["cable"]


def test_a_latency_histogram_is_drawn_in_its_own_bins() -> None:
    result = run(LINE)
    (histogram,) = find_histograms(result)
    assert (histogram.queue, histogram.direction) == ("cable.up", "up")
    assert histogram.edges_us == (1000, 4000, 16_000)
    assert sum(histogram.packets) == read(result, "up")["docsQosServiceFlowPkts"]
    (figure,) = draw_figures([result], only=["latency-histogram"])
    (panel,) = figure.panels
    chart = panel.specify()
    (rows,) = chart["datasets"].values()
    assert [row["bin"] for row in rows] == ["0–1", "1–4", "4–16", ">16"]
    assert [row["count"] for row in rows] == list(histogram.packets)
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert chart["encoding"]["x"]["scale"]["domain"] == ["0–1", "1–4", "4–16", ">16"]
    assert draw_figures([run(PLAIN)], only=["latency-histogram"]) == []


def test_of_several_bins_those_without_an_upper_edge_come_last() -> None:
    text = LINE.replace('queue = "codel"', 'queue = "codel", latency_histogram = ["2 ms"]')
    (figure,) = draw_figures([run(text)], only=["latency-histogram"])
    domain = figure.panels[0].specify()["encoding"]["x"]["scale"]["domain"]
    assert domain == ["0–1", "0–2", "1–4", "4–16", ">2", ">16"]
