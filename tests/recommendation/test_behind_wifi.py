"""A line behind Wi-Fi: the cell stays, and which of the two limits is told by what helps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from headend import run
from headend.analysis.ranking import Feasibility
from headend.analysis.trials import list_candidates
from headend.cli.main import app
from headend.errors import InputError
from headend.recommendation import Recommendation, recommend
from headend.recommendation.candidate import Candidate, Feature
from headend.recommendation.owner import OwnChoices, Verdict
from headend.recommendation.owner_words import answer_owner, flatten, write_owner_text
from headend.recommendation.page import render_recommendation
from headend.recommendation.reading import read_request
from headend.recommendation.request import Request
from headend.scenario.fit_note import FitNote, write_fit_note

SHORT = {"duration": "30 s", "warmup": "5 s"}

CELL = """
[link.wifi.dot11b]
access_point.queue.drop_tail.limit = "100 packets"

[link.wifi.dot11b.station]
laptop = {}
phone = {}
printer = {}
nas = {}

[link.cable.docsis]
preset = "docsis30"
upstream.rate = "UP"
upstream.queue.drop_tail.limit = "300 ms"
downstream.rate = "50 Mbit/s"

[host]
laptop.via = ["wifi.laptop", "cable"]
phone.via = ["wifi.phone", "cable"]
printer.via = ["wifi.printer"]
nas.via = ["wifi.nas"]

[flow.call]
host = "phone"
application = "voice"
rtt = "30 ms"
"""

DOWNLOAD = '[flow.get]\nhost = "laptop"\napplication = "bulk"\ndirection = "down"\nrtt = "30 ms"\n'
UPLOAD = DOWNLOAD.replace("get", "put").replace("down", "up")
PRINT = '[flow.print]\nhost = "laptop"\npeer = "printer"\napplication = "bulk"\n'


def write(folder: Path, flows: str, up: str = "5 Mbit/s") -> Path:
    path = folder / "home.toml"
    path.write_text(CELL.replace("UP", up) + flows)
    return path


def find(request: Request, label: str) -> Candidate:
    return next(own for own in request.list_candidates(request.tiers[0]) if own.label == label)


def ask(folder: Path, flows: str, up: str = "5 Mbit/s") -> tuple[Recommendation, OwnChoices]:
    found = recommend(write(folder, flows, up), seeds=3, set=SHORT)
    assert not found.failures
    assert found.own_choices
    return found, found.own_choices


def name(choices: OwnChoices, setting: int | None) -> str:
    return choices.decision.find(setting).label if setting else ""


def test_the_cell_stays_while_settings_of_the_line_vary(tmp_path: Path) -> None:
    request = read_request([write(tmp_path, DOWNLOAD + UPLOAD + PRINT)])
    (tier,) = request.tiers
    found = request.list_candidates(tier)
    cells = [
        request.write_scenario(tier, own)["link"]["wifi"]["dot11b"]
        for own in found
        if own.air is None
    ]
    assert len(cells) > 5
    assert all(cell == tier.cells["wifi"]["dot11b"] for cell in cells)
    lines = {
        json.dumps(request.write_scenario(tier, own)["link"]["cable"])
        for own in found
        if own.air is None
    }
    assert len(lines) > 5


def test_queues_of_the_wifi_are_rows_of_their_own_with_the_line_as_it_is(tmp_path: Path) -> None:
    request = read_request([write(tmp_path, DOWNLOAD + PRINT)])
    (tier,) = request.tiers
    today = request.write_scenario(tier, find(request, "as it is"))
    point = request.write_scenario(tier, find(request, "access point fq_codel"))
    nodes = request.write_scenario(tier, find(request, "access point and stations fq_codel"))
    cell = point["link"]["wifi"]["dot11b"]
    assert cell["access_point"]["queue"] == "fq_codel"
    assert not any("queue" in own for own in cell["station"].values())
    stations = nodes["link"]["wifi"]["dot11b"]["station"]
    assert {own["queue"] for own in stations.values()} == {"fq_codel"}
    assert point["link"]["cable"] == nodes["link"]["cable"] == today["link"]["cable"]
    both = find(request, "access point fq_codel, cake 95 %")
    assert request.write_scenario(tier, both)["router"]["queue"] == "cake"


def test_over_ethernet_hosts_are_on_the_line_and_what_stays_at_home_is_left_out(
    tmp_path: Path,
) -> None:
    request = read_request([write(tmp_path, DOWNLOAD + PRINT)])
    (tier,) = request.tiers
    scenario = request.write_scenario(tier, find(request, "over Ethernet"))
    assert list(scenario["link"]) == ["cable"]
    assert scenario["host"] == {"laptop": {"via": ["cable"]}, "phone": {"via": ["cable"]}}
    assert list(scenario["flow"]) == ["call", "get"]
    assert not find(request, "over Ethernet").is_settable


def test_a_copy_within_the_home_is_no_upload_over_the_line(tmp_path: Path) -> None:
    request = read_request([write(tmp_path, UPLOAD + PRINT)])
    assert request.people.objective == "most put.goodput"
    quiet = request.write_scenario(request.tiers[0], find(request, "nobody uploads"))
    assert set(quiet["flow"]) == {"call", "print"}


def test_a_request_with_a_cell_is_the_same_after_json(tmp_path: Path) -> None:
    request = read_request([write(tmp_path, UPLOAD + PRINT)])
    again = Request.from_dict(json.loads(json.dumps(request.to_dict())))
    assert (again.tiers, again.people) == (request.tiers, request.people)
    for own in request.list_candidates(request.tiers[0]):
        assert Candidate.from_dict(json.loads(json.dumps(own.to_dict()))) == own


def test_where_the_wifi_limits_no_setting_of_the_line_helps_and_its_queue_does(
    tmp_path: Path,
) -> None:
    found, choices = ask(tmp_path, DOWNLOAD)
    assert choices.is_air_limiting
    assert choices.verdict is Verdict.MYSELF
    assert name(choices, choices.advised) == "access point fq_codel"
    decision = choices.decision
    for number, own in enumerate(decision.candidates, start=1):
        if own.air is None:
            assert decision.standings[number] is Feasibility.FAILS, own.label
    words = write_owner_text(choices)
    assert ": the Wi-Fi is what limits, and nothing" in answer_owner(choices).sentences[0]
    assert "The Wi-Fi is what limits: no router" in flatten(words.myself)[0]
    assert any(line.startswith("A router of your own with ") for line in flatten(words.useless))
    assert not words.letter
    assert "access point fq_codel" in render_recommendation(found)


def test_where_the_modem_limits_the_wifi_is_cleared(tmp_path: Path) -> None:
    _, choices = ask(tmp_path, UPLOAD, "1 Mbit/s")
    assert choices.helps_line
    assert not choices.helps_air
    advised = choices.decision.find(choices.advised or 0)
    assert advised.router
    assert advised.air is None
    assert flatten(write_owner_text(choices).myself)[0].startswith(
        "The Wi-Fi is not what limits: over Ethernet too, the call is "
    )


def test_where_both_limit_both_are_set_together(tmp_path: Path) -> None:
    _, choices = ask(tmp_path, UPLOAD + PRINT.replace("laptop", "nas"), "1 Mbit/s")
    assert not choices.is_air_limiting
    advised = choices.decision.find(choices.advised or 0)
    assert advised.feature is Feature.WIFI
    assert advised.router
    assert advised.air


def test_where_everybody_is_well_nothing_is_said_of_the_wifi(tmp_path: Path) -> None:
    _, choices = ask(tmp_path, "")
    assert choices.verdict is Verdict.NOTHING_NEEDED
    assert "Wi-Fi" not in " ".join(flatten(write_owner_text(choices).myself))


def test_a_cell_without_people_and_other_people_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_text(path.read_text().replace('"voice"', '"ping"'))
    with pytest.raises(InputError, match=r"a cell of Wi-Fi, without \[flow\] of people"):
        read_request([path])
    note = write_fit_note(FitNote("by hand", values={"up.rate": (4e6, 5e6, 6e6)}))
    path = write(tmp_path, UPLOAD)
    path.write_text(f"{note}\n{path.read_text()}")
    with pytest.raises(InputError, match="a cell of Wi-Fi, in a line that was fitted"):
        read_request([path])
    with pytest.raises(InputError, match=r"--traffic: the people are those of .*home\.toml"):
        read_request([write(tmp_path, UPLOAD)], traffic="call")


MODERN = """
duration = "20 s"
warmup = "4 s"

[link.wifi.dot11ax.station]
laptop = {}
phone = {}
television = {}
printer = { standard = "dot11n", mcs = 0, streams = 1, width = 20 }

[link.wifi.dot11ax.access_point]
ahead = 20
airtime_quantum = "200 us"
queue = { drop_tail = { limit = "300 packets" } }

[link.cable.docsis]
preset = "docsis31"
upstream.rate = "50 Mbit/s"
downstream.rate = "1 Gbit/s"

[host]
laptop.via = ["wifi.laptop", "cable"]
phone.via = ["wifi.phone", "cable"]
television.via = ["wifi.television", "cable"]
printer.via = ["wifi.printer"]

[flow.call]
host = "phone"
application = "voice"
rtt = "30 ms"
"""

FILM = '[flow.film]\nhost = "television"\napplication = "streaming"\nrtt = "15 ms"\n'


def write_modern(folder: Path, flows: str, without: str = "airtime_quantum") -> Path:
    """Write a home with a cell of 802.11ax, without the lines of a key."""
    path = folder / "modern.toml"
    kept = [line for line in MODERN.splitlines() if not line.startswith(without)]
    path.write_text("\n".join(kept) + "\n" + flows)
    return path


def test_a_queue_for_each_station_is_tried_where_the_cell_can_have_it(tmp_path: Path) -> None:
    """The radio takes nothing ahead then, and the queue is the one that is written."""
    request = read_request([write_modern(tmp_path, DOWNLOAD)])
    (tier,) = request.tiers
    scenario = request.write_scenario(tier, find(request, "queues by station"))
    queue = {"drop_tail": {"limit": "300 packets"}}
    own = scenario["link"]["wifi"]["dot11ax"]["access_point"]
    assert own == {"queue": queue, "queues": "by_station"}
    flow = request.write_scenario(tier, find(request, "access point fq_codel"))
    point = flow["link"]["wifi"]["dot11ax"]["access_point"]
    assert point == {"ahead": 20, "queue": "fq_codel"}
    assert find(request, "queues by station, cake 95 %").router
    old = read_request([write(tmp_path, DOWNLOAD)])
    assert not any("by station" in own.label for own in old.list_candidates(old.tiers[0]))


def test_a_cell_with_queues_for_each_station_keeps_them_with_another_law(tmp_path: Path) -> None:
    path = write_modern(tmp_path, DOWNLOAD, "ahead")
    path.write_text(path.read_text().replace("airtime_quantum", 'queues = "by_station"\n#'))
    request = read_request([path])
    (tier,) = request.tiers
    assert not any("by station" in own.label for own in request.list_candidates(tier))
    scenario = request.write_scenario(tier, find(request, "access point fq_codel"))
    point = scenario["link"]["wifi"]["dot11ax"]["access_point"]
    assert (point["queues"], point["queue"]) == ("by_station", "fq_codel")


def test_a_queue_for_each_station_is_advised_and_what_has_no_value_is_left_out(
    tmp_path: Path,
) -> None:
    path = write_modern(tmp_path, DOWNLOAD + PRINT + FILM)
    times = {"duration": "20 s", "warmup": "4 s"}
    found = recommend(path, seeds=1, may_set="router", set=times)
    assert not found.failures
    assert found.own_choices
    choices = found.own_choices
    assert "film.startup_delay.p50" in choices.decision.dropped
    assert name(choices, choices.advised) == "queues by station"
    first, *others = answer_owner(choices).sentences
    assert first.startswith("Give each station a queue of its own and the same time on the air")
    assert any("film startup delay" in one and "nothing is asked" in one for one in others)
    asked = found.judge_again(expect="film.startup_delay.p50 <= 2 s")
    assert not asked.decisions[0].dropped


def test_settings_of_the_wifi_and_of_who_stays_at_home_are_left_out_over_ethernet(
    tmp_path: Path,
) -> None:
    """Without a cell there is nothing that they could be set of."""
    given = {
        **{"link.wifi.dot11ax.rts_threshold": "500 B", "link.wifi.dot11ax.station.phone.mcs": 3},
        **{"flow.print.start": "2 s", "flow.put.start": "1 s", "flow.call.rtt": "40 ms"},
    }
    path = write_modern(tmp_path, UPLOAD + PRINT)
    request = read_request([path], overrides=[(key, str(own)) for key, own in given.items()])
    (tier,) = request.tiers

    def list_paths(label: str) -> list[str]:
        overrides = request.list_overrides(tier, find(request, label))
        request.read_text(tier, find(request, label)).load(overrides)
        return [key for key, _ in overrides]

    assert list_paths("as it is") == list(given)
    assert list_paths("over Ethernet") == ["flow.put.start", "flow.call.rtt"]
    assert list_paths("nobody uploads") == [key for key in given if "put" not in key]


def test_a_queue_of_the_wifi_that_is_given_stays_but_where_another_queue_is_tried(
    tmp_path: Path,
) -> None:
    point = "link.wifi.dot11ax.access_point"
    given = [(f"{point}.queue", "codel"), (f"{point}.ahead", "8")]
    request = read_request([write_modern(tmp_path, DOWNLOAD)], overrides=given)
    (tier,) = request.tiers

    def resolve(label: str) -> tuple[str, str]:
        own = find(request, label)
        loaded = request.read_text(tier, own).load(request.list_overrides(tier, own))
        found = loaded.resolved["link"]["wifi"]["dot11ax"]["access_point"]
        return next(iter(found["queue"])), found["queues"]

    assert resolve("as it is") == ("codel", "by_category")
    assert resolve("access point fq_codel") == ("fq_codel", "by_category")
    assert resolve("queues by station") == ("codel", "by_station")


HIDDEN = """
duration = "16 s"
warmup = "4 s"

[link.wifi.dot11n.station]
attic = { hidden_from = ["cellar"] }
cellar = {}
phone = {}

[link.cable.docsis]
preset = "docsis31"
upstream.rate = "50 Mbit/s"
downstream.rate = "500 Mbit/s"

[host]
attic.via = ["wifi.attic", "cable"]
cellar.via = ["wifi.cellar", "cable"]
phone.via = ["wifi.phone", "cable"]

[flow.attic]
host = "attic"
application = { cbr = { rate = "16 Mbit/s", size = "1400 B" } }
direction = "up"

[flow.cellar]
host = "cellar"
application = { cbr = { rate = "16 Mbit/s", size = "1400 B" } }
direction = "up"

[flow.call]
host = "phone"
application = "voice"
rtt = "30 ms"
"""


def write_hidden(folder: Path) -> Path:
    path = folder / "cameras.toml"
    path.write_text(HIDDEN)
    return path


def test_rts_and_cts_are_advised_where_stations_are_hidden_as_run_advises(tmp_path: Path) -> None:
    path = write_hidden(tmp_path)
    times = {"duration": "16 s", "warmup": "4 s"}
    found = recommend(path, seeds=1, may_set="router", set=times)
    assert not found.failures
    choices = found.own_choices
    assert choices
    assert name(choices, choices.advised) == "RTS/CTS"
    assert "threshold of RTS and CTS" in answer_owner(choices).sentences[0]
    proposed = set(list_candidates(run(path)))
    scenario = found.request.write_scenario(choices.decision.tier, find(found.request, "RTS/CTS"))
    cell = scenario["link"]["wifi"]["dot11n"]
    assert proposed == {(("link.wifi.dot11n.rts_threshold", cell["rts_threshold"]),)}


def test_rts_and_cts_are_no_row_where_all_hear_each_other_or_frames_are_announced(
    tmp_path: Path,
) -> None:
    path = write_hidden(tmp_path)

    def list_rows() -> list[str]:
        request = read_request([path])
        return [own.label for own in request.list_candidates(request.tiers[0]) if own.air]

    assert list_rows() == [
        "queues by station",
        "queues by station, cake 95 %",
        "RTS/CTS",
        "RTS/CTS, cake 95 %",
        "queues by station, RTS/CTS",
        "queues by station, RTS/CTS, cake 95 %",
        "access point fq_codel",
        "access point fq_codel, cake 95 %",
        "access point and stations fq_codel",
        "access point and stations fq_codel, cake 95 %",
        "attic on a cable",
        "attic on a cable, cake 95 %",
        "cellar on a cable",
        "cellar on a cable, cake 95 %",
        "over Ethernet",
    ]
    path.write_text(HIDDEN.replace('{ hidden_from = ["cellar"] }', "{}"))
    assert not any("RTS" in own or "on a cable" in own for own in list_rows())
    path.write_text(
        HIDDEN.replace("n.station]", 'n]\nrts_threshold = "400 B"\n[link.wifi.dot11n.station]', 1)
    )
    assert not any("RTS" in own for own in list_rows())


def test_a_station_on_a_cable_leaves_the_others_in_the_cell(tmp_path: Path) -> None:
    given = [("host.attic.via", '["wifi.attic", "cable"]')]
    request = read_request([write_hidden(tmp_path)], overrides=given)
    (tier,) = request.tiers
    own = find(request, "attic on a cable")
    hosts = request.write_scenario(tier, own)["host"]
    assert [host["via"] for host in hosts.values()] == [
        ["cable"],
        ["wifi.cellar", "cable"],
        ["wifi.phone", "cable"],
    ]
    assert own.is_settable
    both = request.write_scenario(tier, find(request, "attic on a cable, cake 95 %"))
    assert (both["host"], both["router"]["queue"]) == (hosts, "cake")
    assert not request.list_overrides(tier, own)
    again = Request.from_dict(json.loads(json.dumps(request.to_dict())))
    assert find(again, "attic on a cable") == own
    assert Candidate.from_dict(json.loads(json.dumps(own.to_dict()))) == own


def test_a_station_with_a_slow_rate_or_a_signal_is_tried_as_near_as_can_be(tmp_path: Path) -> None:
    """A rate becomes the best one, as `run` proposes; a signal is left out, which is the best."""
    path = write_modern(tmp_path, DOWNLOAD + PRINT)
    weak = 'phone = { snr = { steps = [["0 s", "35 dB"], ["8 s", "9 dB"]] }, mcs = 3 }'
    path.write_text(path.read_text().replace("phone = {}", weak))
    request = read_request([path])
    (tier,) = request.tiers

    def find_stations(label: str) -> dict[str, Any]:
        scenario = request.write_scenario(tier, find(request, label))
        request.read_text(tier, find(request, label)).load()
        found: dict[str, Any] = scenario["link"]["wifi"]["dot11ax"]["station"]
        return found

    printer = {"standard": "dot11n", "mcs": 7, "streams": 1, "width": 20}
    assert find_stations("printer nearer")["printer"] == printer
    assert find_stations("phone nearer")["phone"] == {"mcs": 3}
    assert list(find_stations("phone rate control")["phone"]) == ["snr"]
    labels = [own.label for own in request.list_candidates(tier)]
    assert not any(own.startswith(("laptop ", "television ")) for own in labels)
    # What is copied at home would cross the line.
    assert not any("on a cable" in own for own in labels)


def test_stations_of_one_name_in_two_cells_are_told_apart(tmp_path: Path) -> None:
    request = read_request([write_modern(tmp_path, DOWNLOAD)])
    (tier,) = request.tiers
    cells = {**tier.cells, "loft": tier.cells["wifi"]}
    labels = [own.label for own in request.list_candidates(replace(tier, cells=cells))]
    assert {"wifi.printer nearer", "loft.printer nearer"} <= set(labels)
    assert len(labels) == len(set(labels))


def test_a_station_is_moved_only_where_nothing_that_is_set_is_enough(tmp_path: Path) -> None:
    path = write_modern(tmp_path, DOWNLOAD)
    weak = 'phone = { snr = { steps = [["0 s", "35 dB"], ["8 s", "-5 dB"]] } }'
    path.write_text(path.read_text().replace("phone = {}", weak))
    times = {"duration": "20 s", "warmup": "4 s"}
    found = recommend(path, seeds=1, may_set="router", set=times)
    choices = found.own_choices
    assert choices
    assert choices.verdict is Verdict.MYSELF
    assert name(choices, choices.advised) == "phone nearer"
    first = answer_owner(choices).sentences[0]
    assert first.startswith("Bring phone nearer to the access point: the Wi-Fi is what limits")
    assert "phone nearer" in render_recommendation(found)


def list_times(request: Request) -> list[str]:
    scenario = request.write_scenario(request.tiers[0], find(request, "as it is"))
    return [scenario[key] for key in ("duration", "warmup")]


def test_points_run_as_long_as_the_scenario_with_its_people(tmp_path: Path) -> None:
    """What its steps do at a time is done in the same part of the run."""
    path = write_modern(tmp_path, DOWNLOAD)
    request = read_request([path])
    assert list_times(request) == ["20 s", "4 s"]
    assert not request.notes
    again = Request.from_dict(json.loads(json.dumps(request.to_dict())))
    assert list_times(again) == ["20 s", "4 s"]
    given = read_request([path], overrides=[("duration", "30 s")])
    assert list_times(given) == ["30 s", "4 s"]
    path.write_text(path.read_text().replace('warmup = "4 s"\n', ""))
    assert list_times(read_request([path])) == ["20 s", "0 s"]
    assert list_times(read_request([write(tmp_path, DOWNLOAD)])) == ["70 s", "10 s"]


def test_other_people_and_those_of_a_fitted_line_run_as_long_as_those_of_a_tier(
    tmp_path: Path,
) -> None:
    path = tmp_path / "line.toml"
    line = '[link.line.point_to_point]\nup.rate = "5 Mbit/s"\ndown.rate = "50 Mbit/s"\n'
    path.write_text(f'duration = "20 s"\n{line}[flow.call]\napplication = "voice"\n')
    assert list_times(read_request([path])) == ["20 s", "0 s"]
    assert list_times(read_request([path], traffic="call, upload")) == ["70 s", "10 s"]
    note = write_fit_note(FitNote("by hand", values={"up.rate": (4e6, 5e6, 6e6)}))
    path.write_text(f"{note}\n{path.read_text()}")
    assert list_times(read_request([path])) == ["70 s", "10 s"]
    path.write_text(f'duration = "20 s"\n{line}[flow.probe]\napplication = "ping"\n')
    assert list_times(read_request([path])) == ["70 s", "10 s"]


def test_a_run_too_short_for_what_is_asked_is_told(tmp_path: Path) -> None:
    found = recommend(
        write_hidden(tmp_path), seeds=1, may_set="aqm", set={"duration": "6 s", "warmup": "4 s"}
    )
    choices = found.own_choices
    assert choices
    (told,) = answer_owner(choices).sentences
    assert told == (
        "Nothing can be said: the call MOS (5th percentile) has no value in any run. A longer one"
        " may have it (--set duration=…)."
    )
    assert not write_owner_text(choices).useless


def test_where_nothing_helps_anybody_nothing_is_advised(tmp_path: Path) -> None:
    """The path loses packets, which no setting of the Wi-Fi or of the line can mend."""
    path = write(tmp_path, "")
    call = '[flow.call]\nhost = "phone"\napplication = "voice"\n'
    path.write_text(path.read_text().replace(call, f'{call}path.loss = "20 %"\n', 1))
    found = recommend(path, seeds=2, may_set="router", set=SHORT)
    choices = found.own_choices
    assert choices
    assert choices.verdict is Verdict.NOTHING_HELPS
    assert choices.advised == choices.today
    first = answer_owner(choices).sentences[0]
    assert first.startswith("Nothing that was tried helps anybody for sure: as the line is, ")
    told = " ".join(flatten(write_owner_text(choices).myself))
    assert told == "Nothing that you can do yourself helps anybody for sure."
    sure = flatten(write_owner_text(choices).certainty)[0]
    assert "over 2 seeds, too few for an interval: the means decide" in sure
    table = answer_owner(choices).matrix
    assert table
    assert table.note.startswith("Means over 2 seeds, too few for an interval")
    assert not any(
        "–" in cell.text or "±" in cell.text for row in table.rows for cell in row.cells if cell
    )


def test_what_fails_today_and_holds_with_a_setting_is_mended_however_much_seeds_differ(
    tmp_path: Path,
) -> None:
    """The difference is within its interval, where the one that fails varies."""
    path = write(tmp_path, "")
    path.write_text(path.read_text().replace('"voice"', '"video_call"'))
    found = recommend(path, seeds=3, may_set="router", set={"duration": "8 s", "warmup": "2 s"})
    (decision,) = found.decisions
    mended = next(
        at for at, own in enumerate(decision.candidates, 1) if own.label == "access point fq_codel"
    )
    late = {1: 0.6, 2: 0.2, 3: 0.3}
    value = (
        pl.when((pl.col("measure") == "call.frames_late.mean") & (pl.col("setting") != mended))
        .then(pl.col("seed").replace_strict(late, default=0.0, return_dtype=pl.Float64))
        .otherwise(pl.col("value"))
    )
    choices = replace(found, table=found.table.with_columns(value.alias("value"))).own_choices
    assert choices
    assert choices.decision.list_changes(mended, choices.today) == ([], [])
    assert choices.verdict is Verdict.MYSELF
    assert choices.advised == mended
    told = flatten(write_owner_text(choices).myself)
    assert any(line.startswith("The call is bad (36.7 % late) and becomes good (") for line in told)
    assert "Nobody is better off." not in told


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    """Ask for a home with two hidden stations, with all that is tried of it."""
    folder = tmp_path_factory.mktemp("hidden")
    return recommend(write_hidden(folder), seeds=3, out=folder / "results", report=False)


def give(found: Recommendation, scores: dict[str, float]) -> OwnChoices:
    """Give the call's MOS in some settings, and 1.4 in all others."""
    value = pl.col("choice").replace_strict(scores, default=1.4, return_dtype=pl.Float64)
    table = found.table.with_columns(
        pl.when(pl.col("measure") == "call.mos.p5")
        .then(value)
        .otherwise(pl.col("value"))
        .alias("value")
    )
    choices = replace(found, table=table).own_choices
    assert choices
    return choices


@pytest.mark.parametrize(
    "scores",
    [
        {},
        {"RTS/CTS": 4.3},
        {"AQM 20 ms": 2.9},
        {"cake 95 %": 3.5, "buffer 64 KiB": 3.7},
        {"RTS/CTS": 3.7, "low latency": 4.3, "twice the rate": 3.2},
        {"attic on a cable": 4.3, "cake 90 %": 3.9, "AQM 20 ms": 4.2},
    ],
)
def test_a_remedy_is_told_in_one_place_only(
    hidden: Recommendation, scores: dict[str, float]
) -> None:
    choices = give(hidden, scores)
    words = write_owner_text(choices)
    useless = choices.list_useless()
    assert len(flatten(words.useless)) == max(len(useless), 1)
    for setting in useless:
        label = choices.decision.find(setting).label.replace(", ", " + ")
        elsewhere = " ".join(flatten([*words.myself, *words.provider]))
        assert label not in elsewhere


def test_what_helps_nobody_is_not_called_the_nearest(hidden: Recommendation) -> None:
    choices = give(hidden, {"RTS/CTS": 4.3})
    words = write_owner_text(choices)
    assert flatten(words.provider) == ["Nothing of the provider's helps anybody for sure."]
    useless = flatten(words.useless)
    assert any(line.startswith("AQM 20 ms does not help: the call is unusable") for line in useless)


def test_where_the_best_of_all_is_hopeless_nothing_comes_near(hidden: Recommendation) -> None:
    choices = give(hidden, {"low latency": 2.4})
    assert choices.verdict is Verdict.NOTHING_HOLDS
    first = answer_owner(choices).sentences[0]
    assert first == (
        "Nothing that was tried comes near: with low latency, the best of it, the call is unusable"
        " (MOS 2.4)."
    )
    near = answer_owner(give(hidden, {"low latency": 3.9})).sentences[0]
    assert "; low latency comes nearest: the call is " in near


def test_a_cable_for_all_is_told_as_such(hidden: Recommendation) -> None:
    choices = give(hidden, {"over Ethernet": 4.3})
    assert choices.verdict is Verdict.ETHERNET
    assert "Over Ethernet, the call goes from unusable to good." in answer_owner(choices).sentences


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_nothing_that_is_printed_is_wider_than_the_terminal(
    hidden: Recommendation, columns: int
) -> None:
    words = ["recommend", str(hidden.folder), "--full"]
    answer = CliRunner().invoke(app, words, env={"COLUMNS": str(columns)})
    assert answer.exit_code == 0
    lines = [line.rstrip() for line in answer.stdout.splitlines()]
    # The path of the report is never broken.
    assert max(len(line) for line in lines if str(hidden.folder) not in line) <= columns
    assert any(line.endswith("over Ethernet") for line in lines)
