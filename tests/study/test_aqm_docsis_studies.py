"""The studies of the AQM paper's figures: claims on made-up points, laws of drops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headend.study import ClaimVerdict
from judged import fill_points, import_shared, judge, load, load_analysis

run_lengths = import_shared("aqm-docsis", "drops")

Row = dict[str, Any]


def verdicts(name: str, measure: Callable[[Row], Row]) -> dict[str, ClaimVerdict]:
    found = judge(f"aqm-docsis/{name}", fill_points(f"aqm-docsis/{name}", measure))
    return {claim: verdict for claim, (verdict, _) in found.items()}


def missed(found: dict[str, ClaimVerdict]) -> set[str]:
    return {claim for claim, verdict in found.items() if verdict is ClaimVerdict.DIFFERS}


# The exact laws.


@pytest.mark.parametrize(
    ("probability", "effective", "first", "last"),
    # By hand for one half: 1 / (1 + 2 (1 - 2**-16)).
    [(0.01, 0.005436, 85, 850), (0.2126, 0.12982, 4, 40), (0.5, 0.333337, 2, 17),
     (0.9, 0.9, 1, 10)],
)  # fmt: skip
def test_the_effective_probability_is_that_of_the_closed_form(
    probability: float, effective: float, first: int, last: int
) -> None:
    law = run_lengths.find_run_lengths(probability, "reached")
    assert 1 / law.mean == pytest.approx(effective, rel=1e-4)
    assert law.pmf.sum() == pytest.approx(1)
    assert (np.flatnonzero(law.pmf)[0] + 1, len(law.pmf)) == (first, last)


def test_only_a_sum_that_hits_the_bound_tells_reached_from_exceeded() -> None:
    first = {
        (probability, spacing): int(
            np.flatnonzero(run_lengths.find_run_lengths(probability, spacing).pmf)[0]
        )
        for probability in (0.01, 0.011)
        for spacing in ("reached", "exceeded")
    }
    assert first[0.01, "exceeded"] == first[0.01, "reached"] + 1
    assert first[0.011, "exceeded"] == first[0.011, "reached"]


def test_drops_of_independent_coins_are_binomial() -> None:
    counts = run_lengths.find_run_lengths(0.3, "off").count_drops(4)
    assert counts[:5] == pytest.approx([0.2401, 0.4116, 0.2646, 0.0756, 0.0081])
    assert counts.sum() == pytest.approx(1)


def test_drops_are_counted_from_anywhere_in_a_run() -> None:
    # p = 1/2 within 2 and 2 packets: every other packet is dropped, and a window of three begins
    # with it or not.
    counts = run_lengths.find_run_lengths(0.5, "reached", low=1, high=1).count_drops(3)
    assert counts[:3] == pytest.approx([0, 0.5, 0.5])


# The spacing of drops.

LAWS: dict[str, tuple[float, str]] = {
    "independent": (0.01, "off"),
    "reached": (0.01, "reached"),
    "as many": (0.0185, "reached"),
    "at least": (0.2125, "reached"),
    "greater": (0.2125, "exceeded"),
}


def toss(row: Row, **other: str) -> Row:
    """Give the fates of 40 000 packets by the law of this setting, or of another."""
    drops: str = row["drops"]
    law = run_lengths.find_run_lengths(*LAWS[other.get(drops.replace(" ", "_"), drops)])
    random = np.random.default_rng(row["seed"])
    pmf = law.pmf / law.pmf.sum()
    places = random.choice(law.lengths, size=1000, p=pmf).cumsum()
    fates = np.zeros(40_000, dtype=int)
    fates[places[places < len(fates)]] = 1
    return {"fates": fates.tolist()}


def test_drops_by_the_exact_laws_are_reproduced_and_others_not() -> None:
    assert missed(verdicts("drop-spacing", toss)) == set()
    found = missed(verdicts("drop-spacing", lambda row: toss(row, reached="independent")))
    assert found == {"AQM-F9.distribution", "AQM-F10.counts", "AQM-F10.reduced"}
    assert missed(verdicts("drop-spacing", lambda row: toss(row, greater="at least"))) == {
        "AQM-F9.words"
    }
    swapped = {"independent": "as many", "as_many": "independent"}
    found = missed(verdicts("drop-spacing", lambda row: toss(row, **swapped)))
    assert found == {
        "AQM-F7.geometric",
        "AQM-F8.gaussian",
        "AQM-F10.counts",
        "AQM-F10.reduced",
    }


def drop_by(row: Row, spacing: str) -> Row:
    probability = float(f"{row['percent'] / 100:.8f}")
    return {
        "sent": 2_000_000,
        "discarded": round(2_000_000 / run_lengths.find_run_lengths(probability, spacing).mean),
    }


def test_effective_probabilities_by_the_exact_law_are_its_own_and_those_of_coins_not() -> None:
    study = "effective-drop-probability"
    assert missed(verdicts(study, lambda row: drop_by(row, "reached"))) == set()
    found = missed(verdicts(study, lambda row: drop_by(row, "off")))
    assert found == {"AQM-F16.exact", "AQM-F16.slope", "AQM-F16.jumps", "AQM-F16.gap"}

    def straight(row: Row, slope: float = 0.541) -> Row:
        return {"sent": 2_000_000, "discarded": round(2_000_000 * slope * row["percent"] / 100)}

    assert "AQM-F16.slope" not in missed(verdicts(study, straight))
    assert "AQM-F16.slope" in missed(verdicts(study, lambda row: straight(row, 0.55)))


# The flood.


def flood(row: Row, *, swings: bool = True, low: float = 0.45, delay: float = 10.0) -> Row:
    """Give a run whose probability fits the need, or swings around 0.85 if none fits.

    Below 0.85 it drops the share `low`.
    """
    need = 1 - 1 / row["overload"]
    places = np.linspace(0.02, 0.84, 400)
    fitting = float(
        min(
            places,
            key=lambda p: abs(
                1 / run_lengths.find_run_lengths(round(float(p), 6), "reached").mean - need
            ),
        )
    )
    probability = need if row["drops"] == "independent" else round(fitting, 6)
    values, shares = [probability] * 8124, [need] * 8124
    if row["drops"] != "independent" and need > 0.46 and swings:
        # The value at the end of an interval is the next one's.
        values, shares = [0.8, 0.9] * 4062, [0.851, low] * 4062
    sent = row["overload"] * 10e6 / 8 / 1024 * 0.016
    return {
        "probability": values,
        "discarded": [share * sent for share in shares],
        "delay": delay * 1e6,
        "median": delay * 1e6,
        "loss": need,
    }


def test_a_flood_that_swings_where_it_must_is_reproduced_and_one_that_does_not_differs() -> None:
    assert missed(verdicts("overload", flood)) == set()
    found = missed(verdicts("overload", lambda row: flood(row, swings=False)))
    assert found == {"AQM-B.oscillates"}
    assert missed(verdicts("overload", lambda row: flood(row, low=0.5))) == {"AQM-B.oscillates"}
    assert missed(verdicts("overload", lambda row: flood(row, delay=47))) == {"AQM-B.target"}
    wild = missed(
        verdicts("overload", lambda row: {**flood(row), "probability": [0.8, 0.9] * 4062})
    )
    assert wild == {"AQM-8.settles", "AQM-B.reachable"}


def test_the_law_over_a_fluid_holds_its_target_but_for_the_bound_of_its_rise() -> None:
    compute_delay = load_analysis("aqm-docsis/overload").compute_delay
    assert compute_delay(1.5, most_rise=0.02) == pytest.approx(10, rel=0.1)
    assert compute_delay(2.5, most_rise=float("inf")) == pytest.approx(10, rel=0.1)
    assert compute_delay(2.5, most_rise=0.02) > 40


# Estimates of the rate.


def estimate(row: Row, **errors: float) -> Row:
    """Give estimates that are so far off, up and down in turn."""
    analysis = load_analysis("aqm-docsis/departure-rate")
    times = 0.016 * np.arange(1, 8126)
    rates = analysis.find_capacity(times) * 1e6
    departed = np.where(times < 45, rates, 0) if row["uploads"] == "45 s" else rates
    if row["uploads"] == "45 s":
        rates = np.where(times < 45, rates, 10e6)
    off = {"departure_rate": 0.2, "grants": 0.01} | errors
    swing = np.where(np.arange(len(times)) % 2, 1.0, -1.0) * off[row["estimate"]]
    rates = rates * (1 + np.where(times < 45, swing, 0) if row["uploads"] == "45 s" else 1 + swing)
    if row["estimate"] == "departure_rate" and (
        row["map_ms"],
        row["dequeue_at"],
        row["placement"],
    ) == (4, "burst", "random"):
        rates[100::500] = 106e6 * (1 + errors.get("spike", 0.0))
    return {"rate": rates.tolist(), "departed": departed.tolist()}


def test_estimates_as_the_paper_has_them_are_reproduced_and_others_not() -> None:
    study = "departure-rate"
    assert missed(verdicts(study, estimate)) == set()
    assert missed(verdicts(study, lambda row: estimate(row, grants=0.25))) == {
        "AQM-F11.inaccurate",
        "AQM-F13.tracks",
    }
    # From 106 Mb/s down to 53, which is nearer to the service's 20.
    found = missed(verdicts(study, lambda row: estimate(row, spike=-0.5)))
    assert found == {"AQM-F12.line-rate"}

    def renewed(row: Row) -> Row:
        again = estimate({**row, "uploads": "all along"})
        return {**again, "departed": estimate(row)["departed"]}

    assert missed(verdicts(study, renewed)) == {"AQM-A.stale"}


# The congested channel, and when packets are drawn.


def congest(row: Row, buckets: float = 3.0, grants: float = 1.0) -> Row:
    """Give delays that are so many times those of a free channel."""
    factor = {"token_buckets": buckets, "grants": grants}[row["estimate"]]
    factor = factor if row["capacity"] == "30 %" else 1.0
    # Differences that a seed makes, and that cancel out over all.
    shift = (-1) ** row["seed"] * (1e4 if row["estimate"] == "grants" else 0)
    delays = {"median": 15e6, "p90": 20e6, "p99": 25e6}
    return {
        **{name: factor * delay + shift for name, delay in delays.items()},
        "delays": [factor * 25e6 * number / 100 for number in range(101)],
    }


def test_a_congested_channel_as_the_paper_has_it_is_reproduced_and_otherwise_not() -> None:
    study = "congested-channel"
    assert missed(verdicts(study, congest)) == set()
    assert missed(verdicts(study, lambda row: congest(row, grants=3.5))) == {"AQM-F15.congested"}

    def burdened(row: Row) -> Row:
        worse = 1.1 if row["estimate"] == "grants" else 1.0
        measured = congest(row)
        return {**measured, **{name: worse * measured[name] for name in ("median", "p90", "p99")}}

    assert missed(verdicts(study, burdened)) == {"AQM-F15.free"}


def draw(row: Row, **later: float) -> Row:
    """Give a run in which drawing at the MAP makes the game's delay longer by so many ms."""
    queue = row["queue"].removesuffix(" perfect")
    delays = {"codel": 24, "pie": 24, "docsis_pie": 15, "sfq_codel": 2}
    longer = {"codel": 0.5, "pie": 0.0, "docsis_pie": 0.0, "sfq_codel": 1.0} | later
    at_map = row["dequeue_at"] == "map"
    # Differences that a seed makes, and that cancel out over all.
    shift = (-1) ** row["seed"] * 0.01 * at_map
    return {"game": 1e6 * (delays[queue] + longer[queue] * at_map + shift)}


def test_packets_drawn_as_the_paper_has_it_are_reproduced_and_otherwise_not() -> None:
    study = "dequeue-at"
    assert missed(verdicts(study, draw)) == set()
    assert missed(verdicts(study, lambda row: draw(row, sfq_codel=-0.1))) == {
        "AQM-3.2.flow-queuing"
    }
    assert missed(verdicts(study, lambda row: draw(row, sfq_codel=20.0))) == {"AQM-3.2.benefit"}


# Tunnels, and the queue at the CMTS.


def carry(row: Row, *, inside_ms: float = 55.0, outside_ms: float = 4.0) -> Row:
    """Give a run in which only flow queues tell a tunnel's call from its uploads."""
    single = {"codel": 25.0, "pie": 26.0, "docsis-pie": 20.0, "buffer-control": 45.0}
    p90 = inside_ms if row["tunnel"] == "all" else outside_ms
    p90 = single.get(row["queue"], p90)
    even = row["queue"] not in single and row["tunnel"] != "none"
    shift = (-1) ** row["seed"] * 0.01
    return {
        **dict.fromkeys(("p50", "p90", "p99", "ping"), (p90 + shift) * 1000000.0),
        "sent": 3000,
        "lost": 0,
        "mos": 4.3,
        "near": 80e6 if even else 100e6,
        "far": 20e6 if even else 60e6,
        "other": (100e6 if even else 30e6) + shift,
        "delays": [p90 * 1e4 * number for number in range(101)],
    }


def test_a_tunnel_that_hides_flows_is_reproduced_and_one_that_does_not_differs() -> None:
    study = "tunnels"
    assert missed(verdicts(study, carry)) == set()
    assert missed(verdicts(study, lambda row: carry(row, inside_ms=3.9))) == {
        "AQM-1.tunnels",
        "AQM-tunnels.call",
    }

    def queue_up(row: Row) -> Row:
        return carry(row, outside_ms=4.0 if row["tunnel"] == "none" else 8.0)

    assert missed(verdicts(study, queue_up)) == {"AQM-tunnels.call"}

    def divide(row: Row) -> Row:
        return {**carry(row), "other": 30e6}

    assert missed(verdicts(study, divide)) == {"AQM-tunnels.share"}


def receive(row: Row, **other: float) -> Row:
    """Give a run in which deep queues are slow, and a short one holds downloads back."""
    delays = {"tail-250kB": 0.3, "tail-250ms": 200.0, "fq-codel": 0.3} | other
    p90 = delays.get(row["queue"], 15.0)
    is_short = row["queue"] == "tail-250kB" and row["rate_mbps"] == 1000
    shift = 1 + (-1) ** row["seed"] * 0.001
    rate = row["rate_mbps"] * 1e6 * (0.2 if is_short else 0.95) * shift
    return {
        **dict.fromkeys(("p50", "p90", "p99"), p90 * shift * 1000000.0),
        "sent": 1500,
        "lost": 0,
        "mos": 4.3,
        "page": (p90 * 3e7 if p90 > 100 else 2e9) * shift,
        "page_p90": 7e9,
        "near": rate * 0.7,
        "far": rate * 0.3,
        "delays": [p90 * 1e4 * (number + 1) for number in range(101)],
    }


def test_a_managed_queue_at_the_cmts_helps_and_one_that_does_not_is_found() -> None:
    study = "downstream"
    assert missed(verdicts(study, receive)) == set()
    assert missed(verdicts(study, lambda row: receive(row, pie=210.0))) == {
        "AQM-2.4.any",
        "AQM-DS.pages",
    }
    assert missed(verdicts(study, lambda row: receive(row, **{"tail-250kB": 20.0}))) == {
        "AQM-DS.250kB"
    }

    def starve(row: Row) -> Row:
        less = 0.8 if row["queue"] == "codel" else 1.0
        measured = receive(row)
        return {**measured, "near": measured["near"] * less, "far": measured["far"] * less}

    assert missed(verdicts(study, starve)) == {"AQM-DS.cost"}


def test_figures_are_drawn_from_points() -> None:
    from headend.study.outcome import draw_study_figures

    drawn: dict[str, Callable[[Row], Row]] = {
        "departure-rate": estimate,
        "overload": flood,
        "dequeue-at": draw,
        "tunnels": carry,
        "downstream": receive,
    }
    for name, measure in drawn.items():
        study = load(f"aqm-docsis/{name}")
        points = fill_points(study.name, measure)
        figures = draw_study_figures(study, study.load_analysis(), points)
        assert all(figure.panels for figure in figures)
