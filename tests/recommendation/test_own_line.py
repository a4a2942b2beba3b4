"""A line of one's own: how its scenario is read, what is tried, and what its owner is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headend.analysis.ranking import Feasibility
from headend.cli.main import app
from headend.errors import InputError
from headend.recommendation import Recommendation, owner_words, recommend, variations
from headend.recommendation.candidate import CHOOSABLE, Feature
from headend.recommendation.owner import Verdict
from headend.recommendation.owner_words import flatten, write_owner_text
from headend.recommendation.page import render_recommendation
from headend.recommendation.reading import read_request
from headend.recommendation.request import Request
from headend.recommendation.result import load_recommendation
from headend.recommendation.router import write_commands
from headend.recommendation.tier import Tier
from headend.recommendation.variations import list_variations
from headend.scenario.fit_note import FitNote, Flag, QueueKind, write_fit_note

SHORT = {"duration": "36 s", "warmup": "6 s"}

PEOPLE = """
[flow.call]
application = "voice"
rtt = "30 ms"

[flow.upload]
application = "bulk"
direction = "up"
rtt = "30 ms"
"""

CABLE = """
[link.cable.docsis]
preset = "docsis31"
upstream.rate = "20 Mbit/s"
upstream.queue.drop_tail.limit = "180 ms"
downstream.rate = "300 Mbit/s"
"""

PLAIN = """
[link.line.point_to_point]
up.rate = "10 Mbit/s"
up.delay = "5 ms"
up.queue = "codel"
down.rate = "50 Mbit/s"
down.delay = "5 ms"
"""

NOTE = FitNote(
    "flent 2.1.1",
    "B",
    {"up.rate": (18e6, 20e6, 22e6), "up.buffer": (120.0, 180.0, 260.0)},
    {"up": {"drop-tail": 0.85, "PIE-like": 0.1, "unknown": 0.05}},
    ("wifi-suspected", "no-ceiling"),
)


def write_line(folder: Path, text: str, note: FitNote | None = None) -> Path:
    """Write a scenario of a line, after what it was fitted to."""
    path = folder / "my-line.toml"
    path.write_text(f"{write_fit_note(note)}\n{text}" if note else text)
    return path


def read(folder: Path, text: str, note: FitNote | None = None, **options: Any) -> Request:
    return read_request([write_line(folder, text, note)], **options)


def refuse(folder: Path, text: str, **options: Any) -> str:
    """Give the error of a line, which is one line."""
    with pytest.raises(InputError) as caught:
        read(folder, text, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def label(request: Request, tier: Tier | None = None) -> dict[str, Feature]:
    """Give the features of what is tried, by their labels."""
    return {own.label: own.feature for own in request.list_candidates(tier or request.tiers[0])}


# How a scenario is read.


def test_a_cable_line_is_a_tier_with_what_it_has_today_and_its_people(tmp_path: Path) -> None:
    request = read(tmp_path, CABLE + PEOPLE, NOTE)
    (tier,) = request.tiers

    assert (tier.name, tier.upstream, tier.downstream) == ("my-line", 20e6, 300e6)
    assert tier.today == {
        "upstream": {"queue": {"drop_tail": {"limit": "180 ms"}}},
        "downstream": {},
    }
    assert tier.fit == NOTE
    assert list(request.people.flows) == ["call", "upload"]
    assert request.features == CHOOSABLE
    assert [str(own) for own in request.senders] == ["cubic"]


def test_a_plain_link_keeps_its_name_and_its_delays(tmp_path: Path) -> None:
    request = read(tmp_path, PLAIN.replace("link.line", "link.dsl"))
    (tier,) = request.tiers
    router = next(own for own in request.list_candidates(tier) if own.router)
    scenario = request.write_scenario(tier, router)

    assert scenario["bottleneck"] == "dsl.up"
    up = scenario["link"]["dsl"]["point_to_point"]["up"]
    assert (up["delay"], next(iter(up["queue"]))) == ("5 ms", "codel")
    assert scenario["router"]["framing"] == "raw"
    assert router.router
    assert "docsis" not in " ".join(write_commands(tier, router.router))


def test_a_line_without_people_has_the_usual_ones_at_the_distance_of_its_load(
    tmp_path: Path,
) -> None:
    probe = '[flow.load]\napplication = "bulk"\ndirection = "up"\nrtt = "17 ms"\n'
    request = read(tmp_path, CABLE + probe)

    assert "game" in request.people.flows
    assert request.people.flows["upload"]["rtt"] == "17 ms"
    assert "game" in read(tmp_path, CABLE).people.flows
    assert list(read(tmp_path, CABLE + PEOPLE, traffic="game").people.flows) == ["game"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CABLE + PLAIN + PEOPLE, "found the links cable and line"),
        (
            '[link.wifi.dot11b]\nstation.a = { host = "anna" }\n[host.anna]\n' + PEOPLE,
            "found link.wifi.dot11b, a cell of Wi-Fi",
        ),
        (
            CABLE + "[link.cable.docsis.modem.a]\n[link.cable.docsis.modem.b]\n" + PEOPLE,
            "expected one line",
        ),
        (CABLE + PEOPLE + '[router]\nqueue = "cake"\n', "without [router]"),
        (PLAIN.replace('"10 Mbit/s"', '"20 kbit/s"') + PEOPLE, "64 kbit/s or more"),
        (CABLE.replace("20 Mbit/s", "20 Mb") + PEOPLE, "20 Mb"),
        ("[link]\n" + PEOPLE, "my-line.toml"),
        ("link = 3\n" + PEOPLE, "my-line.toml"),
    ],
)
def test_a_scenario_of_something_else_is_refused_with_its_path(
    tmp_path: Path, text: str, told: str
) -> None:
    error = refuse(tmp_path, text)

    assert error.startswith(str(tmp_path / "my-line.toml"))
    assert told in error


def test_a_line_is_read_alone_and_says_its_rates_and_generation_itself(tmp_path: Path) -> None:
    path = write_line(tmp_path, CABLE + PEOPLE)

    with pytest.raises(InputError, match="the scenario of a line, beside which no other"):
        read_request([path, path])
    with pytest.raises(InputError, match="expected either the file or rates"):
        read_request([path], upstream=("5 Mbit/s",))
    with pytest.raises(InputError, match="--preset"):
        read_request([path], preset="docsis30")
    with pytest.raises(InputError, match="is a plain link"):
        read(tmp_path, PLAIN + PEOPLE, may_set=("low-latency",))
    with pytest.raises(InputError, match="the settings that are tried set this"):
        read(tmp_path, PLAIN + PEOPLE, overrides=(("link.line.point_to_point.up.rate", "1"),))


def test_the_owner_is_told_what_each_flag_means() -> None:
    assert set(owner_words.FLAGS) == set(Flag)


def test_each_kind_of_queue_of_a_fit_is_known_to_the_variations() -> None:
    kinds = {QueueKind.DROP_TAIL, *variations._QUEUES}
    assert kinds == set(variations._KINDS.values()) == set(QueueKind) - {QueueKind.UNKNOWN}


def test_a_request_of_a_line_is_the_same_after_json(tmp_path: Path) -> None:
    request = read(tmp_path, CABLE + PEOPLE, NOTE)
    varied = list_variations(request.tiers[0], ["as it is"])[0]

    for tier in (request.tiers[0], varied):
        assert Tier.from_dict(json.loads(json.dumps(tier.to_dict()))) == tier


# What is tried.


def test_a_cable_line_is_tried_with_what_owner_and_provider_can_do(tmp_path: Path) -> None:
    found = label(read(tmp_path, CABLE + PEOPLE))

    assert set(found.values()) == {
        Feature.TODAY,
        Feature.ROUTER,
        Feature.AQM,
        Feature.LOW_LATENCY,
        Feature.BUFFER_CONTROL,
        Feature.NO_UPLOAD,
        Feature.FASTER,
    }
    old = CABLE.replace("docsis31", "docsis30")
    assert Feature.LOW_LATENCY not in label(read(tmp_path, old + PEOPLE)).values()


def test_a_plain_link_is_tried_without_what_docsis_alone_has(tmp_path: Path) -> None:
    found = label(read(tmp_path, PLAIN + PEOPLE))

    assert not {Feature.LOW_LATENCY, Feature.BUFFER_CONTROL} & set(found.values())
    assert found["AQM fq_codel"] is Feature.AQM
    assert "AQM codel" not in found, "the line has it"
    assert Feature.BUFFER in found.values()


def test_a_faster_tier_has_twice_the_rates_and_cannot_be_recommended(tmp_path: Path) -> None:
    request = read(tmp_path, CABLE + PEOPLE)
    faster = [
        own for own in request.list_candidates(request.tiers[0]) if own.feature is Feature.FASTER
    ]

    assert {own.upstream["rate"] for own in faster} == {"40 Mbit/s"}
    assert not any(own.is_settable for own in faster)
    limits = [own.upstream["queue"]["drop_tail"]["limit"] for own in faster]
    # 180 ms of 20 Mbit/s
    assert limits == ["180 ms", "450000 B", "180 ms"]


STEPS = 'up.rate = { steps = [["0 s", "12 Mbit/s"], ["9 s", "4 Mbit/s"]], period = "18 s" }'
VARYING = PLAIN.replace('up.rate = "10 Mbit/s"', STEPS)


def test_a_rate_in_steps_stays_one_and_nothing_is_tried_at_twice_of_it(tmp_path: Path) -> None:
    note = FitNote("flent 2.1.1", values={"up.rate": (4e6, 8e6, 12e6)})
    request = read(tmp_path, VARYING + PEOPLE, note)
    (tier,) = request.tiers
    today = request.list_candidates(tier)[0]
    up = request.write_scenario(tier, today)["link"]["line"]["point_to_point"]["up"]

    assert tier.upstream == 8e6
    assert up["rate"]["steps"] == [["0 s", "12 Mbit/s"], ["9 s", "4 Mbit/s"]]
    assert Feature.FASTER not in label(request).values()
    # Nor are its rates varied besides: they vary themselves.
    assert not [own for own in list_variations(tier, []) if "rate" in own.name]


@pytest.mark.parametrize("varying", ["steps", "trace"])
def test_a_line_whose_rate_varies_is_answered(tmp_path: Path, varying: str) -> None:
    text = VARYING
    if varying == "trace":
        (tmp_path / "up.csv").write_text("time_s,rate_mbps\n0,12\n9,4\n18,4\n")
        text = text.replace(STEPS, 'up.rate = { trace = "up.csv" }')
    note = FitNote("flent 2.1.1", values={"up.rate": (4e6, 8e6, 12e6)}, flags=("rate-varies",))
    path = write_line(tmp_path, text + PEOPLE, note)
    found = recommend(path, seeds=2, set=SHORT, may_set="aqm")

    assert not found.failures
    assert found.own_choices
    words = write_owner_text(found.own_choices)
    assert any("rate varied" in own for own in words.certainty)
    assert "twice the rate" not in str(words)


def test_nobody_uploads_in_the_scenario_of_no_upload(tmp_path: Path) -> None:
    request = read(tmp_path, CABLE + PEOPLE)
    (quiet,) = [one for one in request.list_candidates(request.tiers[0]) if not one.has_uploads]
    scenario = request.write_scenario(request.tiers[0], quiet, request.senders[0])

    assert list(scenario["flow"]) == ["call"]


def test_slower_routers_are_tried_where_the_rate_is_not_sure(tmp_path: Path) -> None:
    unsure = FitNote("by hand", values={"up.rate": (12e6, 20e6, 22e6)})

    assert "cake 50 %" in label(read(tmp_path, CABLE + PEOPLE, unsure))
    assert "cake 50 %" not in label(read(tmp_path, CABLE + PEOPLE, NOTE))


# Variations.


def test_the_ends_of_fitted_values_and_likely_queues_are_variations(tmp_path: Path) -> None:
    request = read(tmp_path, CABLE + PEOPLE, NOTE)
    found = list_variations(request.tiers[0], ["as it is", "cake 95 %"])
    told = {own.variation.words: own for own in found if own.variation}

    assert list(told) == [
        "with a buffer of 120 ms",
        "with a buffer of 260 ms",
        "with a rate of 18 Mbit/s up",
        "with a rate of 22 Mbit/s up",
        "if its queue is PIE-like",
    ]
    slower = told["with a rate of 18 Mbit/s up"]
    today, router = request.list_candidates(slower)
    scenario = request.write_scenario(slower, router)
    assert scenario["link"]["cable"]["docsis"]["upstream"]["rate"] == "18 Mbit/s"
    # What is typed into the router is of the rate that was fitted.
    assert scenario["router"]["up"] == "19000000 bit/s"
    assert request.write_scenario(slower, today)["link"]["cable"]["docsis"]["upstream"][
        "queue"
    ] == {"drop_tail": {"limit": "180 ms"}}


def test_ends_change_the_values_of_the_scenario_in_their_ratio(tmp_path: Path) -> None:
    """A cable line counts other bytes than what was measured, and a buffer may be in bytes."""
    text = CABLE.replace("20 Mbit/s", "20.24 Mbit/s").replace('"180 ms"', '"450 kB"')
    (tier,) = read(tmp_path, text + PEOPLE, NOTE).tiers
    told = {own.variation.words: own for own in list_variations(tier, []) if own.variation}

    today = told["with a buffer of 120 ms"].today
    assert today
    assert today["upstream"]["queue"]["drop_tail"]["limit"] == "300000 B"
    slower = told["with a rate of 18 Mbit/s up"]
    assert slower.link["upstream"]["rate"] == "18.216 Mbit/s"


@pytest.mark.parametrize(
    "ends", ["[NaN, NaN, NaN]", "[0, 0, 0]", "[1, Infinity, 2]", "[-1, 2, 3]", "[3, 2, 1]"]
)
def test_a_note_with_values_that_are_none_is_read_without_them(tmp_path: Path, ends: str) -> None:
    path = tmp_path / "my-line.toml"
    note = f'#:fit {{"source": "x", "values": {{"up.rate": {ends}, "up.buffer": {ends}}}}}'
    path.write_text(f"{note}\n{CABLE}{PEOPLE}")
    (tier,) = read_request([path]).tiers

    assert tier.fit == FitNote("x")


@pytest.mark.parametrize(
    ("text", "note", "words"),
    [
        (CABLE, None, []),
        (CABLE, FitNote("by hand"), []),
        (CABLE, FitNote("x", queues={"up": {"drop-tail": 0.95, "PIE-like": 0.05}}), []),
        (
            PLAIN,
            FitNote("x", values={"up.buffer": (50, 90, 95)}, queues={"up": {"unknown": 0.9}}),
            ["if its queue is drop-tail with 90 ms", "if its queue is PIE-like"],
        ),
        (PLAIN, FitNote("x", values={"up.rate": (9.8e6, 1e7, 1.02e7)}), []),
    ],
)
def test_only_what_is_likely_is_varied(
    tmp_path: Path, text: str, note: FitNote | None, words: list[str]
) -> None:
    (tier,) = read(tmp_path, text + PEOPLE, note).tiers
    found = [own.variation for own in list_variations(tier, [])]

    assert [own.words for own in found if own] == words


# What an owner is told.


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    """Ask for a line with a long buffer, whose fit has intervals; results are kept."""
    folder = tmp_path_factory.mktemp("line")
    path = write_line(folder, CABLE + PEOPLE, NOTE)
    return recommend(path, seeds=3, set=SHORT, out=folder / "results")


def test_a_long_buffer_is_helped_by_a_router_that_holds_with_every_variation(
    found: Recommendation,
) -> None:
    choices = found.own_choices
    assert choices
    assert choices.verdict is Verdict.MYSELF
    assert choices.has(choices.today, Feasibility.FAILS)
    # The low end of the rate is 90 % of it: a router at 95 % leaves the queue in the modem.
    router = choices.decision.find(choices.mine.setting or 0).router
    assert router
    assert router.share <= 90
    assert choices.decision.recommended == choices.mine.setting
    assert Feature.AQM in {choices.decision.find(own).feature for own in choices.offers}
    difference = choices.compare("call.mos.p5", choices.mine.setting or 0)
    assert difference
    assert difference.low > 0


def test_the_answer_says_what_is_true_of_each_variation(found: Recommendation) -> None:
    choices = found.own_choices
    assert choices
    held = {own.decision.tier.name: own for own in choices.varied}
    pie = held["my-line if its queue is PIE-like"]
    assert pie.today is Feasibility.HOLDS
    assert not pie.is_same
    told = " ".join(flatten(write_owner_text(choices).certainty))
    assert "If its queue is PIE-like (10 %), nothing is needed" in told
    assert "what flent 2.1.1 measured, grade B" in told
    assert "with a buffer of 120 ms" in told
    assert "the delay reached no ceiling" in told


def test_what_is_advised_is_run_with_other_senders_too(found: Recommendation) -> None:
    choices = found.own_choices
    assert choices
    variations = [own.decision.tier.variation for own in choices.varied]

    assert [own.sender for own in variations if own and own.sender] == [
        "10 cubic",
        "bbr3",
        "10 bbr3",
    ]
    assert set(found.table["sender"]) == {"cubic", "10 cubic", "bbr3", "10 bbr3"}
    told = " ".join(flatten(write_owner_text(choices).certainty))
    assert "ith uploads of BBR version 3 with 1 connection" in told


def test_the_owner_is_told_what_to_do_to_ask_and_to_leave(found: Recommendation) -> None:
    choices = found.own_choices
    assert choices
    words = write_owner_text(choices)

    assert "Ethernet" in flatten(words.myself)[0]
    assert "Put a router before the modem" in flatten(words.myself)[1]
    assert any("Upload at another time" in own for own in flatten(words.myself))
    letter = "\n".join(words.letter)
    assert "20 Mbit/s upstream" in letter
    assert "180 ms (120 to 260 ms)" in letter
    assert "TLV 24.40" in letter
    assert any(own.startswith("A faster tier") for own in flatten(words.useless))


def test_the_page_and_the_folder_have_the_same_answer(found: Recommendation) -> None:
    page = render_recommendation(found)
    places = [page.index(f">{own}</h2>") for own, _ in write_owner_text(_choices(found)).chapters]
    assert places == sorted(places)
    assert "A text to send" in page

    assert found.folder
    again = load_recommendation(found.folder)
    assert again.answer == found.answer
    assert again.variations


def _choices(found: Recommendation) -> Any:
    return found.own_choices


def test_a_line_that_serves_everybody_is_left_as_it_is(tmp_path: Path) -> None:
    path = write_line(tmp_path, PLAIN + PEOPLE)
    short = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    words = ["recommend", str(path), "--seeds", "2", *short, "--out", str(tmp_path / "r")]
    run = CliRunner().invoke(app, [*words, "--json"])

    assert run.exit_code == 0, run.output
    owner = json.loads(run.stdout)["owner"]
    assert owner["verdict"] == "nothing needed"
    assert owner["advised"] == "as it is"
    assert owner["letter"] == []
    assert owner["would_not_help"] == []
    text = CliRunner().invoke(app, words)
    assert "Leave the line as it is: everybody is served well today" in text.stdout
    assert "What must I ask my provider?" in text.stdout


def test_a_line_whose_rate_is_the_problem_needs_a_faster_one(tmp_path: Path) -> None:
    text = PLAIN.replace("10 Mbit/s", "2 Mbit/s").replace("50 Mbit/s", "16 Mbit/s")
    path = write_line(tmp_path, text.replace('"codel"', '"drop_tail"'))
    found = recommend(path, seeds=2, set={"duration": "60 s", "warmup": "10 s"})
    choices = found.own_choices
    assert choices

    assert choices.is_slow
    assert choices.verdict in (Verdict.FASTER, Verdict.NOTHING_HOLDS)
    words = write_owner_text(choices)
    assert any("while nobody uploads" in own for own in flatten(words.myself))
    assert words.letter == ()


def test_a_modems_file_of_ones_own_line_cannot_be_written(tmp_path: Path) -> None:
    path = write_line(tmp_path, CABLE + PEOPLE)
    run = CliRunner().invoke(app, ["recommend", str(path), "--write", str(tmp_path / "new.cm")])

    assert run.exit_code == 2
    assert "the modem's file is the operator's" in run.output
