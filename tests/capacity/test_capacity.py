"""Tests of how many homes a channel carries: the search, the drawing of streets, the results."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import headend
from headend.analysis.estimate import Estimate, estimate_mean
from headend.analysis.ranking import Feasibility
from headend.capacity.counting import JUDGED, Cause, Suffering
from headend.capacity.findings import Fall, Findings, Street
from headend.capacity.request import choose_modems, find_fastest, read_share
from headend.capacity.rule import apply_rule
from headend.capacity.search import Trial, find_crossing, find_failing, find_sure, search
from headend.capacity.sentences import answer_capacity, describe_worst
from headend.capacity.streets import draw_street, find_least, find_shares
from headend.errors import InputError
from headend.loading.loading import load
from headend.scenario.subjects import Vocabulary


def try_numbers(suits: int, sure: int, fails: int, start: int, least: int = 1) -> dict[int, Trial]:
    """Search where a number suits by its mean, surely, and surely not up to and from some."""
    trials: dict[int, Trial] = {}

    def try_out(number: int) -> Trial:
        mean = 0.01 if number <= suits else 0.09
        low = 0.08 if number >= fails else 0.0
        high = 0.02 if number <= sure else 0.1
        trials[number] = Trial(Estimate(mean, low, high, 5), 0.05)
        return trials[number]

    search(start, least, try_out)
    return trials


@pytest.mark.parametrize("start", [3, 70, 100, 900])
def test_the_search_finds_both_ends(start: int) -> None:
    trials = try_numbers(suits=137, sure=80, fails=190, start=start)
    suits, fails = find_crossing(trials)
    assert suits <= 137 < (fails or 0)
    assert (fails or 0) - suits <= max(1, 0.05 * suits)
    assert 72 <= find_sure(trials) <= 80
    assert (find_failing(trials) or 0) >= 190
    assert len(trials) <= 20


def test_nothing_suits_or_everything_does() -> None:
    assert find_crossing(try_numbers(0, 0, 1, start=100)) == (0, 1)
    assert min(try_numbers(0, 0, 1, start=100, least=10)) == 10
    assert find_crossing(try_numbers(10**9, 10**9, 10**10, start=5)) == (320, None)


def test_one_seed_decides_nothing() -> None:
    alone = Trial(estimate_mean([0.0], (0, 1)), 0.05)
    assert alone.suits
    assert alone.standing is Feasibility.UNDECIDED
    tried: list[int] = []

    def try_out(number: int) -> Trial:
        tried.append(number)
        return Trial(Estimate(0.0 if number <= 20 else 1.0, math.nan, math.nan, 1), 0.05)

    search(16, 1, try_out)
    assert sorted(tried) == [16, 20, 21, 22, 24, 32]


def test_what_cannot_be_simulated_bounds_the_search() -> None:
    trials: dict[int, Trial] = {}

    def try_out(number: int) -> Trial:
        share = Estimate(0.0, 0.0, 0.0, 5) if number <= 50 else None
        trials[number] = Trial(share, 0.05)
        return trials[number]

    search(20, 1, try_out)
    suits, fails = find_crossing(trials)
    assert suits <= 50 < (fails or 0)
    assert trials[fails or 0].standing is Feasibility.MISSING


def test_each_seed_is_another_street() -> None:
    shares = {"web": 0.4, "call": 0.1}
    first, again, other = (draw_street(shares, 50, seed) for seed in (1, 1, 2))
    assert first == again != other
    values = dict(first)
    assert len(json.loads(values["flow.web.on"]).split(",")) == 20
    assert len(json.loads(values["flow.call.on"]).split(",")) == 5
    assert find_least(shares) == 5


def test_shares_are_those_of_the_varied_homes() -> None:
    scenario = {
        "host": {"family": {"via": ["cable.home"]}, "firm": {"via": ["cable.office"]}},
        "flow": {
            "web": {"host": "family", "share": "40 %"},
            "mail": {"host": "firm", "share": "10 %"},
            "call": {"host": "family"},
            "game": {"host": "family", "share": "50 %", "on": "1-10"},
        },
    }
    assert find_shares(scenario, "cable.home") == {"web": 0.4}


def test_the_rule_of_thumb() -> None:
    assert [apply_rule(300e6, 2e6, 100e6, factor) for factor in (0.8, 1.4)] == [110, 80]


def test_the_group_of_modems() -> None:
    def make(**counts: int) -> dict[str, Any]:
        modems = {name: {"count": count} for name, count in counts.items()}
        return {"link": {"cable": {"docsis": {"modem": modems}}}}

    assert choose_modems(make(home=100, office=1), None) == ("cable.home", 100)
    assert choose_modems(make(home=100, flat=50), "flat") == ("cable.flat", 50)
    assert choose_modems(make(home=100, flat=50), "cable.flat") == ("cable.flat", 50)
    with pytest.raises(InputError, match="name the group that is varied: --vary NAME"):
        choose_modems(make(home=100, flat=50), None)
    with pytest.raises(InputError, match='did you mean "home"'):
        choose_modems(make(home=100), "hom")
    with pytest.raises(InputError, match="found none"):
        choose_modems({"link": {"line": {"point_to_point": {}}}}, None)


def test_the_fastest_tier() -> None:
    classes = {
        "slow": {"upstream": {"rate": "5 Mbit/s"}, "downstream": {"rate": "50 Mbit/s"}},
        "fast": {"upstream": {"rate": "20 Mbit/s"}, "downstream": {"rate": "200 Mbit/s"}},
        "unused": {"downstream": {"rate": "1 Gbit/s"}},
    }
    cable = {"modem": {"home": {"mix": {"slow": 1, "fast": 1}}}, "service_class": classes}
    scenario = {"link": {"cable": {"docsis": cable}}}
    assert find_fastest(scenario, "cable.home") == {"up": 20e6, "down": 200e6}


@pytest.mark.parametrize("text", ["0 %", "100 %", "five", "5 ms"])
def test_shares_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="--suffering"):
        read_share(text)


#: A street that is full from some twenty homes on: 38 Mbit/s for films of 2 Mbit/s.
SMALL: dict[str, Any] = {
    "title": "A small street",
    "duration": "6 s",
    "warmup": "1 s",
    "link": {
        "cable": {
            "docsis": {
                "preset": "docsis30",
                "plant": {"downstream": {"sc_qam": {"channels": 1}}},
                "modem": {"home": {"count": 16}},
            }
        }
    },
    "host": {"family": {"via": ["cable.home"]}},
    "flow": {
        "film": {
            "host": "family",
            "application": {"cbr": {"rate": "2 Mbit/s", "size": "1400 B"}},
            "direction": "down",
            "start": {"from": "0 s", "to": "20 ms"},
        }
    },
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> headend.Capacity:
    folder = tmp_path_factory.mktemp("capacity") / "small"
    return headend.find_capacity(SMALL, seeds=2, out=folder)


def test_the_number_is_that_of_arithmetic(small: headend.Capacity) -> None:
    # One annex B 256-QAM channel carries 38 Mbit/s with MAC headers: 18 films of 2 Mbit/s.
    suits, fails = small.crossing
    assert (suits, fails) == (18, 19)
    beyond = small.findings.estimate(19, Cause.DOWNSTREAM)
    assert beyond
    assert beyond.mean == 1.0
    assert small.findings.estimate(19, Cause.OWN) == Estimate(0.0, 0.0, 0.0, 2)
    channel = {own.name: own for own in small.findings.channels}["cable.down"]
    assert channel.needed == pytest.approx(2e6, rel=0.06)


def test_its_folder_is_read_back(small: headend.Capacity) -> None:
    assert small.folder
    again = load(small.folder)
    assert isinstance(again, headend.Capacity)
    assert again.crossing == small.crossing
    assert again.answer == small.answer
    assert again.figures == ["suffering"]
    page = (small.folder / "report.html").read_text()
    assert "The rule of thumb" not in page  # no tier has a rate
    assert "19 are too many" in page


def make_findings(shares: dict[int, tuple[float, ...]], most: float = 0.05) -> Findings:
    """Make findings of a hundred people, of whom so many suffer in each street of a number."""
    rows = [
        {
            "homes": homes,
            "seed": seed,
            "subject": "film",
            "metric": metric,
            "value": value,
            "error": None,
        }
        for homes, streets in shares.items()
        for seed, share in enumerate(streets, start=1)
        for metric, value in ((JUDGED, 100.0), (str(Cause.DOWNSTREAM), 100 * share))
    ]
    table = pl.DataFrame(rows, schema_overrides={"error": pl.String})
    seeds = tuple(range(1, len(next(iter(shares.values()))) + 1))
    return Findings("small", table, seeds, tuple(shares), most, {})


def test_the_worst_street_is_of_the_number_that_the_answer_speaks_of() -> None:
    found = make_findings({10: (0.0, 0.3), 20: (0.1, 0.2), 40: (0.5, 0.9)}, most=0.16)
    assert found.crossing == (20, 40)
    assert found.worst == Street(40, 2, 0.9)
    assert make_findings({10: (0.0, 0.0), 20: (0.0, 0.0)}).worst is None


def test_a_mean_that_falls_with_more_homes_is_told() -> None:
    falling = make_findings({10: (0.01, 0.03), 20: (0.0, 0.02), 40: (0.4, 0.5)})
    assert falling.find_fall([10, 20, 40]) == Fall("people", 10, 0.02, 20, 0.01)
    assert falling.find_fall([20, 40]) is None
    told = (
        "That all suffer less with 20 homes (1 %) than with 10 (2 %) is chance: each number of"
        " homes draws streets of its own, and more seeds even that out."
    )
    matrix = answer_capacity(falling).matrix
    assert matrix
    assert matrix.note.endswith(told)
    rising = answer_capacity(make_findings({10: (0.0, 0.02), 20: (0.01, 0.03), 40: (0.4, 0.5)}))
    assert rising.matrix
    assert "is chance" not in rising.matrix.note


def test_the_worst_street_is_a_scenario_in_which_as_many_suffer(small: headend.Capacity) -> None:
    assert small.folder
    street = small.worst
    assert street == Street(19, 1, 1.0)
    path = small.folder / "worst-19-homes.toml"
    result = headend.run(path)
    taken = Suffering().take(result, Vocabulary({}, [], {}, []))
    counted = dict(taken.select("measure", "value").iter_rows())
    point = small.table.filter((pl.col("homes") == 19) & (pl.col("seed") == street.seed))
    kept = dict(point.select("measure", "value").iter_rows())
    assert counted == kept
    assert kept["film.downstream"] == kept["film.judged"] == 19
    told = describe_worst(street, "worst-19-homes.toml")
    assert told.endswith("(seed 1: 100 % suffer from sharing): headend run worst-19-homes.toml")
    assert told in (small.folder / "report.html").read_text().replace("\N{NO-BREAK SPACE}", " ")


def test_a_street_whose_homes_were_drawn_is_written_with_them() -> None:
    film = {**SMALL["flow"]["film"], "share": "50 %"}
    found = headend.find_capacity({**SMALL, "flow": {"film": film}}, seeds=2)
    street = found.worst
    assert street
    (content,) = (tomllib.loads(own.decode()) for own in found.files.values())
    drawn = dict(draw_street({"film": 0.5}, street.homes, street.seed))
    assert content["flow"]["film"]["on"] == json.loads(drawn["flow.film.on"])
    assert content["link"]["cable"]["docsis"]["modem"]["home"]["count"] == street.homes
    assert content["seed"] == street.seed
    assert content["flow"]["film"]["application"] == film["application"]


def test_a_scenario_without_people_is_refused() -> None:
    flow = {"host": "family", "application": "bulk", "direction": "up"}
    scenario = {**SMALL, "flow": {"upload": flow}}
    with pytest.raises(InputError, match="nobody in it can suffer"):
        headend.find_capacity(scenario, seeds=1)


def test_the_number_of_homes_cannot_be_set_besides() -> None:
    with pytest.raises(InputError, match="the number of homes is what is varied"):
        headend.find_capacity(SMALL, set={"link.cable.docsis.modem.home.count": 3})


def test_the_sure_number_is_below_the_crossing(tmp_path: Path) -> None:
    found = headend.find_capacity(SMALL, seeds=2, suffering="50 %", out=tmp_path / "half")
    assert found.sure <= found.crossing[0]
    assert found.findings.failing is None or found.findings.failing > found.crossing[0]


def test_a_group_has_one_name_also_where_it_is_small() -> None:
    few = {**SMALL["link"]["cable"]["docsis"], "modem": {"home": {"count": 2}}}
    scenario = {**SMALL, "link": {"cable": {"docsis": few}}}
    found = headend.find_capacity(scenario, seeds=1)
    assert found.findings.groups == ["film"]


def test_where_nothing_suits_the_least_number_is_named() -> None:
    # Each home has two films of 30 Mbit/s, and the channel carries 38.
    film = {**SMALL["flow"]["film"], "count": 2}
    film["application"] = {"cbr": {"rate": "30 Mbit/s", "size": "1400 B"}}
    found = headend.find_capacity({**SMALL, "flow": {"film": film}}, seeds=1)
    assert found.crossing == (0, 1)
    assert found.answer.sentences[0] == "Not even 1 home: more than 5 % of people suffer."
