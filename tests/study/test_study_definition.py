"""Reading study.toml: which scenario each point runs, and what every point has."""

from __future__ import annotations

from pathlib import Path

import pytest

from headend.errors import InputError
from headend.scenario.shipped import list_scenarios
from headend.study import Study, read_study
from headend.study.points import prepare_points

HEAD = 'format = 1\ntitle = "t"\nsource = "s"\nclaim = []\n'


def read(folder: Path, text: str) -> Study:
    (folder / "study.toml").write_text(HEAD + text, encoding="utf-8")
    return read_study("own/study", folder)


def test_an_axis_chooses_a_shipped_scenario_or_one_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("", encoding="utf-8")
    study = read(
        tmp_path,
        """
        measures = { delay = "call.up.delay.p90" }
        grid.load = { values = [1, 2, 0],\
 scenario = { 1 = "aqm/load-1", 2 = "aqm/load-2", 0 = "mine.toml" } }
        grid.queue = { values = ["pie"], set = { queue = "{}" } }
        """,
    )
    shipped = list_scenarios()
    assert study.design.scenario == shipped["aqm/load-1"]
    points = study.list_points()
    assert [point.setting.scenario for point in points] == [
        shipped["aqm/load-1"],
        shipped["aqm/load-2"],
        tmp_path / "mine.toml",
    ]
    assert {point.setting.overrides for point in points} == {(("queue", "pie"),)}


def test_every_point_runs_the_study_s_scenario_where_no_axis_chooses(tmp_path: Path) -> None:
    study = read(
        tmp_path,
        """
        scenario = "aqm/load-3"
        measures = {}
        grid.queue = { values = ["pie", "codel"], set = { queue = "{}" } }
        """,
    )
    assert {point.setting.scenario for point in study.list_points()} == {
        list_scenarios()["aqm/load-3"]
    }


def test_what_every_point_has_comes_before_its_axes_and_the_quick_form_after(
    tmp_path: Path,
) -> None:
    study = read(
        tmp_path,
        """
        scenario = "aqm/load-3"
        measures = {}
        set = { duration = "130 s", warmup = "10 s" }
        grid.queue = { values = ["pie"], set = { queue = "{}" } }
        quick = { description = "shorter", set = { duration = "20 s" } }
        """,
    )
    every = (("duration", "130 s"), ("warmup", "10 s"))
    assert study.list_points()[0].setting.overrides == (*every, ("queue", "pie"))
    quick = study.make_quick().list_points()[0]
    assert quick.setting.overrides == (*every, ("duration", "20 s"), ("queue", "pie"))


def test_an_axis_without_anything_to_change_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing or misplaced 'set'"):
        read(tmp_path, 'scenario = "aqm/load-3"\nmeasures = {}\ngrid.queue = { values = [1] }\n')
    with pytest.raises(InputError, match='missing key "scenario"'):
        read(tmp_path, "measures = {}\n[grid.q]\nvalues = [1]\nset = { seed = '{}' }\n")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "measures = { queue = 'call.loss' }",
            r"measures\.queue: .* found that of \[grid\.queue\]",
        ),
        ("measures = { seed = 'call.loss' }", r"measures\.seed: .* found that of the seed"),
        (
            "measures = { d = 'call.loss' }\nseries = { d = 'cable.up.backlog_bytes' }",
            r"series\.d: .* found that of measures\.d",
        ),
    ],
)
def test_two_columns_of_one_name_are_refused(tmp_path: Path, line: str, problem: str) -> None:
    axis = 'scenario = "aqm/load-3"\ngrid.queue = { values = ["pie"], set = { queue = "{}" } }\n'
    with pytest.raises(InputError, match=problem):
        read(tmp_path, axis + line)


def test_single_values_of_an_axis_set_what_is_theirs(tmp_path: Path) -> None:
    text = """
        scenario = "aqm/load-3"
        measures = {}
        [grid.choice]
        values = ["as it is", "fresh"]
        [grid.choice.each.NAME]
        "flow.near.tcp.initial_window" = "4"
        """
    points = read(tmp_path, text.replace("NAME", "fresh")).list_points()
    assert [point.setting.overrides for point in points] == [
        (),
        (("flow.near.tcp.initial_window", "4"),),
    ]
    with pytest.raises(InputError, match='"frsh" is none of its values; did you mean "fresh"'):
        read(tmp_path, text.replace("NAME", "frsh"))


@pytest.mark.parametrize(
    ("shared", "told"),
    [
        ("[set]\n'flow.call.rtt' = '9 ms'\n", "set.flow.call.rtt: has no effect"),
        ("[quick]\ndescription = 'q'\n[quick.set]\n'flow.call.rtt' = '9 ms'\n",
         "quick.set.flow.call.rtt: "),
        ("[set]\n'flow.call.rtt.mean' = 3\n", "set.flow.call.rtt.mean: has no effect"),
    ],
)  # fmt: skip
def test_what_an_axis_sets_at_every_point_is_not_set_for_all(
    tmp_path: Path, shared: str, told: str
) -> None:
    grid = '[grid.rtt_ms]\nvalues = [1, 2]\nset = { "flow.call.rtt" = "{} ms" }\n'
    with pytest.raises(InputError) as error:
        read(tmp_path, f'scenario = "aqm/load-3"\n{grid}{shared}[measures]\n')
    line = next(n for n, text in enumerate(shared.split("\n"), start=9) if "flow." in text)
    assert str(error.value).startswith(f"{tmp_path / 'study.toml'}: {told}")
    told = f"the axis rtt_ms sets it at every point; leave out one of them (line {line})"
    assert str(error.value).endswith(told)


def test_an_axis_may_change_part_of_what_is_set_for_all(tmp_path: Path) -> None:
    single = "grid.x = { values = [1, 2], set = {}, each.1 = { seed = '4' } }\n"
    part = "grid.y = { values = [1, 2], set = { 'queue.pie.target' = '{} ms' } }\n"
    shared = "set = { queue = 'pie', seed = '3' }\n"
    study = read(tmp_path, f'scenario = "aqm/load-3"\nmeasures = {{}}\n{single}{part}{shared}')
    assert len(study.list_points()) == 4


def test_the_bottleneck_s_queue_by_either_name_is_one_setting(tmp_path: Path) -> None:
    grid = "grid.queue = { values = ['pie', 'codel'], set = { queue = '{}' } }\n"
    shared = "set = { 'link.cable.docsis.upstream.queue' = 'pie' }\n"
    study = read(tmp_path, f'scenario = "aqm/load-3"\nmeasures = {{}}\n{grid}{shared}')
    with pytest.raises(InputError, match=r"set\.link\S+: has no effect.*axis queue .*\(line 8\)"):
        prepare_points(study)


READING = """[pie]
title = "PIE of Section 5"
reading = "The law  of 2013."
source = "§6"
beside = "choices runs the draft"
"""


def read_own(folder: Path, readings: str, names: str) -> Study:
    """Read a study that names readings, below the folder of its document."""
    own = folder / "own"
    own.mkdir()
    (folder / "readings.toml").write_text(readings, encoding="utf-8")
    return read(own, f"readings = {names}\n")


def test_a_study_has_the_readings_of_its_document_that_it_names(tmp_path: Path) -> None:
    other = READING.replace("pie", "other").replace("PIE of Section 5", "Another")
    study = read_own(tmp_path, READING + other, '["other", "pie"]')
    assert [one.name for one in study.readings] == ["other", "pie"]
    assert study.readings[1].describe() == "Reading: PIE of Section 5. The law of 2013."
    assert study.readings[1].beside == "choices runs the draft"


def test_a_study_without_readings_needs_no_file_of_them(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "readings.toml").write_text("[broken", encoding="utf-8")
    assert read(tmp_path / "own", "").readings == ()


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ('["pei"]', 'readings: unknown reading "pei"; did you mean "pie"? (line 5)'),
        ('["pie", "pie"]', 'readings: names "pie" twice (line 5)'),
        ('"pie"', "readings: expected a list such as"),
    ],
)
def test_a_reading_that_the_document_has_not_got_is_refused(
    tmp_path: Path, names: str, problem: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_own(tmp_path, READING, names)
    assert str(caught.value).startswith(f"{tmp_path / 'own' / 'study.toml'}: {problem}")


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('source = "§6"\n', "",
         'pie: missing key "source"; a reading has title, reading, source, beside (line 1)'),
        ("beside", "besides", 'pie.besides: unknown key; did you mean "beside"? (line 5)'),
        ('"§6"', "6", "pie.source: expected a text, found 6 (line 4)"),
        ('"§6"', '" "', 'pie: missing key "source"'),
        ("[pie]", "[pie", "not valid TOML"),
        ("[pie]", "[pie]\ntitle = 'x'", "pie.title is there twice (lines 2 and 3)"),
    ],
)  # fmt: skip
def test_a_slip_in_a_document_s_readings_is_told_with_their_file_and_line(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_own(tmp_path, READING.replace(before, after), '["pie"]')
    told = str(caught.value)
    assert told.startswith(f"{tmp_path / 'readings.toml'}: ")
    assert problem in told


def test_readings_that_are_nowhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    with pytest.raises(
        InputError, match=r'names "pie", and there is no .*readings.toml \(line 5\)'
    ):
        read(tmp_path / "own", 'readings = ["pie"]\n')


CLAIM = 'id = "A-1"\nsource = "§1"\nstatement = "s"\nexpected = "1"\ncheck = "check"\n'
FIGURE = '[[figure]]\nname = "f"\ntitle = "t"\nexplanation = "e"\ndraw = "draw"\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[claim]]\n' + CLAIM + 'publishd = "9"\n',
         'claim A-1: unknown key "publishd"; did you mean "published"?'),
        ('[[claim]]\n' + CLAIM + "published = 9\n",
         "claim A-1: published: expected a text, found 9"),
        ('[[claim]]\n' + CLAIM + "weak = true\n", "claim A-1: weak: expected a text, found True"),
        ("[[claim]]\n" + CLAIM + 'weak = " "\n', "claim A-1: weak: expected why nearly any model"),
        ('[[claim]]\n' + CLAIM + 'kind = ["result"]\n', "claim A-1: kind: expected a text"),
        ('[[claim]]\n' + CLAIM + 'kind = "resul"\n',
         'claim A-1: unknown kind "resul"; expected one of "result"'),
        ('[[claim]]\n' + CLAIM + "[[claim]]\n" + CLAIM, "claim A-1: 2 claims have this id"),
        ("claim = []\n" + FIGURE + 'show = ["Figure 3"]\n',
         'figure f: unknown key "show"; did you mean "shows"?'),
        ("claim = []\n" + FIGURE + 'shows = "Figure 3"\n',
         'figure f: shows: expected a list such as ["Figure 3"]'),
    ],
)  # fmt: skip
def test_a_slip_in_a_claim_or_a_figure_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text('format = 1\ntitle = "t"\nsource = "s"\n' + text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_study("own/study", tmp_path)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)
