"""The examples of laws and controls in Python give the same tables as the engine's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

import headend
from headend.running.result import Result

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"

#: An upload that a control law must act on, beside a call, pages and pings that it must not.
SCENARIO = "upload-and-call"


def run(settings: Mapping[str, object]) -> Result:
    return headend.run(
        SCENARIO, set={**settings, "duration": "40 s"}, allow_files=[EXAMPLES], report=False
    )


def assert_same_tables(built_in: Result, own: Result) -> None:
    """Every table is equal, but for the name of the discipline and a modem's configured target."""
    assert set(built_in.tables) == set(own.tables)
    for name, table in built_in.tables.items():
        other = own.tables[name]
        if name == "mib":
            target = pl.col("object") != "docsQosParamSetAqmLatencyTarget"
            table, other = table.filter(target), other.filter(target)
        same = [column for column in table.columns if column != "discipline"]
        assert table.select(same).equals(other.select(same), null_equal=True), name


@pytest.mark.parametrize(
    ("name", "code", "further"),
    [
        ("codel", "codel.py:CoDel", {}),
        ("codel", "codel.py:CoDel", {"flow.upload.tcp.ecn": "on"}),
        ("pie", "pie.py:Pie", {}),
        ("pie", "pie.py:Pie", {"flow.upload.tcp.ecn": "on"}),
    ],
)
def test_a_law_in_python_gives_the_tables_of_the_one_in_the_engine(
    name: str, code: str, further: dict[str, str]
) -> None:
    queue = f"{EXAMPLES}/{code}"
    built_in = run({"queue": name, **further})
    own = run({"queue": queue, **further})
    assert_same_tables(built_in, own)
    signals = ["marked"] if further else ["discarded_congested"]
    assert built_in.queues.select(signals).sum().row(0)[0] > 0


def test_a_control_in_python_gives_the_tables_of_the_one_in_the_engine() -> None:
    built_in = run({"tcp.congestion": "cubic"})
    own = run({"tcp.congestion": f"{EXAMPLES}/cubic.py:Cubic"})
    assert_same_tables(built_in, own)


def test_a_law_works_within_a_scheduler() -> None:
    built_in = run({"queue": {"drr": {"law": "codel"}}})
    own = run({"queue": {"drr": {"law": f"{EXAMPLES}/codel.py:CoDel"}}})
    assert_same_tables(built_in, own)


def test_an_example_is_short() -> None:
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) <= 80, path
