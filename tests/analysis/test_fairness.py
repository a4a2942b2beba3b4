"""Who gets how much of a line: within groups, and between them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from headend.analysis.fairness import measure_evenness, measure_fairness
from headend.comparison.scores import score_runs
from headend.figures.over_time import draw_class_rates
from headend.running.result import Result


def make_result(goodputs: dict[str, float], down: tuple[str, ...] = ()) -> Result:
    flows = pl.DataFrame(
        {
            "flow": list(goodputs),
            "direction": ["down" if name in down else "up" for name in goodputs],
            "carries": "data",
            "application": "bulk",
            "goodput_bps": list(goodputs.values()),
        }
    )
    return Result({"flows": flows}, {})


def test_each_group_has_an_index_and_a_share() -> None:
    shares = measure_fairness(make_result({"near.1": 6e6, "near.2": 2e6, "far": 3e6}))
    assert [(share.group, share.members) for share in shares] == [("near", 2), ("far", 1)]
    assert [share.mean_bps for share in shares] == [4e6, 3e6]
    assert shares[0].jain_index == pytest.approx(0.8)
    assert shares[1].jain_index is None
    assert [share.ratio for share in shares] == [1.0, 0.75]


def test_one_flow_shares_with_nobody_and_nothing_is_no_share() -> None:
    assert measure_fairness(make_result({"far": 3e6})) == []
    shares = measure_fairness(make_result({"near.1": 0.0, "near.2": 0.0}))
    assert (shares[0].jain_index, shares[0].ratio) == (None, None)


def test_what_goes_up_shares_with_nothing_that_goes_down() -> None:
    goodputs = {"put.1": 3e6, "put.2": 1e6, "get": 20e6}
    result = make_result(goodputs, down=("get",))
    (share,) = measure_fairness(result)
    assert (share.group, share.direction, share.ratio) == ("put", "up", 1.0)
    assert share.jain_index == pytest.approx(0.8)
    assert measure_evenness(result) == {"up": pytest.approx(0.8)}
    assert measure_evenness(make_result({"put": 2e6, "get": 20e6}, down=("get",))) == {}
    both = make_result({**goodputs, "have": 20e6}, down=("get", "have"))
    assert measure_evenness(both) == {"up": pytest.approx(0.8), "down": 1.0}


def test_a_comparison_gives_no_index_over_both_directions() -> None:
    import headend

    up, down = ({"application": "bulk", "direction": way} for way in ("up", "down"))
    scenario = {**SHARED, "flow": {"put": up, "get": down}, "expect": {}}
    queue = {"queue": ["drop_tail", "docsis_pie"]}
    lone = score_runs(headend.compare(scenario, queue).results)[0]
    assert not [figure.name for figure in lone if "Jain" in figure.name]
    several = {**scenario, "flow": {"put": {**up, "count": 2}, "get": down}}
    names = {figure.name for figure in score_runs(headend.compare(several, queue).results)[0]}
    assert {name for name in names if "Jain" in name} == {"Jain's fairness index, up"}


SHARED: dict[str, Any] = {
    "duration": "6 s",
    "link": {"line": {"point_to_point": {"up": {"rate": "10 Mbit/s"}}}},
    "flow": {
        "near": {"application": "bulk", "rtt": "10 ms", "count": 3},
        "far": {
            "application": "bulk",
            "rtt": {"from": "50 ms", "to": "100 ms"},
            "count": 2,
            "start": {"from": "1 s", "every": "1 s"},
        },
    },
    "expect": {"even": "far.jain_index > 0", "ratio": "far.mean_goodput / near.mean_goodput > 0"},
}


def test_groups_of_a_run_have_their_figures() -> None:
    import headend

    result = headend.run(SHARED)
    assert all(outcome.met for outcome in result.expectations)
    scores = {(figure.subject, figure.name) for figure in score_runs([result])[0]}
    assert {("near ×3", "Jain's index within"), ("far ×2", "Jain's index within")} <= scores
    figure = draw_class_rates([result])
    assert figure is not None
    text = str(figure.panels[0].specify())
    assert "near" in text
    assert "far" in text
    assert "near.1" not in text
    alone = headend.run(SHARED, set={"flow.near.count": 1, "flow.far.count": 1, "expect": {}})
    assert draw_class_rates([alone]) is None
