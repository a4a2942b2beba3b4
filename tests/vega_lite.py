"""Vega-Lite's own schema, which Altair brings along, to check specifications against."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from headend.figures import Panel


def check_panel(panel: Panel) -> None:
    """Fail when a panel's specification is none that Vega-Lite knows, rows apart."""
    specification = {**panel.specify(), "datasets": {}}
    error = jsonschema.exceptions.best_match(_read_schema().iter_errors(specification))
    if error:
        place = "/".join(map(str, error.absolute_path))
        raise AssertionError(f"{place}: {error.message}")


@functools.cache
def _read_schema() -> Any:
    schema = resources.files("altair.vegalite.v6") / "schema" / "vega-lite-schema.json"
    return jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))
