"""Expectations as JUnit XML: what continuous integration shows as tests."""

from __future__ import annotations

import re
import threading
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

import headend
from headend.analysis.junit import check_junit, write_junit, write_suites
from headend.errors import InputError
from headend.running.experiment import plan_run

LINE: dict[str, Any] = {
    "title": "A line",
    "duration": "2 s",
    "seed": 7,
    "link": {"line": {"point_to_point": {"up": {"rate": "2 Mbit/s"}}}},
    "flow": {
        "up": {"application": "bulk", "direction": "up"},
        "ping": {"application": "ping", "rtt": "20 ms"},
    },
    "expect": {"enough": "up.goodput >= 1 Mbit/s", "quick": "ping.rtt.max < 1 ms"},
}


def read(content: bytes) -> Element:
    assert content.startswith(b"<?xml")
    return ElementTree.fromstring(content)


def read_properties(suite: Element) -> dict[str, str]:
    return {item.attrib["name"]: item.attrib["value"] for item in suite.iter("property")}


def test_a_missed_expectation_is_a_failed_test_case(tmp_path: Path) -> None:
    result = headend.run(LINE)
    path = write_junit(tmp_path / "build" / "j.xml", [result])
    root = read(path.read_bytes())
    assert root.tag == "testsuites"
    assert (root.attrib["tests"], root.attrib["failures"], root.attrib["errors"]) == ("2", "1", "0")
    (suite,) = root
    assert suite.attrib["name"] == "scenario"
    assert float(suite.attrib["time"]) == pytest.approx(result.wall_seconds, abs=1e-3)
    met, missed = suite.findall("testcase")
    assert (met.attrib["name"], missed.attrib["name"]) == ("enough", "quick")
    assert met.find("failure") is None
    failure = missed.find("failure")
    assert failure is not None
    measured = result.expectations[1].measured_text
    assert failure.attrib["message"] == f"expected ping.rtt.max < 1 ms, measured {measured}"
    assert failure.text == failure.attrib["message"]
    properties = read_properties(suite)
    assert properties["seed"] == "7"
    assert properties["title"] == "A line"
    assert properties["version"] == headend.__version__
    assert "interrupted" not in properties


def test_what_was_not_measured_is_said_to_be_missed() -> None:
    expect = {"pages": "ping.rtt.p50 < 1 s"}
    ping = {"ping": {"application": {"ping": {"interval": "10 s", "random_phase": False}}}}
    # The warm-up is longer than all pings but the one at its end take.
    scenario = {**LINE, "expect": expect, "flow": ping, "warmup": "1 s"}
    root = read(write_suites([headend.run(scenario)]))
    (failure,) = root.iter("failure")
    assert failure.attrib["message"] == "expected ping.rtt.p50 < 1 s, nothing measured"


def test_a_scenario_without_expectations_is_a_suite_without_cases() -> None:
    root = read(write_suites([headend.run({**LINE, "expect": {}})]))
    (suite,) = root
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("0", "0")
    assert suite.findall("testcase") == []


def test_all_runs_of_a_comparison_have_suites_of_their_own() -> None:
    comparison = headend.compare(LINE, {"queue": ["drop_tail", "codel"]}, seeds=2)
    root = read(write_suites(comparison.results, ["pie, seed 1"]))
    names = [suite.attrib["name"] for suite in root]
    assert names == [
        "drop_tail, seed 7",
        "drop_tail, seed 8",
        "codel, seed 7",
        "codel, seed 8",
        "pie, seed 1",
    ]
    assert (root.attrib["tests"], root.attrib["failures"], root.attrib["errors"]) == ("9", "4", "1")
    assert read_properties(root[-1]) == {"interrupted": "not run"}
    (case,) = root[-1].iter("testcase")
    assert (case.attrib["name"], case[0].tag) == ("interrupted", "error")
    assert case[0].attrib["message"] == "the run was interrupted before its end, and not kept"
    classes = {case.attrib["classname"] for case in root.iter("testcase")}
    assert classes == set(names)


def test_a_run_that_was_stopped_says_so() -> None:
    stop = threading.Event()
    stop.set()
    result = plan_run({**LINE, "duration": "100000 s"}).carry_out(stop=stop)
    assert result.is_partial
    (suite,) = read(write_suites([result]))
    properties = read_properties(suite)
    assert properties["interrupted"].endswith("of 100,000 s")
    assert properties["interrupted"].startswith(f"at {properties['simulated']} ")
    counts = [suite.attrib[name] for name in ("tests", "failures", "errors")]
    assert counts == ["2", "0", "2"]
    for case, outcome in zip(suite.iter("testcase"), result.expectations, strict=True):
        (error,) = case
        assert (case.attrib["name"], error.tag) == (outcome.name, "error")
        told = error.attrib["message"]
        assert told.startswith(f"the run was interrupted {properties['interrupted']}; expected ")
        assert f"expected {outcome.expected}, so far " in told


def test_a_stopped_run_without_expectations_passes_nothing() -> None:
    stop = threading.Event()
    stop.set()
    result = plan_run({**LINE, "duration": "100000 s", "expect": {}}).carry_out(stop=stop)
    (suite,) = read(write_suites([result]))
    (case,) = suite.findall("testcase")
    assert (case.attrib["name"], case[0].tag) == ("interrupted", "error")
    assert (suite.attrib["tests"], suite.attrib["errors"]) == ("1", "1")


@pytest.mark.parametrize(
    "content",
    [
        'duration = "1 s"\n',
        '<?xml version="1.0"?>\n<svg/>\n',
        '<?xml version="1.0"?><testsuites name="pytest tests"/>',
        " ",
    ],
)
def test_only_a_file_of_ours_is_replaced(content: str, tmp_path: Path) -> None:
    path = tmp_path / "line.toml"
    path.write_text(content, encoding="utf-8")
    told = f"{path}: exists, and is no JUnit XML of headend; give --junit another name"
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        check_junit(path)
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        write_junit(path, [headend.run(LINE)])
    assert path.read_text("utf-8") == content


def test_what_an_earlier_run_left_is_removed_before_the_run(tmp_path: Path) -> None:
    path = tmp_path / "new" / "j.xml"
    assert check_junit(path) == path
    write_junit(path, [headend.run(LINE)])
    write_junit(path, [headend.run({**LINE, "expect": {}})])
    assert read(path.read_bytes()).attrib["tests"] == "0"
    check_junit(path)
    assert not path.exists()
    path.touch()
    check_junit(path)
    assert not path.exists()


def test_a_folder_or_a_device_is_no_file_to_write_to(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a file to write JUnit XML to, found a folder"):
        check_junit(tmp_path)
    with pytest.raises(InputError, match=r"expected a file .*, found a pipe or a device"):
        check_junit("/dev/null")


@pytest.mark.parametrize(
    "text",
    [
        "bell \x07 \x1b[31m",
        "]]> & <b> \"'",
        "half \ud800",
        "\ufffe \uffff",
        "two\nlines\r\t",
        "Ü 😀",
    ],
)
def test_it_is_valid_whatever_the_texts_hold(text: str, tmp_path: Path) -> None:
    result = headend.run(LINE)
    outcomes = [{**row, "name": text, "expected": text} for row in result.manifest["expectations"]]
    manifest = {**result.manifest, "title": text, "expectations": outcomes, "warnings": [text]}
    result = replace(result, manifest=manifest, label=text)
    root = read(write_junit(tmp_path / "j.xml", [result], unfinished=[text]).read_bytes())
    assert len(root) == 2
    # A name is one line, and nothing of it is lost.
    (title,) = (p.attrib["value"] for p in root.iter("property") if p.attrib["name"] == "title")
    assert title.isprintable()
    assert len(title) >= len(text)


def test_results_read_back_from_a_folder_have_no_time(tmp_path: Path) -> None:
    headend.run(LINE, out=tmp_path / "run", report=False)
    root = read(write_suites([headend.Result.load(tmp_path / "run")]))
    assert "time" not in root.attrib
    assert root.attrib["failures"] == "1"


def test_what_cannot_be_written_is_one_line_and_leaves_what_was_there(tmp_path: Path) -> None:
    result = headend.run(LINE)
    (tmp_path / "file").write_text("before", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written: "):
        write_junit(tmp_path / "file" / "j.xml", [result])
    assert (tmp_path / "file").read_text("utf-8") == "before"
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="expected a file to write JUnit XML to, found a folder"):
        write_junit(tmp_path / "folder", [result])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_the_recipe_for_continuous_integration_holds_what_it_promises() -> None:
    page = Path(__file__).parents[2] / "docs" / "howto" / "application-in-ci.md"
    (text,) = re.findall(r"```toml\n(format = 1.*?)```", page.read_text("utf-8"), re.DOTALL)
    result = headend.run(tomllib.loads(text))
    assert [outcome.met for outcome in result.expectations] == [True] * 4
    result = headend.run(
        tomllib.loads(text), set={"link.line.point_to_point.up.queue": "drop_tail"}
    )
    assert not all(outcome.met for outcome in result.expectations)


def test_a_strict_run_that_did_not_keep_time_is_an_error() -> None:
    result = headend.run(LINE)
    lateness: dict[str, Any] = {
        "frames": 9,
        "p50_ns": 1e6,
        "p99_ns": 8e7,
        "max_ns": 9e7,
        "stalls": 0,
    }
    lateness |= {"overruns": 0, "trustworthy": False, "why": "p99 is above the bound"}
    result.manifest["emulation"] = {"kind": "emulated", "hosts": [], "lateness": lateness}
    (suite,) = read(write_suites([result], is_strict=True))
    (error,) = suite.iter("error")
    assert error.attrib["type"] == "late"
    assert "not trustworthy" in error.attrib["message"]
    assert suite.attrib["errors"] == "1"
    (suite,) = read(write_suites([result]))
    assert suite.attrib["errors"] == "0"
