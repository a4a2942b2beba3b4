"""Tests of reading tables of a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from headend.errors import InputError
from headend.measurement.csv_file import CSV_FILE
from headend.measurement.reader import Content
from headend.measurement.reading import read_measurement
from headend.measurement.record import Direction, Load, Measurement, Probe, Quantity


def read(*lines: str) -> Measurement:
    content = Content(Path("line.csv"), "\n".join([*lines, ""]).encode())
    assert CSV_FILE.recognises(content)
    return CSV_FILE.read(content)


def test_each_row_is_a_bin_until_the_next_one() -> None:
    measured = read("time_s,down_mbps,up_bps", "0,50,8e6", "1,60,9e6", "3,70,")
    [down, up] = measured.rates
    assert down.direction is Direction.DOWN
    assert (list(down.starts), list(down.ends)) == ([0.0, 1.0, 3.0], [1.0, 3.0, 4.5])
    assert list(down.rates) == [50e6, 60e6, 70e6]
    assert list(up.rates) == [8e6, 9e6]


def test_an_empty_delay_is_a_lost_probe() -> None:
    [delays] = read("time_s,delay_ms", "0,10.5", "0.2,", "0.4,11").delays
    assert (list(delays.times), list(delays.delays)) == ([0.0, 0.4], [10.5, 11.0])
    assert list(delays.lost) == [0.2]
    assert delays.probe is Probe.UNKNOWN


def test_rates_tell_what_filled_the_line() -> None:
    measured = read(
        "time_s,down_mbps,up_mbps",
        "0,0.1,0",
        "1,100,0.1",
        "2,90,10",
        "3,1,10",
        "4,20,10",
        "5,0,0",
    )
    assert [(one.load, one.start, one.end) for one in measured.phases] == [
        (Load.IDLE, 0.0, 1.0),
        (Load.DOWN, 1.0, 2.0),
        (Load.BOTH, 2.0, 3.0),
        (Load.UP, 3.0, 4.0),
        # From 4 s on the download is neither at rest nor filled.
        (Load.IDLE, 5.0, 6.0),
    ]
    assert any("counts as filled" in note for note in measured.notes)


def test_a_column_may_name_the_load() -> None:
    measured = read("time_s,delay_ms,load", "0,10,idle", "1,11,idle", "2,90,up", "3,12,")
    assert [(one.load, one.start, one.end) for one in measured.phases] == [
        (Load.IDLE, 0.0, 2.0),
        (Load.UP, 2.0, 3.0),
    ]


def test_losses_are_means_of_each_load() -> None:
    measured = read(
        "time_s,delay_ms,loss,load", "0,10,0,idle", "1,90,0.1,up", "2,90,0.3,up", "3,90,,up"
    )
    told = {one.load: (one.quantity, one.value) for one in measured.summaries}
    assert told == {
        Load.IDLE: (Quantity.LOSS, 0.0),
        Load.UP: (Quantity.LOSS, pytest.approx(0.2)),
    }


def test_a_table_of_delays_alone_says_nothing_of_load() -> None:
    assert read("time_s,delay_ms", "0,10", "1,11").phases == ()


def test_times_since_1970_tell_when_it_began() -> None:
    measured = read("time_s,delay_ms", "1700000000.5,10", "1700000001.5,11")
    assert measured.started == 1_700_000_000.5
    assert list(measured.delays[0].times) == [0.0, 1.0]


def test_a_table_of_a_spreadsheet_has_semicolons_and_decimal_commas() -> None:
    measured = read("\ufefftime_s;Down_Mbps;delay_ms".lstrip("\ufeff"), "0;50,5;10,25", "1;60;")
    assert list(measured.rates[0].rates) == [50.5e6, 60e6]
    assert list(measured.delays[0].delays) == [10.25]


def test_comments_and_empty_lines_are_passed_over() -> None:
    measured = read("# of the line at home", "", "time_s,delay_ms", "", "0,10")
    assert list(measured.delays[0].delays) == [10.0]


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (["time_s,down_mbs", "0,1"], 'line.csv:1: unknown column "down_mbs"; did you mean "down_m'),
        (["time,delay_ms", "0,1"], 'line.csv:1: unknown column "time"; did you mean "time_s"?'),
        (["down_mbps,delay_ms", "0,1"], 'line.csv:1: expected a column "time_s", found none'),
        (["time_s,loss", "0,1"], "line.csv:1: expected a column of rates or delays, such as"),
        (["time_s,time_s,delay_ms", "0,1,1"], 'the column "time_s" is there twice'),
        (["time_s,up_bps,up_mbps", "0,1,1"], "expected rates of a direction in one unit"),
        (["time_s,delay_ms"], "line.csv: expected rows after the names of columns, found none"),
        (["time_s,delay_ms", "0,ten"], "line.csv:2: delay_ms: expected a delay in ms, or nothing"),
        (["time_s,delay_ms", "0,nan"], 'found "nan"'),
        (["time_s,delay_ms", "0,1e400"], 'found "1e400"'),
        (["time_s,delay_ms", "0,1_0"], 'found "1_0"'),
        (["time_s,delay_ms", "0,-1"], 'found "-1"'),
        (["time_s,delay_ms", ",1"], "line.csv:2: time_s: expected a time in s, found nothing"),
        (["time_s,delay_ms", "0,1,5"], "expected 2 cells, as there are columns, found 3; decimals"),
        (["time_s,delay_ms", "0"], "line.csv:2: expected 2 cells, as there are columns, found 1"),
        (["time_s,delay_ms", "1,5", "1,6"], "line.csv:3: time_s: expected a later time than that"),
        (["time_s,delay_ms,loss", "0,1,5"], 'loss: expected a share from 0 to 1, found "5"'),
        (["time_s,delay_ms,load", "0,1,full"], "load: expected idle, up, down or both, found"),
        (["time_s,delay_ms", "0,"], "line.csv: expected rates or delays in it, found only empty"),
        (["time_s,delay_ms", "0,1", "1e9,1"], "expected times of one measurement, found some that"),
    ],
)
def test_what_is_wrong_in_a_table_is_one_error_with_its_line(lines: list[str], error: str) -> None:
    with pytest.raises(InputError) as raised:
        read(*lines)
    assert error in str(raised.value)


def test_a_table_is_known_by_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "line.txt"
    path.write_text("time_s,delay_ms\n0,10\n")
    assert read_measurement([path]).tools == ("a table",)
