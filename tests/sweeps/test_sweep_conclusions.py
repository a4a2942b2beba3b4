"""What follows from a sweep, on made-up tables: best settings, ties, knees, wishes, axes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from headend.analysis.criteria import read_preferences
from headend.analysis.grading import Grade
from headend.analysis.measures import MeasureInfo, describe_measure
from headend.analysis.ranking import Feasibility
from headend.cli.first_lines import print_answer
from headend.cli.main import app
from headend.errors import InputError
from headend.figures import vegalite as vl
from headend.figures.trade_off import Drawn, choose_axis, make_room
from headend.sweeps import Sweep, SweepResult
from headend.sweeps.answering import answer_sweep
from headend.sweeps.concluding import conclude
from headend.sweeps.conclusion import Conclusion, Shape, TradeOff
from headend.sweeps.definition import make_sweep
from headend.sweeps.details import tabulate_bests
from headend.sweeps.figure import choose_scale, draw_sweep, name_axis
from headend.sweeps.matrix import spread
from vega_lite import check_panel

#: What a measure is, by its name.
QUANTITIES = {
    "call": ("call", "mos.mean", "1"),
    "upload": ("upload", "goodput", "bit/s"),
    "page": ("page", "page_load_time.p50", "ns"),
    "sent": ("upload", "sent", "1"),
    "delay": ("film", "frame_delay.mean", "ns"),
    "late": ("film", "frames_late.mean", "1"),
    "frozen": ("film", "frozen.mean", "1"),
}

BUFFERS = ["8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB"]

#: A value of a measure at a place, with a seed; None where it was not measured, an error where the
#: point failed.
Give = Callable[..., float | str | None]


def make(
    grid: Mapping[str, Sequence[Any]],
    gives: Mapping[str, Give],
    seeds: int = 3,
    **keys: Any,
) -> SweepResult:
    """Make the result of a sweep of which each measure is a function of the labels and the seed."""
    measures = {name: ".".join(QUANTITIES[name][:2]) for name in gives}
    axes = {
        f"flow.call.{name}": {"values": list(values), "name": name} for name, values in grid.items()
    }
    content = {"scenario": "upload-and-call", "grid": axes, "measures": measures, "seeds": seeds}
    sweep = make_sweep(content | keys, "made")
    return SweepResult(sweep, table=tabulate(sweep, gives), complete=True)


def tabulate(sweep: Sweep, gives: Mapping[str, Give]) -> pl.DataFrame:
    """Make the table of a sweep."""
    rows = []
    names = sweep.design.names
    for point in sweep.design.list_points():
        place = dict(zip(names, point.factor_labels, strict=True))
        for name, give in gives.items():
            subject, metric, unit = QUANTITIES[name]
            value = give(*point.factor_labels, point.seed)
            failed = isinstance(value, str)
            figure = {"measure": name, "subject": subject, "metric": metric, "unit": unit}
            rows.append(
                {"setting": point.setting.number, **place, "seed": point.seed}
                | (dict.fromkeys(figure) if failed else figure)
                | {"direction": None, "value": None if failed else value}
                | {"error": value if failed else None}
            )
    return pl.DataFrame(
        rows, schema_overrides={"error": pl.String, "value": pl.Float64, "direction": pl.String}
    )


def along_buffers(values: Sequence[float], spread: float = 0.0) -> Give:
    """Give a value for each buffer, and for each seed a little more or less."""

    def give(buffer: str, seed: int) -> float:
        return values[BUFFERS.index(buffer)] + spread * (seed - 2)

    return give


def conclude_buffers(
    gives: Mapping[str, Give], prefer: Sequence[str] = (), seeds: int = 3
) -> Conclusion:
    """Conclude from a sweep of buffers."""
    result = make({"buffer": BUFFERS}, gives, seeds)
    measures = result.sweep.measures
    sweep = make_sweep(
        {
            "scenario": "upload-and-call",
            "grid": {"flow.call.buffer": {"values": BUFFERS, "name": "buffer"}},
            "measures": dict(measures),
            "seeds": seeds,
            "wish": read_preferences(prefer, measures).to_dict(),
        },
        "made",
    )
    return conclude(sweep, result.table)


def name_settings(conclusion: Conclusion, settings: Sequence[int | None]) -> list[str]:
    return [conclusion.grid.name_place(own) for own in settings if own is not None]


CALL = along_buffers([4.4, 4.4, 4.3, 3.0, 1.0], 0.01)
UPLOAD = along_buffers([2e6, 8e6, 9e6, 9.2e6, 9.3e6], 1e4)


# The best setting.


def test_the_best_setting_is_the_one_with_the_most_of_those_that_hold() -> None:
    conclusion = conclude_buffers({"call": CALL, "upload": UPLOAD}, ["call >= 4.0", "most upload"])
    (best,) = conclusion.bests
    assert name_settings(conclusion, [best.setting]) == ["32 KiB"]
    assert best.standing is Feasibility.HOLDS
    assert best.ties == ()
    assert list(conclusion.standings.values()) == [Feasibility.HOLDS] * 3 + [Feasibility.FAILS] * 2
    answer = answer_sweep(conclusion)
    assert answer.question == "Which buffer gives call ≥ 4.0 and the most upload?"
    assert answer.sentences == (
        "The best buffer is 32 KiB: upload 9.00 ± 0.02 Mbit/s and call 4.30 ± 0.02.",
        "128 KiB has as much upload, 9.30 ± 0.02 Mbit/s, but call 1.00 ± 0.02.",
    )
    assert answer.why == "trade-off"


def test_what_differs_by_less_than_its_interval_or_a_twentieth_is_as_good() -> None:
    near = along_buffers([100e6, 96e6, 94e6, 80e6, 70e6])
    conclusion = conclude_buffers({"upload": near}, ["most upload"])
    (best,) = conclusion.bests
    assert name_settings(conclusion, [best.setting, *best.ties]) == ["8 KiB", "16 KiB"]

    def noisy(buffer: str, seed: int) -> float:
        step = {"8 KiB": (100, 100, 100), "16 KiB": (110, 70, 80)}.get(buffer, (60, 60, 61))
        return step[seed - 1] * 1e6

    conclusion = conclude_buffers({"upload": noisy}, ["most upload"])
    (best,) = conclusion.bests
    assert name_settings(conclusion, [best.setting, *best.ties]) == ["8 KiB", "16 KiB"]
    cells = answer_sweep(conclusion).matrix.rows[0].cells  # type: ignore[union-attr]
    assert [cell and cell.word for cell in cells] == ["best", "as good", "", "", ""]


def test_what_seeds_have_in_common_does_not_hide_a_difference() -> None:
    def apart(buffer: str, seed: int) -> float:
        return (100 + 50 * seed - (0 if buffer == "8 KiB" else 20)) * 1e6

    assert conclude_buffers({"upload": apart}, ["most upload"]).bests[0].ties == ()


def test_where_nothing_holds_the_nearest_is_named() -> None:
    conclusion = conclude_buffers({"call": CALL, "upload": UPLOAD}, ["call >= 4.8", "most upload"])
    (best,) = conclusion.bests
    assert best.standing is Feasibility.FAILS
    # Two fall short by as much: the one with more upload.
    assert name_settings(conclusion, [best.setting]) == ["16 KiB"]
    (sentence,) = answer_sweep(conclusion).sentences
    assert (
        sentence == "No buffer gives call ≥ 4.8; 16 KiB comes nearest, with call 4.40 (4.37–4.42)."
    )
    matrix = answer_sweep(conclusion).matrix
    assert matrix is not None
    words = [(cell.word, cell.grade) for cell in matrix.rows[0].cells if cell]
    assert words[:2] == [("fails", Grade.BAD), ("nearest", Grade.POOR)]


def test_the_nearest_is_measured_by_the_worst_condition_as_a_share_of_its_bound() -> None:
    page = along_buffers([4e9, 3e9, 2.1e9, 2e9, 1e9])
    conclusion = conclude_buffers({"call": CALL, "page": page}, ["call >= 4.5", "page <= 1 s"])
    # Short by 0.02, 0.02, 0.04, 0.33 and 0.78 of the call, and by 3, 2, 1.1, 1 and 0 of the page.
    assert name_settings(conclusion, [conclusion.bests[0].setting]) == ["128 KiB"]


def test_a_condition_whose_bound_is_within_the_interval_is_undecided() -> None:
    wide = along_buffers([4.1, 3.9, 3.0, 2.0, 1.0], 0.2)
    conclusion = conclude_buffers({"call": wide, "upload": UPLOAD}, ["call >= 4.0", "most upload"])
    assert list(conclusion.standings.values())[:3] == [
        Feasibility.UNDECIDED,
        Feasibility.UNDECIDED,
        Feasibility.FAILS,
    ]
    assert conclusion.bests[0].standing is Feasibility.UNDECIDED
    (sentence,) = answer_sweep(conclusion).sentences
    # 16 KiB has more upload, but its mean does not meet the condition.
    assert sentence.startswith("More seeds are needed to tell whether 8 KiB holds: call 4.1")
    low = along_buffers([3.9, 3.8, 3.0, 2.0, 1.0], 0.2)
    conclusion = conclude_buffers({"call": low, "upload": UPLOAD}, ["call >= 4.0", "most upload"])
    assert conclusion.standings[1] is Feasibility.UNDECIDED
    (sentence,) = answer_sweep(conclusion).sentences
    assert sentence.startswith("No buffer gives call ≥ 4.0; 8 KiB comes nearest, with call 3.9")
    matrix = answer_sweep(conclusion).matrix
    assert matrix is not None
    assert [cell.word for cell in matrix.rows[0].cells if cell][:2] == ["nearest", "undecided"]


def test_with_one_seed_the_value_decides() -> None:
    wide = along_buffers([4.1, 3.9, 3.0, 2.0, 1.0], 0.05)
    conclusion = conclude_buffers({"call": wide, "upload": UPLOAD}, ["call >= 4", "most upload"], 1)
    assert list(conclusion.standings.values())[:2] == [Feasibility.HOLDS, Feasibility.FAILS]
    matrix = answer_sweep(conclusion).matrix
    assert matrix is not None
    assert "by one seed" in matrix.note
    assert "±" not in " ".join(answer_sweep(conclusion).sentences)
    flat = along_buffers([100e6, 96e6, 94e6, 80e6, 70e6])
    (best,) = conclude_buffers({"upload": flat}, ["most upload"], 1).bests
    assert len(best.ties) == 1


def test_settings_without_a_result_are_left_out() -> None:
    def failing(buffer: str, seed: int) -> float | str:
        return "no memory" if buffer == "32 KiB" else UPLOAD(buffer, seed)  # type: ignore[return-value]

    def failing_call(buffer: str, seed: int) -> float | str:
        return "no memory" if buffer == "32 KiB" else CALL(buffer, seed)  # type: ignore[return-value]

    conclusion = conclude_buffers(
        {"call": failing_call, "upload": failing}, ["call >= 4.0", "most upload"]
    )
    assert conclusion.standings[3] is Feasibility.MISSING
    assert name_settings(conclusion, [conclusion.bests[0].setting]) == ["16 KiB"]
    matrix = answer_sweep(conclusion).matrix
    assert matrix is not None
    assert matrix.rows[0].cells[2] is None
    figures = draw_sweep(conclusion, make_summary(conclusion, failing_call, failing))
    for figure in figures:
        for panel in figure.panels:
            check_panel(panel)


def make_summary(conclusion: Conclusion, call: Give, upload: Give) -> pl.DataFrame:
    table = tabulate(conclusion.sweep, {"call": call, "upload": upload})
    return SweepResult(conclusion.sweep, table=table, complete=True).summary


def test_what_was_not_measured_holds_nothing() -> None:
    def never(buffer: str, seed: int) -> float | None:
        return None if buffer == "8 KiB" else CALL(buffer, seed)  # type: ignore[return-value]

    conclusion = conclude_buffers(
        {"call": never, "upload": UPLOAD}, ["call >= 1.1", "least upload"]
    )
    assert conclusion.standings[1] is Feasibility.FAILS
    assert name_settings(conclusion, [conclusion.bests[0].setting]) == ["16 KiB"]


def test_a_sweep_without_any_result_says_so() -> None:
    def failing(buffer: str, seed: int) -> str:
        return "no memory"

    conclusion = conclude_buffers({"upload": failing}, ["most upload"])
    assert answer_sweep(conclusion).sentences == ("No point of the sweep has a result.",)
    assert answer_sweep(conclusion).matrix is None
    assert conclude(conclusion.sweep, pl.DataFrame()).bests[0].standing is Feasibility.MISSING


def test_a_wish_of_what_no_setting_measured_cannot_be_judged() -> None:
    conclusion = conclude_buffers(
        {"call": lambda *_: None, "upload": UPLOAD}, ["call >= 3.0", "most upload"]
    )
    assert [(best.setting, best.standing) for best in conclusion.bests] == [
        (None, Feasibility.FAILS)
    ]
    answer = answer_sweep(conclusion)
    assert answer.sentences == ("The wish cannot be judged: call has no value in any setting.",)
    assert answer.matrix is not None
    assert {cell.word for cell in answer.matrix.rows[0].cells if cell} == {"not measured"}


def test_one_setting_is_told_by_its_numbers() -> None:
    result = make({"buffer": ["8 KiB"]}, {"upload": UPLOAD})
    assert result.answer.sentences == ("The sweep has one setting: upload 2.00 ± 0.02 Mbit/s.",)


def test_a_row_of_what_a_scenario_has_not_got_is_left_out() -> None:
    def of_first(rate: str, buffer: str, seed: int) -> float | None:
        return 4.0 if rate == RATES[0] else None

    result = make({"rate": RATES[:2], "buffer": BUFFERS[:2]},
                  {"call": of_first, "upload": lambda _, buffer,
                   seed: UPLOAD(buffer, seed)})  # fmt: skip
    assert result.answer.matrix is not None
    labels = [row.label for row in result.answer.matrix.rows]
    assert labels == ["1 Mbit/s, call", "1 Mbit/s, upload", "5 Mbit/s, upload"]


def test_without_an_objective_every_setting_that_holds_is_named() -> None:
    conclusion = conclude_buffers({"call": CALL}, ["call >= 4.0"])
    assert answer_sweep(conclusion).sentences == ("call ≥ 4.0 holds with buffer 8, 16 and 32 KiB.",)


def test_a_ratio_is_taken_seed_by_seed() -> None:
    half = along_buffers([1e6, 4e6, 4.5e6, 9.2e6, 9.3e6])
    whole = along_buffers([2e6, 8e6, 9e6, 9.2e6, 9.3e6])
    result = make(
        {"buffer": BUFFERS},
        {"upload": half, "sent": whole},
        wish={"hold": ["upload / sent >= 60 %"], "least": "upload"},
    )
    conclusion = result.conclusion
    assert conclusion.terms["upload / sent"].estimates[1].mean == pytest.approx(0.5)
    assert name_settings(conclusion, [conclusion.bests[0].setting]) == ["64 KiB"]


RATES = ["1 Mbit/s", "5 Mbit/s", "10 Mbit/s"]


def at_rates(rate: str, buffer: str, seed: int) -> float:
    return CALL(buffer, seed) if rate == "10 Mbit/s" else 1.0 + 0.001 * seed  # type: ignore[return-value]


def test_each_line_has_a_best_setting_and_the_first_axis_is_the_rows() -> None:
    result = make(
        {"rate": RATES, "buffer": BUFFERS},
        {"call": at_rates, "upload": lambda _, buffer, seed: UPLOAD(buffer, seed)},
        wish={"hold": "call >= 4", "most": "upload"},
    )
    conclusion = result.conclusion
    bests = conclusion.list_bests(conclusion.main)
    assert [best.standing for best in bests] == [Feasibility.FAILS] * 2 + [Feasibility.HOLDS]
    answer = result.answer
    assert answer.sentences == (
        "The buffer with the most upload, while call ≥ 4 holds: 32 KiB at 10 Mbit/s.",
        "At 1 and 5 Mbit/s no buffer gives call ≥ 4; 128 KiB at 1 Mbit/s comes nearest, with call"
        " 1.00 (1.00–1.01).",
    )
    assert answer.matrix is not None
    assert [row.label for row in answer.matrix.rows] == RATES
    assert answer.matrix.names == tuple(BUFFERS)
    # Nobody chooses the rate: nothing along it is best.
    assert conclusion.list_bests(0) == []


def test_a_rate_or_a_distance_is_no_advice() -> None:
    result = make(
        {"rate": RATES},
        {"call": lambda rate, seed: 4.4 if rate == "10 Mbit/s" else 3.0 + 0.001 * seed},
        wish={"hold": "call >= 4", "most": "call"},
    )
    answer, conclusion = result.answer, result.conclusion
    assert conclusion.is_given
    assert answer.question == "At which rate does call ≥ 4 hold?"
    assert answer.sentences == (
        "call ≥ 4 holds at 10 Mbit/s. Call is from 3.00 ± <0.01 at 1 Mbit/s to 4.4 at 10 Mbit/s.",
        "Rate is given, not chosen: none is called the best.",
    )
    assert answer.matrix is not None
    assert {cell.word for row in answer.matrix.rows for cell in row.cells if cell} == {
        "fails",
        "holds",
    }
    assert "best" not in answer.matrix.note
    assert tabulate_bests(conclusion) is None


def test_where_conditions_hold_over_two_given_axes_is_told_by_both() -> None:
    result = make(
        {"rtt": ["10 ms", "20 ms"], "rate": RATES},
        {"call": lambda rtt, rate, seed: 4.4 if rate == "10 Mbit/s" else 1.0},
        wish={"hold": "call >= 4"},
    )
    assert result.answer.sentences[0] == "call ≥ 4 holds at 10 Mbit/s with 10 and 20 ms."


def test_a_table_of_the_best_has_one_unit_in_each_column() -> None:
    result = make(
        {"near": ["8 KiB", "16 KiB"], "far": ["10 ms", "20 ms"]},
        {
            "page": lambda near, far, seed: {"10 ms": 63.5e6, "20 ms": 1.05e9}[far],
            "upload": lambda near, far, seed: {"8 KiB": 0.9e6, "16 KiB": 9e6}[near],
        },
        wish={"least": "page", "hold": ["upload > 10 kbit/s"]},
    )
    table = tabulate_bests(result.conclusion)
    assert table is not None
    assert {"page (ms)", "upload (Mbit/s)"} <= set(table.names)
    for name, cells in (("page (ms)", {"63.5", "1,050"}), ("upload (Mbit/s)", {"0.9", "9"})):
        at = table.names.index(name)
        assert {cell and cell.text for cell in (row.cells[at] for row in table.rows)} <= cells


def test_what_is_best_or_as_good_in_every_row_is_the_one_answer() -> None:
    def upload(rate: str, buffer: str, seed: int) -> float:
        # At the highest rate the curve ends flat, at the others it does not.
        return UPLOAD(buffer, seed) if rate == RATES[-1] else 1e6 * (1 + BUFFERS.index(buffer))  # type: ignore[return-value]

    result = make({"rate": RATES, "buffer": BUFFERS}, {"upload": upload}, wish={"most": "upload"})
    # At the highest rate 32 KiB is as good, but 128 KiB is best at every rate.
    assert result.answer.sentences == (
        "At every rate the best buffer is 128 KiB.",
        "The worst value of 128 KiB is upload 5 Mbit/s.",
    )
    at_highest = next(own for own in result.conclusion.bests if own.among == (11, 12, 13, 14, 15))
    assert name_settings(result.conclusion, [at_highest.setting, *at_highest.ties]) == [
        "10 Mbit/s, 128 KiB",
        "10 Mbit/s, 32 KiB",
        "10 Mbit/s, 64 KiB",
    ]


QUEUES = ["small", "large", "pie"]


def conclude_queues(
    call: Mapping[str, float], upload: Mapping[str, Sequence[float]]
) -> SweepResult:
    """Conclude about queues at two round-trip times and numbers of flows, an upload each."""
    circumstances = ["20 ms 1", "20 ms 4", "80 ms 1", "80 ms 4"]
    return make(
        {"queue": QUEUES, "rtt": ["20 ms", "80 ms"], "count": [1, 4]},
        {
            "call": lambda queue, rtt, count, seed: call[queue],
            "upload": lambda queue, rtt, count, seed: (
                1e6 * upload[queue][circumstances.index(f"{rtt} {count}")]
            ),
        },
        wish={"hold": "call >= 4", "most": "upload"},
    )


def test_among_choices_as_good_everywhere_the_one_with_most_to_spare_is_the_answer() -> None:
    # Each but the small one is within 5 % of the row's most; which has the most differs from row to
    # row.
    upload: dict[str, list[float]] = {
        "small": [10, 5, 5, 5],
        "large": [10, 9.8, 10, 9.9],
        "pie": [9.9, 10, 9.7, 10],
    }
    result = conclude_queues({"small": 4.4, "large": 4.1, "pie": 4.3}, upload)
    assert result.answer.sentences == (
        "At every rtt and count the best queue is pie; large is as good.",
        "The worst values of pie are upload 9.7 Mbit/s and call 4.3.",
    )
    assert result.answer.matrix is not None
    words = [[cell.word for cell in row.cells if cell] for row in result.answer.matrix.rows]
    assert words == [["as good", "as good", "best"], *[["holds", "as good", "best"]] * 3]
    overall = json.loads(json.dumps(result.conclusion.to_dict()))["overall"]
    assert [own["queue"] for own in overall["settings"]] == ["pie"] * 4
    assert overall["losses"] == [0.0] * 4


def test_where_no_choice_is_best_everywhere_the_rows_differ_and_one_for_all_is_named() -> None:
    upload = {"small": [10, 10, 5, 5], "large": [5, 8, 10, 10], "pie": [1, 1, 1, 1]}
    result = conclude_queues(dict.fromkeys(QUEUES, 4.4), upload)
    first, second = result.answer.sentences
    assert first == (
        "The queue with the most upload, while call ≥ 4 holds: "
        "small at rtt 20 ms with count 1 and 4; large at rtt 80 ms with count 1 and 4."
    )
    # Both lose half in the worst row; the small one is the first of the two.
    assert second == (
        "One queue for all rows is small: call ≥ 4 holds everywhere, "
        "but it has up to 50 % less upload than the best of a row."
    )
    upload["large"] = [8, 8, 10, 10]
    answer = conclude_queues(dict.fromkeys(QUEUES, 4.4), upload).answer
    assert answer.sentences[1].startswith("One queue for all rows is large: ")
    assert "up to 20 % less upload" in answer.sentences[1]


def test_a_choice_that_fails_in_one_row_is_no_answer_for_all() -> None:
    upload = {"small": [10] * 4, "large": [20] * 4, "pie": [9] * 4}
    result = conclude_queues({"small": 3.0, "large": 3.0, "pie": 3.9}, upload)
    assert result.conclusion.overall is None
    assert result.answer.sentences[0].startswith("No queue gives call ≥ 4; pie ")


def test_many_rows_that_differ_are_left_to_the_table() -> None:
    rates = [f"{rate} Mbit/s" for rate in (1, 5, 2, 9, 3)]
    result = make(
        {"queue": ["a", "b", "c", "d", "e"], "rate": rates},
        {
            "upload": lambda queue, rate, seed: (
                2e6 if "abcde".index(queue) == rates.index(rate) else 1e6
            )
        },
        wish={"most": "upload"},
    )
    assert result.answer.sentences == (
        "The best queue depends on rate: it is one of 5, and each row of the table names its own.",
        "One queue for all rows is a: it has up to 50 % less upload than the best of a row.",
    )


def test_without_a_comparison_the_axis_that_somebody_chooses_is_the_main_one() -> None:
    gives = {"upload": lambda buffer, rate, seed: 1e6}
    conclusion = make({"buffer": BUFFERS, "rate": RATES}, gives).conclusion
    assert conclusion.grid.dimensions[conclusion.main].name == "buffer"


@pytest.mark.parametrize("columns", [40, 48, 60, 72, 100])
def test_a_narrow_terminal_keeps_the_labels_of_rows_and_cuts_no_word(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    queues = ["32 KiB", "48 KiB", "64 KiB", "96 KiB", "128 KiB", "PIE"]
    result = make(
        {"queue": queues, "rtt": ["20 ms", "80 ms"], "count": [1, 4]},
        {
            "call": lambda queue, rtt, count, seed: 2.9 if queue == "128 KiB" else 4.3,
            "upload": lambda queue, rtt, count, seed: 1e6 * (18 + queues.index(queue) / 10),
        },
        wish={"hold": "call >= 4", "most": "upload"},
    )
    print_answer(result.answer)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= columns for line in lines)
    text = "\n".join(lines)
    assert "…" not in text
    for word in ("20 ms", "80 ms", *queues):
        assert all(part in text for part in word.split())
    # Every row of every block begins with its label.
    assert sum(line.startswith(("20 ms", "80 ms", "20", "80")) for line in lines) >= 4
    assert text.count("✗") == 4


def test_json_tells_a_setting_by_its_labels_on_all_axes() -> None:
    sweep = make_sweep(
        {
            "scenario": "upload-and-call",
            "zip": [{"queue.codel.target": [10, 20], "queue.codel.interval": ["1 ms", "3 ms"]}],
            "measures": {"call": "call.mos.mean"},
            "wish": {"most": "call"},
        },
        "made",
    )
    table = tabulate(sweep, {"call": lambda near, far, seed: near / 10})
    (best,) = conclude(sweep, table).to_dict()["best"]
    assert best["along"] == "queue.codel.target"
    assert best["setting"] == {"queue.codel.target": 20, "queue.codel.interval": "3 ms"}
    assert best["values"]["call"]["mean"] == 2.0


def test_the_compared_axis_is_the_one_of_most_interest() -> None:
    grid = {"queue": ["drop_tail", "pie", "codel"], "rtt": ["10 ms", "20 ms"]}

    def call(queue: str, rtt: str, seed: int) -> float:
        return {"drop_tail": 1.0, "pie": 4.4, "codel": 4.35}[queue] + 0.001 * seed

    result = make(grid, {"call": call})
    assert result.conclusion.main == 0
    assert result.answer.question == "What does queue change for call?"
    # A tie is a tie.
    assert result.answer.sentences[0] == "Best queue: pie and codel for call."
    assert result.answer.matrix is not None
    assert result.answer.matrix.names == ("drop_tail", "pie", "codel")
    assert make(grid, {"call": call}, compare="rtt").conclusion.main == 1


# Knees.


@pytest.mark.parametrize(
    ("values", "shape", "knee"),
    [
        ([2e6, 8e6, 9e6, 9.2e6, 9.3e6], Shape.LEVELS_OFF, "32 KiB"),
        ([9.3e6, 9.2e6, 9e6, 5e6, 1e6], Shape.FALLS_OFF, "32 KiB"),
        ([1e6, 5e6, 9e6, 5e6, 1e6], Shape.PEAKS, None),
        ([1e6, 2e6, 3e6, 4e6, 5e6], Shape.IMPROVES, None),
        ([5e6, 4e6, 3e6, 2e6, 1e6], Shape.WORSENS, None),
        ([5e6, 5.1e6, 5e6, 4.9e6, 5e6], Shape.FLAT, None),
    ],
)
def test_a_knee_is_the_end_of_the_plateau_around_the_best(
    values: list[float], shape: Shape, knee: str | None
) -> None:
    conclusion = conclude_buffers({"upload": along_buffers(values)})
    (found,) = conclusion.knees
    assert found.shape is shape
    assert name_settings(conclusion, [found.setting]) == ([knee] if knee else [])


def test_of_a_measure_that_is_better_small_the_knee_is_on_the_other_side() -> None:
    conclusion = conclude_buffers({"page": along_buffers([1e9, 1e9, 1.02e9, 5e9, 9e9])})
    (found,) = conclusion.knees
    assert (found.shape, name_settings(conclusion, [found.setting])) == (
        Shape.FALLS_OFF,
        ["32 KiB"],
    )
    assert answer_sweep(conclusion).sentences == (
        "With more buffer, page gets worse beyond 32 KiB.",
    )


def test_numbers_in_any_order_are_a_curve() -> None:
    order = ["32 KiB", "8 KiB", "16 KiB", "128 KiB", "64 KiB"]
    result = make({"buffer": order}, {"upload": UPLOAD})
    (knee,) = result.conclusion.knees
    assert name_settings(result.conclusion, knee.line) == BUFFERS
    assert name_settings(result.conclusion, [knee.setting]) == ["32 KiB"]


def test_two_points_and_what_has_no_better_have_no_knee() -> None:
    assert make({"buffer": BUFFERS[:2]}, {"upload": UPLOAD}).conclusion.knees == ()
    assert conclude_buffers({"sent": UPLOAD}).knees == ()
    assert (
        make({"queue": ["a", "b", "c"]}, {"upload": lambda queue, seed: 1e6}).conclusion.knees == ()
    )


# What matters, and the trade-off.


def test_an_axis_explains_what_its_settings_differ_by() -> None:
    def call(rate: str, buffer: str, seed: int) -> float:
        return 1.0 + BUFFERS.index(buffer) * 0.5

    result = make({"rate": RATES, "buffer": BUFFERS}, {"call": call})
    assert result.conclusion.shares["call"] == pytest.approx((0.0, 1.0))
    assert "Buffer matters most for call." in result.answer.sentences
    flat = make({"rate": RATES, "buffer": BUFFERS}, {"call": lambda *_: 4.0})
    assert flat.conclusion.shares == {}


def test_a_trade_off_is_of_the_two_measures_that_are_most_opposed() -> None:
    page = along_buffers([1e9, 1.1e9, 1.0e9, 1.2e9, 1.1e9])
    conclusion = conclude_buffers({"call": CALL, "page": page, "upload": UPLOAD})
    assert conclusion.trade_off == TradeOff(0, "call", "upload")
    good = conclude_buffers({"call": along_buffers([1, 2, 3, 4, 4.4]), "upload": UPLOAD})
    assert good.trade_off is None
    assert answer_sweep(good).why == "measure-1"


def test_a_trade_off_shows_every_setting_and_what_must_hold() -> None:
    conclusion = conclude_buffers({"call": CALL, "upload": UPLOAD}, ["call >= 4.0", "most upload"])
    figures = draw_sweep(conclusion, make_summary(conclusion, CALL, UPLOAD))
    assert [figure.name for figure in figures] == ["trade-off", "measure-1", "measure-2"]
    (panel,) = figures[0].panels
    check_panel(panel)
    text = json.dumps(panel.specify(), ensure_ascii=False)
    assert all(f'"label": "{buffer}"' in text for buffer in BUFFERS)
    assert '"meaning": "call ≥ 4.0"' in text
    assert '"title": "upload (Mbit/s)"' in text


@pytest.mark.parametrize(
    ("bound", "shown", "told"),
    [
        (0.3, True, ""),
        (0.2, True, ""),
        (1.0, False, " The bound ≤ 1 % is above the axis."),
    ],
)
def test_an_axis_is_extended_to_a_bound_that_leaves_half_of_it_to_the_values(
    bound: float, shown: bool, told: str
) -> None:
    drawn = Drawn("game (%)", 0.01, vl.Scale(domain=[0.0, 0.22], nice=True))
    own, marks, beyond = make_room(drawn, [(bound, f"≤ {bound:g} %")])
    assert (bool(marks), beyond) == (shown, told)
    low, high = own.scale["domain"]
    assert (low, high) == (0.0, pytest.approx(max(0.22, 1.1 * bound if bound == 0.3 else 0.0)))


def test_a_trade_off_s_axes_begin_at_the_values() -> None:
    rows = pl.DataFrame({"mean": [15e6, 19e6], "low": [14.9e6, 18e6], "high": [15.1e6, 19.5e6]})
    about = MeasureInfo("upload", "rate", True, "goodput")
    assert choose_axis(rows, about, from_zero=False).scale["domain"] == [14.9, 19.5]
    assert choose_axis(rows, about).scale["domain"] == [0, 19.5]


def test_wide_values_and_intervals_below_zero_are_drawn_along_a_logarithm() -> None:
    conclusion = conclude_buffers({"page": along_buffers([1e8, 1e9, 2e9, 5e9, 9e9], 2e8)})
    summary = SweepResult(
        conclusion.sweep,
        table=tabulate(conclusion.sweep, {"page": along_buffers([1e8, 1e9, 2e9, 5e9, 9e9], 2e8)}),
        complete=True,
    ).summary
    assert float(summary["low"].min()) < 0  # type: ignore[arg-type]
    (figure,) = draw_sweep(conclusion, summary)
    specification = figure.panels[0].specify()
    scales = [layer["encoding"]["y"]["scale"] for layer in specification["layer"]]
    assert {scale["type"] for scale in scales} == {"log"}
    (rows,) = specification["datasets"].values()
    assert min(row["low"] for row in rows) > 0


# Wishes.


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"holds": "call >= 4"}, '^wish.holds: unknown key "holds"; did you mean "hold"\\?$'),
        ({"hold": 4},
         '^wish.hold: expected a condition such as "call >= 4.0", or a list of them, found 4$'),
        ({"hold": "call"},
         '^wish.hold: expected QUANTITY, one of >= > <= <, and a bound, such as "call >= 4.0",'
            ' found "call"$'),
        ({"hold": "call = 4"}, "^wish.hold: expected QUANTITY"),
        ({"hold": "cal >= 4"}, '^wish.hold: no measure is called "cal"; did you mean "call"\\?$'),
        ({"hold": "call / upload / call > 1"}, "^wish.hold: expected a measure or a ratio of two"),
        ({"most": "uplod"}, '^wish.most: no measure is called "uplod"; did you mean "upload"\\?$'),
        ({"most": 3}, '^wish.most: expected a measure such as "upload", found 3$'),
        ({"most": "upload", "least": "call"},
         "^wish.least: there is wish.most too; expected one of them$"),
        ("call >= 4", "^wish: expected a table"),
    ],
)  # fmt: skip
def test_a_wish_that_cannot_be_is_refused(wish: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make({"buffer": BUFFERS}, {"call": CALL, "upload": UPLOAD}, wish=wish)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["call"], '^--prefer "call": expected QUANTITY'),
        (["most uplod"], '^--prefer "most uplod": no measure is called "uplod"; did you mean'),
        (["most"], '^--prefer "most": expected a measure such as "call.mos.mean", found ""$'),
        (["most upload", "least call"],
         '^--prefer "least call": expected one most or least, found "most upload" before$'),
    ],
)  # fmt: skip
def test_a_preference_that_cannot_be_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_preferences(texts, {"call": "call.mos.mean", "upload": "upload.goodput"})


LINE = """\
duration = "2 s"
bottleneck = "line.up"
link.line.point_to_point.up = { rate = "1 Mbit/s", queue = "drop_tail" }
[flow.ping]
application = "ping"
[flow.upload]
application = "bulk"
"""

SWEEP = """\
scenario = "line.toml"
seeds = 2
[grid]
queue = ["drop_tail", "codel"]
flow.ping.rtt = ["10 ms", "20 ms", "40 ms"]
[measures]
rtt = "ping.rtt.mean"
rate = "upload.goodput"
[wish]
hold = [
  "rtt <= 100 ms",
]
most = "rate"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    (tmp_path / "wished.toml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


def run(*options: str) -> Result:
    return CliRunner().invoke(app, ["sweep", "wished.toml", "--out", "out", *options])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"rtt <= 100 ms"', '"rtt <= 100 KiB"'),
         'wished.toml: wish.hold: expected a time such as "100 ms" (ns, us, µs, ms, s, min), found'
         ' "100 KiB" (line 10)'),
        (('"rtt <= 100 ms"', '"rtt >= 0 ms"'),
         'wished.toml: wish.hold: every value meets ">= 0 ms": rtt is 0 ms or more (line 10)'),
        (('"rtt <= 100 ms"', '"ping.rtt.p5 <= 100 ms", "png.rtt.mean > 1 ms"'),
         'wished.toml: wish.hold: no flow or queue is called "png"; did you mean "ping"?'
         ' (line 10)'),
        (('"rtt <= 100 ms"', '"rtt / rate <= 1"'),
         'wished.toml: wish.hold: "rtt / rate": a ratio of a time and a rate (line 10)'),
        (('most = "rate"', 'most = "rat"'),
         'wished.toml: wish.most: no measure is called "rat"; did you mean "rate"? (line 13)'),
        (('most = "rate"', 'mots = "rate"'),
         'wished.toml: wish.mots: unknown key "mots"; did you mean "most"? (line 13)'),
    ],
)  # fmt: skip
def test_an_error_of_a_wish_names_the_line(
    folder: Path, change: tuple[str, str], message: str
) -> None:
    (folder / "wished.toml").write_text(SWEEP.replace(*change), encoding="utf-8")
    answer = run()
    assert answer.exit_code == 2
    assert answer.stderr == f"error: {message}\n"
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["sweep", "own-swep.toml"], 'no such file; did you mean "own-sweep.toml"?'),
        (["sweep", "bufer-sizes.toml"], 'no such file; did you mean "buffer-sizes"?'),
        (["sweep", "far/away"], "far/away: no such file"),
        (["run", "street.toml"], 'no such file; did you mean "street"?'),
        (["scenarios", "street"], "did you mean headend scenarios show street?"),
    ],
)
def test_what_is_not_there_is_answered_with_what_was_perhaps_meant(
    words: list[str], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("own-sweep.toml", "mystreet.toml"):
        Path(name).write_text("", encoding="utf-8")
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert hint in refused.stderr


def test_the_wish_of_the_command_takes_the_place_of_the_file_s(folder: Path) -> None:
    wrong = run("--prefer", "rtt <= 3 KiB")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith('error: --prefer "rtt <= 3 KiB": expected a time')
    own = json.loads(run("--json", "--prefer", "least rtt").stdout)
    assert own["conclusion"]["wish"] == {"least": "rtt"}
    # The page that is made of the folder has the same wish.
    page = Path("out/report.html").read_bytes()
    Path("out/report.html").unlink()
    assert CliRunner().invoke(app, ["report", "out"]).exit_code == 0
    assert Path("out/report.html").read_bytes() == page
    assert json.loads(run("--json").stdout)["conclusion"]["wish"] == {
        "hold": ["rtt <= 100 ms"],
        "most": "rate",
    }


def test_what_a_wish_names_by_its_path_is_measured(folder: Path) -> None:
    found = json.loads(run("--json", "--prefer", "ping.rtt.p95 <= 10 s").stdout)
    assert {row["measure"] for row in found["summary"]} == {"rtt", "rate", "ping.rtt.p95"}
    assert {best["standing"] for best in found["conclusion"]["best"]} == {"holds"}
    text = SWEEP[: SWEEP.index("[measures]")]
    (folder / "wished.toml").write_text(text, encoding="utf-8")
    found = json.loads(run("--json", "--prefer", "least upload.goodput").stdout)
    measures = {row["measure"] for row in found["summary"]}
    assert {"upload.goodput", "upload.up.goodput", "ping.rtt.p99"} <= measures
    answer = run("--prefer", "least ping.rtt.men")
    assert answer.stderr.startswith(
        'error: --prefer "least ping.rtt.men": "ping.rtt.men": expected'
    )


def test_the_command_begins_with_the_answer_in_few_lines(folder: Path) -> None:
    answer = run()
    assert answer.exit_code == 0
    lines = answer.stdout.splitlines()
    assert len(lines) <= 25
    assert lines[1] == "Which queue gives rtt ≤ 100 ms and the most rate?"
    assert "6 of 6" not in answer.stdout
    assert "12 of 12 points; --full prints every setting" in lines
    assert lines[-1] == "Report: out/report.html"
    full = run("--full").stdout
    assert sum(line.startswith(("drop_tail ", "codel ")) for line in full.splitlines()) == 6
    document = json.loads(run("--json").stdout)
    assert document["answer"]["question"] == lines[1]
    assert len(document["conclusion"]["best"]) == 3
    assert document["conclusion"]["knees"]


def test_the_page_begins_with_the_question_and_ends_with_every_setting(folder: Path) -> None:
    assert run("-q").exit_code == 0
    page = Path("out/report.html").read_text(encoding="utf-8")
    order = [
        "<h1>Which queue gives rtt ≤ 100 ms and the most rate?</h1>",
        '<table class="matrix',
        'data-chart="',
        "The best setting along each axis",
        "Knees",
        "Which axis matters for what",
        "Every setting",
    ]
    places = [page.index(text) for text in order]
    assert places == sorted(places)
    assert len(page) < 1_500_000


# Axes.


@pytest.mark.parametrize(
    ("values", "scale", "ticks", "title"),
    [
        (["8 KiB", "16 KiB", "64 KiB"],
         {"type": "log", "domain": [8, 64], "nice": False}, [8, 16, 64], "own (KiB)"),
        (["512 KiB", "1 MiB", "2 MiB"],
         {"type": "log", "domain": [512, 2048], "nice": False}, [512, 1024, 2048],
         "own (KiB)"),
        (["1 ms", "5 ms", "30 ms"], {"type": "log", "domain": [1, 30], "nice": False}, [1, 5, 30],
         "own (ms)"),
        (["10 ms", "20 ms"], {"zero": False, "nice": True}, [10, 20], "own (ms)"),
        ([1, 2, 3, 4], {"zero": False, "nice": True}, [1, 2, 3, 4], "own"),
        (["50 ms", "100 ms", "200 ms", "400 ms"],
         {"type": "log", "domain": [50, 400], "nice": False}, [50, 100, 200, 400], "own (ms)"),
        (["10 ms", "50 ms", "100 ms", "0 s"], {"zero": False, "nice": True}, [0, 10, 50, 100],
         "own (ms)"),
    ],
)  # fmt: skip
def test_an_axis_of_numbers_has_a_tick_for_each_in_one_unit(
    values: list[Any], scale: dict[str, Any], ticks: list[float], title: str
) -> None:
    (axis,) = make({"own": values}, {"call": lambda *_: 4.0}).sweep.design.factors
    chosen = choose_scale(axis)
    assert chosen["scale"] == scale
    assert chosen["axis"]["values"] == ticks
    assert name_axis(axis) == title


def test_categories_stand_in_the_order_given_and_have_no_scale() -> None:
    result = make({"queue": ["pie", "codel", "drop_tail"]}, {"call": lambda *_: 4.0})
    (axis,) = result.sweep.design.factors
    assert "scale" not in choose_scale(axis)
    (figure,) = draw_sweep(result.conclusion, result.summary)
    specification = figure.panels[0].specify()
    x = specification["layer"][0]["encoding"]["x"]
    assert (x["type"], x["sort"]) == ("nominal", None)
    assert all(layer["mark"]["type"] != "line" for layer in specification["layer"])


def test_an_axis_is_named_by_the_last_words_of_its_path() -> None:
    content = {
        "scenario": "upload-and-call",
        "grid": {"link.cable.docsis.upstream.rate": ["1 Mbit/s"], "flow.call.rtt": ["10 ms"]},
    }
    names = [axis.words for axis in make_sweep(content, "made").design.factors]
    assert names == ["upstream rate", "call RTT"]


def test_a_long_matrix_keeps_both_ends_and_what_is_best() -> None:
    assert spread(range(20), 8, [7]) == sorted({0, 7, 19, *spread(range(20), 8, [7])})
    assert len(spread(range(20), 8, range(20))) == 8
    values = [f"{number} ms" for number in range(1, 21)]
    result = make(
        {"target": values},
        {"call": lambda target, seed: 4.4 if target == "7 ms" else 1.0},
        wish={"most": "call"},
    )
    matrix = result.answer.matrix
    assert matrix is not None
    assert len(matrix.names) == 8
    assert {"1 ms", "7 ms", "20 ms"} <= set(matrix.names)
    assert "8 of 20 columns" in matrix.note


def test_a_matrix_of_one_measure_of_several_says_which_in_words_of_the_sweep() -> None:
    measures = {"call": lambda *_: 4.0, "upload": lambda *_: 1e6, "page": lambda *_: 1e9}
    matrix = make({"rate": RATES, "buffer": BUFFERS}, measures, compare="buffer").answer.matrix
    assert matrix is not None
    assert "Shown is call, one of 3 measures." in matrix.note
    assert "below" not in matrix.note


def test_a_matrix_of_one_measure_shows_that_by_which_somebody_fares_worst() -> None:
    measures = {"call": lambda *_: 4.4, "upload": lambda *_: 1e6, "page": lambda *_: 5e9}
    matrix = make({"rate": RATES, "buffer": BUFFERS}, measures, compare="buffer").answer.matrix
    assert matrix is not None
    assert "Shown is page, one of 3 measures." in matrix.note


@pytest.mark.parametrize(
    ("late", "frozen", "shown"), [(0.0, 0.3, "frozen"), (0.3, 0.0, "late"), (0.02, 0.3, "frozen")]
)
def test_of_a_flow_the_measure_by_which_it_fares_worst_is_shown(
    late: float, frozen: float, shown: str
) -> None:
    gives = {
        "call": lambda *_: 4.4,
        "delay": lambda *_: 60e6,
        "late": lambda buffer, _: late if buffer == BUFFERS[-1] else 0.0,
        "frozen": lambda buffer, _: frozen if buffer == BUFFERS[0] else 0.0,
    }
    conclusion = make({"buffer": BUFFERS}, gives, measures={}).conclusion
    assert list(conclusion.measures) == ["call", shown]


def test_axes_that_change_together_are_one() -> None:
    sweep = make_sweep(
        {
            "scenario": "upload-and-call",
            "zip": [{"flow.call.rtt": ["10 ms", "20 ms"], "flow.upload.rtt": ["10 ms", "30 ms"]}],
            "measures": {"call": "call.mos.mean"},
        },
        "made",
    )
    conclusion = conclude(sweep, tabulate(sweep, {"call": lambda near, far, seed: 4.0}))
    (dimension,) = conclusion.grid.dimensions
    assert dimension.name == "call RTT and upload RTT"
    assert dimension.labels == ("10 ms", "20 ms / 30 ms")
    assert not math.isnan(conclusion.measures["call"].estimates[1].mean)


def test_an_axis_of_scores_reaches_from_the_least_to_the_best() -> None:
    rows = pl.DataFrame({"mean": [2.0, 4.0], "low": [1.9, 3.9], "high": [2.1, 4.1]})
    known = {"subject": "call", "metric": "mos.mean", "unit": "1"}
    call = describe_measure({"measure": "call", **known})
    assert choose_axis(rows, call).scale["domain"] == [1, 4.5]
    other = describe_measure({"measure": "rate", "metric": "goodput", "unit": "bit/s"})
    assert choose_axis(rows, other).scale["domain"][0] == 0
