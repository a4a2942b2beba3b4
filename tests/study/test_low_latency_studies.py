"""The studies of low latency on a cable line: claims on made-up points, quick forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headend.study import ClaimVerdict
from judged import fill_points, judge, run_quick

if TYPE_CHECKING:
    from pathlib import Path

ABUSE = "low-latency/abuse"
CABLE = "low-latency/prague-on-cable"
HOMES = "low-latency/ten-homes"
STARVATION = "low-latency/no-starvation"


def find_reproduced(name: str, measure: Any) -> set[str]:
    """Give the claims of a study that these points reproduce, without the study's name."""
    verdicts = judge(name, fill_points(name, measure))
    return {
        claim.split(".")[1]
        for claim, (verdict, _) in verdicts.items()
        if verdict is ClaimVerdict.REPRODUCED
    }


def divide(row: dict[str, Any]) -> dict[str, Any]:
    """Give what flows get by the weight, with a coupled share beside Prague."""
    case = row["case"]
    if case.startswith("both"):
        low = int(case.removeprefix("both-")) / 256
        rates = {"low": low, "classic": 1 - low, "prague": 0.0, "cubic": 0.0}
    elif case.startswith("flood"):
        rates = {"low": 0.9, "classic": 0.0, "prague": 0.0, "cubic": 0.1}
    else:
        cubic = 0.1 if "ten" in case or "uncoupled" in case else 0.3
        rates = {"low": 0.0, "classic": 0.0, "prague": 1 - cubic, "cubic": cubic}
    return {flow: share * 50e6 for flow, share in rates.items()}


def test_rates_by_the_weight_agree_and_equal_or_starved_ones_differ() -> None:
    every = {"weight", "flood", "protected", "off", "coupling", "one", "ten"}
    assert find_reproduced(STARVATION, divide) == every

    def equal(row: dict[str, Any]) -> dict[str, Any]:
        """Give half to each flow, and less to CUBIC with protection and coupling."""
        half = divide(row)
        low, classic = ("prague", "cubic") if half["prague"] else ("low", "cubic")
        if row["case"].startswith("both"):
            classic = "classic"
        half |= {low: 25e6, classic: 25e6}
        if row["case"] in ("flood-protected", "virtual"):
            half[classic] = 20e6
        return half

    assert find_reproduced(STARVATION, equal) == {"one", "ten"}

    def starve(row: dict[str, Any]) -> dict[str, Any]:
        """Give classic traffic a fiftieth."""
        found = divide(row)
        return found | {flow: found[flow] / 50 for flow in ("classic", "cubic")}

    assert find_reproduced(STARVATION, starve) == {"protected", "off", "coupling"}


def misuse(row: dict[str, Any]) -> dict[str, Any]:
    """Give runs in which queue protection does what Annex P says."""
    case, seed = row["case"], row["seed"]
    is_protected = case not in ("unprotected", "unlabelled", "steady", "prague")
    if case == "steady-backlog":
        is_protected = row["way"] == "up"
    backlog = {"unprotected": 60_000, "33-slow": 10_000}.get(case, 8_000)
    delay = 25e6 if case == "unprotected" else 14e6
    found = {
        "flood_sent": 50_000,
        "flood_sanctioned": 40_000 * is_protected,
        "flood_reordered": 30_000 * is_protected,
        "game_sent": 500,
        "game_lost": 0,
        "game_sanctioned": 300 if case.startswith("33-fast") and seed % 2 else 0,
        "game_reordered": 0,
        "game_delay": delay,
        "prague_sent": 30_000,
        "prague_sanctioned": 0,
    }
    for way in ("up", "down"):
        found |= {
            f"{way}_backlog": backlog,
            f"{way}_lost": 500 if case == "unprotected" else 0,
        }
    return found


def test_a_protected_queue_agrees_and_one_that_judges_nobody_or_everybody_differs() -> None:
    every = {
        "flood", "game", "delay", "unprotected", "game-delay", "unlabelled", "33-slow",
        "33-slow-game", "33-fast", "33-fast-large", "obeys", "steady", "steady-backlog", "order",
        "default",
    }  # fmt: skip
    assert find_reproduced(ABUSE, misuse) == every

    def ignore(row: dict[str, Any]) -> dict[str, Any]:
        """Give runs in which nobody is ever sanctioned, and the queue is full in all of them."""
        found = misuse(row)
        found |= dict.fromkeys((name for name in found if "sanctioned" in name), 0)
        full = {"up_backlog": 60_000, "down_backlog": 60_000, "up_lost": 9, "down_lost": 9}
        return found | full | {"game_delay": 25e6, "flood_reordered": 0}

    harmless = {
        "game", "unprotected", "unlabelled", "33-slow-game", "obeys", "steady", "default",
    }  # fmt: skip
    assert find_reproduced(ABUSE, ignore) == harmless

    def sanction(row: dict[str, Any]) -> dict[str, Any]:
        """Give runs in which everybody is sanctioned and nothing is ever full."""
        found = misuse(row)
        found |= {"up_backlog": 9_000, "down_backlog": 9_000, "game_delay": 30e6}
        found |= {
            f"{flow}_sanctioned": found[f"{flow}_sent"] for flow in ("flood", "game", "prague")
        }
        later = {"game_delay": 35e6} if row["case"] == "default" else {}
        return found | {"game_reordered": 5} | later

    assert find_reproduced(ABUSE, sanction) == {"flood", "delay", "33-slow", "unlabelled"}


def send(row: dict[str, Any]) -> dict[str, Any]:
    """Give runs in which the wait for grants counts as a queue, at no other cost to Prague."""
    kind, _, interval = row["case"].partition("-")
    interval = int(interval) if interval in ("1", "2", "4") else 2
    beside = row["flows"] == "beside"
    wait, rate = 1.0, 1.0
    if kind in ("map", "pgs", "uncoupled", "unprotected"):
        wait = 1.0 + interval / 5
        rate = 0.9 / wait * (1.05 if kind == "pgs" else 1.0)
    elif kind in ("request", "burst"):
        rate = {"request": 0.8, "burst": 0.5}[kind]
    elif row["case"] == "down-bursts":
        rate = 0.5
    share = rate * 0.6 if beside else rate
    return {
        "prague": share * 50e6,
        "cubic": (1 - rate * 0.6 if beside else 0.0) * 50e6 or 1e3,
        "prague_sent": 40_000,
        "prague_marked": 4_000,
        "prague_sanctioned": 0,
        "probe_mean": (10 + wait) * 1e6,
        "probe_p99": (11 + wait) * 1e6,
    }


def test_waits_that_count_as_a_queue_agree_and_waits_that_do_not_differ() -> None:
    every = {
        "half", "interval", "estimate", "ramp", "virtual", "pgs", "pgs-25", "dequeue", "down",
        "virtual-ramp", "timestamps", "bursts", "plain-ramp", "share", "virtual-share", "causes",
        "delay", "sanctions",
    }  # fmt: skip
    assert find_reproduced(CABLE, send) == every

    def free(row: dict[str, Any]) -> dict[str, Any]:
        """Give runs in which Prague has the line, and a long queue with the virtual queue."""
        found = send(row)
        late = {"probe_p99": 99e6} if row["case"].startswith("virtual") else {}
        rate = 49e6 if row["case"] == "map-4" else 48e6
        cubic = 1e6 if row["case"] == "virtual-1-timestamps" else 2e6
        return found | {"prague": rate, "cubic": cubic, "prague_sanctioned": 4_000} | late

    kept = {
        "ramp", "virtual", "pgs-25", "dequeue", "virtual-ramp", "down", "plain-ramp",
        "virtual-share",
    }  # fmt: skip
    assert find_reproduced(CABLE, free) == kept


def live(row: dict[str, Any]) -> dict[str, Any]:
    """Give an evening in which low latency gives everybody what it promises."""
    case = row["case"]
    wait = {"off": 30.0, "idle": 6.0, "pgs": 4.0}.get(case, 7.0)
    found: dict[str, Any] = {}
    for kind in ("classic", "mixed", "modern"):
        found |= {
            f"game_up_{kind}": (10 + wait) * 1e6,
            f"game_down_{kind}": (12 + (case == "off")) * 1e6,
            f"call_up_{kind}": (30 + wait) * 1e6,
            f"call_rate_{kind}": 1e6 if case == "off" else 2e6,
            f"page_{kind}": {"off": 1.0e9, "timestamps": 0.4e9}.get(case, 1.05e9),
            f"call_sanctioned_{kind}": 50 * case.startswith("2019"),
            f"call_sent_{kind}": 5_000,
            f"game_sanctioned_{kind}": 0,
        }
    return found | {
        "cubic_classic": 100e6 if case == "off" else 95e6,
        "cubic_mixed": 20e6,
        "prague_mixed": 15e6,
        "prague_modern": 9e6 if case == "backlog" else 35e6,
    }


def test_an_evening_as_promised_agrees_and_one_without_a_gain_differs() -> None:
    every = {
        "game", "game-idle", "pgs", "down", "call", "call-rate", "pages", "pages-backlog",
        "pages-cause", "uploads", "mixed", "prague",
        "prague-backlog", "backlog-game", "sanctions", "2019",
    }  # fmt: skip
    assert find_reproduced(HOMES, live) == every

    def pay(row: dict[str, Any]) -> dict[str, Any]:
        """Give an evening in which low latency takes from everybody."""
        found = live(row)
        if row["case"] in ("off", "idle"):
            return found
        later = {"2019": 2.5}.get(row["case"], 2.0)
        slower = {
            name: value * (2 * later if row["case"] == "backlog" else later)
            for name, value in found.items()
            if name[:4] in ("game", "page", "call")
        }
        rates = [name for name in found if name.startswith(("cubic", "prague", "call_rate"))]
        if row["case"] == "backlog":
            return found | slower | {"prague_modern": 30e6, "page_mixed": 2e9}
        sanctions = {"call_sanctioned_mixed": 500, "game_sanctioned_classic": 1, "page_mixed": 2e9}
        return found | slower | {name: found[name] / 20 for name in rates} | sanctions

    assert find_reproduced(HOMES, pay) == set()


def test_low_latency_does_what_the_studies_say(tmp_path: Path) -> None:
    verdicts = run_quick(STARVATION, tmp_path / "starvation")
    for claim in ("weight", "flood", "ten"):
        assert verdicts[f"STARVE.{claim}"] is ClaimVerdict.REPRODUCED, claim
    verdicts = run_quick(ABUSE, tmp_path / "abuse")
    for claim in ("flood", "game", "unprotected"):
        assert verdicts[f"ABUSE.{claim}"] is ClaimVerdict.REPRODUCED, claim
