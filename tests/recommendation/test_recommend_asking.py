"""Tests of what a recommendation is asked: options, tiers, files, people, conditions."""

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from headend.cli.main import app
from headend.errors import InputError
from headend.recommendation.candidate import OF_MODEM, Feature, list_candidates
from headend.recommendation.conditions import read_wish_of
from headend.recommendation.experiment import run_request
from headend.recommendation.people import KNOWN, ROUND_TRIP, list_demands, make_people
from headend.recommendation.reading import read_request
from headend.recommendation.request import SEEDS, Request
from headend.recommendation.result import Recommendation
from headend.recommendation.tier import Tier
from headend.scenario.source import read_scenario
from headend.scenario.subjects import Vocabulary

#: A tier, as options give it.
FIVE = ("5 Mbit/s",)

#: The head of a file of tiers.
TIERS = '[tier.bronze]\nupstream = "5 Mbit/s"\n'

#: Short runs.
SHORT = (("duration", "12 s"), ("warmup", "4 s"))

BRONZE = Tier(
    "bronze",
    5e6,
    50e6,
    {
        "preset": "docsis31",
        "upstream": {"rate": "5 Mbit/s", "peak": "8 Mbit/s"},
        "downstream": {"rate": "50 Mbit/s"},
    },
    {"upstream": {"queue": {"docsis_pie": {"target": "15 ms"}}}, "downstream": {}},
    Path("bronze.cm"),
)


def refuse(*sources: str | Path, **options: Any) -> str:
    """Give the error of a request, which is one line."""
    with pytest.raises(InputError) as caught:
        read_request(sources, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def write_tiers(folder: Path, text: str) -> Path:
    """Write a file of tiers."""
    path = folder / "tiers.toml"
    path.write_text(text)
    return path


def write_modem(folder: Path, name: str, line: Mapping[str, Any]) -> Path:
    """Write the file of a modem with ``headend config from``."""
    scenario = {
        "duration": "12 s",
        "link": {"cable": {"docsis": line}},
        "flow": {"probe": {"application": "ping"}},
    }
    (folder / f"{name}.json").write_text(json.dumps(scenario))
    path = folder / f"{name}.cm"
    made = CliRunner().invoke(
        app, ["config", "from", str(folder / f"{name}.json"), "-o", str(path)]
    )
    assert made.exit_code == 0, made.output
    return path


PIE = {
    "upstream": {"rate": "5 Mbit/s", "queue": "docsis_pie"},
    "downstream": {"rate": "50 Mbit/s"},
}

#: A line with low latency, a peak rate, and a service flow of its own for calls.
RICH = {
    "upstream": {
        "rate": "5 Mbit/s",
        "peak": "8 Mbit/s",
        "burst": "100 kB",
        "low_latency": {},
    },
    "downstream": {"rate": "50 Mbit/s", "low_latency": {}},
    "service_flow": {"voice": {"direction": "up", "rate": "1 Mbit/s", "match": {"dscp": 46}}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with modems' files."""
    path = tmp_path_factory.mktemp("modems")
    write_modem(path, "pie", PIE)
    write_modem(path, "rich", RICH)
    return path


#: A flow that replays a capture.
REPLAY = '[flow.own]\napplication.replay = {{ capture = "{}", host = "10.0.0.2" }}\n'


def write_capture(path: Path) -> None:
    """Write a capture of one UDP datagram from 10.0.0.2."""
    packet = struct.pack(
        "!BBHHHBBH4s4sHHHH",
        *(0x45, 0, 28, 0, 0, 64, 17, 0),
        *(bytes([10, 0, 0, 2]), bytes([192, 0, 2, 1])),
        *(4000, 4000, 8, 0),
    )
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    path.write_bytes(head + struct.pack("<IIII", 1, 0, len(packet), len(packet)) + packet)


# What is kept


def test_a_request_survives_json_exactly() -> None:
    asked = Request(
        "tiers",
        (BRONZE, replace(BRONZE, name="plain", today=None, file=None)),
        people=replace(make_people(("call", "upload")), others={"tcp": {"linux": {}}}),
        features=(Feature.AQM,),
        expect=("call.mos.p5 >= 4.0", "upload.goodput >= 80 %"),
        prefer="least cable.up.delay.p99",
        seeds=(3, 1),
        title="What?",
        overrides=(("duration", "12 s"),),
        allowed=(Path("captures"),),
        notes=("bronze.cm: one TLV is not simulated",),
    )

    written = json.dumps(asked.to_dict())

    found = Request.from_dict(json.loads(written))
    assert found == asked
    assert [tier.file for tier in found.tiers] == [Path("bronze.cm"), None]
    assert json.dumps(found.to_dict()) == written


# Rates


def test_each_upstream_rate_is_a_tier_that_is_called_by_it_and_has_ten_times_that_downstream() -> (
    None
):
    asked = read_request(upstream=("5 Mbit/s", "512 kbit/s", "0.035 Gbit/s"))

    assert [(tier.name, tier.upstream, tier.downstream) for tier in asked.tiers] == [
        ("5 Mbit/s", 5e6, 50e6),
        ("512 kbit/s", 512e3, 5.12e6),
        ("35 Mbit/s", 35e6, 350e6),
    ]
    assert asked.seeds == SEEDS
    assert asked.features == OF_MODEM
    assert asked.people == make_people()


def test_one_downstream_rate_is_that_of_all_tiers() -> None:
    asked = read_request(upstream=("5 Mbit/s", "10 Mbit/s"), downstream=("100 Mbit/s",))

    assert [tier.downstream for tier in asked.tiers] == [100e6, 100e6]


def test_a_supposed_downstream_rate_is_one_that_the_channel_carries() -> None:
    (tier,) = read_request(upstream=("90 Mbit/s",), preset="docsis30").tiers
    scenario = {"link": {"cable": {"docsis": tier.link}}, "flow": {"a": {"application": "ping"}}}

    assert 90e6 < tier.downstream < 900e6
    assert read_scenario(scenario).load().scenario.warnings == []


def test_tiers_with_one_upstream_rate_are_called_by_both() -> None:
    asked = read_request(
        upstream=("5 Mbit/s", "5 Mbit/s", "5 Mbit/s", "8 Mbit/s"),
        downstream=("50 Mbit/s", "100 Mbit/s", "1 Gbit/s", "80 Mbit/s"),
    )

    assert [tier.name for tier in asked.tiers] == [
        "5/50 Mbit/s",
        "5/100 Mbit/s",
        "5 Mbit/s / 1 Gbit/s",
        "8 Mbit/s",
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "expected tiers: --upstream"),
        ({"upstream": ("0 Mbit/s",)}, "--upstream: expected a rate of 64 kbit/s or more"),
        ({"upstream": ("-5 Mbit/s",)}, "--upstream: expected a rate of 64 kbit/s or more"),
        ({"upstream": ("63 kbit/s",)}, "--upstream: expected a rate of 64 kbit/s or more"),
        ({"upstream": ("5",)}, "--upstream: expected a rate such as"),
        ({"upstream": ("5 Mbps",)}, 'did you mean "5 Mbit/s"?'),
        ({"upstream": ("900 Mbit/s",)}, "the upstream channel of docsis31 carries"),
        (
            {"upstream": FIVE, "downstream": ("9 Gbit/s",)},
            "--downstream: expected a rate that the downstream channel",
        ),
        ({"upstream": (*FIVE, "5000 kbit/s")}, "--upstream 5 Mbit/s: this tier is there twice"),
        (
            {"upstream": FIVE * 3, "downstream": FIVE * 2},
            "expected as many as --upstream (3), one for all tiers, or none, found 2",
        ),
        ({"downstream": FIVE}, "expected --upstream beside it"),
    ],
)
def test_what_are_no_rates_of_tiers_is_refused_in_one_line(
    options: dict[str, Any], told: str
) -> None:
    assert told in refuse(**options)


# The generation of modems


def test_a_preset_is_found_by_its_name() -> None:
    assert 'did you mean "docsis31"?' in refuse(upstream=FIVE, preset="docsis3.1")


@pytest.mark.parametrize("preset", ["docsis10", "docsis11", "docsis20"])
def test_modems_without_buffer_control_are_refused_with_the_reason(preset: str) -> None:
    told = refuse(upstream=FIVE, preset=preset)

    assert told.startswith(f"--preset: modems of {preset} have neither Buffer Control nor AQM")


def test_low_latency_is_left_out_of_modems_that_cannot_have_it_and_refused_where_it_is_asked() -> (
    None
):
    asked = read_request(upstream=FIVE, preset="docsis30")
    features = {own.feature for own in asked.list_candidates(asked.tiers[0])}

    assert features == {Feature.DELIVERED, Feature.BUFFER_CONTROL, Feature.AQM}
    told = refuse(upstream=FIVE, preset="docsis30", may_set=("aqm", "low-latency"))
    assert told.startswith("--may-set: low-latency needs modems of DOCSIS 3.1")


# What may be set


@pytest.mark.parametrize(
    "may_set", [("low-latency,aqm",), ("AQM", "low latency"), ("aqm", "low_latency", "lld")]
)
def test_what_may_be_set_is_named_one_by_one_or_with_commas(may_set: tuple[str, ...]) -> None:
    asked = read_request(upstream=FIVE, may_set=may_set)

    assert asked.features == (Feature.AQM, Feature.LOW_LATENCY)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("aqmm", 'did you mean "aqm"?'),
        ("buffer", 'did you mean "buffer-control"?'),
        ("today", "is there to compare with"),
        ("", "found nothing"),
        ("aqm,", "found nothing"),
    ],
)
def test_what_cannot_be_set_is_refused(word: str, told: str) -> None:
    error = refuse(upstream=FIVE, may_set=(word,))

    assert error.startswith("--may-set: ")
    assert told in error


# People


def test_people_are_listed_with_numbers_in_singular_or_plural() -> None:
    people = read_request(upstream=FIVE, traffic="Calls, 2 uploads, video-call, 3x game").people

    assert {name: flow.get("count", 1) for name, flow in people.flows.items()} == {
        "call": 1,
        "game": 3,
        "upload": 2,
        "video": 1,
    }
    assert people.objective == "most upload.goodput"
    assert people.conditions == (
        "call.mos.p5 >= 4.0",
        "game.missed.mean <= 5 %",
        "video.frames_late.mean <= 5 %",
    )


def test_people_without_an_upload_have_no_objective() -> None:
    assert read_request(upstream=FIVE, traffic="call").objective == ""


def test_the_flows_of_a_scenario_can_be_the_people_and_their_applications_say_what_must_hold() -> (
    None
):
    people = read_request(upstream=FIVE, traffic="game-console").people

    assert list(people.flows) == ["game", "clip", "photos"]
    assert people.conditions == ("game.missed.mean <= 5 %",)
    assert people.objective == "most clip.goodput + photos.goodput"
    assert people.others["host"]["console"] == {"via": ["cable"]}


def test_a_scenario_can_call_its_line_as_it_likes(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'host.desk.via = ["dsl"]\nlink.dsl.docsis.preset = "docsis30"\n'
        '[flow.anna]\napplication = "voice"\nhost = "desk"\n'
    )

    asked = read_request(upstream=FIVE, traffic=str(tmp_path / "mine.toml"))

    assert asked.conditions == ("anna.mos.p5 >= 4.0",)
    assert asked.people.others["host"]["desk"]["via"] == ["cable"]


def test_every_demand_is_of_a_quantity_that_the_application_has() -> None:
    for application in ("cloud_gaming", "conference", "ping", "streaming", "quake3", "web"):
        (tier,) = read_request(upstream=FIVE).tiers
        flows = {"own": {"application": application}}
        scenario = {"link": {"cable": {"docsis": tier.link}}, "flow": flows}
        vocabulary = Vocabulary.from_scenario(read_scenario(scenario).load().scenario)
        demands = list_demands("own", application)

        assert (
            len(read_wish_of(demands, "", tier, flows, vocabulary).constraints) == len(demands) > 0
        )


@pytest.mark.parametrize(
    ("traffic", "told"),
    [
        ("cal", 'nobody is called "cal"; did you mean "call"?'),
        ("call, gane", 'did you mean "game"?'),
        ("upload-and-cal", 'did you mean "upload-and-call"?'),
        ("call,", "expected people such as"),
        ("", "expected people such as"),
        ("0 calls", "expected 1 call or more"),
        ("-1 call", "expected 1 call or more"),
        ("100000 calls", "more than 10000"),
        ("nothing/here.toml", "nothing/here.toml: no such file"),
        ("wifi-home", "expected flows on a single line, found the links wifi and cable"),
        ("street", "expected flows behind a single modem"),
        ("aqm/load-1", None),
    ],
)
def test_who_cannot_be_the_people_is_refused(traffic: str, told: str | None) -> None:
    if told is None:
        assert read_request(upstream=FIVE, traffic=traffic).people.flows
        return
    error = refuse(upstream=FIVE, traffic=traffic)

    assert error.startswith("--traffic: ")
    assert told in error


def test_traces_that_people_replay_are_found_beside_the_file_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lan").mkdir()
    write_capture(tmp_path / "lan" / "own.pcap")
    path = write_tiers(tmp_path, TIERS + REPLAY.format("lan/own.pcap"))
    monkeypatch.chdir("/")

    asked = read_request([path])

    assert asked.allowed == (tmp_path / "lan" / "own.pcap",)
    assert asked.people.flows["own"]["application"]["replay"]["capture"] == str(asked.allowed[0])


def test_traces_elsewhere_are_read_only_where_they_are_allowed(tmp_path: Path) -> None:
    write_capture(tmp_path / "own.pcap")
    (tmp_path / "below").mkdir()
    path = write_tiers(tmp_path / "below", TIERS + REPLAY.format("../own.pcap"))

    assert "--allow-files" in refuse(path)
    assert read_request([path], allow_files=[tmp_path]).people.flows


# Round-trip times


@pytest.mark.parametrize(
    ("rtt", "found"),
    [
        ("35 ms", "35 ms"),
        ("20 ms to 100 ms", {"from": "20 ms", "to": "100 ms"}),
        ("20-100 ms", {"from": "20 ms", "to": "100 ms"}),
        ("Boston", {"sites": "boston"}),
        ("all", {"sites": "all"}),
        (
            '{ log_normal = { median = "40 ms", sigma = 0.5 } }',
            {"log_normal": {"median": "40 ms", "sigma": 0.5}},
        ),
    ],
)
def test_round_trip_times_are_those_of_transfers_and_pages(rtt: str, found: Any) -> None:
    flows = read_request(upstream=FIVE, rtt=rtt).people.flows

    assert flows["upload"]["rtt"] == flows["page"]["rtt"] == found
    assert {
        name: flow["rtt"] for name, flow in flows.items() if name not in ("upload", "page")
    } == {name: KNOWN[name]["rtt"] for name in ("call", "game", "video")}


def test_round_trip_times_are_those_of_a_scenarios_transfers_and_pages_where_given() -> None:
    own = read_request(upstream=FIVE, traffic="upload-and-call").people.flows
    given = read_request(upstream=FIVE, traffic="upload-and-call", rtt="90 ms").people.flows

    assert [own[name]["rtt"] for name in ("upload", "call", "page")] == ["40 ms", "40 ms", "30 ms"]
    assert [given[name]["rtt"] for name in ("upload", "call", "page")] == [
        "90 ms",
        "40 ms",
        "90 ms",
    ]
    assert read_request(upstream=FIVE).people.flows["page"]["rtt"] == ROUND_TRIP


@pytest.mark.parametrize(
    ("rtt", "told"),
    [
        ("bostn", 'did you mean "boston"?'),
        ("20", "expected a duration"),
        ("-3 ms", "expected a duration"),
        ("2 h", "at most 60 s"),
        ("100 to 20 ms", "to: the longest, 20 ms, is below the shortest"),
        ("{ site = 'boston' }", "site: unknown key"),
        ("{ sites = ", "or a table such as"),
    ],
)
def test_what_is_no_round_trip_time_is_refused(rtt: str, told: str) -> None:
    error = refuse(upstream=FIVE, rtt=rtt)

    assert error.startswith("--rtt: ")
    assert told in error


# Conditions


def find_bound(text: str, tier: Tier | None = None) -> str:
    """Give the bound of a condition once it is absolute."""
    asked = read_request(upstream=FIVE, expect=(text,))
    own = tier or asked.tiers[0]
    scenario = read_scenario(asked.write_scenario(own, asked.list_candidates(own)[0]))
    vocabulary = Vocabulary.from_scenario(scenario.load().scenario)
    (hold,) = read_wish_of(asked.conditions, "", own, asked.people.flows, vocabulary).constraints
    return hold.limit


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("upload.goodput >= 80 %", "4000000 bit/s"),
        ("upload.goodput >= 80 % of upstream", "4000000 bit/s"),
        ("page.goodput >= 10 %", "5000000 bit/s"),
        ("call.up.goodput >= 1 %", "50000 bit/s"),
        ("call.down.goodput >= 1 %", "500000 bit/s"),
        ("video.goodput >= 1 % of downstream", "500000 bit/s"),
        ("upload.goodput + call.up.goodput >= 50 %", "2500000 bit/s"),
        ("upload.goodput >= 4 Mbit/s", "4 Mbit/s"),
        ("cable.up.utilisation >= 80 %", "80 %"),
        ("cable.up.delay.p99 <= 50 ms", "50 ms"),
        ("upload.goodput / page.goodput >= 10 %", "10 %"),
    ],
)
def test_a_share_of_a_rate_is_of_the_direction_in_which_the_flow_sends(
    text: str, bound: str
) -> None:
    assert find_bound(text) == bound


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cal.mos.p5 >= 4.0", 'did you mean "call"?'),
        ("call.mso.p5 >= 4.0", 'did you mean "mos"?'),
        ("call.mos.p5 >= 6", 'no value meets ">= 6"'),
        ("upload.goodput >= 120 %", 'no value meets ">= 120 %": the rate upstream is 5 Mbit/s'),
        ("upload.goodput >= 80 % of up", '"80 % of upstream" or "80 % of downstream"'),
        ("call.goodput >= 1 %", "is not of one direction"),
        ("call.late.mean <= 1 % of upstream", "is a share"),
        ("upload.goodput >= 80 ms", "expected a rate"),
        ("upload.goodput", "expected QUANTITY"),
        ("most upload.goodput", "--prefer takes most and least"),
        ("upload.goodput >= 1e999 bit/s", 'found "1e999 bit/s", which is too large'),
        (f"upload.goodput < {'9' * 400} %", "which is too large"),
    ],
)
def test_what_cannot_be_expected_is_refused(text: str, told: str) -> None:
    error = refuse(upstream=FIVE, expect=("call.mos.p5 >= 3.6", text))

    assert error.startswith(f'--expect "{text}": ')
    assert told in error


def test_more_than_the_sustained_rate_can_be_expected_up_to_the_peak_rate() -> None:
    assert find_bound("upload.goodput >= 90 %", BRONZE) == "4500000 bit/s"
    tier = replace(BRONZE, today=None)
    flows = make_people().flows
    scenario = {"link": {"cable": {"docsis": tier.link}}, "flow": flows}
    vocabulary = Vocabulary.from_scenario(read_scenario(scenario).load().scenario)

    assert read_wish_of(["upload.goodput >= 160 %"], "", tier, flows, vocabulary).constraints
    with pytest.raises(InputError, match="8 Mbit/s at its peak, and 5 Mbit/s sustained"):
        read_wish_of(["upload.goodput >= 161 %"], "", tier, flows, vocabulary)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("call.mos.p5 >= 4.0", "conditions belong to --expect"),
        ("most upload.goodput >= 4 Mbit/s", "conditions belong to --expect"),
        ("most", 'found "most"'),
        ("upload.goodput", 'expected "most upload.goodput"'),
        ("least uplod.goodput", 'did you mean "upload"?'),
    ],
)
def test_what_cannot_be_preferred_is_refused(text: str, told: str) -> None:
    error = refuse(upstream=FIVE, prefer=text)

    assert error.startswith("--prefer")
    assert told in error


@pytest.mark.parametrize("seeds", [0, [1, 1], [-1], 10**9])
def test_what_are_no_seeds_is_refused(seeds: Any) -> None:
    assert refuse(upstream=FIVE, seeds=seeds).startswith("--seeds: ")


# A file of tiers

WHOLE = """\
title = "What shall ours have?"
preset = "docsis30"
traffic = "call, 2 uploads"
rtt = "boston"
may_set = ["aqm", "buffer-control"]
seeds = 2
prefer = "least cable.up.delay.p99"

[tier.bronze]
upstream = "5 Mbit/s"
downstream = "40 Mbit/s"

[tier.silver]
preset = "docsis31"
upstream = { rate = "10 Mbit/s", peak = "15 Mbit/s", burst = "1 MB", queue = "docsis_pie" }

[expect]
call = "call.mos.p5 >= 3.6"
"""


def test_a_file_of_tiers_says_all_that_options_say(tmp_path: Path) -> None:
    asked = read_request([write_tiers(tmp_path, WHOLE)])

    bronze, silver = asked.tiers
    assert (asked.name, asked.title) == ("tiers", "What shall ours have?")
    assert asked.features == (Feature.BUFFER_CONTROL, Feature.AQM)
    assert asked.seeds == (1, 2)
    assert asked.conditions == ("call.mos.p5 >= 3.6",)
    assert asked.objective == "least cable.up.delay.p99"
    assert asked.people.flows["upload"]["count"] == 2
    assert asked.people.flows["upload"]["rtt"] == {"sites": "boston"}
    assert (bronze.name, bronze.downstream, bronze.is_docsis31) == ("bronze", 40e6, False)
    assert bronze.today is None
    assert silver.is_docsis31
    assert silver.link["upstream"] == {"rate": "10 Mbit/s", "peak": "15 Mbit/s", "burst": "1 MB"}
    assert silver.today == {"upstream": {"queue": "docsis_pie"}, "downstream": {}}


def test_options_take_the_place_of_those_of_the_file(tmp_path: Path) -> None:
    asked = read_request(
        [write_tiers(tmp_path, WHOLE)],
        preset="docsis31",
        traffic="game",
        rtt="3 ms",
        may_set=("low-latency",),
        seeds=[7],
        prefer="most game.up.delivered",
        expect=("game.missed.mean <= 1 %",),
    )

    assert all(tier.is_docsis31 for tier in asked.tiers)
    assert list(asked.people.flows) == ["game"]
    assert asked.features == (Feature.LOW_LATENCY,)
    assert asked.seeds == (7,)
    assert asked.conditions == ("game.missed.mean <= 1 %",)
    assert asked.objective == "most game.up.delivered"


def test_a_file_of_tiers_can_have_people_of_its_own_and_modems_files_beside_it(
    folder: Path,
) -> None:
    path = write_tiers(
        folder,
        '[tier.gold]\nmodem = "pie.cm"\n[flow.anna]\napplication = "voice"\n'
        '[flow.backup]\napplication = "bulk"\ndirection = "up"\n',
    )

    asked = read_request([path], rtt="90 ms")

    assert [(tier.name, tier.upstream, tier.file) for tier in asked.tiers] == [
        ("gold", 5e6, folder / "pie.cm")
    ]
    assert asked.people.flows["backup"]["rtt"] == "90 ms"
    assert asked.conditions == ("anna.mos.p5 >= 4.0",)
    assert asked.objective == "most backup.goodput"


@pytest.mark.parametrize(
    ("text", "told", "line"),
    [
        ('trafic = "call"\n' + TIERS, 'unknown key "trafic"; did you mean "traffic"?', 1),
        (TIERS + 'upstraem = "4"\n', 'tier.bronze.upstraem: unknown key; did you mean "up', 3),
        ('[teir.b]\nupstream = "5 Mbit/s"\n', 'unknown key "teir"; did you mean "tier"?', 1),
        ("[tier.b]\n", 'tier.b: missing key "upstream"', 1),
        ("[tier.b]\nupstream = 5\n", "tier.b.upstream: expected a rate such as", 2),
        ('[tier.b]\nupstream = "1 bit/s"\n', "tier.b.upstream: expected a rate of 64 kbit/s", 2),
        ('[tier.b]\nupstream = { peak = "5 Mbit/s" }\n', 'tier.b.upstream: missing key "rate"', 2),
        (
            '[tier.b]\nupstream = { rate = "5 Mbit/s", paek = "8 Mbit/s" }\n',
            'tier.b.upstream.paek: unknown key; did you mean "peak"?',
            2,
        ),
        (
            '[tier.b]\nupstream.rate = "5 Mbit/s"\nupstream.peak = "4 Mbit/s"\n',
            "tier.b.upstream.peak: a peak rate of 4 Mbit/s is below the sustained rate",
            3,
        ),
        ('[tier.b]\nmodem = "none.cm"\n', "tier.b.modem: ", 2),
        (
            '[tier.b]\nmodem = "none.cm"\nupstream = "5 Mbit/s"\n',
            "tier.b.upstream: the rates are those of the modem's file",
            3,
        ),
        ("tier = 3\n", "tier: expected tables such as [tier.bronze]", 1),
        ('preset = "docsis20"\n' + TIERS, "preset: modems of docsis20 have neither", 1),
        ('seeds = "x"\n' + TIERS, "seeds: expected how many", 1),
        ('may_set = "aqmm"\n' + TIERS, 'may_set: nothing is called "aqmm"', 1),
        ('prefer = "x"\n' + TIERS, "prefer: expected", 1),
        ('prefer = "most  cal.mos.p5"\n' + TIERS, 'prefer: no flow or queue is called "cal"', 1),
        ("rtt = 3\n" + TIERS, "rtt: expected a time", 1),
        ('traffic = "none.toml"\n' + TIERS, "traffic: ", 1),
        ("title = 3\n" + TIERS, "title: expected text, found 3", 1),
        (TIERS + "[expect]\ncall = 4\n", "expect.call: expected a condition", 4),
        (TIERS + '[expect]\ncall = "cal.mos.p5 >= 4"\n', "expect.call: no flow or queue", 4),
        (TIERS + '[flow.a]\naplication = "voice"\n', "flow.a.aplication: unknown key", 4),
        (
            TIERS + '[flow.a]\napplication = "voice"\nhost = "b"\n[host.b]\nvia = ["wifi"]\n',
            'host.b.via: expected ["cable"], the line of the tier, found ["wifi"]',
            7,
        ),
        (TIERS + '[host.b]\nvia = ["cable"]\n', "host: expected [flow] beside it", 3),
        (
            'traffic = "call"\n' + TIERS + '[flow.a]\napplication = "voice"\n',
            "traffic: there is [flow] too",
            1,
        ),
    ],
)
def test_what_is_wrong_in_a_file_of_tiers_is_told_with_its_line(
    tmp_path: Path, text: str, told: str, line: int
) -> None:
    path = write_tiers(tmp_path, text)

    error = refuse(path)

    assert error.startswith(f"{path}: {told}")
    assert error.endswith(f"(line {line})")


def test_a_file_of_tiers_reads_from_its_own_folder_and_below(tmp_path: Path, folder: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside.cm").write_bytes((folder / "pie.cm").read_bytes())
    (inside / "link.cm").symlink_to("../outside.cm")
    (tmp_path / "people.toml").write_text("[link.l.docsis]\n[flow.call]\napplication = 'voice'\n")
    why = f"it is not in the folder {inside} or below; --allow-files PATH lets files elsewhere be"
    for key, name, line in (
        ("tier.b.modem", "../outside.cm", 2),
        ("tier.b.modem", str(tmp_path / "outside.cm"), 2),
        ("tier.b.modem", "link.cm", 2),
        ("traffic", "../people.toml", 1),
        ("traffic", "/etc/passwd", 1),
    ):
        is_modem = key.endswith("modem")
        text = f'[tier.b]\nmodem = "{name}"\n' if is_modem else f'traffic = "{name}"\n{TIERS}'
        path = write_tiers(inside, text)
        error = refuse(path)
        assert error.startswith(f"{path}: {key}: {name}: {why}")
        assert error.endswith(f"(line {line})")
        assert "root:" not in error
        if name != "/etc/passwd":
            assert read_request([path], allow_files=[tmp_path]).tiers
    # A person may name any scenario.
    write_tiers(inside, TIERS)
    assert read_request([inside / "tiers.toml"], traffic=str(tmp_path / "people.toml")).tiers


def test_a_tier_that_is_in_a_file_twice_is_told_with_both_lines(tmp_path: Path) -> None:
    assert "tier.bronze is there twice (lines 1 and 3)" in refuse(
        write_tiers(tmp_path, TIERS + TIERS)
    )


def test_a_file_of_tiers_is_read_alone(tmp_path: Path) -> None:
    path = write_tiers(tmp_path, TIERS)

    assert "expected either the file or rates" in refuse(path, upstream=FIVE)
    assert "expected it alone, or modems' files" in refuse(path, tmp_path / "old.cm")


def test_a_scenario_of_a_line_without_its_rate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('link.cable.docsis.preset = "docsis30"\n[flow.a]\napplication = "voice"\n')

    assert "link.cable.docsis.upstream.rate: there is none; expected the rate" in refuse(path)


# Modems' files


def test_a_modems_file_is_a_tier_with_its_rates_and_what_it_has_today(folder: Path) -> None:
    (tier,) = read_request([folder / "pie.cm"]).tiers

    assert (tier.name, tier.upstream, tier.downstream) == ("pie", 5e6, 50e6)
    assert tier.link == {
        "preset": "docsis31",
        "upstream": {"rate": "5 Mbit/s"},
        "downstream": {"rate": "50 Mbit/s"},
    }
    assert tier.today == {
        "upstream": {"queue": {"docsis_pie": {"limit": "156250 B"}}},
        "downstream": {},
    }


def test_the_text_of_a_modems_file_is_the_same_tier_as_the_file(
    folder: Path, tmp_path: Path
) -> None:
    text = CliRunner().invoke(app, ["config", "decode", str(folder / "rich.cm")]).output
    (tmp_path / "rich.cm.toml").write_text(text)

    (own,) = read_request([tmp_path / "rich.cm.toml"]).tiers

    assert own == read_request([folder / "rich.cm"]).tiers[0]


def test_what_else_a_modems_file_has_stays_whatever_is_set(folder: Path) -> None:
    asked = read_request([folder / "rich.cm"])
    (tier,) = asked.tiers

    assert tier.link["upstream"] == {"rate": "5 Mbit/s", "peak": "8 Mbit/s", "burst": "100 kB"}
    assert tier.today is not None
    assert set(tier.today["upstream"]) == set(tier.today["downstream"]) == {"queue", "low_latency"}
    for candidate in asked.list_candidates(tier):
        line = candidate.write_link(tier)
        assert line["service_flow"]["up_4"]["rate"] == "1 Mbit/s"
        is_low_latency = candidate.feature in (Feature.TODAY, Feature.LOW_LATENCY)
        assert ("low_latency" in line["upstream"]) is is_low_latency


def test_the_line_of_a_modems_file_as_it_is_is_the_line_that_the_file_sets(folder: Path) -> None:
    asked = read_request([folder / "rich.cm"])
    (tier,) = asked.tiers
    today, *_ = asked.list_candidates(tier)

    own = read_scenario(asked.write_scenario(tier, today)).load().resolved["link"]["cable"]
    scenario = {
        "link": {"cable": {"docsis": {"config": "rich.cm"}}},
        "flow": {"probe": {"application": "ping"}},
    }
    files = {"rich.cm": (folder / "rich.cm").read_bytes()}
    set_by_file = read_scenario(scenario).load((), files).resolved["link"]["cable"]

    for key in ("config", "config_read"):
        del set_by_file["docsis"][key]
    assert own == set_by_file


def test_an_aqm_that_a_modems_file_disables_is_on_where_a_candidate_sets_it(tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    path.write_text(
        "upstream_aqm_disable = 1\n[[upstream_service_flow]]\nservice_flow_reference = 1\n"
        'qos_parameter_set_type = 7\nmaximum_sustained_rate = "5 Mbit/s"\n'
        'buffer_control.target = "65536 B"\n'
    )

    asked = read_request([path])
    (tier,) = asked.tiers
    today, first, *_ = asked.list_candidates(tier)

    assert first.feature is Feature.AQM
    assert "aqm_disabled" not in json.dumps(first.write_link(tier))
    assert today.write_link(tier)["upstream"] == {
        "rate": "5 Mbit/s",
        "aqm_disabled": True,
        "queue": {"buffer_control": {"target": "64 KiB"}},
    }
    assert any("no downstream service flow" in note for note in asked.notes)


def test_a_modems_file_without_an_upstream_rate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "free.toml"
    path.write_text(
        "[[upstream_service_flow]]\nservice_flow_reference = 1\nqos_parameter_set_type = 7\n"
    )

    assert re.search(r"free\.toml: .* no maximum sustained rate \(TLV 24\.8\)", refuse(path))


def test_files_that_cannot_be_read_are_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Dear operator,\n")

    assert 'did you mean "' in refuse(folder / "pies.cm")
    assert "found another text" in refuse(tmp_path / "notes.txt")
    assert "expected a file, found a directory" in refuse(tmp_path)
    assert "is not read from standard input" in refuse("-")
    assert "found nothing" in refuse("")
    assert 'two tiers are called "pie"' in refuse(folder / "pie.cm", folder / "pie.cm")


# Names


@pytest.mark.parametrize(
    ("upstream", "downstream", "name"),
    [
        (("5 Mbit/s", "10 Mbit/s", "35 Mbit/s"), (), "5M-10M-35M"),
        (("512 kbit/s", "1.5 Mbit/s"), (), "512k-1.5M"),
        (("5 Mbit/s", "5 Mbit/s"), ("50 Mbit/s", "1 Gbit/s"), "5M_50M-5M_1G"),
        (tuple(f"{rate} Mbit/s" for rate in range(1, 30)), (), "1M-2M-3M-4M-and-25-more"),
    ],
)
def test_results_are_called_by_the_rates(
    upstream: tuple[str, ...], downstream: tuple[str, ...], name: str
) -> None:
    assert read_request(upstream=upstream, downstream=downstream).name == name


def test_results_are_called_by_the_file_of_tiers_or_the_modems_files(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "our tiers.toml"
    path.write_text(TIERS)

    assert read_request([path]).name == "our_tiers"
    assert read_request([folder / "pie.cm", folder / "rich.cm"]).name == "pie-rich"


# What is run


@pytest.fixture(scope="module")
def as_it_is(folder: Path) -> Recommendation:
    """Give what a modem's file with DOCSIS-PIE and the AQM's candidates have."""
    return run_request(
        read_request(
            [folder / "pie.cm"],
            traffic="call, 2 uploads",
            senders=("cubic",),
            expect=("upload.goodput >= 10 %",),
            may_set=("aqm",),
            seeds=2,
            overrides=SHORT,
        )
    )


def test_a_modem_with_docsis_pie_as_it_is_measures_the_same_as_that_candidate(
    as_it_is: Recommendation,
) -> None:
    def take(choice: str) -> pl.DataFrame:
        rows = as_it_is.table.filter(pl.col("choice") == choice)
        return rows.drop("choice", "feature", "setting")

    assert take("as it is").height > 0
    assert take("as it is").equals(take("AQM 10 ms"))
    assert not take("as it is").equals(take("AQM 20 ms"))


def test_a_modems_file_is_compared_with_today_as_delivered_and_aqm_off(
    folder: Path, as_it_is: Recommendation
) -> None:
    (tier,) = read_request([folder / "pie.cm"], may_set=("buffer-control",)).tiers
    tried = list_candidates(tier, (Feature.BUFFER_CONTROL,))
    compared = [own for own in tried if own.feature is not Feature.BUFFER_CONTROL]
    assert [(own.label, own.is_settable) for own in compared] == [
        ("as it is", True),
        ("as delivered: DOCSIS-PIE, 250 ms", False),
        ("no AQM, 250 ms", False),
    ]
    (decision,) = as_it_is.decisions
    labels = {own: decision.find(number).label for own, number in decision.baselines.items()}
    # With DOCSIS-PIE in the file, today is what a modem has as delivered, and is told once.
    assert labels[Feature.TODAY] == "as it is"
    assert Feature.DELIVERED not in labels
    assert decision.delivered
    assert decision.find(decision.delivered).label == "AQM 10 ms"


def test_a_request_that_was_kept_as_json_measures_the_same(as_it_is: Recommendation) -> None:
    kept = json.loads(json.dumps(as_it_is.request.to_dict()))

    assert run_request(Request.from_dict(kept)).table.equals(as_it_is.table)


def test_there_can_be_most_of_a_sum_of_several_uploads() -> None:
    asked = read_request(
        upstream=FIVE,
        traffic="game-console",
        senders=("cubic",),
        expect=("photos.goodput >= 10 %",),
        may_set=("aqm",),
        seeds=2,
        overrides=SHORT,
    )

    (decision,) = run_request(asked).decisions

    assert decision.objective is not None
    assert decision.objective.info.name == "clip.goodput + photos.goodput"
    assert decision.recommended is not None
