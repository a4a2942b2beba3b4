"""What a recommendation decides and says, on made-up tables: ties, intervals, sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import polars as pl
import pytest

from headend.analysis.criteria import read_preferences
from headend.analysis.ranking import Feasibility
from headend.errors import InputError
from headend.recommendation.candidate import OF_MODEM, Candidate, Feature, list_candidates
from headend.recommendation.deciding import Decision, decide
from headend.recommendation.reading import read_request
from headend.recommendation.sentences import advise, answer_recommendation, describe_tier
from headend.recommendation.tier import Tier

#: A value of a measure with a candidate and a seed.
Give = Callable[[str, int], float]

UNITS = {"call.mos.p5": "1", "upload.goodput": "bit/s"}


def make_tier(rate: float = 5e6, today: Mapping[str, object] | None = None) -> Tier:
    link = {
        "preset": "docsis31",
        "upstream": {"rate": f"{rate:.0f} bit/s"},
        "downstream": {"rate": "100 Mbit/s"},
    }
    return Tier(f"{rate / 1e6:g} Mbit/s", rate, 100e6, link, today)


def make(
    mos: Give,
    upload: Give,
    *,
    tier: Tier | None = None,
    seeds: int = 3,
    wish: tuple[str, ...] = ("call.mos.p5 >= 4.0", "most upload.goodput"),
) -> Decision:
    """Decide over a table of measures that are functions of candidate's label and seed."""
    tier = tier or make_tier()
    candidates = list_candidates(tier, OF_MODEM)
    rows = [
        {
            "setting": setting,
            "seed": seed,
            "measure": measure,
            "subject": measure.split(".")[0],
            "direction": None,
            "metric": measure.partition(".")[2],
            "value": give(candidate.label, seed),
            "unit": UNITS[measure],
            "error": None,
        }
        for setting, candidate in enumerate(candidates, start=1)
        for seed in range(1, seeds + 1)
        for measure, give in (("call.mos.p5", mos), ("upload.goodput", upload))
    ]
    table = pl.DataFrame(rows, schema_overrides={"direction": pl.String, "error": pl.String})
    return decide(tier, candidates, table, read_preferences(wish, {}), range(1, seeds + 1))


def find(decision: Decision) -> Candidate | None:
    return decision.find(decision.recommended) if decision.recommended else None


def test_of_settings_that_are_as_good_the_one_with_least_to_set_is_recommended() -> None:
    decision = make(lambda _, __: 4.2, lambda label, _: 4.1e6 if "KiB" in label else 4e6)

    chosen = find(decision)

    assert chosen is not None
    assert chosen.label == "AQM 10 ms"
    assert decision.find(decision.chosen.ties[0]).label == "AQM 10 ms, buffer 64 KiB"


def test_a_clearly_better_setting_is_recommended_though_more_has_to_be_set() -> None:
    decision = make(lambda _, __: 4.2, lambda label, _: 4e6 if label == "buffer 48 KiB" else 3e6)

    chosen = find(decision)

    assert chosen is not None
    assert chosen.label == "buffer 48 KiB"
    assert decision.chosen.ties == ()
    first, _, _ = describe_tier(decision)
    assert first.startswith("Set a target buffer of 48 KiB (78.6 ms at 5 Mbit/s) and the AQM off. ")
    assert first.endswith("; buffer 48 KiB has the highest upload rate, 4 Mbit/s.")


@pytest.mark.parametrize(
    ("rate", "reason", "rest"),
    [
        (3.9e6, "has the highest upload rate, 4 Mbit/s. As good: ", "hold, with the highest"),
        (
            4.1e6,
            "has upload rate 4 Mbit/s, within 5 % of the highest (4.1 Mbit/s with buffer 48 KiB)."
            " As good: ",
            "hold; upload rate is within 5 % of the highest.",
        ),
    ],
)
def test_what_is_as_good_is_not_called_the_highest(rate: float, reason: str, rest: str) -> None:
    decision = make(lambda *_: 4.2, lambda label, _: rate if label == "buffer 48 KiB" else 4e6)

    assert decision.is_top is (rate < 4e6)
    assert f"; AQM 10 ms {reason}" in describe_tier(decision)[0]
    (_, told) = answer_recommendation("", [decision]).sentences
    assert rest.replace("hold", "holds") in told


def test_a_difference_that_nobody_notices_is_not_called_5_percent() -> None:
    decision = make(
        lambda label, _: 1.05 if label == "buffer 48 KiB" else 1.0,
        lambda *_: 4e6,
        wish=("most call.mos.p5",),
    )
    wider = make(
        lambda label, _: 1.09 if label == "buffer 48 KiB" else 1.0,
        lambda *_: 4e6,
        wish=("most call.mos.p5",),
    )

    assert "within 5 % of the highest (1.05 with" in describe_tier(decision)[0]
    assert "as good as the highest (1.09 with" in describe_tier(wider)[0]


def test_a_wide_interval_alone_does_not_make_a_setting_recommended() -> None:
    def give(label: str, seed: int) -> float:
        return 3.2e6 + 1e6 * (seed - 2) if label == "AQM 10 ms" else 4e6

    chosen = find(make(lambda _, __: 4.2, give))

    assert chosen is not None
    assert chosen.label == "AQM 10 ms, buffer 64 KiB"


def test_why_a_setting_with_less_to_set_is_not_chosen_is_told() -> None:
    decision = make(
        lambda label, _: 4.4 if label == "AQM 5 ms" else 4.1,
        lambda label, _: 3.9e6 if label == "AQM 5 ms" else 4e6,
    )

    chosen = find(decision)

    assert chosen is not None
    assert chosen.label == "AQM 5 ms"
    assert describe_tier(decision)[0].endswith(
        " AQM 10 ms has less to set, and is not chosen because it is worse for somebody and better"
        " for nobody: with AQM 5 ms call MOS (5th percentile) is 4.4, not 4.1."
    )


def test_nothing_that_fails_is_recommended_however_fast_its_upload() -> None:
    decision = make(
        lambda label, _: 4.2 if label == "low latency" else 3.9,
        lambda label, _: 1e6 if label == "low latency" else 9e6,
    )

    chosen = find(decision)

    assert chosen is not None
    assert chosen.label == "low latency"
    first, _, _ = describe_tier(decision)
    assert decision.holding == [decision.recommended]
    assert "it alone meets all conditions" in first


def test_an_aqm_that_is_off_cannot_be_recommended() -> None:
    decision = make(lambda label, _: 4.2 if label.startswith("no AQM") else 3.0, lambda _, __: 4e6)

    assert decision.bests[Feature.AQM_OFF].standing is Feasibility.HOLDS
    assert decision.recommended is None


def test_a_modem_as_delivered_is_what_its_generation_has() -> None:
    new = list_candidates(make_tier(5e6), OF_MODEM)
    assert [own.label for own in new if not own.is_settable] == ["no AQM, 250 ms"]
    # Its DOCSIS-PIE is added where that may not be set.
    new = list_candidates(make_tier(5e6), (Feature.BUFFER_CONTROL,))
    assert [own.label for own in new if not own.is_settable] == [
        "as delivered: DOCSIS-PIE, 250 ms",
        "no AQM, 250 ms",
    ]
    tier = make_tier(5e6)
    old = list_candidates(replace(tier, link={**tier.link, "preset": "docsis30"}), OF_MODEM)
    (delivered,) = [own for own in old if not own.is_settable]
    assert delivered.label == "as delivered: no AQM, 256 KiB"
    assert (delivered.feature, delivered.upstream) == (Feature.DELIVERED, {})


def test_results_of_before_have_a_modem_as_delivered_under_its_own_feature() -> None:
    tier = make_tier(5e6)
    old = list_candidates(replace(tier, link={**tier.link, "preset": "docsis30"}), OF_MODEM)
    (delivered,) = [own for own in old if not own.is_settable]
    assert Candidate.from_dict(delivered.to_dict()) == delivered
    assert Candidate.from_dict({**delivered.to_dict(), "feature": "today"}) == delivered


def test_where_nothing_holds_the_nearest_is_named_with_what_it_misses() -> None:
    decision = make(lambda label, _: 3.5 if label == "buffer 24 KiB" else 2.0, lambda _, __: 4e6)

    answer = answer_recommendation("", [decision])
    first, second, _ = describe_tier(decision)

    assert decision.recommended is None
    assert answer.sentences == (
        "At 5 Mbit/s no setting meets all conditions, and buffer 24 KiB comes nearest:"
        " call MOS (5th percentile) 3.5, not ≥ 4.0; it misses that by 0.5.",
    )
    assert first.startswith("Nothing is recommended: none of 20 settings meets all conditions")
    assert second == (
        "No setting meets call MOS (5th percentile) ≥ 4.0 (best: 3.5 with buffer 24 KiB)."
    )
    words = [cell.word for cell in answer.matrix.rows[0].cells if cell] if answer.matrix else []
    assert words == ["fails", "fails", "nearest", "fails", "fails"]


def test_two_seeds_have_no_interval_and_their_means_decide() -> None:
    """That of these two would be from 1.0 to 4.5, all that there is."""
    decision = make(
        lambda _, seed: 3.6 + 0.8 * (seed - 1),
        lambda _, __: 4e6,
        wish=("call.mos.p5 >= 3.9",),
        seeds=2,
    )
    setting = decision.recommended
    assert setting
    estimate = decision.terms["call.mos.p5"].estimates[setting]
    assert estimate.mean == pytest.approx(4.0)
    assert math.isnan(estimate.half)
    assert "only 3 seeds or more give intervals" in describe_tier(decision)[-1]
    table = answer_recommendation("", [decision]).matrix
    assert table
    assert "in the mean of 2 seeds, without an interval" in table.note


def test_what_holds_in_the_mean_only_is_undecided_and_more_seeds_are_asked_for() -> None:
    decision = make(
        lambda _, seed: 3.6 + 0.4 * (seed - 1), lambda _, __: 4e6, wish=("call.mos.p5 >= 3.9",)
    )

    answer = answer_recommendation("", [decision])
    first, second, _ = describe_tier(decision)

    assert decision.recommended is None
    assert decision.chosen.standing is Feasibility.UNDECIDED
    assert answer.sentences[0].startswith("At 5 Mbit/s more seeds are needed: with AQM 10 ms, ")
    assert first.startswith("Nothing is recommended yet: ")
    assert second == "More seeds decide it, such as --seeds 6: what was run is kept."


def test_tiers_that_fail_and_tiers_that_are_undecided_are_told_apart() -> None:
    failing = make(lambda _, __: 2.0, lambda _, __: 4e6)
    undecided = make(
        lambda _, seed: 3.7 + 0.4 * (seed - 1), lambda _, __: 4e6, tier=make_tier(20e6)
    )

    (told,) = answer_recommendation("", [failing, undecided]).sentences

    assert told.startswith(
        "At 5 Mbit/s no setting meets all conditions, and AQM 10 ms comes nearest"
    )
    assert "; at 20 Mbit/s more seeds are needed: " in told


def test_each_row_of_the_matrix_has_one_recommended_cell() -> None:
    decisions = [
        make(lambda _, __: 4.2, lambda _, __: 4e6, tier=make_tier(rate)) for rate in (5e6, 10e6)
    ]

    matrix = answer_recommendation("", decisions).matrix

    assert matrix is not None
    assert matrix.names == (
        "as delivered",
        "AQM off",
        "Buffer Control",
        "AQM",
        "low latency",
    )
    assert [[cell.is_chosen for cell in row.cells if cell] for row in matrix.rows] == [
        [False, False, False, True, False]
    ] * 2
    # What a modem has as delivered is the recommended setting, and is so in its own column.
    first = matrix.rows[0].cells[0]
    assert first
    assert (first.text, first.word) == ("AQM 10 ms", "holds")
    assert matrix.note.endswith(
        "As delivered is docsis31: DOCSIS-PIE on with 10 ms, buffer 250 ms."
    )


def test_who_pays_is_told_against_a_modem_as_delivered_and_with_its_aqm_off() -> None:
    supposed = "(docsis31: DOCSIS-PIE on with 10 ms, buffer 250 ms)"
    decision = make(
        lambda label, _: 1.0 if label.startswith("no AQM") else 4.2,
        lambda label, _: 5e6 if label.startswith("no AQM") else 4e6,
    )
    _, cost, _ = describe_tier(decision)
    assert cost.startswith(
        f"It is what a modem has as delivered {supposed}. Against AQM off (a buffer of 250 ms),"
        " better: call MOS (5th percentile) 1 → 4.2; worse: upload rate 5 Mbit/s → 4 Mbit/s."
    )
    decision = make(lambda label, _: 4.2 if label == "buffer 24 KiB" else 3.0, lambda _, __: 4e6)
    _, cost, _ = describe_tier(decision)
    better = "better: call MOS (5th percentile) 3 → 4.2; nobody is worse off"
    assert cost.startswith(
        f"Against a modem as delivered {supposed}, {better}. Against AQM off (a buffer of 250 ms),"
        f" {better}."
    )


def test_without_a_value_of_what_must_hold_a_longer_duration_is_named() -> None:
    decision = make(lambda _, __: float("nan"), lambda _, __: 4e6)

    first, _, _ = describe_tier(decision)

    assert first == (
        "Nothing can be recommended: call MOS (5th percentile) has no value in any run;"
        " a longer duration may give one."
    )


@pytest.mark.parametrize(
    ("today", "verb"),
    [
        (None, "Leave"),
        ({"upstream": {"queue": {"docsis_pie": {"target": "15 ms"}}}}, "Leave"),
        ({"upstream": {"aqm_disabled": True}}, "Turn"),
        ({"upstream": {"queue": {"buffer_control": {"target": "64 KiB"}}}}, "Turn"),
    ],
)
def test_the_aqm_is_left_on_only_where_it_is_on(
    today: Mapping[str, object] | None, verb: str
) -> None:
    tier = make_tier(today=today)
    own = {one.label: one for one in list_candidates(tier, OF_MODEM)}

    assert advise(tier, own["AQM 10 ms"]).startswith(f"{verb} the AQM on with its defaults")
    assert advise(tier, own["AQM 15 ms"]).startswith(f"{verb} the AQM on (DOCSIS-PIE) with a")


def test_the_name_of_a_tier_keeps_its_case() -> None:
    tier = replace(make_tier(), name="bronze")
    decision = make(lambda *_: 4.2, lambda *_: 4e6, tier=tier)

    assert answer_recommendation("", [decision]).sentences[0].startswith("bronze: ")


@pytest.mark.parametrize(
    "path",
    [
        "queue",
        "queue.docsis_pie.target",
        "low_latency",
        "link.cable.docsis.upstream.queue.buffer_control.counts",
        "link.cable.docsis.downstream.rate",
        "link.cable.docsis",
    ],
)
def test_what_is_tried_cannot_be_set_besides(path: str) -> None:
    with pytest.raises(
        InputError, match=f"--set {path}=.*the tiers and the settings that are tried"
    ):
        read_request(upstream=["5 Mbit/s"], overrides=((path, "1"),))
