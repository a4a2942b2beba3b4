"""Tests of joining several files of one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from headend.measurement.joining import join
from headend.measurement.record import (
    DelaySeries,
    Direction,
    Load,
    Measurement,
    Phase,
    Probe,
    Quantity,
    RateSeries,
    Retransmissions,
    Senders,
    Statistic,
    Summary,
    Trip,
)


def make_ping(started: float | None, count: int = 40) -> Measurement:
    times = [float(number) for number in range(count)]
    return Measurement(
        ("ping",),
        (Path("ping.log"),),
        started,
        delays=(DelaySeries(Trip.ROUND, Probe.ICMP, times, [10.0] * count),),
        dropped=("addresses",),
    )


def make_load(
    started: float | None, direction: Direction = Direction.UP, rate: float = 8e6, length: int = 10
) -> Measurement:
    seconds = range(length)
    up, down = (int(direction is one) for one in (Direction.UP, Direction.DOWN))
    return Measurement(
        ("iperf3 3.16",),
        (Path(f"{direction.value}.json"),),
        started,
        (Phase(Load(direction.value), 0.0, float(length)),),
        (
            RateSeries(
                direction,
                [float(second) for second in seconds],
                [second + 1.0 for second in seconds],
                [rate] * length,
            ),
        ),
        senders=Senders(up, down, "cubic"),
        retransmissions=(Retransmissions(direction, 0.01, f"{direction.value} 1"),),
    )


def show(measured: Measurement) -> list[tuple[str, float, float]]:
    return [(one.load.value, one.start, one.end) for one in measured.phases]


def test_one_measurement_stays_as_it_is() -> None:
    one = make_load(None)
    assert join([one]) is one


@pytest.mark.parametrize("ping_first", [True, False])
def test_a_log_of_ping_gets_the_phases_of_the_loads_that_ran_meanwhile(ping_first: bool) -> None:
    ping = make_ping(1000.0)
    loads = [make_load(1005.0), make_load(1020.0, Direction.DOWN, 50e6)]
    joined = join([ping, *loads] if ping_first else [*loads, ping])
    assert show(joined) == [
        ("idle", 0.0, 5.0),
        ("up", 5.0, 15.0),
        ("idle", 17.0, 20.0),
        ("down", 20.0, 30.0),
        ("idle", 32.0, 39.0),
    ]
    assert joined.started == 1000.0
    assert list(joined.delays[0].times) == list(ping.delays[0].times)
    assert [next(iter(one.starts)) for one in joined.rates] == [5.0, 20.0]
    assert joined.senders == Senders(1, 1, "cubic")
    assert joined.notes == ("The line counts as idle where no file tells of a load.",)


def test_loads_that_ran_at_the_same_time_fill_both_directions() -> None:
    joined = join([make_load(1000.0), make_load(1004.0, Direction.DOWN)])
    assert show(joined) == [("up", 0.0, 4.0), ("both", 4.0, 10.0), ("down", 10.0, 14.0)]


def test_rates_of_a_direction_that_two_files_tell_of_are_added() -> None:
    joined = join([make_load(1000.0), make_load(1005.0, rate=4e6)])
    [total] = joined.rates
    assert list(total.rates) == [8e6] * 5 + [12e6] * 5 + [4e6] * 5


def test_measurements_at_other_times_come_one_after_the_other() -> None:
    # In order of time, whatever the order of files; a day lies between them.
    joined = join([make_load(90_000.0, Direction.DOWN), make_load(1000.0)])
    assert [load for load, _, _ in show(joined)] == ["up", "down"]
    [up, down] = show(joined)
    assert up == ("up", 0.0, 10.0)
    assert 10.0 < down[1] < 60.0
    assert joined.started == 1000.0


def test_a_log_without_a_time_comes_after_the_load_and_a_note_says_so() -> None:
    joined = join([make_ping(None), make_load(1000.0)])
    assert show(joined) == [("up", 0.0, 10.0)]
    assert min(joined.delays[0].times) > 10.0
    [note] = joined.notes
    assert note.startswith("Which load the delays of ping.log met is not known")
    assert "ping -D" in note


def test_numbers_without_times_need_no_place() -> None:
    summary = Summary(Quantity.DELAY, Statistic.MEDIAN, 12.0, Load.IDLE)
    told = Measurement(("speedtest",), summaries=(summary,))
    joined = join([told, make_load(1000.0)])
    assert joined.summaries == (summary,)
    assert show(joined) == [("up", 0.0, 10.0)]


def test_flows_of_two_files_keep_names_of_their_own() -> None:
    joined = join([make_load(1000.0), make_load(2000.0)])
    assert [one.flow for one in joined.retransmissions] == ["up 1 of file 1", "up 1 of file 2"]


def test_what_files_tell_of_the_whole_is_brought_together() -> None:
    first = Measurement(
        ("a",), senders=Senders(4, 0, "cubic"), marks=3, medium="wifi", notes=("A.", "B.")
    )
    second = Measurement(
        ("a",), senders=Senders(0, 1, "cubic"), marks=4, medium="wifi", notes=("B.",)
    )
    joined = join([first, second])
    assert joined.tools == ("a",)
    assert joined.senders == Senders(4, 1, "cubic")
    assert (joined.marks, joined.medium) == (7, "wifi")
    assert joined.notes == ("A.", "B.")


def test_what_no_file_tells_stays_unknown() -> None:
    joined = join([Measurement(("a",)), Measurement(("b",))])
    assert joined.senders == Senders()
    assert joined.marks is None
    assert joined.phases == ()


def test_facts_that_contradict_each_other_are_noted() -> None:
    first = Measurement(("a",), senders=Senders(4, 0, "cubic"), medium="wifi")
    second = Measurement(("b",), senders=Senders(1, 0, "bbr"), medium="ethernet")
    joined = join([first, second])
    assert joined.notes == (
        "The files have different numbers of connections up: 4 and 1; the most is taken.",
        "The files name different congestion control: cubic and bbr.",
        "One file is of a computer on Wi-Fi, another of one on Ethernet.",
    )
    assert joined.medium == ""


def test_rates_that_can_hardly_be_of_one_line_are_noted() -> None:
    joined = join([make_load(1000.0, rate=93e6), make_load(2000.0, rate=9.1e6)])
    assert "Rates up of the files are 93 and 9.1 Mbit/s: are they of one line?" in joined.notes
    assert not join([make_load(1000.0), make_load(2000.0, rate=7e6)]).notes
