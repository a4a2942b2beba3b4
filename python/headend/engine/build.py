"""Whether the compiled engine is the one that this Python code is written for."""

from __future__ import annotations

import functools

from headend.engine.columns import TABLES
from headend.errors import InputError


@functools.cache
def check_engine() -> None:
    """Hold the tables that the compiled engine gives against those that are read here.

    Raises
    ------
    InputError
        When they differ: the sources were updated and the engine was not built again, or the other
        way about.
    """
    from headend import _engine

    for name in ("columns", "build", "describe", "student_t_quantile"):
        if not hasattr(_engine, name):
            raise InputError(_describe("older", f"it has no {name}"))
    given = {(table, name) for table, names in _engine.columns().items() for name in names}
    read = {(table, name) for table, types in TABLES.items() for name in types}
    if read - given:
        table, name = min(read - given)
        raise InputError(_describe("older", f"its table {table} has no {name}"))
    if given - read:
        table, name = min(given - read)
        raise InputError(_describe("newer", f"its table {table} has {name}"))


def _describe(age: str, why: str) -> str:
    return f"the compiled engine is {age} than this Python package ({why}): run make build"
