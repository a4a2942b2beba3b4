"""The rates of Prague and CUBIC behind DualPI2, and RFC 9332's four numbers."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import polars as pl

from headend.figures import vegalite as vl
from headend.figures.figure import Panel
from headend.figures.theme import PALETTE, make_chart
from headend.study import ClaimResult, ClaimVerdict, decide_over_seeds

#: Time measured, seconds.
MEASURED = 100.0

#: RFC 9332, appendix C.2: Prague's window times its marked share (equation 6), CUBIC's times the
#: root of its lost share (5), and the root of the lost share over the marked one where k = 2 (1).
PRAGUE, CUBIC, COUPLED = 2.0, 1.22, 0.5

#: The same, equation 8 and after it: the classic round trip over the other at a base of 40 ms and a
#: target of 15 ms.
ROUND_TRIPS = 0.85 * (40 + 15) / 40

#: What is measured of the four numbers, and how a figure calls them.
FACTORS = {
    "prague": "Prague's window × marked share, over 2",
    "cubic": "1.22 over CUBIC's window × √lost share",
    "coupled": "√lost share / marked share, over 1/2",
    "round_trips": "round trips, classic / Prague's, over 1.17",
}


def measure(points: pl.DataFrame) -> pl.DataFrame:
    """Give a row for each run: the ratio of rates, and its four factors over the RFC's."""
    marked = pl.col("prague_marked") / pl.col("prague_sent")
    root = (pl.col("cubic_lost") / pl.col("cubic_sent")).sqrt()
    rtt = {
        name: (pl.col(f"{name}_up") + pl.col(f"{name}_down")) / 1e9 for name in ("prague", "cubic")
    }
    window = {name: pl.col(f"{name}_sent") / MEASURED / pl.col("pairs") * rtt[name] for name in rtt}
    return points.select(
        "pairs",
        "seed",
        ratio=pl.col("prague_goodput") / pl.col("cubic_goodput"),
        prague=window["prague"] * marked / PRAGUE,
        cubic=CUBIC / (window["cubic"] * root),
        coupled=root / marked / COUPLED,
        round_trips=rtt["cubic"] / rtt["prague"] / ROUND_TRIPS,
        queue=rtt["cubic"] * 1e3 - 40,
    )


def check_ratio(points: pl.DataFrame, limits: dict[str, Any]) -> ClaimResult:
    """Hold a single pair's ratio of rates against the RFC's, and say what changes it."""
    rows = measure(points)
    one = rows.filter(pairs=limits["pairs"]).sort("seed")
    if one.is_empty():
        return ClaimResult("no such run", ClaimVerdict.UNTESTABLE)
    found = decide_over_seeds(one["ratio"].to_list(), limits["low"], limits["high"])
    return found.tell(
        f"{found.mean:.2f}", "" if found.verdict is ClaimVerdict.REPRODUCED else explain(rows)
    )


def explain(rows: pl.DataFrame) -> str:
    """Say by how much each of the four numbers is not the RFC's, with one pair and more."""
    means = rows.group_by("pairs", maintain_order=True).mean().sort("pairs")
    told = [
        f"{own['pairs']}: {own['prague']:.2f} · {own['cubic']:.2f} · {own['coupled']:.2f} ·"
        f" {own['round_trips']:.2f} times the RFC's, and Prague has {own['ratio']:.2f} times"
        " CUBIC's rate"
        for own in means.iter_rows(named=True)
    ]
    return (
        "the derivation's four numbers are Prague's window times p, the inverse of CUBIC's times"
        " √p, √p of the one over p of the other, and the round trips. Pairs of flows: "
        f"{'; '.join(told)}. The third is the swing of the probability with a single saw tooth,"
        " since losses go by the mean of its square: more pairs smooth it, and take most of the"
        " difference away. The first is RESPONSE.first-mark. The last is a classic queue whose"
        f" mean, not its peak, is near the target ({means['queue'][0]:.0f} ms)"
    )


def draw_factors(points: pl.DataFrame) -> list[Panel]:
    """Draw the four factors for each number of pairs."""
    rows = measure(points)
    table = pl.DataFrame(
        [
            {
                "pairs": f"{pairs}",
                "factor": name,
                "value": fmean(own[column]),
            }
            for (pairs,), own in rows.group_by("pairs", maintain_order=True)
            for column, name in FACTORS.items()
        ]
    )
    x = vl.X("value:Q", title="measured / RFC 9332 (no unit)", scale=vl.Scale(zero=False))
    names = table["pairs"].unique(maintain_order=True).to_list()
    dots = (
        make_chart(table)
        .mark_point(filled=True, size=80)
        .encode(
            x=x,
            y=vl.Y(
                "factor:N", title=None, sort=list(FACTORS.values()), axis=vl.Axis(labelLimit=280)
            ),
            color=vl.Color(
                "pairs:N",
                title="pairs of flows",
                scale=vl.Scale(domain=names, range=list(PALETTE[: len(names)])),
            ),
            shape=vl.Shape("pairs:N", title="pairs of flows", scale=vl.Scale(domain=names)),
        )
    )
    rule = make_chart(pl.DataFrame({"value": [1.0]})).mark_rule().encode(x=x)
    return [Panel("", vl.layer(rule, dots))]
