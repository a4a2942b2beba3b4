"""The claims of the studies of FAST on DOCSIS, on points made for the purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from headend.study import ClaimVerdict
from judged import fill_points, import_shared, judge, load_analysis

alpha = import_shared("fast-docsis", "alpha")

Row = dict[str, Any]

#: What a cable line of 3 Mbit/s carries of IP packets, bit/s.
CABLE = 3e6 * 1500 / 1518


def verdicts(name: str, measure: Callable[[Row], Row]) -> dict[str, ClaimVerdict]:
    found = judge(f"fast-docsis/{name}", fill_points(f"fast-docsis/{name}", measure))
    return {claim: verdict for claim, (verdict, _) in found.items()}


def test_the_needed_alpha_fills_the_link_with_the_next_one() -> None:
    runs = pl.DataFrame(
        {"n": 1, "seed": 1, "alpha": [1.0, 2.0, 3.0, 4.0], "share": [0.99, 0.9, 0.99, 1.0]}
    )
    assert alpha.find_needed(runs, ["n"], 0.98)["alpha"].to_list() == [3.0]
    assert alpha.find_needed(runs, ["n"], 1.1)["alpha"].to_list() == [None]


def test_seeds_are_averaged_only_where_all_have_found_one() -> None:
    runs = pl.DataFrame(
        {
            "n": [1, 1, 2, 2],
            "seed": [1, 2, 1, 2],
            "alpha": [8.0, 16.0, 8.0, 8.0],
            "lost": [1, 2, 0, 3],
        }
    )
    found = alpha.average_seeds(alpha.find_lossy(runs, ["n"]), ["n"]).sort("n")
    assert found["alpha"].to_list() == [12.0, None]
    assert found["low"].to_list() == [8.0, 8.0]


def one_modem(row: Row, *, needs: dict[int, float], stray: float = 0.0) -> Row:
    """Give a run in which α packets each fill the line, with a stray queue on cable."""
    carried = 3e6 if row["line"] == "simple" else CABLE
    is_full = row["alpha"] >= needs[row["flows"]]
    total = row["alpha"] * row["flows"]
    own = total + stray * row["flows"]
    return {
        "throughput": carried * (1.0 if is_full else 0.9),
        "lost": max(0, total - 253),
        "sent": 25_000,
        "cable_backlog": own * 1518,
        "line_backlog": total * 1500,
    }


def test_a_line_that_needs_the_published_alpha_reproduces_and_an_easier_one_differs() -> None:
    published: dict[int, float] = {1: 13, 2: 22, 4: 12, 6: 9, 8: 9, 10: 8}
    as_document = verdicts("one-modem", lambda row: one_modem(row, needs=published))
    assert set(as_document.values()) == {ClaimVerdict.REPRODUCED}
    easier: dict[int, float] = dict.fromkeys(published, 2)
    found = verdicts("one-modem", lambda row: one_modem(row, needs=easier, stray=2))
    assert found["FST-4.needed"] is found["FST-2.window"] is ClaimVerdict.DIFFERS
    assert found["FST-4.trend"] is found["FST-5.order"] is ClaimVerdict.REPRODUCED


def test_an_alpha_that_scales_inversely_makes_no_trend() -> None:
    inverse: dict[int, float] = {1: 2, 2: 1, 4: 0.5, 6: 0.3, 8: 0.2, 10: 0.15}
    found = verdicts("one-modem", lambda row: one_modem(row, needs=inverse))
    assert found["FST-4.trend"] is ClaimVerdict.DIFFERS


def test_losses_at_the_same_alpha_for_all_differ() -> None:
    def lose(row: Row) -> Row:
        lost = 5 if row["alpha"] >= 112 else 0
        return {**one_modem(row, needs=dict.fromkeys((1, 2, 4, 6, 8, 10), 1)), "lost": lost}

    found = verdicts("one-modem", lose)
    assert found["FST-5.order"] is found["FST-5.buffer"] is ClaimVerdict.DIFFERS


def many_modems(row: Row, *, needs: Callable[[Row], float]) -> Row:
    """Give a run in which so many packets of α each fill the lines."""
    full = CABLE * (1518 / 1524 if row["line"] == "shared" else row["modems"])
    return {"throughput": full if row["alpha"] >= needs(row) else 0.9 * full}


def test_several_modems_that_need_the_tables_reproduce_and_easier_ones_differ() -> None:
    tables = load_analysis("fast-docsis/many-modems").PUBLISHED
    as_document = verdicts(
        "many-modems",
        lambda row: many_modems(row, needs=lambda at: tables[at["modems"]].get(at["flows"], 9)),
    )
    assert set(as_document.values()) == {ClaimVerdict.REPRODUCED}
    fewer = verdicts("many-modems", lambda row: many_modems(row, needs=lambda at: 9 - at["modems"]))
    assert fewer["FST-6.needed"] is fewer["FST-7.modems"] is ClaimVerdict.DIFFERS
    found = verdicts(
        "many-modems", lambda row: many_modems(row, needs=lambda at: 20 // at["flows"] ** 2)
    )
    assert found["FST-6.trend"] is found["FST-7.trend"] is ClaimVerdict.DIFFERS


def test_three_modems_that_need_more_with_one_seed_in_three_are_undecided() -> None:
    def need(row: Row) -> float:
        return 4 if row["modems"] == 2 or row["seed"] % 3 else 9

    found = verdicts("many-modems", lambda row: many_modems(row, needs=need))
    assert found["FST-7.modems"] is ClaimVerdict.UNDECIDED


def phantom(row: Row, *, packets: float) -> Row:
    """Give a run in which so many packets of α each fill the cable line, and one the plain link."""
    is_simple = row["line"] == "simple"
    full = row["rate_mbps"] * 1e6 * (1 if is_simple else 1500 / 1518)
    needs = 1.0 if is_simple else packets
    return {"throughput": full * min(1.0, 0.5 + row["alpha"] / needs / 2)}


@pytest.mark.parametrize(
    ("packets", "verdict"), [(13, ClaimVerdict.REPRODUCED), (0.5, ClaimVerdict.DIFFERS)]
)
def test_more_queueing_through_the_modem_is_told_from_less(
    packets: float, verdict: ClaimVerdict
) -> None:
    found = verdicts("phantom", lambda row: phantom(row, packets=packets))
    assert found["FST-1.phantom"] is found["FST-1.alpha"] is verdict
    assert found["FST-1.rule"] is ClaimVerdict.UNTESTABLE


def test_one_rate_at_which_the_plain_link_needs_more_is_a_difference() -> None:
    found = verdicts(
        "phantom", lambda row: phantom(row, packets=0.5 if row["rate_mbps"] == 1 else 13)
    )
    assert found["FST-1.phantom"] is found["FST-1.alpha"] is ClaimVerdict.DIFFERS


def test_lines_of_which_none_is_idle_show_no_phantom() -> None:
    found = verdicts("phantom", lambda row: {"throughput": row["rate_mbps"] * 1e6})
    assert found["FST-1.phantom"] is ClaimVerdict.UNTESTABLE


def delay_causes(row: Row, *, slow: float, other: float) -> Row:
    """Give a run in which α packets each fill lines with slow requests, and others."""
    analysis = load_analysis("fast-docsis/delay-causes")
    needs = slow if row["line"] in analysis.SLOW else other
    full = 3e6 if row["line"] == "simple" else CABLE
    return {"throughput": full if row["alpha"] >= needs else 0.9 * full, "waiting": 70.0}


@pytest.mark.parametrize(
    ("slow", "other", "requests", "others"),
    [
        (60, 2, ClaimVerdict.REPRODUCED, ClaimVerdict.REPRODUCED),
        (2, 2, ClaimVerdict.DIFFERS, ClaimVerdict.REPRODUCED),
        (60, 26, ClaimVerdict.DIFFERS, ClaimVerdict.DIFFERS),
    ],
)
def test_slow_requests_are_the_cause_where_they_alone_need_the_published_alpha(
    slow: float, other: float, requests: ClaimVerdict, others: ClaimVerdict
) -> None:
    found = verdicts("delay-causes", lambda row: delay_causes(row, slow=slow, other=other))
    assert found == {"FST-1.requests": requests, "FST-1.others": others}


def take_turns(row: Row, *, shares: Callable[[int], list[float]]) -> Row:
    """Give four flows that begin 20 s apart and at once have these shares."""
    columns: dict[str, list[float]] = {"first": [], "second": [], "third": [], "fourth": []}
    for step in range(160):
        now = shares(step // 40 + 1)
        for number, name in enumerate(columns):
            columns[name].append(CABLE * now[number] if number < len(now) else 0.0)
    return {"throughput": CABLE, **columns}


def test_unfair_shares_as_derived_reproduce_and_fair_ones_differ() -> None:
    derive = load_analysis("fast-docsis/fairness").derive_shares
    assert derive(2, 10.0) == pytest.approx([0.382, 0.618], abs=5e-4)
    assert derive(4, 10.0) == pytest.approx([0.146, 0.171, 0.237, 0.446], abs=5e-4)

    def as_derived(row: Row) -> Row:
        told = row["base"] == "told"
        return take_turns(row, shares=lambda n: [1 / n] * n if told else derive(n, 10.0))

    found = verdicts("fairness", as_derived)
    assert set(found.values()) == {ClaimVerdict.REPRODUCED}
    fair = verdicts("fairness", lambda row: take_turns(row, shares=lambda n: [1 / n] * n))
    assert fair["FST-8.unfair"] is ClaimVerdict.DIFFERS
    early = verdicts(
        "fairness", lambda row: take_turns(row, shares=lambda n: derive(n, 10.0)[::-1])
    )
    assert early["FST-8.late"] is early["FST-8.cause"] is ClaimVerdict.DIFFERS


def share_with_reno(row: Row, *, factor: float) -> Row:
    """Give FAST its share of a queue of 200 packets, times a factor."""
    share = min(1.0, factor * row["alpha"] / 200)
    backlog = {"cable_backlog": 200 * 1518.0, "line_backlog": 200 * 1500.0, "lost": 0}
    return {"fast": share * 3e6, "reno": (1 - share) * 3e6, **backlog}


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.05, ClaimVerdict.REPRODUCED), (0.5, ClaimVerdict.DIFFERS)]
)
def test_a_share_by_the_queue_beside_reno_reproduces_and_half_of_it_differs(
    factor: float, verdict: ClaimVerdict
) -> None:
    found = verdicts("beside-reno", lambda row: share_with_reno(row, factor=factor))
    assert found == {"FST-9.queue": verdict}


def test_the_tables_are_as_printed() -> None:
    found = judge("fast-docsis/tables", pl.DataFrame())
    wrong = {claim for claim, (verdict, _) in found.items() if verdict is ClaimVerdict.DIFFERS}
    assert wrong == {"FST-4.delay"}
    assert "60 (2 CMs, 10 flows) would be 240 ms, printed 360" in found["FST-4.delay"][1]
    counted = "17 of 17 entries; divided by the flows of all modems 16"
    assert found["FST-6.modem-flows"][1] == counted


def test_a_packet_of_the_document_takes_4_ms() -> None:
    rate, path_s, buffer_s = 3e6, 0.1, 1.024
    packet_s = alpha.PACKET * 8 / rate
    assert packet_s * 1e3 == pytest.approx(alpha.PACKET_MS)
    assert (path_s / packet_s, buffer_s / packet_s) == pytest.approx((25, 256))
