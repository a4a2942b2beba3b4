"""The results of a recommendation: kept, gone on with, read back, and judged anew."""

from __future__ import annotations

import json
import pickle
import shutil
import threading
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import headend
from headend.analysis.expect import list_quantities
from headend.cli.main import app
from headend.errors import InputError
from headend.recommendation import Recommendation, run_request
from headend.recommendation.candidate import Feature
from headend.recommendation.experiment import prepare_tier
from headend.recommendation.exporting import write_scenario_file
from headend.recommendation.page import write_recommendation
from headend.recommendation.people import make_people
from headend.recommendation.request import Request
from headend.recommendation.result import load_recommendation
from headend.recommendation.tier import Tier
from headend.results.seal import read_seals, seal_page
from headend.running.executor import Progress
from headend.running.job import Job
from headend.scenario.source import read_scenario, write_toml
from headend.scenario.subjects import Vocabulary

TABLES = ("results.parquet", "summary.parquet", "manifest.json")

#: All files of a folder besides points.
FILES = (*TABLES, "10M.toml", "report.html", "SHA256SUMS")


def make_tier(rate: float = 10, name: str = "") -> Tier:
    link = {
        "preset": "docsis31",
        "upstream": {"rate": f"{rate:g} Mbit/s"},
        "downstream": {"rate": f"{rate * 10:g} Mbit/s"},
    }
    return Tier(name or f"{rate:g} Mbit/s", rate * 1e6, rate * 1e7, link)


REQUEST = Request(
    "tiers",
    (make_tier(),),
    people=make_people(("call", "upload")),
    features=(Feature.AQM, Feature.LOW_LATENCY),
    expect=("call.mos.p5 >= 3.0", "upload.goodput >= 20 %"),
    seeds=(1, 2),
    title="What shall 10 Mbit/s have?",
    overrides=(("duration", "16 s"), ("warmup", "4 s")),
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    """A recommendation whose folder no test changes."""
    return run_request(REQUEST, out=tmp_path_factory.mktemp("kept") / "results")


@pytest.fixture
def own(kept: Recommendation, tmp_path: Path) -> Path:
    """A copy of the folder, which a test may change."""
    assert kept.folder
    shutil.copytree(kept.folder, tmp_path / "results")
    return tmp_path / "results"


def read(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


def test_the_folder_holds_tables_the_manifest_and_a_scenario_under_seals(
    kept: Recommendation,
) -> None:
    assert kept.folder
    assert set(read_seals(kept.folder)) == {*TABLES, "10M.toml"}
    assert len(list((kept.folder / "points").iterdir())) == 2 * len(kept.tiers[0][1])
    assert headend.verify(kept.folder).damage == []


def test_the_summary_has_a_row_for_each_tier_choice_and_measure(kept: Recommendation) -> None:
    keys = ["tier", "choice", "measure"]
    assert kept.summary.select(keys).is_duplicated().sum() == 0
    row = kept.summary.filter(measure="upload.goodput", choice="AQM 10 ms").row(0, named=True)
    values = kept.table.filter(measure="upload.goodput", choice="AQM 10 ms")["value"].to_list()
    assert row["count"] == 2
    assert row["mean"] == pytest.approx(sum(values) / 2)
    assert row["low"] < row["mean"] < row["high"]


def test_what_is_read_back_is_what_was_written(kept: Recommendation) -> None:
    assert kept.folder
    found = load_recommendation(kept.folder)
    assert (found.request, found.tiers, found.notes) == (kept.request, kept.tiers, kept.notes)
    assert found.table.equals(kept.table, null_equal=True)
    assert found.decisions == kept.decisions
    assert found.answer == kept.answer


def test_reading_back_needs_no_engine(
    kept: Recommendation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.running.job.execute", None)
    monkeypatch.setattr("headend.scenario.source.Text.load", None)
    assert kept.folder
    assert load_recommendation(kept.folder).decisions == kept.decisions


def test_a_second_run_runs_no_point_also_under_other_conditions(own: Path) -> None:
    told: list[Progress] = []
    other = replace(
        REQUEST,
        expect=(
            "cable.up.delay.p95 <= 1 s",
            "call.down.late.mean <= 50 %",
            "cable.up.channel.full <= 99 %",
        ),
        prefer="least cable.up.utilisation",
    )
    found = run_request(other, out=own, on_progress=told.append)
    assert told[-1].kept == told[-1].total == told[-1].done
    measures = set(found.table["measure"])
    assert {name for term in found.tiers[0][2].terms for name in term.measures} <= measures
    assert found.decisions[0].recommended
    assert load_recommendation(own).request == other


def test_equal_requests_give_equal_bytes(kept: Recommendation, tmp_path: Path) -> None:
    assert kept.folder
    run_request(REQUEST, out=tmp_path / "again")
    assert read(tmp_path / "again") == read(kept.folder)


def test_a_stopped_run_is_gone_on_with_and_gives_the_same_bytes(
    kept: Recommendation, tmp_path: Path
) -> None:
    folder, stop = tmp_path / "results", threading.Event()
    part = run_request(
        REQUEST, out=folder, stop=stop, on_progress=lambda at: stop.set() if at.done >= 3 else None
    )
    assert not part.complete
    assert not json.loads((folder / "manifest.json").read_text())["complete"]
    assert list(folder.glob("*.toml")) == []
    with pytest.raises(InputError, match="was not run to its end; run it again to go on"):
        load_recommendation(folder)
    told: list[Progress] = []
    assert run_request(REQUEST, out=folder, on_progress=told.append).complete
    assert told[-1].kept >= 3
    assert kept.folder
    assert read(folder) == read(kept.folder)


def test_an_old_page_is_gone_before_the_first_new_point(own: Path) -> None:
    page = own / "report.html"
    page.write_bytes(seal_page("<p>old</p>"))
    there: list[bool] = []
    more = replace(REQUEST, seeds=(1, 2, 3))
    run_request(more, out=own, on_progress=lambda _: there.append(page.exists()), report=False)
    assert there
    assert not any(there)


def test_a_folder_of_other_tiers_is_refused_and_replaced_with_force(own: Path) -> None:
    other = replace(REQUEST, tiers=(make_tier(20),), seeds=(1,), features=(Feature.AQM,))
    with pytest.raises(InputError, match="of 10 Mbit/s and not of 20 Mbit/s; choose another"):
        run_request(other, out=own)
    run_request(other, out=own, force=True)
    assert [path.name for path in own.glob("*.toml")] == ["20M.toml"]
    assert headend.verify(own).damage == []


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something other than a recommendation's results"):
        run_request(REQUEST, out=tmp_path)


def test_other_conditions_are_judged_without_the_engine_running(
    kept: Recommendation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headend.running.job.execute", None)
    assert kept.folder
    found = load_recommendation(kept.folder).judge_again(
        "upload.goodput >= 99 %", "least cable.up.delay.p95"
    )
    assert found.decisions[0].recommended is None
    assert found.decisions[0].criteria.constraints[0].limit == "9900000 bit/s"
    assert found.request.objective == "least cable.up.delay.p95"
    easy = found.judge_again("call.up.mos.p5 > 1.5")
    objective = easy.decisions[0].objective
    assert objective
    means = {setting: own.mean for setting, own in objective.estimates.items()}
    assert easy.decisions[0].recommended in [
        own
        for own in means
        if own == min(means, key=means.__getitem__)
        or objective.is_tie(own, min(means, key=means.__getitem__))
    ]


def test_judging_again_gives_the_bytes_of_a_run_with_these_conditions(
    own: Path, tmp_path: Path
) -> None:
    expect = ("call.goodput + upload.goodput >= 1 Mbit/s",)
    write_recommendation(load_recommendation(own).judge_again(expect))
    run_request(replace(REQUEST, expect=expect), out=tmp_path / "fresh")
    assert read(own) == read(tmp_path / "fresh")


def test_a_page_of_other_conditions_does_not_stay(own: Path) -> None:
    found = load_recommendation(own)
    write_recommendation(found)
    write_recommendation(found, report=False)
    assert (own / "report.html").is_file()
    write_recommendation(found.judge_again("call.mos.p5 >= 4.2"), report=False)
    assert not (own / "report.html").exists()


def test_a_sum_is_that_of_its_parts(kept: Recommendation) -> None:
    name = "call.goodput + upload.goodput"
    table = kept.judge_again(f"{name} >= 1 Mbit/s").table
    of = {own: table.filter(measure=own)["value"].to_list() for own in [name, *name.split(" + ")]}
    assert len(of[name]) == 2 * len(kept.tiers[0][1])
    call, upload = name.split(" + ")
    assert of[name] == [one + other for one, other in zip(of[call], of[upload], strict=True)]


def test_a_quantity_that_was_not_kept_is_told_in_one_line(kept: Recommendation) -> None:
    assert kept.folder
    older = replace(kept, table=kept.table.filter(pl.col("measure") != "cable.up.delay.p95"))
    with pytest.raises(
        InputError,
        match=r'--expect "cable.up.delay.p95 <= 1 s": cable.up.delay.p95 was not kept .* run the'
        r" recommendation again",
    ):
        older.judge_again("cable.up.delay.p95 <= 1 s")
    with pytest.raises(InputError, match='no flow or queue is called "cal"; did you mean "call"'):
        kept.judge_again("cal.mos.p5 >= 4")


def test_every_candidate_keeps_what_an_expectation_would_measure(kept: Recommendation) -> None:
    tier, candidates, _ = kept.tiers[0]
    text = read_scenario(kept.request.write_scenario(tier, candidates[0]))
    scenario = text.load(kept.request.overrides).scenario
    names = set(list_quantities(Vocabulary.from_scenario(scenario)))
    assert {
        "call.mos.p5",
        "upload.up.goodput",
        "cable.up.delay.p95",
        "cable.up.utilisation",
    } <= names
    for label in kept.table["choice"].unique():
        assert names <= set(kept.table.filter(choice=label)["measure"])


def test_the_worse_direction_of_a_call_counts(kept: Recommendation) -> None:
    names = ("call.mos.p5", "call.up.mos.p5", "call.down.mos.p5")
    whole, up, down = (kept.table.filter(measure=name)["value"].to_list() for name in names)
    both = [values for values in zip(whole, up, down, strict=True) if None not in values]
    assert any(above != below for _, above, below in both)
    assert all(value == min(above, below) for value, above, below in both)


def test_the_scenario_of_a_tier_is_the_one_that_was_run(kept: Recommendation) -> None:
    decision = kept.decisions[0]
    content = tomllib.loads(write_scenario_file(kept.request, decision))
    assert content["expect"] == {
        "call_mos_p5": "call.mos.p5 >= 3.0",
        "upload_goodput": "upload.goodput >= 2000000 bit/s",
    }
    assert decision.chosen.setting
    result = headend.run(content, seed=1)
    row = kept.table.filter(setting=decision.chosen.setting, seed=1, measure="upload.goodput")
    goodput = result.flows.filter(flow="upload", direction="up")["goodput_bps"].item()
    assert goodput == row["value"].item()
    assert all(own.met for own in result.expectations)


def test_the_scenario_of_a_tier_has_the_settings_of_all_points() -> None:
    request = replace(
        REQUEST, overrides=(*REQUEST.overrides, ("flow.call.rtt", "80 ms"), ("queue", "codel"))
    )
    decision = run_request(replace(request, seeds=(1,))).decisions[0]
    content = tomllib.loads(write_scenario_file(request, decision))
    assert content["flow"]["call"]["rtt"] == "80 ms"
    assert content["link"]["cable"]["docsis"]["upstream"]["queue"] == "codel"
    assert content["duration"] == "16 s"


def test_tables_written_as_toml_read_back_the_same() -> None:
    content = {
        "seed": 1,
        "empty": {},
        "flow": {"a call": {"application": {"web": {"page": '2 "MB"'}}, "on": True}, "b": {}},
        "link": {"cable": {"docsis": {"upstream": {"rate": 1.5, "list": [{"x": 1}, {"x": 2}]}}}},
    }
    assert tomllib.loads(write_toml(content)) == content


@pytest.fixture
def exported(own: Path) -> Path:
    assert run("export", str(own), "--csv", str(own.parent / "t")) == (
        0,
        f"2 tables in {own.parent / 't'}\n",
    )
    return own.parent / "t"


def test_the_tables_are_exported(exported: Path, kept: Recommendation) -> None:
    results = pl.read_csv(exported / "results.csv", infer_schema_length=None)
    assert results.columns == kept.table.columns
    assert results.height == kept.table.height
    assert pl.read_csv(exported / "summary.csv")["choice"].n_unique() == len(kept.tiers[0][1])


def test_commands_know_the_kind(own: Path) -> None:
    code, told = run("verify", str(own))
    assert (code, told.endswith("all as they were written.\n")) == (0, True)
    code, told = run("report", str(own))
    assert (code, told) == (0, f"Report: {own / 'report.html'}\n")
    assert run("figures", str(own), "--list")[0] == 0
    code, told = run("report", str(own), str(own), "--out", str(own.parent / "x.html"))
    assert code == 2
    assert "holds the results of a recommendation, which has a page of its own" in told


def test_a_run_does_not_take_the_place_of_a_recommendation(own: Path) -> None:
    with pytest.raises(InputError, match="holds the points of a recommendation"):
        headend.run(own / "10M.toml", out=own, force=True)


def test_conditions_in_their_parts_and_no_design_are_read_too(own: Path) -> None:
    from headend.results.folder import encode_json, write_file
    from headend.results.seal import seal

    manifest, kept = json.loads((own / "manifest.json").read_text()), load_recommendation(own)
    del manifest["design"]
    for content, (_, _, wish) in zip(manifest["tiers"], kept.tiers, strict=True):
        parts = [
            {
                "text": one.text,
                "quantity": list(one.term.measures),
                "operator": one.operator,
                "bound": one.limit,
            }
            for one in wish.constraints
        ]
        objective = list(wish.objective.measures) if wish.objective else []
        content["wish"] = {"hold": parts, "most": objective}
    write_file(encode_json(manifest), own / "manifest.json")
    seal(own, list(read_seals(own)))
    found = load_recommendation(own)
    assert (found.tiers, found.decisions) == (kept.tiers, kept.decisions)


def test_a_damaged_table_is_told(own: Path) -> None:
    with (own / "results.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match=r"results\.parquet: damaged: it has changed"):
        load_recommendation(own)


def test_a_damaged_manifest_is_told_in_one_line(own: Path) -> None:
    from headend.results.folder import encode_json, write_file
    from headend.results.seal import seal

    manifest = json.loads((own / "manifest.json").read_text())
    del manifest["tiers"][0]["wish"]
    write_file(encode_json(manifest), own / "manifest.json")
    seal(own, list(read_seals(own)))
    with pytest.raises(InputError, match=r"manifest\.json: damaged: 'wish'"):
        headend.load(own)


def test_load_gives_a_recommendation_that_a_notebook_shows(kept: Recommendation) -> None:
    assert kept.folder
    found = headend.load(kept.folder)
    assert isinstance(found, headend.Recommendation)
    assert repr(found) == repr(kept)
    assert repr(found).startswith("<Recommendation 10 Mbit/s: ")
    assert kept.answer.question in found._repr_html_()


def test_tables_are_written_from_python(kept: Recommendation, tmp_path: Path) -> None:
    files = kept.to_csv(tmp_path / "tables", tables=["summary"])
    assert [file.name for file in files] == ["summary.csv"]


def test_arguments_from_python_are_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="upstream: expected a text or several of them, found 5"):
        headend.recommend(upstream=5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expect: expected conditions as text"):
        run_request(replace(REQUEST, seeds=(1,))).judge_again([5])  # type: ignore[list-item]
    with pytest.raises(InputError, match="expected tiers: --upstream"):
        headend.recommend()


def test_a_point_that_is_run_on_another_machine_is_the_same() -> None:
    job = next(job for _, job in prepare_tier(REQUEST, REQUEST.tiers[0]).points)
    assert isinstance(job, Job)
    here, there = job.run(), pickle.loads(pickle.dumps(job.pack())).run()
    assert here is not None
    assert here.equals(there, null_equal=True)
