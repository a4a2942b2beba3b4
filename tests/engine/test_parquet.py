"""Tables as the engine writes them: files that are read back as the frames of its columns."""

from __future__ import annotations

import io
from array import array
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from headend._engine import Columns, Run
from headend.engine.columns import OPTIONAL_TABLES, TABLES, Frames
from headend.results.record import Record
from headend.scenario.source import read_scenario

#: Cable with low latency, a cell behind cable, a plain link.
SCENARIOS = ("low-latency-home", "wifi-home", "codel-vs-droptail")


def run(name: str) -> dict[str, Columns]:
    run = Run(read_scenario(name).load().scenario)
    over = False
    while not over:
        _, over = run.advance(1.0)
    return run.finish()


@pytest.fixture(scope="module")
def tables() -> dict[str, Columns]:
    return run("codel-vs-droptail")


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_the_engine_writes_is_read_back_bit_by_bit(name: str) -> None:
    tables = run(name)
    frames = Frames(tables)
    for table in frames:
        content = frames.encode(table)
        assert content is not None
        # Looking at a table does not change how it is written.
        frame = frames[table]
        assert frames.encode(table) == content
        found = pl.read_parquet(io.BytesIO(content))
        assert_frame_equal(found, frame, check_exact=True)
        assert found.null_count().sum_horizontal().item() == 0
        for column, kind in found.schema.items():
            if kind == pl.Float64:
                bits = (array("d", own[column].to_list()).tobytes() for own in (found, frame))
                assert len(set(bits)) == 1, f"{table}.{column}"


def test_a_run_of_equal_scenarios_gives_equal_files(tables: dict[str, Columns]) -> None:
    again = run("codel-vs-droptail")
    for name, table in tables.items():
        assert table.encode_parquet() == again[name].encode_parquet(), name


def test_the_scenarios_have_every_table_of_the_engine() -> None:
    found = set(run("low-latency-home")) | set(run("wifi-home"))
    assert found >= {*TABLES, "air_time", "mib", "low_latency", "queue_protection"}


def test_a_table_without_rows_has_its_columns(tables: dict[str, Columns]) -> None:
    content = tables["collisions"].encode_parquet()
    assert content is not None
    found = pl.read_parquet(io.BytesIO(content))
    assert found.height == 0
    assert found.schema.to_python() == TABLES["collisions"]


def test_another_frame_in_a_tables_place_is_written(
    tables: dict[str, Columns], tmp_path: Path
) -> None:
    record = Record(Frames(tables), {})
    other = record.flows.head(1).with_columns(pl.lit("other").alias("flow"))
    steps = pl.DataFrame(schema=OPTIONAL_TABLES["steps"])
    record.tables["flows"], record.tables["steps"] = other, steps
    del record.tables["samples"]
    record.write_into(tmp_path)
    assert_frame_equal(pl.read_parquet(tmp_path / "flows.parquet"), other)
    assert_frame_equal(pl.read_parquet(tmp_path / "steps.parquet"), steps)
    assert (tmp_path / "queues.parquet").read_bytes() == tables["queues"].encode_parquet()
    assert not (tmp_path / "samples.parquet").exists()


def test_polars_writes_a_table_whose_columns_the_engine_does_not_give(tmp_path: Path) -> None:
    class Empty:
        def read(self) -> dict[str, list[str] | tuple[str, bytes]]:
            return {}

        def encode_parquet(self) -> bytes | None:
            return None

    Record(Frames({"queues": cast("Any", Empty())}), {}).write_into(tmp_path)
    found = pl.read_parquet(tmp_path / "queues.parquet")
    assert found.schema.to_python() == TABLES["queues"]
