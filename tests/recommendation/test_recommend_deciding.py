"""What a recommendation decides and says where values or quantities are missing."""

from __future__ import annotations

from headend.recommendation import Recommendation, recommend
from headend.recommendation.page import render_recommendation
from headend.recommendation.sentences import describe_tier

SHORT = {"duration": "16 s", "warmup": "4 s"}


def ask(
    expect: str, prefer: str | None = None, traffic: str = "call", **settings: str
) -> Recommendation:
    """Recommend for one tier with two seeds."""
    return recommend(
        upstream="5 Mbit/s",
        traffic=traffic,
        expect=expect,
        prefer=prefer,
        seeds=2,
        set={**SHORT, **settings},
    )


def test_nothing_is_recommended_where_the_objective_has_no_value() -> None:
    late = {"flow.page.start": "15.99 s"}
    found = ask("call.mos.p5 >= 3.5", "least page.page_load_time.p50", traffic="call, page", **late)
    (decision,) = found.decisions
    assert decision.chosen.setting is None
    first, *_ = describe_tier(decision)
    assert first.startswith("Nothing can be recommended: page load time (median) has no value")
    assert first in render_recommendation(found).replace("\N{NO-BREAK SPACE}", " ")


def test_a_condition_can_be_on_a_queue_that_only_some_settings_have() -> None:
    (decision,) = ask("cable.up_low_latency.delay.p99 <= 50 ms").decisions
    assert decision.recommended
    assert decision.find(decision.recommended).label == "low latency"
    able = [own for own in decision.chosen.among if decision.is_able(own)]
    assert {str(decision.find(own).feature) for own in able} == {"low-latency"}


def test_without_a_condition_or_an_objective_the_sentences_say_so() -> None:
    found = recommend(upstream="5 Mbit/s", traffic="upload", senders="cubic", seeds=2, set=SHORT)
    (upload,) = found.decisions
    number = len(upload.chosen.among)
    assert f". {number} settings were tried; " in describe_tier(upload)[0]
    told = "This has the highest upload rate." if upload.is_top else "Upload rate is within 5 %"
    assert found.answer.sentences[-1].startswith(told)
    (call,) = recommend(
        upstream="5 Mbit/s",
        traffic="call",
        may_set="buffer-control",
        expect="call.mos.p5 >= 2.0",
        seeds=2,
        set=SHORT,
    ).decisions
    assert call.recommended
    label = call.find(call.recommended).label
    assert describe_tier(call)[0].endswith(
        f". All {len(call.chosen.among)} settings meet all conditions; {label} is the smallest"
        " buffer."
    )
