"""The real engine behind the Python side: tables, determinism, pairing, interruption."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import signal
import threading
from array import array
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from click.testing import CliRunner

import headend
from conftest import HOME_LINE
from headend import _engine
from headend._engine import Run
from headend.analysis.expect import parse_quantity_name
from headend.cli.main import app
from headend.engine.build import check_engine
from headend.engine.columns import OPTIONAL_TABLES, TABLES, Frames
from headend.engine.metrics import FLOW_METRICS, QUEUE_METRICS, list_measure_names
from headend.engine.vocabulary import list_choices
from headend.errors import InputError
from headend.running.experiment import compare
from headend.running.result import Result
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import parse_override, read_scenario
from headend.scenario.subjects import Vocabulary
from simulated import list_simulated

BRIEF = {"duration": "8 s", "warmup": "2 s"}


#: The tins of ``diffserv3``, CAKE's default.
TINS = ("bulk", "best_effort", "voice")


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "home-line.toml"
    path.write_text(HOME_LINE, encoding="utf-8")
    return path


def test_the_tables_are_those_of_the_reference(line: Path) -> None:
    columns = Run(read_scenario(line).load().scenario).finish()
    types_of = {**TABLES, "mib": OPTIONAL_TABLES["mib"]}
    assert set(columns) == set(types_of)
    result = headend.run(line, set=BRIEF)
    for name, types in types_of.items():
        assert result.tables[name].schema.to_python() == types, name


def test_a_router_has_the_table_of_its_tins(line: Path) -> None:
    result = headend.run(line, set={**BRIEF, "router": "cake"})
    assert result.tins.schema.to_python() == OPTIONAL_TABLES["tins"]
    tins = [(queue, tin) for queue in ("router.up", "router.down") for tin in TINS]
    assert result.tins.select("queue", "tin").rows() == tins
    by_queue = result.tins.group_by("queue").agg(pl.col("packets", "acks_dropped").sum())
    enqueued = dict(result.queues.select("queue", "packets_enqueued").iter_rows())
    for queue, packets, acks in by_queue.iter_rows():
        assert (acks, packets) == (0, enqueued[queue])
    assert headend.run(line, set=BRIEF).tins.is_empty()


def test_every_metric_of_the_language_can_be_read(line: Path) -> None:
    text = read_scenario(line)
    result = headend.run(line, set=BRIEF)
    vocabulary = Vocabulary.from_scenario(text.load().scenario)
    assert set(result.queues["queue"]) <= set(vocabulary.queues)
    for subject, metrics in (("upload", FLOW_METRICS), ("cable.up", QUEUE_METRICS)):
        for name, metric in metrics.items():
            # Of a flow with a count: tests/analysis/test_expect.py; of a cell:
            # tests/engine/test_cell_channel.py.
            if metric.of_members or name in ("air", "station_air"):
                continue
            for statistic in metric.statistics or ("",):
                quantity = parse_quantity_name(
                    f"{subject}.{name}.{statistic}".rstrip("."), vocabulary
                )
                assert quantity.read(result.tables), quantity.text
    assert set(result.measures["measure"]) <= list_measure_names()


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(
    line: Path, tmp_path: Path
) -> None:
    alone = headend.run(line, set={**BRIEF, "queue": "codel"})
    beside = compare(line, {"queue": ["codel", "drop_tail", "docsis_pie"]}, set=BRIEF).results[0]
    for name in TABLES:
        assert alone.tables[name].equals(beside.tables[name]), name
    other = headend.run(line, set={**BRIEF, "queue": "codel"}, seed=2)
    assert not alone.samples.equals(other.samples)


def test_another_queue_leaves_the_traffic_of_a_call_as_it_was(line: Path) -> None:
    runs = compare(line, {"queue": ["codel", "drop_tail"]}, set=BRIEF).results
    calls = [
        run.flows.filter(pl.col("flow") == "call").select("direction", "packets_sent", "bytes_sent")
        for run in runs
    ]
    assert calls[0].equals(calls[1])


def test_members_of_a_flow_are_named_as_the_language_expects(line: Path) -> None:
    content = {**BRIEF, "flow.upload.count": 2}
    flows = headend.run(line, set=content).flows["flow"].unique().to_list()
    assert {"upload.1", "upload.2"} <= set(flows)


def test_an_error_names_file_key_and_what_is_meant(line: Path) -> None:
    with pytest.raises(InputError) as caught:
        headend.run(line, set={"queue": "codl"})
    assert 'did you mean "codel"?' in str(caught.value)
    line.write_text(HOME_LINE.replace("upstream.rate", "upstream.rte"))
    with pytest.raises(InputError) as caught:
        headend.run(line)
    assert str(caught.value).startswith(f"{line}: link.cable.docsis.upstream.rte: ")
    assert "(line 11, column " in str(caught.value)


def test_an_expectation_that_is_not_understood_is_located(line: Path) -> None:
    line.write_text(HOME_LINE + '\n[expect]\ncall = "caal.mos.p5 >= 4.0"\n')
    with pytest.raises(InputError, match=r"expect\.call: no flow .*\(line 30, column 8\)$"):
        headend.run(line)
    with pytest.raises(InputError, match=r"\(from --set expect\.call=call\.mso\.p5 > 1\)$"):
        headend.run(line, set=[("expect.call", "call.mso.p5 > 1")])


def test_a_trace_that_cannot_be_read_is_named_with_its_key(line: Path) -> None:
    link = '[link.radio.point_to_point]\nup.rate = { trace = "cell.up" }\n'
    line.write_text(f'{link}[flow.a]\napplication = "ping"\n')
    start = r"home-line\.toml: link\.radio\.point_to_point\.up\.rate\.trace: "
    with pytest.raises(
        InputError, match=start + r'the file "cell\.up" cannot be read \(line 2, col'
    ):
        headend.run(line)
    with pytest.raises(InputError, match=r"cell\.up: no such file or directory$"):
        headend.run(line)


def test_an_error_echoes_the_option_that_was_typed(line: Path) -> None:
    with pytest.raises(InputError, match=r'\(from --vary queue="codl"\)$'):
        compare(line, {"queue": ["codel", "codl"]})
    with pytest.raises(InputError, match=r"\(from --set queue=codl\)$"):
        headend.run(line, set=[("queue", "codl")])


def test_a_rate_above_the_channels_is_warned_of(line: Path) -> None:
    rate = "link.cable.docsis.upstream.rate"
    result = headend.run(line, set={**BRIEF, rate: "2 Gbit/s"}, out="out")
    assert len(result.warnings) == 1
    assert result.warnings[0].startswith(f"{rate} is 2 Gbit/s, and the channel carries ")
    assert Result.load("out").warnings == result.warnings
    assert "<strong>Warning.</strong>" in Path("out/report.html").read_text()
    assert headend.run(line, set=BRIEF).warnings == []
    command = ["run", "home-line.toml", "--set", f"{rate}=2 Gbit/s", "--set", "duration=6 s"]
    assert "Warning: link.cable" in CliRunner().invoke(app, command).stdout


def test_a_queue_nobody_named_is_told(line: Path) -> None:
    other = "[link.wire.point_to_point]\nup.rate = '1 Mbit/s'\n[flow.upload]\nvia = ['cable']"
    line.write_text(
        HOME_LINE.replace('bottleneck = "cable.up"\n', "").replace("[flow.upload]", other)
    )
    with pytest.raises(InputError, match="names no bottleneck: add"):
        headend.run(line, set={"queue": "codel"})


def test_what_can_be_written_has_names_and_descriptions() -> None:
    for kind in ("queue", "congestion", "application"):
        choices = list_choices(kind)
        assert len(choices) > 1, kind
        for choice in choices:
            assert choice.description, choice.name
            # The doc comment of its Config says both, in paragraphs of their own: CONTRIBUTING.md.
            assert choice.use.startswith("Use it "), choice.name
            assert choice.source.endswith("."), choice.name
            for parameter in choice.parameters:
                assert parameter.description, f"{choice.name}.{parameter.name}"
                assert parameter.form, f"{choice.name}.{parameter.name}"


@pytest.mark.parametrize("name", list_scenarios())
def test_a_shipped_scenario_teaches_something(name: str) -> None:
    loaded = read_scenario(name).load()
    assert loaded.scenario.title
    assert len(loaded.scenario.description) > 40


@pytest.mark.parametrize("name", list_simulated())
def test_a_shipped_scenario_keeps_its_promises(name: str) -> None:
    result = headend.run(name)
    assert [outcome for outcome in result.expectations if not outcome.met] == []


@pytest.mark.parametrize("name", list_simulated())
def test_the_runs_that_a_scenario_advises_keep_its_promises(name: str) -> None:
    for command in re.findall(
        r"`headend run ([^`]+)`", read_scenario(name).load().scenario.description
    ):
        scenario, *options = shlex.split(command)
        overrides = [
            parse_override(text) for flag, text in itertools.pairwise(options) if flag == "--set"
        ]
        result = headend.run(scenario, set=overrides)
        assert [outcome for outcome in result.expectations if not outcome.met] == [], command


def test_ctrl_c_stops_at_once_and_keeps_a_partial_run(
    line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = threading.Event()
    monkeypatch.setattr("headend.cli.terminal._ignore", lambda _now: began.set())

    def interrupt() -> None:
        began.wait()
        os.kill(os.getpid(), signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    command = ["run", "home-line.toml", "--out", "out", "--set", "duration=100000 s"]
    answer = CliRunner().invoke(app, command)
    interrupter.join()
    assert answer.exit_code == 130, answer.output
    assert "Partial: stopped at" in answer.stdout
    result = Result.load("out")
    assert result.is_partial
    assert 0 < result.manifest["simulated_ns"] < result.manifest["duration_ns"]
    assert sorted(path.name for path in Path().iterdir()) == ["home-line.toml", "out"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"queues": ["queue"]}, r"older than this Python package \(its table queues has no "),
        ({"queues": [*TABLES["queues"], "colour"]}, r"newer .*\(its table queues has colour\)"),
    ],
)
def test_an_engine_of_another_age_is_noticed_in_one_line(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, list[str]], said: str
) -> None:
    others = {table: list(types) for table, types in TABLES.items()}
    monkeypatch.setattr(_engine, "columns", lambda: {**others, **change})
    check_engine.cache_clear()
    with pytest.raises(InputError, match=f"{said}.*: run make build$"):
        headend.run("upload-and-call")
    monkeypatch.delattr(_engine, "columns")
    with pytest.raises(InputError, match="the compiled engine is older"):
        headend.run("upload-and-call")
    check_engine.cache_clear()


def test_numbers_are_handed_over_as_bytes_of_pythons_arrays(line: Path) -> None:
    run = Run(read_scenario(line).load().scenario)
    run.advance(60)
    columns = run.finish()["flows"].read()
    names, packets, losses = columns["flow"], columns["packets_sent"], columns["loss_ratio"]
    assert isinstance(names, list)
    assert "upload" in names
    assert isinstance(packets, tuple)
    assert isinstance(losses, tuple)
    assert (packets[0], losses[0]) == ("q", "d")
    sent, lost = array("q", packets[1]), array("d", losses[1])
    assert min(sent) > 0
    assert len(sent) == len(lost) == len(names)


def test_frames_hold_the_engines_numbers_bit_by_bit() -> None:
    numbers = array("d", [0.1, -0.0, float("nan"), float("inf"), 5e-324])
    counts = array("q", [0, -1, 2**63 - 1, -(2**63), 7])

    class Table:
        def read(self) -> dict[str, list[str] | tuple[str, bytes]]:
            texts = ["a", "", "\u00e4", "b", "c"]
            return {
                "flow": texts,
                "time_ns": ("q", counts.tobytes()),
                "value": ("d", numbers.tobytes()),
            }

    frame = Frames({"samples": cast("Any", Table())})["samples"]
    assert frame.schema == {"flow": pl.String(), "time_ns": pl.Int64(), "value": pl.Float64()}
    assert frame["time_ns"].to_list() == counts.tolist()
    assert array("d", frame["value"].to_list()).tobytes() == numbers.tobytes()
    assert frame["value"].null_count() == 0


def test_the_module_says_how_it_was_built() -> None:
    built = _engine.build()
    assert set(built) == {"commit", "profile", "target"}
    assert built["commit"] != ""
    assert re.fullmatch("[a-z][a-z0-9_-]*", built["profile"] or "")
    assert (built["target"] or "").count("-") >= 2


@pytest.mark.parametrize(
    ("value", "unknown", "meant"),
    [
        ("pfrr", "pfrr", None),
        ("{ coddel = {} }", "coddel", "codel"),
        ("{ codel = { targt = '5 ms' } }", "targt", "target"),
    ],
)
def test_an_error_holds_the_name_that_means_nothing(
    line: Path, value: str, unknown: str, meant: str | None
) -> None:
    path = "link.cable.docsis.upstream.queue"
    with pytest.raises(_engine.ScenarioError) as wrong:
        _engine.parse(line.read_text(), overrides=[(path, value)])
    assert (wrong.value.unknown, wrong.value.meant) == (unknown, meant)
    assert {"codel", "pie"} < set(wrong.value.known) or "target" in wrong.value.known


def test_an_error_of_another_kind_holds_no_name(line: Path) -> None:
    with pytest.raises(_engine.ScenarioError) as wrong:
        _engine.parse(line.read_text(), overrides=[("seed", "-1")])
    assert (wrong.value.unknown, wrong.value.known, wrong.value.meant) == (None, [], None)


def test_the_engine_gives_the_tables_that_are_read() -> None:
    check_engine.cache_clear()
    check_engine()
