"""Studies: a published result as a scenario, a grid, figures and claims that are checked.

A study is a folder with ``study.toml``, a scenario, and ``analysis.py`` with a function for each
claim and figure.
"""

from headend.results.store import PointStore
from headend.study.claims import (
    CheckedClaim,
    Claim,
    ClaimResult,
    ClaimVerdict,
    Decision,
    Kind,
    decide,
    decide_over_seeds,
    join_decisions,
)
from headend.study.definition import Study, read_study
from headend.study.documents import Reading
from headend.study.points import run_points

__all__ = [
    "CheckedClaim",
    "Claim",
    "ClaimResult",
    "ClaimVerdict",
    "Decision",
    "Kind",
    "PointStore",
    "Reading",
    "Study",
    "decide",
    "decide_over_seeds",
    "join_decisions",
    "read_study",
    "run_points",
]
