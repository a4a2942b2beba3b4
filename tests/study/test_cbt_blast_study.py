"""The claims of the CBT paper's blast, on points made for the purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headend.study import ClaimVerdict
from judged import fill_points, judge

Row = dict[str, Any]

STUDY = "cbt/blast"

#: What the paper's words come to: TCP in the blast (kB/s), conferences' loss and delay (ms), the
#: flood's loss.
AS_PAPER = {
    "RED": (100.0, 0.4, 24.0, 0.3),
    "RED, arrivals dropped": (100.0, 0.4, 26.0, 0.3),
    "FRED": (860.0, 0.3, 26.0, 0.9),
    "FRED, 2 %": (850.0, 0.3, 26.0, 0.9),
    "CBT": (880.0, 0.02, 8.0, 0.95),
    "CBT, RED for TCP only": (885.0, 0.01, 8.0, 0.95),
    "CBQ": (890.0, 0.0, 5.0, 0.95),
}
OTHERS = (100.0, 0.4, 45.0, 0.2)
SENDING = 17_000


def blast(row: Row, *, table: dict[str, tuple[float, float, float, float]]) -> Row:
    """Give a run in which disciplines come to what a table says."""
    tcp, loss, delay, flood = table.get(row["queue"], OTHERS)
    kbps = 267 if row["part"] == "267 kbit/s" else 210
    if kbps == 267:
        delay *= 3.6  # 374 packets/s of which CBT has ten in the queue
    load = kbps * 6e3
    seconds = range(200)
    udp = [8e6 * (1 - flood) if 50 <= at < 95 else 0.0 for at in seconds]
    tagged = [load / 6 if at < 160 else 0.0 for at in seconds]
    mine = [tcp if 50 <= at < 95 else 1090.0 if 20 <= at < 140 else 0.0 for at in seconds]
    return {
        "tcp": tcp * 8e3,
        "tcp_sent": 1000,
        "tcp_lost": 100 if row["queue"] == "CBT, RED for TCP only" else 120,
        "tagged_sent": SENDING,
        "tagged_lost": SENDING * loss,
        "tagged_rate": load * (1 - loss),
        "tagged_delay": delay * 1e6,
        "blast_sent": 56_000,
        "blast_lost": 56_000 * flood,
        "blast_rate": 10e6 * (1 - flood),
        "blast_delay": 20e6,
        "average": [26.0] * 200,
        "rate": [8e3 * k + u + 6 * t for k, u, t in zip(mine, udp, tagged, strict=True)],
        "blast": udp,
        **{f"proshare_{number}": tagged for number in range(1, 7)},
    }


def verdicts(measure: Callable[[Row], Row]) -> dict[str, ClaimVerdict]:
    found = judge(STUDY, fill_points(STUDY, measure))
    return {claim: verdict for claim, (verdict, _) in found.items()}


def test_the_papers_words_reproduce_but_for_its_slips_and_its_missing_pages() -> None:
    found = verdicts(lambda row: blast(row, table=AS_PAPER))
    untested = {claim for claim, verdict in found.items() if verdict is ClaimVerdict.UNTESTABLE}
    assert untested == {"CBT-4.results", "CBT-5.simpler"}
    differing = {claim for claim, verdict in found.items() if verdict is ClaimVerdict.DIFFERS}
    # 210 packets/s do not bring ten in 22 ms, and six times 210 kbit/s are no 1.6 Mbit/s.
    assert differing == {"CBT-4.arrivals", "CBT-4.load"}
    assert ClaimVerdict.UNDECIDED not in found.values()


def test_disciplines_that_are_all_alike_are_not_as_published() -> None:
    alike = dict.fromkeys(AS_PAPER, AS_PAPER["RED"])
    found = verdicts(lambda row: blast(row, table=alike))
    assert found["CBT-F3.fred"] is found["CBT-2.3.slots"] is ClaimVerdict.DIFFERS
    assert found["CBT-F2.collapse"] is ClaimVerdict.REPRODUCED


def test_an_order_turned_round_differs() -> None:
    worse = {**AS_PAPER, "CBT": (90.0, 0.5, 60.0, 0.2), "FRED": (860.0, 0.3, 26.0, 0.2)}
    found = verdicts(lambda row: blast(row, table=worse))
    for claim in (
        "CBT-1.protection",
        "CBT-1.throughput",
        "CBT-1.latency",
        "CBT-1.cbq",
        "CBT-2.3.loss",
    ):
        assert found[claim] is ClaimVerdict.DIFFERS, claim


def test_better_than_the_others_is_not_yet_near_cbq() -> None:
    found = verdicts(lambda row: blast(row, table={**AS_PAPER, "CBT": (880.0, 0.28, 8.0, 0.95)}))
    assert found["CBT-1.throughput"] is ClaimVerdict.REPRODUCED
    assert found["CBT-1.cbq"] is ClaimVerdict.DIFFERS


def test_an_order_that_seeds_do_not_agree_on_is_undecided() -> None:
    def measure(row: Row) -> Row:
        loss = 0.3 + 0.1 * (-1) ** row["seed"] - 0.01
        return blast(row, table={**AS_PAPER, "CBT": (880.0, loss, 8.0, 0.95)})

    assert verdicts(measure)["CBT-1.throughput"] is ClaimVerdict.UNDECIDED


def test_an_order_that_an_open_choice_turns_is_judged_by_the_studys_own() -> None:
    table = {**AS_PAPER, "CBT": (880.0, 0.28, 8.0, 0.95), "FRED, 2 %": (860.0, 0.2, 26.0, 0.9)}
    found = judge(STUDY, fill_points(STUDY, lambda row: blast(row, table=table)))
    verdict, _ = found["CBT-1.throughput"]
    assert verdict is ClaimVerdict.REPRODUCED


def test_a_delay_far_from_cbqs_is_not_near_it() -> None:
    found = verdicts(lambda row: blast(row, table={**AS_PAPER, "CBT": (880.0, 0.02, 20.0, 0.95)}))
    assert found["CBT-1.latency"] is ClaimVerdict.REPRODUCED
    assert found["CBT-1.cbq"] is ClaimVerdict.DIFFERS


def test_a_red_that_protects_is_no_collapse_and_a_fred_that_collapses_is_none() -> None:
    table = {**AS_PAPER, "RED": (1000.0, 0.4, 24.0, 0.3), "FRED": (300.0, 0.3, 26.0, 0.9)}
    found = verdicts(lambda row: blast(row, table=table))
    assert found["CBT-F2.collapse"] is found["CBT-F3.fred"] is ClaimVerdict.DIFFERS
    assert found["CBT-1.protection"] is ClaimVerdict.DIFFERS
    empty = {**AS_PAPER, "CBT, RED for TCP only": (885.0, 0.01, 2.0, 0.95)}
    assert verdicts(lambda row: blast(row, table=empty))["CBT-3.twelve"] is ClaimVerdict.DIFFERS
