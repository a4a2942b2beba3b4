"""Tables of results as files for spreadsheets and other programs."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import headend
from headend.engine.columns import TABLES
from headend.errors import InputError
from headend.loading.tables import export_tables
from headend.results.export import check_target, export_results
from headend.results.folder import encode_json, encode_table
from headend.results.record import RESULT_FORMAT
from headend.results.seal import seal

LINE: dict[str, Any] = {
    "duration": "1 s",
    "link": {"line": {"point_to_point": {"up": {"rate": "2 Mbit/s"}}}},
    "flow": {
        "up": {"application": "bulk", "direction": "up"},
        "ping": {"application": "ping", "rtt": "20 ms"},
    },
}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def run(tmp_path: Path) -> headend.Result:
    return headend.run(LINE, out=tmp_path / "run", report=False)


def test_every_table_of_a_run_is_a_file_of_its_name(run: headend.Result, tmp_path: Path) -> None:
    paths = export_tables(tmp_path / "run", tmp_path / "new" / "tables")
    assert [path.name for path in paths] == [f"{name}.csv" for name in TABLES]
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(
        path.name for path in paths
    )
    for path in paths:
        header = path.read_text("utf-8").partition("\n")[0]
        assert header.split(",") == run.tables[path.stem].columns


def test_numbers_keep_their_precision_and_missing_values_are_empty(
    run: headend.Result, tmp_path: Path
) -> None:
    export_tables(tmp_path / "run", tmp_path, tables=["flows", "queues", "summary"])
    for name in ("flows", "queues", "summary"):
        written, rows = read(tmp_path / f"{name}.csv"), run.tables[name].to_dicts()
        assert len(written) == len(rows) > 0
        for own, row in zip(written, rows, strict=True):
            for key, value in row.items():
                if isinstance(value, float):
                    assert own[key] == "" if math.isnan(value) else float(own[key]) == value
                else:
                    assert own[key] == str(value)
    # The index of one bulk flow does not exist.
    assert read(tmp_path / "summary.csv")[0]["jain_index"] == ""


def test_json_lines_hold_the_same(run: headend.Result, tmp_path: Path) -> None:
    (path,) = export_tables(tmp_path / "run", tmp_path, kind="jsonl", tables=["summary"])
    assert path.name == "summary.jsonl"
    (row,) = map(json.loads, path.read_text("utf-8").splitlines())
    assert row["jain_index"] is None
    assert row["events"] == run.summary["events"][0]


def test_a_comparison_has_all_its_runs_in_each_file(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    choices = {"queue": ["drop_tail", "codel"]}
    comparison = headend.compare(LINE, choices, seeds=[3, 5], out=folder, report=False)
    export_tables(folder, tmp_path / "read", tables=["flows", "summary"])
    rows = read(tmp_path / "read" / "summary.csv")
    assert [(row["label"], row["seed"]) for row in rows] == [
        ("drop_tail", "3"),
        ("drop_tail", "5"),
        ("codel", "3"),
        ("codel", "5"),
    ]
    assert list(rows[0])[:3] == ["label", "seed", "simulated_ns"]
    export_results(comparison.results, tmp_path / "kept", tables=["flows", "summary"])
    for name in ("flows.csv", "summary.csv"):
        read_back = (tmp_path / "read" / name).read_bytes()
        assert read_back == (tmp_path / "kept" / name).read_bytes()


def test_a_grid_has_its_figures_within_each_tier(tmp_path: Path) -> None:
    """A difference is to the first choice of the same tier, never across tiers."""
    choices = {
        "queue": ["drop_tail", "codel"],
        "link.line.point_to_point.up.rate": ["1 Mbit/s", "4 Mbit/s"],
    }
    comparison = headend.compare(LINE, choices, seeds=2, out=tmp_path / "grid", report=False)
    export_tables(tmp_path / "grid", tmp_path / "read", tables=["figures"])
    table = comparison.figures_table
    comparison.to_csv(tmp_path / "kept", tables=["figures"])
    assert (tmp_path / "read/figures.csv").read_bytes() == (
        tmp_path / "kept/figures.csv"
    ).read_bytes()
    rows = read(tmp_path / "read" / "figures.csv")
    assert len(rows) == table.height
    assert set(table["tier"]) == {"upstream rate 1 Mbit/s", "upstream rate 4 Mbit/s"}
    assert set(table["choice"]) == {"drop_tail", "codel"}
    for (_, choice), own in table.group_by("tier", "choice"):
        assert own["difference"].is_null().all() == (choice == "drop_tail")
        assert (own["seeds"] == 2).all()
    upload = table.filter(figure="goodput").rows_by_key("tier", named=True)
    for base, other in upload.values():
        assert other["unit"] == "bit/s"
        assert math.isclose(other["difference"], other["mean"] - base["mean"], abs_tol=1.0)
        assert base["low"] <= base["mean"] <= base["high"]


def test_results_at_hand_are_written_as_those_of_a_folder(
    run: headend.Result, tmp_path: Path
) -> None:
    paths = export_results([run], tmp_path / "kept")
    export_tables(tmp_path / "run", tmp_path / "read")
    for path in paths:
        assert path.read_bytes() == (tmp_path / "read" / path.name).read_bytes()


def test_a_sweep_has_its_points_and_its_means(tmp_path: Path) -> None:
    grid = {"flow.ping.rtt": ["10 ms", "20 ms"]}
    content = {"scenario": LINE, "grid": grid, "seeds": 2, "measures": {"rtt": "ping.rtt.p50"}}
    found = headend.sweep(content, out=tmp_path / "sweep", report=False)
    paths = export_tables(tmp_path / "sweep", tmp_path / "tables")
    assert [path.name for path in paths] == ["results.csv", "summary.csv"]
    points = read(paths[0])
    assert [float(row["value"]) for row in points] == found.table["value"].to_list()
    assert {row["flow.ping.rtt"] for row in points} == {"10 ms", "20 ms"}
    assert points[0]["error"] == ""
    means = read(paths[1])
    assert [float(row["mean"]) for row in means] == found.summary["mean"].to_list()


def write_study(folder: Path) -> None:
    """Write what a study leaves behind, without its figures and its report."""
    folder.mkdir()
    points = pl.DataFrame(
        {"queue": ["codel", "pie"], "seed": [1, 1], "delay": [0.1 + 0.2, math.nan]}
    )
    claims = [
        {
            "id": "less",
            "verdict": "holds",
            "measured": "3, 4",
            "interval": [1.5, 2.0],
            "limits": {},
        },
        {"id": "more", "verdict": "differs", "measured": "", "interval": None, "limits": {"a": 1}},
    ]
    manifest = {"headend": "0", "format": RESULT_FORMAT, "kind": "study", "study": "x"}
    (folder / "points.parquet").write_bytes(encode_table(points))
    (folder / "manifest.json").write_bytes(encode_json(manifest))
    (folder / "claims.json").write_bytes(encode_json({"claims": claims, "figures": []}))
    seal(folder, ["points.parquet", "manifest.json", "claims.json"])


def test_a_study_has_its_points_and_its_claims(tmp_path: Path) -> None:
    write_study(tmp_path / "study")
    points, claims = export_tables(tmp_path / "study", tmp_path / "tables")
    assert (points.name, claims.name) == ("points.csv", "claims.csv")
    assert [row["delay"] for row in read(points)] == [str(0.1 + 0.2), ""]
    assert read(claims) == [
        {
            "id": "less",
            "verdict": "holds",
            "measured": "3, 4",
            "interval": "[1.5, 2.0]",
            "limits": "",
        },
        {"id": "more", "verdict": "differs", "measured": "", "interval": "", "limits": '{"a": 1}'},
    ]


def test_a_study_that_was_stopped_is_refused(tmp_path: Path) -> None:
    write_study(tmp_path / "study")
    (tmp_path / "study" / "claims.json").unlink()
    with pytest.raises(InputError, match="was not run to its end; run it again to go on"):
        export_tables(tmp_path / "study", tmp_path / "tables")
    assert not (tmp_path / "tables").exists()


def refuse(tmp_path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        export_tables(tmp_path / "run", options.pop("target", tmp_path / "tables"), **options)
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_what_cannot_be_written_is_refused_before_anything_is(
    run: headend.Result, tmp_path: Path
) -> None:
    assert (
        refuse(tmp_path, tables=["flow"]) == 'run: no table is called "flow"; did you mean "flows"?'
    )
    assert (
        refuse(tmp_path, kind="xls")
        == 'no kind of table file is called "xls"; there are csv, jsonl'
    )
    assert refuse(tmp_path, tables="flows") == "tables: expected a list of names, found 'flows'"
    assert not (tmp_path / "tables").exists()
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "queues.csv").write_text("mine", encoding="utf-8")
    assert refuse(tmp_path) == (
        "tables/queues.csv: exists; choose another folder, or replace it with --force (from"
        " Python, force=True)"
    )
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["queues.csv"]
    assert (tmp_path / "tables" / "queues.csv").read_text("utf-8") == "mine"
    export_tables(tmp_path / "run", tmp_path / "tables", tables=["queues"], force=True)
    assert len(read(tmp_path / "tables" / "queues.csv")) == run.queues.height
    target = tmp_path / "run"
    assert (
        refuse(tmp_path, target=target)
        == "run: holds results; choose another folder for the tables"
    )
    target = tmp_path / "run" / "manifest.json"
    assert refuse(tmp_path, target=target).endswith(
        "manifest.json: expected a folder to write tables to, found a file"
    )
    assert headend.verify(tmp_path / "run").damage == []


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a results folder"):
        export_tables(tmp_path, tmp_path / "tables")


def test_a_target_can_be_refused_before_a_run(tmp_path: Path) -> None:
    assert check_target(tmp_path / "new", list(TABLES)) == tmp_path / "new"
    assert not (tmp_path / "new").exists()
    (tmp_path / "flows.csv").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"flows\.csv: exists; "):
        check_target(tmp_path, list(TABLES))
    check_target(tmp_path, list(TABLES), force=True)
    with pytest.raises(
        InputError, match=r"flows\.csv/t: cannot be written: .*flows\.csv is a file$"
    ):
        check_target(tmp_path / "flows.csv" / "t", list(TABLES))


def test_damaged_results_are_not_exported(run: headend.Result, tmp_path: Path) -> None:
    path = tmp_path / "run" / "flows.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="damaged"):
        export_tables(tmp_path / "run", tmp_path / "tables", tables=["queues"])


def test_that_a_run_was_stopped_is_told(
    run: headend.Result, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "run"
    export_tables(folder, tmp_path / "whole")
    assert caplog.messages == []
    manifest = {**run.manifest, "partial": True, "duration_ns": 60 * 10**9}
    replace(run, manifest=manifest).save(tmp_path / "stopped", report=False)
    export_tables(tmp_path / "stopped", tmp_path / "part", tables=["flows"])
    told = f"{tmp_path / 'stopped'}: partial, stopped before its end (1 s of 60 s)"
    assert caplog.messages == [told]
    # What is refused says that alone.
    with pytest.raises(InputError):
        export_tables(tmp_path / "stopped", tmp_path / "part", tables=["flows"])
    assert caplog.messages == [told]


def test_that_a_comparison_lacks_runs_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    comparison = headend.compare(LINE, {"queue": ["codel", "pie"]})
    comparison.results[1].manifest.update(partial=True, duration_ns=2 * 10**9)
    comparison.unfinished = ["red, seed 1"]
    comparison.save(tmp_path / "both", report=False)
    export_tables(tmp_path / "both", tmp_path / "tables")
    assert [message.removeprefix(f"{tmp_path / 'both'}: ") for message in caplog.messages] == [
        "partial, stopped before its end (pie, seed 1: 1 s of 2 s)",
        "not finished: red, seed 1",
    ]
