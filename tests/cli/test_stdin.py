"""A scenario from standard input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import headend
from headend.errors import InputError
from headend.running.experiment import plan_comparison, plan_run
from headend.scenario.library import find_study

LINE = """\
duration = "1 s"
link.line.point_to_point.up.rate = "2 Mbit/s"
flow.up = { application = "bulk", direction = "up", rtt = "40 ms" }
flow.ping = { application = "ping", rtt = "20 ms" }
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class _Feed:
    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def __call__(self, content: str | bytes) -> None:
        raw = content if isinstance(content, bytes) else content.encode()
        stream = io.TextIOWrapper(io.BytesIO(raw), encoding="ascii")
        self._patch.setattr(sys, "stdin", stream)


@pytest.fixture
def feed(place: Path, monkeypatch: pytest.MonkeyPatch) -> _Feed:
    return _Feed(monkeypatch)


def refuse() -> str:
    with pytest.raises(InputError) as caught:
        headend.run("-")
    return str(caught.value)


def test_a_run_of_standard_input_equals_one_of_the_file(feed: _Feed, place: Path) -> None:
    (place / "line.toml").write_text(LINE, encoding="utf-8")
    feed(LINE)
    piped, read = headend.run("-"), headend.run("line.toml")
    assert piped.flows.equals(read.flows)
    assert piped.manifest["name"] == piped.label == "stdin"


def test_a_comparison_reads_it_once(feed: _Feed) -> None:
    feed(LINE)
    plans = plan_comparison("-", {"queue": ["drop_tail", "codel"]}, seeds=2)
    assert [plan.label for plan in plans] == ["drop_tail", "drop_tail", "codel", "codel"]
    assert {plan.loaded.name for plan in plans} == {"stdin"}


def test_it_is_utf8_whatever_the_terminals_letters_are(feed: _Feed) -> None:
    feed(f'title = "Zürich"\n{LINE}')
    assert headend.run("-").title == "Zürich"


def test_it_may_be_json(feed: _Feed) -> None:
    line = {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}
    ping = {"application": "ping"}
    feed(json.dumps({"duration": "1 s", "link": {"line": line}, "flow": {"ping": ping}}))
    assert headend.run("-").flows["flow"].unique().to_list() == ["ping"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            f"{LINE}flows = 1\n",
            'standard input: flows: unknown key; did you mean "flow"? (line 5, column 1)',
        ),
        (
            f'{LINE}expect.it = "ping.rtd.p95 < 1 s"\n',
            'standard input: expect.it: "ping.rtd.p95": ping has no metric "rtd"; did you mean'
            ' "rtt"? (line 5, column 13)',
        ),
        ("", "standard input: empty; a scenario needs at least a link and a flow"),
        (" \n\t", "standard input: empty; a scenario needs at least a link and a flow"),
        (
            b"title = '\xff'",
            "standard input: not a text file (byte 9 is not UTF-8); a scenario is TOML",
        ),
        (
            'scenario = "line.toml"\ngrid.queue = ["pie", "codel"]\n',
            "standard input: this is a sweep or a study, not a scenario; write it to a file:"
            " headend sweep FILE runs a sweep, headend study run FOLDER a study",
        ),
    ],
)
def test_what_is_wrong_is_told_of_standard_input(
    feed: _Feed, content: str | bytes, message: str
) -> None:
    feed(content)
    assert refuse() == message


def test_too_much_is_refused_before_all_of_it_is_read(
    feed: _Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.scenario.source.LARGEST_SCENARIO_BYTES", 2**20)
    feed(b"#" * (2**20 + 5))
    assert refuse() == "standard input: too large for a scenario (more than 1 MiB)"
    assert len(sys.stdin.buffer.read()) == 4


def test_standard_input_that_is_closed_is_told(
    feed: _Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(LINE)
    sys.stdin.close()
    assert refuse().startswith("standard input: cannot be read: ")
    monkeypatch.setattr(sys, "stdin", None)
    assert refuse().startswith("standard input: empty; ")


def test_its_files_are_of_the_folder_where_the_program_runs(feed: _Feed, place: Path) -> None:
    trace = LINE.replace('"2 Mbit/s"', '{ trace = "TRACE" }')
    (place / "here").mkdir()
    (place / "here" / "line.trace").write_text("1\n2\n3\n", encoding="utf-8")
    feed(trace.replace("TRACE", "here/line.trace"))
    assert headend.run("-").flows.height > 0
    feed(trace.replace("TRACE", "../line.trace"))
    assert "it is not in this folder or below" in refuse()


def test_a_file_of_that_name_is_read_by_its_path(feed: _Feed, place: Path) -> None:
    (place / "-").write_text(LINE, encoding="utf-8")
    feed("")
    assert plan_run("./-").loaded.name == "-"
    assert plan_run(Path("-")).loaded.name == "-"


def test_sweeps_and_studies_are_not_read_from_it(feed: _Feed) -> None:
    feed(LINE)
    with pytest.raises(InputError, match=r"^-: a sweep is not read from standard input; expected "):
        headend.sweep("-")
    with pytest.raises(InputError, match=r"^scenario: -: a sweep's scenario is not read from "):
        headend.sweep({"scenario": "-", "grid": {"queue": ["pie"]}})
    with pytest.raises(InputError, match=r"^-: a study is not read from standard input; expected "):
        find_study("-")
    assert len(sys.stdin.buffer.read()) == len(LINE)
