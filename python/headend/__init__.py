"""headend: a laboratory for access networks.

``headend.run("scenario.toml")`` runs a scenario and gives a :class:`Result`, whose tables are Polars frames.
Names are imported when first used, so that ``import headend`` and the command line's help stay quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headend._engine import ScenarioError
    from headend.errors import InputError
    from headend.experiment import compare, run
    from headend.result import Result
    from headend.sweeps.experiment import sweep
    from headend.verification import verify

__all__ = [
    "InputError",
    "Result",
    "ScenarioError",
    "__version__",
    "compare",
    "run",
    "sweep",
    "verify",
]

_HOMES = {
    "InputError": "headend.errors",
    "Result": "headend.result",
    "ScenarioError": "headend._engine",
    "compare": "headend.experiment",
    "run": "headend.experiment",
    "sweep": "headend.sweeps.experiment",
    "verify": "headend.verification",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module
    from importlib.metadata import version

    if name == "__version__":
        return version("headend")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'headend' has no attribute {name!r}")
