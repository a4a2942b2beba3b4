"""Which of two links is to blame, held against the same home with better queues on either."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

import headend
from headend.analysis.air import list_air_shares, measure_bits
from headend.analysis.channels import gather_cells
from headend.analysis.diagnosis import diagnose
from headend.analysis.facts import Action, Fact, HiddenStations, Hops, TurnWait
from headend.analysis.hidden import find_hidden_pairs
from headend.analysis.hops import find_hops as find_hops_of
from headend.analysis.quality import judge_flows
from headend.analysis.queue_state import describe_queue
from headend.analysis.queues import LOSSY_SHARE, find_key
from headend.analysis.trials import Trial, choose_trial, compare_with, list_candidates
from headend.results.record import Record
from headend.running.advice import try_advice
from headend.running.experiment import plan_run
from headend.text.quantity import format_quantity
from headend.wording.hops import tabulate_hops
from headend.wording.run import answer_run
from headend.wording.verdict import judge

CALL = {"host": "phone", "application": "voice", "rtt": "30 ms"}
PING = {"host": "phone", "application": "ping", "rtt": "20 ms"}
UPLOAD = {"host": "laptop", "application": "bulk", "direction": "up", "rtt": "30 ms"}
DOWNLOAD = {**UPLOAD, "direction": "down"}
TWO: dict[str, Any] = {"laptop": {}, "phone": {}}


def make_home(
    flows: Mapping[str, Any],
    stations: Mapping[str, Any] = TWO,
    up: str = "5 Mbit/s",
    down: str = "50 Mbit/s",
) -> dict[str, Any]:
    """Make a home: an 802.11b cell behind a cable modem, without AQM anywhere."""
    queue = {"drop_tail": {"limit": "100 packets"}}
    return {
        "duration": "25 s",
        "warmup": "5 s",
        "link": {
            "wifi": {"dot11b": {"access_point": {"queue": queue}, "station": dict(stations)}},
            "cable": {
                "docsis": {
                    "preset": "docsis30",
                    "upstream": {"rate": up, "queue": {"drop_tail": {"limit": "300 ms"}}},
                    "downstream": {"rate": down},
                }
            },
        },
        "host": {name: {"via": [f"wifi.{name}", "cable"]} for name in stations},
        "flow": dict(flows),
    }


def relieve(scenario: Mapping[str, Any], link: str) -> dict[str, Any]:
    """Give the same home with a queue for each flow at both ends of a link, and stations near."""
    home = copy.deepcopy(dict(scenario))
    if link == "wifi":
        cell = home["link"]["wifi"]["dot11b"]
        for node in (cell["access_point"], *cell["station"].values()):
            node["queue"] = "fq_codel"
            node.pop("rate", None)
    else:
        for way in ("upstream", "downstream"):
            home["link"]["cable"]["docsis"][way]["queue"] = "fq_codel"
    return home


def make_both() -> dict[str, Any]:
    """Make a home whose upload fills the modem while a copy between two others fills the air."""
    local = {"host": "nas", "peer": "tv", "application": "bulk"}
    stations: dict[str, Any] = {"laptop": {}, "phone": {}, "nas": {}, "tv": {}}
    home = make_home({"ping": PING, "copy": local, "put": UPLOAD}, stations, up="1 Mbit/s")
    home["host"] |= {name: {"via": [f"wifi.{name}"]} for name in ("nas", "tv")}
    return home


SMALL = {**CALL, "application": {"voice": {"interval": "10 ms", "size": "120 B"}}}
SENSOR = {
    "host": "pc",
    "application": {"cbr": {"rate": "1 Mbit/s", "size": "400 B"}},
    "rtt": "30 ms",
}
SLOW = {**TWO, "printer": {"rate": "1 Mbit/s"}}
PRINT = {"host": "printer", "application": "bulk", "direction": "down", "rtt": "30 ms"}

#: Homes, with the links to blame and the queue in which the reason is.
GUILTY: dict[str, tuple[dict[str, Any], set[str], str]] = {
    "upload fills the modem": (
        make_home({"call": CALL, "put": UPLOAD}, up="1 Mbit/s"),
        {"cable"},
        "cable.up",
    ),
    "download fills the CMTS": (
        make_home({"call": CALL, "get": DOWNLOAD}, down="2 Mbit/s"),
        {"cable"},
        "cable.down",
    ),
    "download fills the access point": (
        make_home({"call": CALL, "get": DOWNLOAD}),
        {"wifi"},
        "wifi.down",
    ),
    "upload fills its own station": (
        make_home({"call": {**CALL, "host": "laptop"}, "put": UPLOAD}, up="20 Mbit/s"),
        {"wifi"},
        "wifi.laptop.up",
    ),
    "upload of another station takes the air": (
        make_home({"call": CALL, "put": UPLOAD}, up="20 Mbit/s"),
        {"wifi"},
        "wifi.down",
    ),
    "slow station takes the air": (
        make_home({"call": CALL, "print": PRINT}, SLOW),
        {"wifi"},
        "wifi.down",
    ),
    "small packets fill the air": (
        make_home({"call": SMALL}, {"phone": {"count": 7}}),
        {"wifi"},
        "wifi.down",
    ),
    "many stations collide": (
        make_home(
            {"call": CALL, "sensor": SENSOR}, {"phone": {}, "pc": {"count": 12}}, "60 Mbit/s"
        ),
        {"wifi"},
        "wifi.pc.",
    ),
    "both fill": (make_both(), {"wifi", "cable"}, "wifi.down"),
}

#: Those in which no queue gives the air back.
NO_QUEUE_HELPS = ("small packets fill the air", "many stations collide")

#: What the answer says of each.
SAYS = {
    "upload fills the modem": "It is the modem, not the Wi-Fi: ",
    "download fills the CMTS": "It is the cable line, not the Wi-Fi: ",
    "download fills the access point": "It is the Wi-Fi, not the modem: the air of wifi is full",
    "upload fills its own station": "It is the Wi-Fi, not the modem: the air of wifi is full",
    "upload of another station takes the air": "It is the Wi-Fi, not the modem: ",
    "slow station takes the air": "is full (printer at 1 Mbit/s takes ",
    "small packets fill the air": "is full (small packets, of 120 B",
    "many stations collide": "is full (collisions take ",
    "both fill": "It is both the Wi-Fi and the modem: ",
}


def find_hops(record: Record) -> Hops:
    hops = diagnose(record).hops
    assert hops
    return hops


def does_suffer(record: Record) -> bool:
    return any(flow.suffers for flow in judge_flows(record))


@pytest.mark.parametrize("name", GUILTY)
def test_the_guilty_link_is_told_with_its_queue_and_the_innocent_one_with_it(name: str) -> None:
    scenario, guilty, queue = GUILTY[name]
    result = headend.run(scenario)
    assert does_suffer(result)
    assert {hop.link for hop in find_hops(result).guilty} == guilty
    sentence = answer_run(result).sentences[0]
    assert SAYS[name] in sentence
    assert queue in sentence


@pytest.mark.parametrize("name", [name for name in GUILTY if name not in NO_QUEUE_HELPS])
def test_queues_for_each_flow_help_on_the_guilty_links_and_on_no_other(name: str) -> None:
    scenario, guilty, _ = GUILTY[name]
    for link in ("wifi", "cable"):
        suffers = does_suffer(headend.run(relieve(scenario, link)))
        assert suffers == (guilty != {link}), f"with better queues on {link}"
    assert not does_suffer(headend.run(relieve(relieve(scenario, "wifi"), "cable")))


@pytest.mark.parametrize(
    ("flows", "says"),
    [
        ({"call": CALL}, "Neither the Wi-Fi nor the modem is the limit: the air is wanted "),
        (
            {"call": {**CALL, "path": {"loss": "8 %"}}},
            "It is neither the Wi-Fi nor the modem: the path beyond the line loses ",
        ),
        ({"call": {**CALL, "rtt": "700 ms"}}, "It is neither the Wi-Fi nor the modem: the path "),
        (
            {"get": {**DOWNLOAD, "tcp": {"receive_window": "16 KiB"}}},
            "Neither the Wi-Fi nor the modem is the limit: the receive window limits get",
        ),
    ],
)
def test_where_neither_link_is_the_cause_none_is_blamed(flows: dict[str, Any], says: str) -> None:
    result = headend.run(make_home(flows))
    assert not find_hops(result).guilty
    assert says in " ".join(answer_run(result).sentences)


@pytest.mark.parametrize(
    ("flow", "up", "says"),
    [
        (DOWNLOAD, "5 Mbit/s", "The Wi-Fi is the limit, not the modem: "),
        (UPLOAD, "1 Mbit/s", "The modem is the limit, not the Wi-Fi: "),
    ],
)
def test_a_transfer_alone_is_told_which_link_limits_it(
    flow: dict[str, Any], up: str, says: str
) -> None:
    told = answer_run(headend.run(make_home({"file": flow}, up=up))).sentences
    assert says in " ".join(told)


def test_a_link_that_is_nearly_full_too_is_not_cleared_of_it() -> None:
    """Cell and modem carry about as much, so that better queues on either help."""
    scenario = make_home({"call": CALL, "put": UPLOAD})
    result = headend.run(scenario)
    assert "It is the Wi-Fi, with the modem nearly full too: " in answer_run(result).sentences[0]
    assert not does_suffer(headend.run(relieve(scenario, "cable")))


def test_an_upload_that_waits_in_its_station_is_not_limited_by_a_modem_with_a_short_queue() -> None:
    result = headend.run(make_home({"call": CALL, "put": UPLOAD}))
    used = {row["queue"]: row["utilisation"] for row in result.rows("queues")}
    assert used["cable.up"] > 0.9
    assert "put has its share of the full channel of wifi" in judge(result).paragraph


def test_of_each_link_waits_and_use_are_told_and_of_the_air_by_whom() -> None:
    result = headend.run(GUILTY["slow station takes the air"][0])
    rows = {row["queue"]: row for row in result.rows("queues")}
    told, hops = judge(result).paragraph, find_hops(result)
    for name in ("wifi.phone.up", "wifi.down", "cable.up", "cable.down"):
        median, slow = (
            format_quantity(rows[name][column], "time")
            for column in ("delay_p50_ns", "delay_p99_ns")
        )
        assert f"{median} ({slow}) in {name}" in told
    assert "the air is wanted " in told
    shares = {
        row["use"]: row["air_ratio"]
        for row in result.rows("air_time")
        if row["station"] == "printer"
    }
    assert f"printer at 1 Mbit/s {round(sum(shares.values()) * 100)} %" in told
    labels = [row.label.text for row in tabulate_hops(hops).rows if not isinstance(row.label, str)]
    assert labels == ["Wi-Fi", "Modem"]


def test_json_has_the_links_only_where_some_are_crossed_over_wifi() -> None:
    told = judge(headend.run(GUILTY["both fill"][0])).to_dict()["hops"]
    assert told["guilty"] == ["wifi", "cable"]
    assert [link["guilty"] for link in told["links"]] == [["down"], ["up"]]
    json.dumps(told)
    alone = make_home({"put": {**UPLOAD, "host": "here"}}, up="1 Mbit/s")
    alone = {**alone, "link": {"cable": alone["link"]["cable"]}, "host": {"here": {}}}
    alone["host"]["here"]["via"] = ["cable"]
    assert "hops" not in judge(headend.run(alone)).to_dict()


def test_a_slow_stations_rate_is_tried_and_told_as_coming_nearer() -> None:
    """Its own upload takes the air, which no queue gives back."""
    home = make_home({"call": CALL, "print": {**PRINT, "direction": "up"}}, SLOW)
    home["link"]["wifi"]["dot11b"]["access_point"]["queue"] = "fq_codel"
    plan = plan_run(home, [])
    result = plan.carry_out()
    nearer = ("link.wifi.dot11b.station.printer.rate", "11 Mbit/s")
    assert (nearer,) in list_candidates(result)
    trials = try_advice(plan, result, threading.Event())
    best = choose_trial(trials)
    assert best
    assert best.settings == ("link.wifi.dot11b.station.printer.rate='11 Mbit/s'",)
    result.manifest["advice"] = [trial.to_dict() for trial in trials]
    told = answer_run(result).sentences[1]
    assert told.startswith("Printer nearer to the access point, or on a cable, takes less air.")
    assert "Tried `--set link.wifi.dot11b.station.printer.rate='11 Mbit/s'`" in told


def test_where_small_packets_fill_the_air_fewer_of_them_are_the_advice() -> None:
    result = headend.run(GUILTY["small packets fill the air"][0])
    remedy = diagnose(result).remedy
    assert remedy
    assert remedy.action is Action.LARGER_PACKETS
    larger = make_home(
        {"call": {**CALL, "application": {"voice": {"interval": "40 ms", "size": "360 B"}}}},
        {"phone": {"count": 7}},
    )
    assert not does_suffer(headend.run(larger))


def test_two_standing_queues_on_two_links_are_tried_together() -> None:
    result = headend.run(GUILTY["both fill"][0])
    first = list_candidates(result)[0]
    assert {path for path, _ in first} == {
        "link.wifi.dot11b.access_point.queue",
        "link.cable.docsis.upstream.queue",
    }


def make_modern(
    flows: Mapping[str, Any], stations: Mapping[str, Any], kind: str = "dot11ax", **cell: Any
) -> dict[str, Any]:
    """Make a home: a cell of today behind a line of 1 Gbit/s and 200 Mbit/s."""
    line = {
        "preset": "docsis31",
        "upstream": {"rate": "200 Mbit/s"},
        "downstream": {"rate": "1 Gbit/s"},
    }
    return {
        "duration": "25 s",
        "warmup": "5 s",
        "link": {"wifi": {kind: {"station": dict(stations), **cell}}, "cable": {"docsis": line}},
        "host": {name: {"via": [f"wifi.{name}", "cable"]} for name in stations},
        "flow": dict(flows),
    }


OLD: dict[str, Any] = {
    **TWO,
    "printer": {"standard": "dot11n", "mcs": 0, "streams": 1, "width": 20},
}


@pytest.mark.parametrize("ahead", [None, 20])
def test_a_queue_for_each_station_is_tried_and_told_where_it_helps_most(
    ahead: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the radio takes packets ahead by the scenario, that key is left out of the trial."""
    monkeypatch.setattr("headend.running.advice.LEAST_SECONDS", 600.0)
    point = {"ahead": ahead} if ahead else {}
    home = make_modern({"call": CALL, "get": DOWNLOAD, "print": PRINT}, OLD, access_point=point)
    plan = plan_run(home, [])
    result = plan.carry_out()
    assert does_suffer(result)
    trials = try_advice(plan, result, threading.Event())
    best = choose_trial(trials)
    assert best
    table = "link.wifi.dot11ax.access_point"
    written = f"{table}='{{queues = \"by_station\"}}'" if ahead else f"{table}.queues=by_station"
    assert best.settings == (written,)
    result.manifest["advice"] = [trial.to_dict() for trial in trials]
    told = answer_run(result).sentences[1]
    assert told.startswith(
        "Give each station a queue of its own and the same time on the air, as Linux's access"
        f" points do (by_station). Tried `--set {written}`: call "
    )


@pytest.mark.parametrize("whole", [False, True])
def test_what_a_run_was_given_of_its_access_point_is_kept_in_the_trial_without_ahead(
    whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after differ in the advice alone, however ``ahead`` was written."""
    monkeypatch.setattr("headend.running.advice.LEAST_SECONDS", 600.0)
    tried = []

    def hold(first: Record, after: Record, settings: Sequence[tuple[str, str]]) -> Trial:
        tried.append(after.manifest["scenario"]["link"]["wifi"]["dot11ax"]["access_point"])
        return compare_with(first, after, settings)

    monkeypatch.setattr("headend.running.advice.compare_with", hold)
    table = "link.wifi.dot11ax.access_point"
    ahead = (table, "{ahead = 20}") if whole else (f"{table}.ahead", "20")
    others = [
        (f"{table}.edca.best_effort.aifsn", "4"),
        (f"{table}.queue.drop_tail.limit", "500 packets"),
    ]
    home = make_modern({"call": CALL, "get": DOWNLOAD, "print": PRINT}, OLD)
    plan = plan_run(home, [ahead, *others])
    result = plan.carry_out()
    before = result.manifest["scenario"]["link"]["wifi"]["dot11ax"]["access_point"]
    assert before["ahead"] == 20
    assert before["edca"]["best_effort"]["aifsn"] == 4
    try_advice(plan, result, threading.Event())
    (after,) = [own for own in tried if own["queues"] == "by_station"]
    assert (after["queue"], after["edca"]) == (before["queue"], before["edca"])
    assert "ahead" not in after


def test_a_queue_for_each_station_is_not_proposed_where_each_has_one_or_none_can() -> None:
    flows = {"call": CALL, "get": DOWNLOAD, "print": PRINT}
    own = make_modern(flows, OLD, access_point={"queues": "by_station"})
    alone = make_modern({"get": DOWNLOAD}, {"laptop": {}})
    old = make_home(flows, SLOW)
    for home in (own, alone, old):
        diagnosis = diagnose(headend.run(home))
        remedies = [own for fact in diagnosis.facts for own in fact.remedies]
        assert Action.STATION_QUEUES not in {own.action for own in remedies}


def list_remedies(record: Record) -> dict[Action, tuple[str, str]]:
    """List what a run's facts propose: paths and values by their actions."""
    found = (own for fact in diagnose(record).facts for own in fact.remedies)
    return {own.action: (own.path, own.value) for own in found}


@pytest.mark.parametrize(
    ("kind", "printer", "key", "best"),
    [
        ("dot11ax", {"standard": "dot11n", "mcs": 0, "streams": 1, "width": 20}, "mcs", "7"),
        ("dot11ac", {"mcs": 1, "width": 20, "streams": 1}, "mcs", "8"),
        ("dot11n", {"mcs": 0}, "mcs", "7"),
        ("dot11g", {"rate": "6 Mbit/s"}, "rate", "54 Mbit/s"),
        ("dot11g", {"standard": "dot11b", "rate": "1 Mbit/s"}, "rate", "11 Mbit/s"),
    ],
)
def test_a_slow_station_is_advised_the_best_rate_of_its_own_standard(
    kind: str, printer: dict[str, Any], key: str, best: str
) -> None:
    home = make_modern(
        {"call": CALL, "print": {**PRINT, "direction": "up"}}, {**TWO, "printer": printer}, kind
    )
    found = list_remedies(headend.run(home))
    assert found[Action.FASTER_STATION] == (f"link.wifi.{kind}.station.printer.{key}", best)
    home["link"]["wifi"][kind]["station"]["printer"][key] = int(best) if key == "mcs" else best
    assert Action.FASTER_STATION not in list_remedies(headend.run(home))


def test_a_slow_station_that_has_its_best_rate_is_not_told_to_come_nearer() -> None:
    printer = {"standard": "dot11b"}
    home = make_modern(
        {"call": CALL, "print": {**PRINT, "direction": "up"}}, {**TWO, "printer": printer}, "dot11g"
    )
    result = headend.run(home)
    assert Action.CABLE_STATION in list_remedies(result)
    told = judge(result).paragraph
    assert "Printer has the best rate that it can have: on a cable" in told
    assert "nearer" not in told


def make_hidden(rate: str, rts: str | None = None, up: str = "200 Mbit/s") -> dict[str, Any]:
    """Make a home in which two stations that send do not hear each other."""
    sends = {"application": {"cbr": {"rate": rate, "size": "1500 B"}}, "rtt": "20 ms"}
    flows = {
        "call": CALL,
        **{
            f"put-{name}": {**sends, "host": name, "direction": "up"}
            for name in ("attic", "cellar")
        },
    }
    stations = {"attic": {"hidden_from": ["cellar"]}, "cellar": {}, "phone": {}}
    cell = {"rts_threshold": rts} if rts else {}
    home = make_modern(flows, stations, "dot11n", ampdu_mpdus=32, **cell)
    home["link"]["cable"]["docsis"]["upstream"]["rate"] = up
    return home


def test_stations_that_do_not_hear_each_other_are_told_and_announced_frames_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headend.running.advice.LEAST_SECONDS", 600.0)
    plan = plan_run(make_hidden("20 Mbit/s"), [])
    result = plan.carry_out()
    first = answer_run(result).sentences[0]
    assert "It is the Wi-Fi, not the modem: attic and cellar do not hear each other" in first
    collided = next(row for row in result.rows("channels") if row["link"] == "wifi")
    assert f"({round(100 * collided['collision_ratio'])} % of the time)" in first
    assert [hop.link for hop in find_hops(result).guilty] == ["wifi"]
    setting = ("link.wifi.dot11n.rts_threshold", "500 B")
    assert (setting,) in list_candidates(result)
    trials = try_advice(plan, result, threading.Event())
    best = choose_trial(trials)
    assert best
    assert best.settings == ("link.wifi.dot11n.rts_threshold='500 B'",)
    result.manifest["advice"] = [trial.to_dict() for trial in trials]
    told = answer_run(result).sentences[1]
    assert told.startswith("Frames that are announced with RTS and CTS collide less: all hear ")


def test_hidden_stations_are_no_cause_where_frames_are_announced_or_hardly_any_meet() -> None:
    for home in (make_hidden("20 Mbit/s", "500 B"), make_hidden("100 kbit/s")):
        result = headend.run(home)
        assert Action.ANNOUNCE_FRAMES not in list_remedies(result)
        assert "do not hear each other" not in " ".join(answer_run(result).sentences)


def list_hidden(record: Record) -> list[Fact]:
    """List the causes that hidden stations are."""
    return [cause for cause in diagnose(record).causes if isinstance(cause, HiddenStations)]


def test_hidden_stations_are_no_cause_where_the_modem_makes_packets_wait() -> None:
    """Their frames collide much, yet what is waited for is the modem: the Wi-Fi keeps up."""
    home = make_hidden("6 Mbit/s", up="5 Mbit/s")
    home["link"]["cable"]["docsis"]["upstream"]["queue"] = {"drop_tail": {"limit": "256 KiB"}}
    result = headend.run(home)
    assert does_suffer(result)
    assert find_hidden_pairs(result, "wifi")
    medians = {row["queue"]: row["delay_p50_ns"] for row in result.rows("queues")}
    assert medians["cable.up"] > 100e6 > 1e6 > medians["wifi.attic.up"]
    assert not list_hidden(result)
    assert [hop.link for hop in find_hops(result).guilty] == ["cable"]


def test_hidden_stations_are_no_cause_where_nobody_suffers_and_hardly_a_packet_is_given_up() -> (
    None
):
    result = headend.run(make_hidden("6 Mbit/s"))
    hidden = find_hidden_pairs(result, "wifi")
    assert hidden
    assert hidden.given_up_ratio <= LOSSY_SHARE
    assert not does_suffer(result)
    assert not list_hidden(result)
    assert not find_hops(result).guilty


def test_a_medium_that_gives_up_is_that_of_the_wifi() -> None:
    stations = {"laptop": {}, "phone": {"frame_errors": "0.95"}}
    result = headend.run(make_modern({"call": CALL}, stations))
    assert does_suffer(result)
    first = answer_run(result).sentences[0]
    assert "It is the Wi-Fi, not the modem: 95 % of the frames from and to phone break" in first


def test_a_station_may_be_named_like_a_direction() -> None:
    """The queue of its uplink is upstream, whatever the station is called."""
    stations: dict[str, Any] = {"downstairs": {}, "upstairs": {}}
    flows = {
        "call": {**CALL, "host": "downstairs"},
        "put": {**UPLOAD, "host": "downstairs"},
    }
    result = headend.run(make_home(flows, stations, up="20 Mbit/s"))
    state = describe_queue(result, "wifi.downstairs.up")
    assert state
    turn = TurnWait(state, "call", 2, 1.0, 1.0, 0.0, {"wifi.down": 1.0})
    found = find_hops_of(result, ["call"], [turn], state, suffers=True)
    assert found
    assert next(hop for hop in found.hops if hop.link == "wifi").guilty == {"up", "down"}
    own = replace(turn, others={"wifi.downstairs.up": 1.0})
    alone = find_hops_of(result, ["call"], [own], state, suffers=True)
    assert alone
    assert next(hop for hop in alone.hops if hop.link == "wifi").guilty == {"up"}


@pytest.mark.parametrize("kind", ["dot11n", "dot11ax"])
def test_small_packets_that_one_frame_carries_many_of_are_not_why_a_cell_is_full(kind: str) -> None:
    """A fast sender of small packets fills long frames; a few in each frame leave gaps."""
    many = {"cbr": {"rate": "150 Mbit/s", "size": "250 B"}}
    small = make_modern({"get": {**PRINT, "host": "laptop", "application": many}}, TWO, kind)
    (cell,) = gather_cells(headend.run({**small, "duration": "8 s", "warmup": "2 s"}))
    assert cell.packet_bytes < 300
    assert cell.bits_ratio > 0.2
    assert not cell.has_small_packets
    few = {f"call-{at}": {**SMALL, "host": "phone"} for at in range(20)}
    (cell,) = gather_cells(headend.run({**make_modern(few, TWO, kind), "duration": "8 s"}))
    assert cell.has_small_packets


def test_a_queue_that_stations_share_is_not_said_to_have_too_little_room() -> None:
    """Its packets are for any station, and its bits do not say how idle the air is."""
    short = {"queue": {"drop_tail": {"limit": "60 packets"}}}
    home = make_modern({"call": CALL, "get": DOWNLOAD, "print": PRINT}, OLD, access_point=short)
    result = headend.run(home)
    bits = next(row for row in result.rows("queues") if row["queue"] == "wifi.down")
    air = next(row for row in result.rows("channels") if row["link"] == "wifi")
    assert bits["utilisation"] < 0.2 < air["full_ratio"]
    told = f"{' '.join(answer_run(result).sentences)} {judge(result).paragraph}"
    assert "too little room" not in told
    assert "larger limit" not in told
    assert "of the line is idle" not in told
    assert "A queue for each station, as Linux's access points have, may help" in told


def test_a_nearly_full_cell_is_the_limit() -> None:
    scan = {"cbr": {"rate": "5.4 Mbit/s", "size": "1500 B"}}
    result = headend.run(make_modern({"scan": {**PRINT, "application": scan}}, OLD))
    air = next(row for row in result.rows("channels") if row["link"] == "wifi")
    assert 0.85 < air["full_ratio"] < 0.95
    told = " ".join(answer_run(result).sentences)
    assert "The Wi-Fi is the limit, not the modem: the air of wifi is nearly full" in told


@pytest.mark.parametrize("kind", ["dot11b", "dot11n", "dot11ax"])
def test_a_cell_of_any_kind_is_judged_as_one(kind: str) -> None:
    """What is said of a run does not hang on the name of the cell's generation."""
    result = headend.run(GUILTY["slow station takes the air"][0])
    manifest = json.loads(json.dumps(result.manifest).replace("dot11b", kind))
    renamed = Record(result.tables, manifest)
    assert answer_run(renamed).sentences[0] == answer_run(result).sentences[0]
    assert find_hops(renamed) == find_hops(result)
    settings = [setting for own in list_candidates(renamed) for setting in own]
    # What only some kinds have is proposed of these.
    own = {"station.printer.rate"} if kind == "dot11b" else {"access_point.queues"}
    assert {path for path, _ in settings} == {
        f"link.wifi.{kind}.{key}" for key in {"access_point.queue", *own}
    }
    assert find_key(manifest["scenario"]["link"], "wifi.phone.up") == (
        f"link.wifi.{kind}.station.phone.queue"
    )


def test_two_transfers_of_another_order_are_told_by_their_rates() -> None:
    flows = {"get": DOWNLOAD, "print": {**PRINT, "tcp": {"receive_window": "4 KiB"}}}
    result = headend.run(make_modern(flows, OLD, access_point={"queues": "by_station"}))
    rates = [row["goodput_bps"] for row in result.rows("flows") if row["direction"] == "down"]
    assert max(rates) > 100 * min(rates)
    first = answer_run(result).sentences[0]
    assert "times as much" not in first
    assert first.startswith("Get gets ")
    assert ", and print " in first


def test_a_station_whose_rate_control_chose_low_rates_is_the_slow_one() -> None:
    stations = {"laptop": {"snr": "35 dB"}, "phone": {"snr": "4 dB"}}
    flows = {"get": DOWNLOAD, "film": {**DOWNLOAD, "host": "phone"}}
    result = headend.run(make_modern(flows, stations))
    shares = {one.station: one for one in list_air_shares(result, "wifi")}
    assert shares["phone"].is_slow
    assert not shares["laptop"].is_slow
    # At 4 dB two streams have 1 dB each, which no mode but the slowest stands for long.
    assert shares["phone"].rate_bps < 150e6 < 500e6 < shares["laptop"].rate_bps


def test_bits_of_a_station_with_rate_control_count_at_the_rate_that_it_chose() -> None:
    """They take as much of their frames as with a fixed mode of about that rate."""

    def run(phone: dict[str, Any]) -> tuple[float, float]:
        stations = {"laptop": {}, "phone": phone}
        flows = {"put": {**UPLOAD, "host": "phone"}}
        result = headend.run(make_modern(flows, stations, ampdu_mpdus=1))
        rate = {one.station: one.rate_bps for one in list_air_shares(result, "wifi")}["phone"]
        return rate, measure_bits(result, "wifi")

    slower, chosen, faster = run({"mcs": 1}), run({"snr": "8 dB"}), run({"mcs": 3})
    assert slower[0] < chosen[0] < faster[0]
    assert slower[1] > chosen[1] > faster[1]
