"""What git holds is source: nothing large, and no tables that a command left behind."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: The largest file that is no surprise, in bytes; .pre-commit-config.yaml checks the same.
LARGEST = 400_000

#: What is larger, and why.
LARGER = {
    "docs/reference/scenario.schema.json": "describes every key of a scenario, for editors",
    "scenarios/scenario.schema.json": "is the same, where editors look for it",
    "python/headend/pages/templates/vega.js": "draws figures in pages without a network",
}

#: Endings of what commands write.
WRITTEN = (".csv", ".jsonl", ".parquet", ".pcapng")

#: Tables of measured or published numbers that tests and models read.
SOURCES = ("benches/", "crates/", "docs/", "studies/")


def list_tracked() -> list[str]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("needs a git checkout, which says what is tracked")
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return [name for name in listing.stdout.split("\0") if (ROOT / name).is_file()]


def test_no_file_is_larger_than_a_source_needs_to_be() -> None:
    large = {name for name in list_tracked() if (ROOT / name).stat().st_size > LARGEST}
    assert large == set(LARGER)


def test_no_table_that_a_command_wrote_is_tracked() -> None:
    written = [name for name in list_tracked() if name.endswith(WRITTEN)]
    assert [name for name in written if not name.startswith(SOURCES)] == []
