"""Who sends the uploads: what is tried with whom, and what holds with each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from headend.analysis.criteria import read_preferences
from headend.analysis.ranking import Feasibility
from headend.errors import InputError
from headend.recommendation import Recommendation, recommend
from headend.recommendation.candidate import OF_MODEM, list_candidates
from headend.recommendation.deciding import Decision, decide
from headend.recommendation.exporting import write_scenario_file
from headend.recommendation.page import render_recommendation
from headend.recommendation.reading import read_request
from headend.recommendation.request import Request
from headend.recommendation.result import load_recommendation
from headend.recommendation.sender import USUAL, Sender, read_senders
from headend.recommendation.sentences import (
    answer_recommendation,
    describe_tier,
    draw_matrix,
)
from headend.recommendation.tier import Tier

FIVE = ("5 Mbit/s",)

TIER = Tier(
    "5 Mbit/s",
    5e6,
    50e6,
    {
        "preset": "docsis31",
        "upstream": {"rate": "5 Mbit/s"},
        "downstream": {"rate": "50 Mbit/s"},
    },
)

CUBIC, BBR = Sender("cubic"), Sender("bbr3", 10)

#: MOS by sender and by whether the setting is low latency, and rates of the upload.
VALUES = {CUBIC: (4.3, 4.1, 4e6), BBR: (4.2, 3.0, 5e6)}


UNITS = {"call.mos.p5": "1", "video.frames_late.mean": "1", "upload.goodput": "bit/s"}

#: Values by measure, of a candidate's label, a sender and a seed.
Give = Callable[[str, Sender, int], Mapping[str, float]]


def decide_over(
    give: Give, senders: Iterable[Sender], seeds: int, conditions: Sequence[str]
) -> Decision:
    """Decide over made-up results."""
    senders, numbers = tuple(senders), tuple(range(1, seeds + 1))
    candidates = list_candidates(TIER, OF_MODEM)
    rows = [
        {
            "setting": setting,
            "sender": str(sender),
            "seed": seed,
            "measure": measure,
            "subject": measure.split(".")[0],
            "metric": measure.partition(".")[2],
            "value": value,
            "unit": UNITS[measure],
            "error": None,
        }
        for setting, candidate in enumerate(candidates, start=1)
        for sender in senders
        for seed in numbers
        for measure, value in give(candidate.label, sender, seed).items()
    ]
    table = pl.DataFrame(rows, schema_overrides={"error": pl.String})
    wish = read_preferences(list(conditions), {})
    return decide(TIER, candidates, table, wish, numbers, senders=senders)


def make(values: dict[Sender, tuple[float, float, float]]) -> Decision:
    """Decide over MOS and rates: low latency has the first MOS, all others the second."""

    def give(label: str, sender: Sender, _: int) -> Mapping[str, float]:
        low, other, rate = values[sender]
        return {"call.mos.p5": low if label == "low latency" else other, "upload.goodput": rate}

    return decide_over(give, values, 2, ["call.mos.p5 >= 4.0", "most upload.goodput"])


def decide_by_seeds(late: dict[Sender, tuple[float, float, float]]) -> Decision:
    """Decide over a MOS that is the same everywhere, and shares of late frames by seed."""

    def give(_: str, sender: Sender, seed: int) -> Mapping[str, float]:
        share = late[sender][seed - 1]
        return {"call.mos.p5": 4.36, "video.frames_late.mean": share, "upload.goodput": 4e6}

    conditions = ["call.mos.p5 >= 4.0", "video.frames_late.mean <= 5 %", "most upload.goodput"]
    return decide_over(give, late, 3, conditions)


# What is asked


def test_by_default_uploads_are_sent_by_cubic_and_bbr_with_one_and_ten_connections() -> None:
    asked = read_request(upstream=FIVE)
    assert asked == read_request(upstream=FIVE, senders=("usual",))
    assert asked.senders == read_senders(USUAL)
    assert [(own.control, own.connections) for own in asked.senders] == [
        ("cubic", 1),
        ("cubic", 10),
        ("bbr3", 1),
        ("bbr3", 10),
    ]
    assert Request.from_dict(asked.to_dict()) == asked


def test_a_sender_gives_each_upload_its_control_and_its_connections() -> None:
    asked = read_request(upstream=FIVE, traffic="call, 2 uploads", senders=("10 bbr3",))
    (tier,), (sender,) = asked.tiers, asked.senders
    flows = asked.write_scenario(tier, asked.list_candidates(tier)[0], sender)["flow"]
    assert (flows["upload"]["count"], flows["upload"]["tcp"]) == (20, {"congestion": "bbr3"})
    assert "tcp" not in flows["call"]
    assert asked.people.flows["upload"]["count"] == 2


def test_without_an_upload_there_is_no_sender() -> None:
    assert read_request(upstream=FIVE, traffic="call, page").senders == ()
    with pytest.raises(InputError, match="--senders: nobody has an upload that leaves its sender"):
        read_request(upstream=FIVE, traffic="call", senders=("cubic",))


def test_an_upload_that_says_who_sends_it_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "tiers.toml"
    path.write_text(
        '[tier.bronze]\nupstream = "5 Mbit/s"\n[flow.own]\napplication = "bulk"\n'
        'direction = "up"\ntcp.congestion = "reno"\n'
    )
    assert read_request([path]).senders == ()


def test_a_file_of_tiers_names_senders_and_an_option_takes_their_place(tmp_path: Path) -> None:
    path = tmp_path / "tiers.toml"
    path.write_text('senders = "cubic, 4 bbr"\n[tier.bronze]\nupstream = "5 Mbit/s"\n')
    assert read_request([path]).senders == (CUBIC, Sender("bbr", 4))
    assert read_request([path], senders=("reno",)).senders == (Sender("reno"),)
    path.write_text('senders = ["cubik"]\n[tier.bronze]\nupstream = "5 Mbit/s"\n')
    with pytest.raises(InputError, match=r"tiers.toml: senders: .*line 1.*cubik|cubik.*line 1"):
        read_request([path])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("cubik", 'did you mean "cubic"?'),
        ("0 cubic", "expected 1 to 1000 connections"),
        ("1001 cubic", "expected 1 to 1000 connections"),
        ("", "expected senders such as"),
        ("cubic,", "expected senders such as"),
        (3, "expected senders such as"),
    ],
)
def test_what_is_no_sender_is_refused(value: Any, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        read_senders(value)
    assert reason in str(caught.value)


@pytest.mark.parametrize("path", ["flow.upload.tcp.congestion", "flow.upload.count"])
def test_what_senders_set_cannot_be_set_besides(path: str) -> None:
    with pytest.raises(InputError, match="expected --senders"):
        read_request(upstream=FIVE, overrides=((path, "2"),))


# What is decided


def test_a_setting_holds_only_if_it_does_with_each_sender() -> None:
    decision = make(VALUES)
    chosen = decision.find(decision.recommended or 0)
    assert chosen.label == "low latency"
    other = next(own for own in decision.chosen.among if decision.find(own) != chosen)
    assert decision.standings[other] is Feasibility.FAILS
    assert [own[other] for own in decision.by_sender.values()] == [
        Feasibility.HOLDS,
        Feasibility.FAILS,
    ]


def test_each_value_is_that_of_the_sender_with_which_it_is_worst() -> None:
    decision = make(VALUES)
    setting = decision.recommended or 0
    assert decision.find_sender("call.mos.p5", setting) == BBR
    assert decision.terms["call.mos.p5"].estimates[setting].mean == pytest.approx(4.2)
    assert decision.find_sender("upload.goodput", setting) == CUBIC
    assert decision.terms["upload.goodput"].estimates[setting].mean == pytest.approx(4e6)


def test_sentences_name_the_senders_and_the_one_that_decides() -> None:
    decision = make(VALUES)
    _, told = answer_recommendation("", [decision]).sentences
    assert (
        "holds under each of CUBIC with 1 connection and BBR version 3 with 10 connections" in told
    )
    *_, sure = describe_tier(decision)
    assert sure.startswith("How sure: 2 seeds with each of 2 senders; call MOS (5th percentile)")
    assert "at 4.2 under BBR version 3 with 10 connections" in sure


def test_where_a_condition_misses_for_one_sender_both_are_named_and_who_it_holds_with() -> None:
    decision = make({CUBIC: (4.3, 4.1, 4e6), BBR: (3.6, 3.0, 5e6)})
    assert decision.recommended is None
    (told,) = answer_recommendation("", [decision]).sentences
    assert told == (
        "At 5 Mbit/s no setting meets all conditions with every sender of the uploads; low latency"
        " comes nearest: it holds under CUBIC with 1 connection, but not under the other: call MOS"
        " (5th percentile) 3.6 under BBR version 3 with 10 connections, not ≥ 4.0; it misses that"
        " by 0.4."
    )
    nothing, alone, _ = describe_tier(decision)
    assert nothing.endswith(
        "and low latency comes nearest. It holds under CUBIC with 1 connection; under BBR version 3"
        " with 10 connections call MOS (5th percentile) 3.6, not ≥ 4.0."
    )
    assert alone == (
        "For one sender alone: low latency under CUBIC with 1 connection (upload rate 4 Mbit/s). No"
        " setting meets all conditions under BBR version 3 with 10 connections."
    )


def test_the_nearest_is_the_setting_that_holds_with_the_most_senders() -> None:
    # Low latency misses by the least, and with both; all others by much, and with one.
    decision = make({CUBIC: (3.9, 4.1, 4e6), BBR: (3.9, 2.0, 5e6)})
    nearest = decision.chosen.setting or 0
    assert decision.find(nearest).label == "AQM 10 ms"
    assert decision.list_senders(nearest, Feasibility.HOLDS) == [CUBIC]
    told = [cell for row in draw_matrix([decision]).rows for cell in row.cells if cell]
    assert [own.note for own in told if own.word == "nearest"] == [
        "1 of 2 senders; call MOS 2, 10 bbr3"
    ]


def test_where_every_point_failed_the_error_of_the_first_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_text(
        "from headend import CongestionControl\n\n\nclass Broken(CongestionControl):\n"
        "    def on_ack(self, ack):\n        1 / 0\n"
    )
    done = recommend(
        upstream=FIVE, downstream="50 Mbit/s", senders="my.py:Broken", may_set="aqm", seeds=1
    )
    (decision,) = done.decisions
    first, *_ = describe_tier(decision)
    assert first.startswith("Nothing can be recommended, since no setting has a result: ")
    assert f"{len(done.failures)} points failed, the first at " in first
    assert "my.py:Broken: ZeroDivisionError" in first
    assert "longer" not in first
    assert "ZeroDivisionError" in str(done.answer)


def test_where_a_sender_alone_is_undecided_it_is_not_said_that_nothing_holds() -> None:
    decision = make({CUBIC: (3.0, 3.0, 4e6), BBR: (2.0, 2.0, 5e6)})
    undecided = dict.fromkeys(decision.standings, Feasibility.UNDECIDED)
    wide = decision.alone[BBR]
    values = {own: {1: 3.5, 2: 4.7} for own in wide.standings}
    terms = {**wide.terms, "call.mos.p5": replace(wide.terms["call.mos.p5"], values=values)}
    unsure = replace(wide, standings=undecided, terms=terms)
    _, alone, _ = describe_tier(replace(decision, alone={**decision.alone, BBR: unsure}))
    assert alone == (
        "No setting meets all conditions under CUBIC with 1 connection. More seeds would decide"
        " whether a setting meets them under BBR version 3 with 10 connections."
    )


def test_each_sender_alone_decides_as_if_it_had_been_the_only_one() -> None:
    decision = make(VALUES)
    for sender, own in decision.alone.items():
        only = make({sender: VALUES[sender]})
        assert (own.recommended, own.standings) == (only.recommended, only.standings)
        assert own.terms == only.terms


def test_a_setting_without_a_value_with_one_sender_does_not_hold() -> None:
    decision = make({CUBIC: (4.3, 4.1, 4e6), BBR: (float("nan"), 4.1, 5e6)})
    setting = next(
        own for own in decision.chosen.among if decision.find(own).label == "low latency"
    )
    assert decision.standings[setting] is not Feasibility.HOLDS


# What is run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    return recommend(
        upstream="5 Mbit/s",
        traffic="call, upload",
        may_set="low-latency",
        senders="cubic, 10 bbr3",
        expect=["call.mos.p5 >= 3.0", "upload.goodput >= 10 %"],
        seeds=2,
        set={"duration": "16 s", "warmup": "4 s"},
        out=tmp_path_factory.mktemp("senders") / "results",
        report=False,
    )


def test_every_setting_is_run_with_every_sender_and_seed(run: Recommendation) -> None:
    places = run.table.select("choice", "sender", "seed").unique()
    number = len(run.tiers[0][1])
    assert places.height == run.design.count_points() == number * 2 * 2
    assert set(run.table["sender"]) == {"cubic", "10 bbr3"}
    assert run.count_done() == run.design.count_points()
    assert {"sender", "choice"} <= set(run.summary.columns)


def test_results_are_read_back_and_judged_again_with_all_senders(run: Recommendation) -> None:
    assert run.folder
    again = load_recommendation(run.folder)
    assert again.request.senders == run.request.senders
    assert again.decisions[0].by_sender == run.decisions[0].by_sender
    other = again.judge_again("call.mos.p5 >= 4.49")
    assert other.decisions[0].recommended is None
    assert set(other.decisions[0].by_sender) == set(run.request.senders)


def test_the_page_names_the_senders(run: Recommendation) -> None:
    page = render_recommendation(run).replace("\N{NO-BREAK SPACE}", " ")
    assert "Every condition must hold with each of these senders" in page
    assert "the nearest is the one that meets them with the most senders; of these, " in page
    assert "BBR version 3 with 10 connections" in page


def test_the_least_to_spare_is_that_of_the_intervals_bad_end() -> None:
    # By the mean, MOS has 9 % of its bound to spare, and frames late 17 and 18 %.
    decision = decide_by_seeds({CUBIC: (0.0415, 0.0415, 0.0415), BBR: (0.038, 0.041, 0.044)})
    setting = decision.recommended
    assert setting
    term = decision.find_decisive(setting).term.text
    assert term == "video.frames_late.mean"
    assert decision.find_sender(term, setting) == BBR
    estimate = decision.terms[term].estimates[setting]
    assert estimate.mean < 0.0415 < estimate.high < 0.05
    text = " ".join(describe_tier(decision))
    assert "video frames late ≤ 5 % is the condition with the least to spare, at 4.1 " in text
    assert "under BBR version 3 with 10 connections" in text


def test_a_miss_is_rounded_as_the_value_that_misses() -> None:
    decision = decide_by_seeds({CUBIC: (0.04, 0.07, 0.1011)})
    assert decision.recommended is None
    said = " ".join(answer_recommendation("", [decision]).sentences)
    assert "it misses that by 2 percentage points" in said


def test_a_missed_condition_is_of_the_sender_with_the_worst_mean() -> None:
    decision = decide_by_seeds({CUBIC: (0.081, 0.081, 0.081), BBR: (0.060, 0.080, 0.091)})
    assert decision.find_sender("video.frames_late.mean", 1) == CUBIC


def test_the_scenario_of_a_tier_has_the_sender_that_decided(run: Recommendation) -> None:
    (decision,) = run.decisions
    text = write_scenario_file(run.request, decision)
    term = decision.find_decisive(decision.chosen.setting or 0).term.text
    sender = decision.find_sender(term, decision.chosen.setting or 0)
    assert sender
    assert f'"{sender.control}"' in text
    assert sender.words in text
    why = "has the least to spare" if decision.recommended else "is farthest from holding"
    assert f"{sender.words}, the sender that decided: with it " in text
    assert f"{why}." in text
