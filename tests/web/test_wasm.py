"""The engine for browsers: its tables are those of the engine here, to the byte."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import pytest

from headend import _engine
from headend.scenario.shipped import list_scenarios

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "target/wasm/nodejs/headend_wasm.js"

#: Of each kind of line, application and queue; none reads a file.
SCENARIOS = (
    "aimd",
    "codel-vs-droptail",
    "evening",
    "game-console",
    "generations",
    "home-router",
    "low-latency-home",
    "power-boost",
    "ten-calls",
    "upload-and-call",
    "varying-rate",
    "web-page-under-upload",
    "wifi-home",
)

needs_module = pytest.mark.skipif(
    shutil.which("node") is None or not MODULE.is_file(),
    reason="needs Node and what `make wasm` builds",
)


def digest(values: Any) -> str:
    """Digest a column as ``digest.mjs`` does."""
    if isinstance(values, list):
        return hashlib.sha256("".join(f"{text}\n" for text in values).encode()).hexdigest()
    _, packed = values
    if sys.byteorder == "big":
        swapped = array("q", packed)
        swapped.byteswap()
        packed = swapped.tobytes()
    return hashlib.sha256(packed).hexdigest()


@needs_module
def test_tables_in_a_browser_are_those_of_this_engine() -> None:
    texts = {name: list_scenarios()[name].read_text(encoding="utf-8") for name in SCENARIOS}
    script = ROOT / "crates/headend-wasm/digest.mjs"
    found = subprocess.run(
        ["node", str(script), str(MODULE)],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert found.returncode == 0, found.stderr
    digests = json.loads(found.stdout)
    for name, text in texts.items():
        run = _engine.Run(_engine.parse(text))
        while not run.advance(1.0)[1]:
            pass
        own = {
            table: {column: digest(values) for column, values in columns.read().items()}
            for table, columns in run.finish().items()
        }
        assert digests[name] == own, name
