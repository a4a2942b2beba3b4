"""Studies: a published result as a scenario, a grid, figures and claims that are checked.

A study is a folder with ``study.toml``, a scenario, and ``analysis.py`` with a function for each
claim and figure.
"""

from headend.results.store import PointStore
from headend.study.claims import Claim, Finding, Judgement, Kind, Standing, Verdict
from headend.study.deciding import Decision, decide_over_seeds, join_decisions
from headend.study.definition import Study, read_study
from headend.study.points import run_points
from headend.study.readings import Reading

__all__ = [
    "Claim",
    "Decision",
    "Finding",
    "Judgement",
    "Kind",
    "PointStore",
    "Reading",
    "Standing",
    "Study",
    "Verdict",
    "decide_over_seeds",
    "join_decisions",
    "read_study",
    "run_points",
]
