"""headend: a laboratory for access networks.

- ``run("scenario.toml")`` runs a scenario and gives a ``Result``, whose tables are Polars frames.
- ``compare("scenario.toml", {"queue": ["drop_tail", "codel"]})`` runs it once with each value and
  the same traffic, and gives a ``Comparison``.
- ``sweep("sweep.toml")`` runs a scenario over a grid of values and several seeds, and gives a
  ``SweepResult``.
- ``recommend(upstream="10 Mbit/s")`` says which buffer, AQM or low latency a service tier shall
  have, and gives a ``Recommendation``.
- ``find_capacity("street")`` finds how many homes a cable line's channels carry, and gives a
  ``Capacity``.
- ``fit_line("rrul.flent.gz")`` finds the line behind a measurement, and gives a ``LineFit``, whose
  ``scenario`` can be run.
- ``evaluate("queue", "codel")`` runs what RFC 7928 says should be tested of a queue, RFC 9743 of a
  sender and RFC 8867 of a call, and gives an ``Evaluation``.
- ``replay("laptop.pcapng")`` replays in virtual time what ``headend emulate`` recorded, and gives a
  ``Result``.
- ``load("results/NAME")`` reads any of these back.
- ``find("webrtc")`` looks up what headend calls something, and how to write it.
- ``export_tables("results/NAME", "tables")`` writes the tables of results as CSV,
  ``export_qlog("results/NAME", "qlog")`` and ``export_tcp_info("results/NAME", "tables")`` what the
  TCP senders of a run did, ``export_flent("results/NAME", "flent")`` a run as flent measures one.
- ``verify("results/NAME")`` says which files of results are not what was written.
- ``ControlLaw`` and ``CongestionControl`` are the classes of which control laws and congestion
  controls of one's own are made; ``Duration``, ``Size``, ``Rate`` and ``Probability`` are what
  their parameters are, and ``cbrt`` is the engine's cube root.

A notebook shows a ``Result``, a ``Comparison``, a ``SweepResult`` and a ``Recommendation`` with
question, answer, matrix and chart. Each has ``answer``, ``figures``, ``figure(name)`` and
``to_csv(folder)``.

What cannot be done is an ``InputError``, in one line; ``ScenarioError`` is the engine's own. Names
are imported when first used, so that ``import headend`` and the command line's help stay quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headend._engine import ScenarioError, cbrt
    from headend.capacity.experiment import find_capacity
    from headend.capacity.result import Capacity
    from headend.custom.congestion import CongestionControl
    from headend.custom.law import ControlLaw
    from headend.custom.parameters import Duration, Probability, Rate, Size
    from headend.emulation.replaying import replay
    from headend.errors import InputError
    from headend.evaluation.experiment import evaluate
    from headend.evaluation.result import Evaluation
    from headend.fitting.experiment import fit_line
    from headend.fitting.result import LineFit
    from headend.loading.loading import load
    from headend.loading.senders import export_qlog, export_tcp_info
    from headend.loading.tables import export_tables
    from headend.measurement.exporting import export_flent
    from headend.recommendation.experiment import recommend
    from headend.recommendation.result import Recommendation
    from headend.results.verification import verify
    from headend.running.comparison import Comparison
    from headend.running.experiment import compare, run
    from headend.running.result import Result
    from headend.scenario.lookup import Finding
    from headend.study.locating import find
    from headend.sweeps.experiment import sweep
    from headend.sweeps.result import SweepResult

__all__ = [
    "Capacity",
    "Comparison",
    "CongestionControl",
    "ControlLaw",
    "Duration",
    "Evaluation",
    "Finding",
    "InputError",
    "LineFit",
    "Probability",
    "Rate",
    "Recommendation",
    "Result",
    "ScenarioError",
    "Size",
    "SweepResult",
    "__version__",
    "cbrt",
    "compare",
    "evaluate",
    "export_flent",
    "export_qlog",
    "export_tables",
    "export_tcp_info",
    "find",
    "find_capacity",
    "fit_line",
    "load",
    "recommend",
    "replay",
    "run",
    "sweep",
    "verify",
]

_HOMES = {
    "Capacity": "headend.capacity.result",
    "Comparison": "headend.running.comparison",
    "CongestionControl": "headend.custom.congestion",
    "ControlLaw": "headend.custom.law",
    "Duration": "headend.custom.parameters",
    "Evaluation": "headend.evaluation.result",
    "Finding": "headend.scenario.lookup",
    "InputError": "headend.errors",
    "LineFit": "headend.fitting.result",
    "Probability": "headend.custom.parameters",
    "Rate": "headend.custom.parameters",
    "Recommendation": "headend.recommendation.result",
    "Result": "headend.running.result",
    "ScenarioError": "headend._engine",
    "Size": "headend.custom.parameters",
    "SweepResult": "headend.sweeps.result",
    "cbrt": "headend._engine",
    "compare": "headend.running.experiment",
    "evaluate": "headend.evaluation.experiment",
    "export_flent": "headend.measurement.exporting",
    "export_qlog": "headend.loading.senders",
    "export_tables": "headend.loading.tables",
    "export_tcp_info": "headend.loading.senders",
    "find": "headend.study.locating",
    "find_capacity": "headend.capacity.experiment",
    "fit_line": "headend.fitting.experiment",
    "load": "headend.loading.loading",
    "recommend": "headend.recommendation.experiment",
    "replay": "headend.emulation.replaying",
    "run": "headend.running.experiment",
    "sweep": "headend.sweeps.experiment",
    "verify": "headend.results.verification",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    from headend.version import read_version

    if name == "__version__":
        return read_version()
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'headend' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what can be called."""
    return sorted(_HOMES)
