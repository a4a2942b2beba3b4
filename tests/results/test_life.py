"""The life of a packet: how it is asked for, what is made of the engine's steps, and the figure."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import headend
from conftest import HOME_LINE
from headend.cli.main import app
from headend.engine.columns import OPTIONAL_TABLES
from headend.figures import draw_figures
from headend.figures.life import KINDS, draw_life
from headend.results.life import FIRST_STEPS, LAST_STEPS, Lane, trace_life
from headend.running.result import Result as RunResult
from vega_lite import check_panel


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def replace_steps(result: RunResult, rows: list[dict[str, Any]]) -> RunResult:
    result.tables["steps"] = pl.DataFrame(rows, schema=OPTIONAL_TABLES["steps"])
    return result


def step(at: int, name: str, queue: str = "", **rest: Any) -> dict[str, Any]:
    missing = dict.fromkeys(("bytes", "opportunity", "window"), float("nan")) | {"until_ns": at}
    return {"at_ns": at, "step": name, "queue": queue, "detail": "", "when_ns": at} | missing | rest


def test_a_collision_and_its_retry_are_told_in_order(fake: Any, home_line: Path) -> None:
    life = trace_life(headend.run(home_line, explain="call@12 s"))
    assert life is not None
    told = [
        ((moment.at_ns - life.born_ns) // 1000, moment.lane.name, moment.text)
        for moment in life.moments
    ]
    assert told == [
        (0, "SENDER", "sent: 200 B"),
        (0, "MODEM", "enters the queue cable.up"),
        (0, "MODEM", "backs off: draws one of 8 opportunities to ask"),
        (1000, "CHANNEL", "request for 236 B in a contention slot"),
        (1000, "CHANNEL", "the request collides: nobody hears it"),
        (4000, "MODEM", "MAP without an answer: ask again"),
        (4000, "MODEM", "backs off: draws one of 16 opportunities to ask"),
        (5200, "CHANNEL", "request for 236 B in a contention slot"),
        (8000, "MODEM", "MAP: the request was heard"),
        (8000, "MODEM", "MAP: grant of 236 B"),
        (9300, "MODEM", "leaves the queue cable.up"),
        (9500, "CHANNEL", "the burst begins"),
        (30000, "RECEIVER", "received"),
    ]


def test_the_packets_way_has_no_gap_and_ends_at_the_receiver(fake: Any, home_line: Path) -> None:
    life = trace_life(headend.run(home_line, explain="call@12 s"))
    assert life is not None
    way = [leg for leg in life.legs if leg.kind == "packet"]
    for one, other in itertools.pairwise(way):
        assert (one.to_ns, one.end) == (other.from_ns, other.start)
    assert (way[0].start, way[-1].end) == (Lane.SENDER, Lane.RECEIVER)


def test_a_request_that_collides_ends_on_the_channel(fake: Any, home_line: Path) -> None:
    life = trace_life(headend.run(home_line, explain="call@12 s"))
    assert life is not None
    ends = Counter((leg.kind, leg.end) for leg in life.legs if leg.start == Lane.MODEM)
    assert ends["collision", Lane.CHANNEL] == 1
    assert ends["request", Lane.CMTS] == 1


def test_the_figure_says_every_step_with_its_time(fake: Any, home_line: Path) -> None:
    figure = draw_life([headend.run(home_line, explain="call@12 s")])
    assert figure is not None
    assert "requests" not in figure.title
    check_panel(figure.panels[0])
    specification = json.dumps(figure.panels[0].specify(), ensure_ascii=False)
    words = set(re.findall(r'"words": "([^"]+)"', specification))
    assert "5.200 ms  request for 236 B in a contention slot" in words
    # Twenty milliseconds of wide area would leave the loop no room.
    assert "30.000 ms (drawn nearer)  received" in words
    assert len(words) == 13


def test_a_run_explains_itself_in_report_and_picture(fake: Any, home_line: Path) -> None:
    answer = call("run", "home-line.toml", "--explain", "call@12 s", "--out", "kept")
    assert answer.exit_code == 0, answer.output
    assert "Life of a packet: kept/life.svg" in answer.stdout
    assert Path("kept/life.svg").read_text().startswith("<svg")
    page = Path("kept/report.html").read_text()
    assert "Life of a packet of call" in page
    assert call("report", "kept", "--out", "again.html").exit_code == 0
    assert Path("again.html").read_text() == page
    answer = call("run", "home-line.toml", "--explain", "call@12 s", "--json")
    assert json.loads(answer.stdout)["steps"][0]["step"] == "sent"


def test_a_run_that_explains_nothing_has_no_such_table(fake: Any, home_line: Path) -> None:
    result = headend.run(home_line, out="kept")
    assert "steps" not in result.tables
    assert not Path("kept/steps.parquet").exists()
    assert "life" not in {figure.name for figure in draw_figures([RunResult.load("kept")])}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("call", 'expected FLOW@TIME, such as "call@12 s"'),
        ("@12 s", 'expected FLOW@TIME, such as "call@12 s"'),
        ("caal@12 s", 'no flow is called "caal"; did you mean "call"?'),
        ("call@12", 'expected a time such as "100 ms" (ns, us, µs, ms, s, min), found "12"'),
        ("call@-1 s", "expected a time from 0 s on, the start of the run"),
        ("call@60 s", "expected a time before the end, which is at 60 s"),
    ],
)
def test_what_cannot_be_explained_is_refused(
    fake: Any, home_line: Path, text: str, message: str
) -> None:
    answer = call("run", "home-line.toml", "--explain", text)
    assert (answer.exit_code, answer.stderr) == (2, f"error: --explain {text}: {message}\n")
    assert not Path("results").exists()


def test_of_a_long_wait_the_middle_is_left_out(fake: Any, home_line: Path) -> None:
    grants = [
        step(100 + n, "granted", "cable.up", when_ns=200 + n, bytes=100.0) for n in range(100)
    ]
    rows = [step(0, "enqueued", "cable.up"), *grants, step(300, "dequeued", "cable.up")]
    life = trace_life(replace_steps(headend.run(home_line), rows))
    assert life is not None
    assert life.left_out == 100 - FIRST_STEPS - LAST_STEPS
    figure = draw_life([replace_steps(headend.run(home_line), rows)])
    assert figure is not None
    assert "84 steps in its middle are left out" in figure.explanation
    picture = json.dumps(figure.panels[0].specify(), ensure_ascii=False)
    assert "⋯ 84 steps left out ⋯" in picture
    assert "⋯ 84 steps until" in picture
    check_panel(figure.panels[0])


def test_of_a_wait_longer_than_is_recorded_the_count_is_the_least(
    fake: Any, home_line: Path
) -> None:
    grants = [
        step(100 + n, "granted", "cable.up", when_ns=200 + n, bytes=100.0) for n in range(128)
    ]
    rows = [step(0, "enqueued", "cable.up"), *grants, step(400, "dequeued", "cable.up")]
    figure = draw_life([replace_steps(headend.run(home_line), rows)])
    assert figure is not None
    assert "at least 112 steps in its middle are left out" in figure.explanation


def test_ticks_of_a_short_life_are_told_apart(fake: Any, home_line: Path) -> None:
    rows = [step(0, "sent"), step(0, "enqueued", "line.up")]
    rows += [step(300_000, "dequeued", "line.up"), step(360_000, "delivered")]
    figure = draw_life([replace_steps(headend.run(home_line), rows)])
    assert figure is not None
    axis = next(
        layer["encoding"]["x"]["axis"]
        for layer in figure.panels[0].specify()["layer"]
        if layer["encoding"]["x"].get("axis")
    )
    assert axis["values"][:3] == [0, 0.05, 0.1]
    assert axis["format"] == ",.2f"


def test_every_kind_has_a_colour_of_its_own() -> None:
    slots = [slot for _, slot in KINDS.values()]
    assert len(set(slots)) == len(slots)


def test_a_plain_link_has_a_queue_and_no_cmts(fake: Any, home_line: Path) -> None:
    rows = [
        step(0, "sent"),
        step(0, "enqueued", "line.up"),
        step(5_000_000, "dequeued", "line.up"),
        step(9_000_000, "delivered"),
    ]
    life = trace_life(replace_steps(headend.run(home_line), rows))
    assert life is not None
    assert not life.asks
    assert {moment.lane for moment in life.moments} == {Lane.SENDER, Lane.MODEM, Lane.RECEIVER}
    figure = draw_life([replace_steps(headend.run(home_line), rows)])
    assert figure is not None
    text = json.dumps(figure.panels[0].specify())
    assert "line.up" in text
    assert "CMTS" not in text


def test_a_packet_drawn_at_the_map_has_its_burst_where_the_grant_lies(
    fake: Any, home_line: Path
) -> None:
    rows = [
        step(0, "enqueued", "cable.up"),
        step(4, "granted", "cable.up", when_ns=7, bytes=300.0),
        step(4, "dequeued", "cable.up"),
        step(20, "delivered"),
    ]
    life = trace_life(replace_steps(headend.run(home_line), rows))
    assert life is not None
    assert (7, "the burst begins") in [(moment.at_ns, moment.text) for moment in life.moments]
    (burst,) = [leg for leg in life.legs if (leg.start, leg.end) == (Lane.MODEM, Lane.CMTS)]
    assert burst.from_ns == 7


def find_bursts(result: RunResult, rows: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Give what is told of bursts, after a check that the way begins with the first."""
    life = trace_life(replace_steps(result, rows))
    assert life is not None
    told = [
        (moment.at_ns, moment.text)
        for moment in life.moments
        if "burst" in moment.text and "begins" in moment.text
    ]
    way = [leg for leg in life.legs if leg.kind == "packet"]
    for one, other in itertools.pairwise(way):
        assert (one.to_ns, one.end) == (other.from_ns, other.start)
    left = [leg.from_ns for leg in way if leg.start == Lane.MODEM != leg.end]
    own = [at for at, text in told if text in ("the burst begins", "its burst 1 of 2 begins")]
    assert not own or own == left
    return told


def test_the_burst_is_that_of_the_grant_that_the_packet_left_for(
    fake: Any, home_line: Path
) -> None:
    # Two grants lie ahead: the packet goes into the one that its MAP brought, not into the one
    # before.
    rows = [
        step(0, "enqueued", "cable.up"),
        step(3, "granted", "cable.up", when_ns=15, bytes=528.0),
        step(14, "prepared", "cable.up", when_ns=15),
        step(14, "granted", "cable.up", when_ns=17, bytes=660.0),
        step(14, "granted", "cable.up", when_ns=25, bytes=660.0),
        step(14, "dequeued", "cable.up"),
        step(50, "delivered"),
    ]
    earlier = (15, "an earlier burst begins")
    assert find_bursts(headend.run(home_line), rows) == [earlier, (25, "the burst begins")]


def test_a_packet_drawn_with_its_burst_goes_into_the_next_that_is_not_prepared(
    fake: Any, home_line: Path
) -> None:
    rows = [
        step(0, "enqueued", "cable.up"),
        step(1, "granted", "cable.up", when_ns=15, bytes=300.0),
        step(2, "granted", "cable.up", when_ns=25, bytes=300.0),
        step(12, "prepared", "cable.up", when_ns=15),
        step(14, "dequeued", "cable.up"),
        step(50, "delivered"),
    ]
    assert find_bursts(headend.run(home_line), rows)[-1] == (25, "the burst begins")


def test_a_burst_that_leaves_the_queue_before_it_is_asked_for_is_granted_later(
    fake: Any, home_line: Path
) -> None:
    result = headend.run(home_line)
    result.manifest["scenario"]["link"]["cable"]["docsis"]["plant"] = {"mac": {"continuous": False}}
    left = [
        step(0, "enqueued", "cable.up"),
        step(1, "granted", "cable.up", when_ns=3, bytes=300.0),
        step(2, "prepared", "cable.up", when_ns=3),
        step(2, "dequeued", "cable.up"),
    ]
    asked = [
        step(2, "requested", "cable.up", when_ns=3, bytes=100.0),
        step(6, "granted", "cable.up", when_ns=8, bytes=60.0),
        step(9, "granted", "cable.up", when_ns=12, bytes=60.0),
        step(11, "requested", "cable.up", when_ns=12, bytes=100.0),
    ]
    earlier = (3, "an earlier burst begins")
    # What carried the request for it did not carry it.
    assert find_bursts(result, [*left, step(40, "delivered")]) == [earlier]
    assert find_bursts(result, [*left, *asked, step(40, "delivered")]) == [
        earlier,
        (8, "the burst begins"),
    ]
    loaded = step(9, "loaded", "cable.up", when_ns=14)
    assert find_bursts(result, [*left, *asked[:3], loaded, step(40, "delivered")]) == [
        earlier,
        (8, "its burst 1 of 2 begins"),
        (12, "its burst 2 of 2 begins"),
    ]


def test_a_packet_in_pieces_is_on_the_channel_until_the_cmts_has_the_last(
    fake: Any, home_line: Path
) -> None:
    rows = [
        step(0, "enqueued", "cable.up"),
        step(4, "granted", "cable.up", when_ns=10, bytes=600.0),
        step(4, "dequeued", "cable.up"),
        step(9, "prepared", "cable.up", when_ns=10),
        step(12, "granted", "cable.up", when_ns=20, bytes=900.0),
        step(12, "loaded", "cable.up", when_ns=23),
        step(50, "delivered"),
    ]
    result = headend.run(home_line)
    assert find_bursts(result, rows) == [
        (10, "its burst 1 of 2 begins"),
        (20, "its burst 2 of 2 begins"),
    ]
    life = trace_life(replace_steps(result, rows))
    assert life is not None
    assert (23, Lane.CMTS, "the CMTS passes it on") in [
        (moment.at_ns, moment.lane, moment.text) for moment in life.moments
    ]
    (air,) = [leg for leg in life.legs if leg.start == leg.end == Lane.CHANNEL]
    assert (air.kind, air.from_ns, air.to_ns) == ("packet", 10, 23)


#: A call alone on a line without wide-area delay.
IDLE: dict[str, Any] = {
    "duration": "2 s",
    "link": {"cable": {"docsis": {"upstream": {"rate": "1 Mbit/s"}}}},
    "flow": {"call": {"application": "voice", "rtt": "0 s"}},
}


@pytest.mark.parametrize(
    ("preset", "scheduling"),
    [
        ("docsis10", "best_effort"),
        ("docsis11", "best_effort"),
        ("docsis11", "ugs"),
        ("docsis20", "best_effort"),
        ("docsis20", "ugs"),
        ("docsis30", "best_effort"),
        ("docsis31", "best_effort"),
        ("docsis31", "ugs"),
    ],
)
def test_the_real_engines_burst_is_soon_followed_by_the_packet(
    preset: str, scheduling: str
) -> None:
    line = "link.cable.docsis"
    settings = {f"{line}.preset": preset, f"{line}.upstream.scheduling": scheduling}
    life = trace_life(headend.run(IDLE, set=settings, explain="call@1 s"))
    assert life is not None
    times = {moment.text: moment.at_ns for moment in life.moments}
    assert times["leaves the queue cable.up"] <= times["the burst begins"]
    assert {leg.end for leg in life.legs if leg.kind == "map"} == {Lane.CMTS, Lane.MODEM} or (
        scheduling == "ugs"
    )
    # Without wide-area delay the receiver has it soon after.
    assert 0 <= times["received"] - times["the CMTS passes it on"] < 100_000
    # One burst's length and the frame of OFDMA at most; grants are a MAP interval of 2 ms apart or
    # more.
    assert 0 < times["received"] - times["the burst begins"] < 2_000_000


def test_a_discard_is_the_end(fake: Any, home_line: Path) -> None:
    rows = [
        step(0, "enqueued", "cable.up"),
        step(9, "discarded", "cable.up", detail="retry_limit"),
    ]
    life = trace_life(replace_steps(headend.run(home_line), rows))
    assert life is not None
    assert life.moments[-1].text == "discarded: retries used up"
    assert draw_life([replace_steps(headend.run(home_line), rows)]) is not None


def test_a_packet_that_never_came_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "line.toml"
    path.write_text(HOME_LINE)
    late = {"duration": "6 s", "warmup": "1 s", "flow.call.stop": "2 s"}
    result = headend.run(path, set=late, explain="call@5 s")
    assert result.warnings[-1] == "no packet of call entered a queue from 5 s on"
    assert draw_life([result]) is None


def test_the_real_engine_tells_the_loop_of_request_and_grant(tmp_path: Path) -> None:
    path = tmp_path / "line.toml"
    path.write_text(HOME_LINE)
    brief = {"duration": "8 s", "warmup": "2 s"}
    result = headend.run(path, set=brief, explain="call@5 s")
    steps = result.tables["steps"]
    assert steps.schema.to_python() == OPTIONAL_TABLES["steps"]
    names = steps["step"].to_list()
    assert (names[:2], names[-1]) == (["sent", "enqueued"], "delivered")
    assert {"requested", "granted", "dequeued"} <= set(names)
    assert steps["at_ns"].is_sorted()
    assert steps["at_ns"][0] >= 5_000_000_000
    # To listen changes nothing but the number of events.
    plain = headend.run(path, set=brief)
    for name in set(plain.tables) - {"summary"}:
        assert plain.tables[name].equals(result.tables[name]), name


def test_a_download_is_followed_by_its_acknowledgements(tmp_path: Path) -> None:
    path = tmp_path / "line.toml"
    path.write_text(HOME_LINE)
    result = headend.run(path, set={"duration": "8 s", "warmup": "2 s"}, explain="browsing@1 s")
    life = trace_life(result)
    assert life is not None
    assert life.queue == "cable.up"


def test_the_legend_has_what_is_in_the_picture(fake: Any, home_line: Path) -> None:
    result = headend.run(home_line, explain="call@12 s")
    figure = draw_life([result])
    assert figure is not None
    text = json.dumps(figure.panels[0].specify())
    assert '"values": ["the packet", "a request", "a MAP", "a collision"]' in text
    steps = result.tables["steps"]
    # Without the first request, which collides.
    result.tables["steps"] = pl.concat([steps[:2], steps[5:]])
    figure = draw_life([result])
    assert figure is not None
    text = json.dumps(figure.panels[0].specify())
    assert '"values": ["the packet", "a request", "a MAP"]' in text


#: Two stations that send to the access point, with RTS before every frame.
CELL: dict[str, Any] = {
    "duration": "500 ms",
    "link": {"wifi": {"dot11b": {"rts_threshold": "0 B", "station": {"one": {}, "other": {}}}}},
    "host": {"one": {"via": ["wifi.one"]}, "other": {"via": ["wifi.other"]}},
    "flow": {
        name: {
            "application": {"cbr": {"rate": rate, "size": "1000 B"}},
            "direction": "up",
            "host": name,
            "rtt": "0 s",
        }
        for name, rate in (("one", "1.9 Mbit/s"), ("other", "2.1 Mbit/s"))
    },
}


def test_in_a_cell_a_packet_contends_for_the_channel_after_its_queue() -> None:
    result = headend.run(CELL, explain="one@200 ms")
    steps = result.tables["steps"]
    own = steps.filter(pl.col("queue") == "wifi.one.up", pl.col("step") == "aired")
    assert own["detail"].to_list()[-4:] == ["rts", "cts", "data", "ack"]
    assert (own["until_ns"] > own["when_ns"]).all()
    life = trace_life(result)
    assert life is not None
    assert life.contends
    assert not life.asks
    told = [moment.text for moment in life.moments]
    assert told.index("leaves the queue wifi.one.up") < told.index("frame, 1,036 B")
    assert set(told[-2:]) == {"acknowledgement, 14 B", "received"}
    figure = draw_life([result])
    assert figure is not None
    assert "In a cell" in figure.explanation
    check_panel(figure.panels[0])


def test_of_others_exchanges_the_first_frame_is_told_and_of_its_own_all() -> None:
    def aired(at: int, queue: str, frame: str, start: int) -> dict[str, Any]:
        return step(at, "aired", queue, detail=frame, when_ns=start, until_ns=start + 9, bytes=14.0)

    rows = [
        step(0, "sent", bytes=200.0),
        step(0, "enqueued", "wifi.one.up"),
        aired(5, "wifi.other.up", "data", 5),
        aired(5, "wifi.other.up", "ack", 20),
        step(10, "dequeued", "wifi.one.up"),
        step(10, "backed_off", "wifi.one.up", opportunity=4.0, window=32.0),
        aired(50, "wifi.one.up", "data_lost", 50),
        step(60, "backed_off", "wifi.one.up", opportunity=9.0, window=64.0),
        aired(90, "wifi.one.up", "data", 90),
        aired(90, "wifi.one.up", "ack", 110),
        step(100, "delivered"),
    ]
    life = trace_life(replace_steps(headend.run(CELL), rows))
    assert life is not None
    told = [moment.text for moment in life.moments if moment.lane is not Lane.SENDER]
    assert told == [
        "enters the queue wifi.one.up",
        "the channel is taken: wifi.other.up sends",
        "leaves the queue wifi.one.up",
        "backs off: 4 idle slots, drawn from 32",
        "frame that does not arrive, 14 B",
        "backs off: 9 idle slots, drawn from 64",
        "frame, 14 B",
        "received",
        "acknowledgement, 14 B",
    ]
    assert [leg.kind for leg in life.legs if leg.start == Lane.CHANNEL].count("others") == 2
