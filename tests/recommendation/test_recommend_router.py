"""Recommendations for the home's own router: what is tried, what holds, and what to type."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headend.cli.main import app
from headend.errors import InputError
from headend.recommendation import Recommendation, recommend
from headend.recommendation.candidate import Feature, list_candidates
from headend.recommendation.page import render_recommendation
from headend.recommendation.request import Request
from headend.recommendation.router import Router, write_commands
from headend.recommendation.sentences import describe_tier
from headend.recommendation.tier import Tier
from headend.recommendation.writing import list_tlvs

SHORT = {"duration": "36 s", "warmup": "6 s"}

TIER = Tier("10 Mbit/s", 10e6, 100e6, {"preset": "docsis31", "upstream": {}, "downstream": {}})


def call(*words: str) -> Result:
    return CliRunner().invoke(app, ["recommend", *words], env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def found() -> Recommendation:
    """Recommend a router for one tier, with a call beside an upload."""
    return recommend(
        upstream="10 Mbit/s",
        traffic="call, upload",
        may_set="router",
        senders="cubic",
        seeds=2,
        set=SHORT,
    )


def test_only_a_router_is_set_and_the_modem_is_there_to_compare_with() -> None:
    tried = list_candidates(TIER, (Feature.ROUTER,))
    settable = {own.feature for own in tried if own.is_settable}
    assert settable == {Feature.ROUTER}
    assert {own.feature for own in tried} - settable == {
        Feature.ROUTER_AND_AQM,
        Feature.LOW_LATENCY,
        Feature.DELIVERED,
        Feature.AQM_OFF,
    }
    # Before a modem whose AQM nobody knows of, the setting has to hold without it.
    alone = [own for own in tried if own.feature is Feature.ROUTER]
    assert all("drop_tail" in own.upstream["queue"] for own in alone)
    edges = {own.router.share for own in alone if own.router and not own.is_settable}
    assert edges == {100, 105}


def test_a_modem_of_before_has_no_aqm_to_switch_off() -> None:
    tier = Tier("5 Mbit/s", 5e6, 50e6, {"preset": "docsis30", "upstream": {}, "downstream": {}})
    tried = list_candidates(tier, (Feature.ROUTER,))
    assert {own.feature for own in tried} == {Feature.ROUTER, Feature.DELIVERED}


def test_a_modem_that_is_known_stays_as_it_is() -> None:
    today = {"upstream": {"queue": {"buffer_control": {"target": "64 KiB"}}}}
    tier = Tier("10 Mbit/s", 10e6, 100e6, TIER.link, today)
    tried = list_candidates(tier, (Feature.ROUTER,))
    routers = [own for own in tried if own.feature is Feature.ROUTER]
    assert all(own.upstream == today["upstream"] for own in routers)
    assert tried[0].feature is Feature.TODAY
    assert not tried[0].is_settable


def test_a_router_rescues_the_call_and_says_what_to_type(found: Recommendation) -> None:
    (decision,) = found.decisions
    setting = decision.recommended
    assert setting
    router = decision.find(setting).router
    assert router
    assert not router.is_edge
    off = decision.aqm_off
    assert off
    measured = decision.terms["call.mos.p5"].estimates
    assert measured[setting].mean > 4 > 2 > measured[off].mean
    text = " ".join(describe_tier(decision))
    assert "Put a router before the modem" in text
    assert "105 %" in text
    assert list_tlvs(found.request, decision) == ()
    page = render_recommendation(found)
    for command in write_commands(decision.tier, router):
        assert command.replace("&", "&amp;").replace(">", "&gt;") in page


def test_the_scenario_of_a_recommended_router_has_it(found: Recommendation) -> None:
    (decision,) = found.decisions
    router = decision.find(decision.recommended or 0).router
    (text,) = found.list_files().values()
    assert router
    assert tomllib.loads(text.decode())["router"] == router.write(TIER)


def test_a_shaper_has_a_burst_of_a_millisecond() -> None:
    lines = write_commands(TIER, Router("fq_codel", 90))
    assert lines[1] == (
        "tc class replace dev eth0 parent 1: classid 1:1 htb rate 9000kbit burst 1514b cburst 1514b"
    )
    assert lines[-2].endswith("htb rate 90000kbit burst 11250b cburst 11250b")


def test_the_command_line_has_the_commands(tmp_path: Path) -> None:
    tier = ("--upstream", "10 Mbit/s", "--traffic", "call, upload", "--senders", "cubic")
    run = ("--seeds", "1", "--set", "duration=16 s", "--set", "warmup=4 s")
    result = call("--router", *tier, *run, "--out", str(tmp_path / "kept"), "--no-report", "--json")
    (own,) = json.loads(result.stdout)["tiers"]
    assert own["router"]["commands"][0].startswith("tc qdisc replace dev eth0 root")
    assert own["router"]["sqm"]["Upload speed (kbit/s)"] == f"{own['router']['up_bps'] / 1e3:.0f}"


def test_a_file_of_a_modem_is_not_written_for_a_router() -> None:
    result = call("--router", "--upstream", "10 Mbit/s", "--write", "new.cm")
    assert result.exit_code == 2
    assert "--write new.cm: a modem's file does not set a router" in result.stderr


@pytest.mark.parametrize(
    "override",
    [
        ("link.cable.docsis.upstream.capacity", "{steps=[['0 s', '9 Mbit/s']]}"),
        ("link.cable.docsis.upstream.capacity.steps", "[['0 s', '9 Mbit/s']]"),
    ],
)
def test_autorate_and_low_shares_are_tried_where_the_line_varies(override: tuple[str, str]) -> None:
    def list_labels(*overrides: tuple[str, str]) -> set[str]:
        request = Request("any", (TIER,), features=(Feature.ROUTER,), overrides=overrides)
        return {own.label for own in request.list_candidates(TIER)}

    assert list_labels(override) - list_labels() >= {"cake 95 % autorate", "cake 25 %"}
    steady = ("link.cable.docsis.upstream.capacity", "9 Mbit/s")
    assert list_labels(steady) == list_labels()


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match='nothing is called "rooter"; did you mean "router"'):
        recommend(upstream="10 Mbit/s", may_set="rooter")
