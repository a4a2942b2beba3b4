"""The answer of one run: short sentences, a full matrix, the figure that shows why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import headend
from headend.analysis.flow_groups import FlowGroup
from headend.analysis.grading import Grade
from headend.analysis.key_figure import KeyFigure
from headend.analysis.quality import FlowQuality
from headend.analysis.street import gather_homes
from headend.cli.first_lines import print_answer
from headend.cli.run import describe_result, print_result
from headend.figures.catalogue import list_drawings
from headend.figures.street import draw_street
from headend.running.result import Result
from headend.text.wording import keep_units
from headend.wording.answer import MOST_SENTENCES, Answer
from headend.wording.flow_tables import tabulate_flows, write_grades
from headend.wording.run import LONGEST_SENTENCE, _write_fate, answer_run
from headend.wording.verdict import judge
from simulated import list_simulated
from street import make_street

#: What a terminal shows without --full.
MOST_LINES = 25

NAMES = list_simulated()

#: Scenarios of which something begins later than that.
LATE = ("generations", "home-today", "office", "power-boost", "wifi-home")


@pytest.fixture(scope="module")
def shipped() -> dict[str, Result]:
    """Keep the results of shipped scenarios between tests."""
    return {}


def run_short(name: str, kept: dict[str, Result]) -> Result:
    """Run the first 20 s of a shipped scenario, or all of it where more begins later; once."""
    if name not in kept:
        short = {} if name in LATE else {"duration": "20 s", "warmup": "5 s"}
        kept[name] = headend.run(name, set=short)
    return kept[name]


@pytest.mark.parametrize("name", NAMES)
def test_every_shipped_scenario_is_answered_in_short(
    name: str,
    shipped: dict[str, Result],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = run_short(name, shipped)
    answer = answer_run(result)
    assert answer.question.endswith("?")
    assert 1 <= len(answer.sentences) <= MOST_SENTENCES
    for sentence in answer.sentences:
        assert sentence.endswith(".")
        assert len(sentence) <= LONGEST_SENTENCE, sentence
    assert answer.matrix
    assert answer.why in list_drawings([result])
    labels = [row.label for row in answer.matrix.rows]
    assert labels == [party.label for party in result.verdict.groups]
    for row in answer.matrix.rows:
        assert row.cells[0]
        assert row.cells[0].text
        assert bool(row.cells[0].word) == (row.cells[0].grade is not Grade.NONE)
    for columns in (100, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_result(result)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) <= MOST_LINES, lines
        assert max(map(len, lines)) <= columns


def make_line(limit: str, **flow: Any) -> dict[str, Any]:
    """Make a scenario of one link whose buffer holds so much."""
    up = {"rate": "10 Mbit/s", "queue": {"drop_tail": {"limit": limit}}}
    link = {"line": {"point_to_point": {"up": up, "down": {"rate": "10 Mbit/s"}}}}
    return {"duration": "30 s", "warmup": "5 s", "link": link, "flow": flow}


CALL = {"application": "voice"}
PUT = {"application": "bulk"}


def answer(scenario: dict[str, Any]) -> Answer:
    return answer_run(headend.run(scenario))


def test_a_standing_queue_is_the_cause_and_an_aqm_the_advice() -> None:
    told = answer(make_line("250 ms", call=CALL, put=PUT))
    assert told.question == "How does call fare beside put on 10 Mbit/s?"
    assert told.sentences[0].startswith("Call is unusable (MOS 1.")
    assert "arrive too late behind the standing queue line.up (" in told.sentences[0]
    assert told.sentences[1].endswith("(not tried: `--set queue=fq_codel`).")
    assert told.why == "queue"
    assert told.matrix
    assert [row.label for row in told.matrix.rows] == ["call", "put"]
    call, put = (row.cells[0] for row in told.matrix.rows)
    assert call
    assert put
    assert (call.grade, call.word) == (Grade.BAD, "unusable")
    assert (put.grade, put.word) == (Grade.NONE, "")
    assert put.text.endswith("Mbit/s")


def test_all_tables_have_one_word_for_a_flow() -> None:
    result = headend.run(make_line("250 ms", call=CALL, put=PUT))
    groups = judge(result).groups
    below = {row.label: row.cells[0] for row in tabulate_flows(groups).rows}["call"]
    assert below
    assert (below.grade, below.word) == (Grade.BAD, "unusable")


def test_members_are_counted_by_the_word_that_is_said_of_each() -> None:
    def make(number: int, grade: Grade, *, is_unusable: bool = False) -> FlowQuality:
        figure = (KeyFigure("", 1.0),)
        name = f"call.{number}"
        return FlowQuality(
            name, "voice", grade, 1e6, 1e6, 0.0, 1.0, is_unusable=is_unusable, key_figures=figure
        )

    members = (make(1, Grade.BAD, is_unusable=True), make(2, Grade.BAD), make(3, Grade.GOOD))
    group = FlowGroup("call", "call ×3", members)
    assert group.words == {
        "unusable": (1, Grade.BAD),
        "bad": (1, Grade.BAD),
        "good": (1, Grade.GOOD),
    }
    assert _write_fate(group).word == "1 good, 1 bad, 1 unusable"
    assert write_grades(group).counts == (
        ("1 unusable", Grade.BAD),
        ("1 bad", Grade.BAD),
        ("1 good", Grade.GOOD),
    )


def test_what_is_advised_helps() -> None:
    scenario = make_line("250 ms", call=CALL, put=PUT)
    result = headend.run(scenario, set={"queue": "fq_codel"})
    told = answer_run(result)
    assert told.sentences[0].startswith("Call is good (MOS 4.")
    assert not any("--set" in sentence for sentence in told.sentences)


def test_what_the_path_loses_is_no_queues_doing() -> None:
    told = answer(make_line("20 ms", call={**CALL, "path": {"loss": "20 %"}}))
    assert "the path beyond the line loses" in told.sentences[0]
    assert not any("AQM" in sentence for sentence in told.sentences)
    assert told.why == "loss"


def test_a_long_path_is_no_queues_doing() -> None:
    told = answer(make_line("20 ms", call={**CALL, "rtt": "1200 ms"}))
    assert len(told.sentences) == 1
    assert "the path itself takes 6" in told.sentences[0]
    assert told.why == "delay"


def test_what_was_thrown_away_by_a_full_line_is_told() -> None:
    flood = {"application": {"cbr": {"rate": "12 Mbit/s"}}}
    told = answer(make_line("20 ms", flood=flood))
    assert told.sentences[0].startswith("Flood is bad (1")
    assert "the queue line.up drops 1" in told.sentences[0]
    assert told.sentences[1].startswith("More is sent than the line carries")
    assert told.why == "loss"


def test_two_transfers_are_told_by_how_much_one_gets_more() -> None:
    near, far = {**PUT, "rtt": "10 ms"}, {**PUT, "rtt": "200 ms"}
    told = answer(make_line("50 ms", near=near, far=far))
    assert told.question == "What do far and near get on 10 Mbit/s?"
    assert told.sentences[0].startswith("Near gets ")
    assert re.search(r" [1-9][0-9] times as much as far \(", told.sentences[0])
    assert told.why == "rates"


def test_where_nothing_was_sent_nothing_is_judged() -> None:
    told = answer(make_line("50 ms", put={**PUT, "stop": "1 s"}))
    assert told.sentences[0].startswith("Nothing was sent in the measured part")


def test_many_flows_are_counted_and_few_are_named() -> None:
    calls = {f"call_number_{place}": CALL for place in range(8)}
    told = answer(make_line("400 ms", put=PUT, **calls))
    assert all(len(sentence) <= LONGEST_SENTENCE for sentence in told.sentences)
    assert "more are no better" in told.sentences[0]


def test_a_title_that_is_a_question_is_asked() -> None:
    asked = {**make_line("50 ms", call=CALL), "title": "Is the call good?"}
    assert answer(asked).question == "Is the call good?"


def test_json_has_the_answer() -> None:
    document = describe_result(headend.run(make_line("50 ms", call=CALL)))
    told: Any = document["answer"]
    assert set(told) >= {"question", "sentences", "matrix", "why"}
    assert told["matrix"]["rows"][0]["cells"][0]["word"] == "good"


def test_a_missed_expectation_is_in_the_first_screen(tmp_path: Path) -> None:
    scenario = {**make_line("250 ms", call=CALL, put=PUT), "expect": {"ok": "call.mos.p5 >= 4"}}
    page = headend.run(scenario).report(tmp_path / "report.html").read_text(encoding="utf-8")
    first = page[page.index('<header class="first">') : page.index("</header>")]
    assert "<strong>Missed:</strong> call.mos.p5 &gt;= 4" in first
    assert first.index("Missed:") < first.index("<table")
    assert 'data-chart="queue-0"' in first
    assert page.count('data-chart="queue-0"') == 1


def test_a_street_has_a_square_for_each_home(shipped: dict[str, Result]) -> None:
    result = run_short("street", shipped)
    homes = gather_homes(result)
    figure = draw_street([result])
    assert figure
    specification = figure.panels[0].specify()
    graded = {own.flow.partition(".")[2] for own in result.findings if own.grade is not Grade.NONE}
    assert len(homes) == len(graded)
    assert [home.label for home in homes[:1]] == [f"home {min(graded, key=int)}"]
    assert str(len(homes)) in figure.title
    assert "layer" in specification
    assert draw_street([result, result]) is None


def test_of_a_home_the_worst_flow_counts() -> None:
    homes = gather_homes(make_street(12))
    # No host says that a page and a call of one number are of one home.
    assert {home.kind for home in homes} == {"web", "call"}
    assert homes[-1].label == "web.12"
    assert homes[-1].worst.suffers


def test_the_figure_of_a_street_names_the_worst_home_as_the_headline_does() -> None:
    street = make_street(40)
    figure = draw_street([street])
    assert figure
    told = re.search(r"(\S+) most \((.*?)\)", answer_run(street).sentences[0])
    assert told
    flow, number = told.groups()
    assert re.search(rf"The worst: [^(]* \({re.escape(f'{flow}: {number}')}\)", figure.explanation)


def test_a_few_homes_are_no_street() -> None:
    assert gather_homes(make_street(4)) == []


def test_a_number_stays_with_its_unit() -> None:
    assert keep_units("MOS 4.4 in 3 homes") == "MOS 4.4 in 3 homes"
    assert keep_units("up to 12 ms, 3 %") == "up to 12\N{NO-BREAK SPACE}ms, 3\N{NO-BREAK SPACE}%"
    assert keep_units("+1.2 pp in 3 s") == "+1.2\N{NO-BREAK SPACE}pp in 3\N{NO-BREAK SPACE}s"


def test_a_question_on_the_terminal_keeps_a_number_with_its_unit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    print_answer(Answer("How does the call fare on 10 Mbit/s?", (), None), title="My home")
    assert capsys.readouterr().out.splitlines()[2:] == ["How does the call fare on", "10 Mbit/s?"]


@pytest.mark.parametrize("width", range(20, 110, 9))
def test_a_line_on_the_terminal_ends_at_no_unit_and_in_no_command(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = '`--set link.cable.docsis.upstream.queue.drop_tail.limit="64 KiB"`'
    sentence = f"Packets wait 211 ms in the queue and 12 % are lost at 9.31 Mbit/s: try {command}."
    monkeypatch.setenv("COLUMNS", str(width))
    print_answer(Answer("Why?", (sentence,), None))
    lines = capsys.readouterr().out.split("Why?")[1].strip().splitlines()
    assert " ".join(line.strip() for line in lines) == sentence
    assert not any(re.search(r"\d$", line.strip()) for line in lines)
    assert sum("`" in line for line in lines) == 1
