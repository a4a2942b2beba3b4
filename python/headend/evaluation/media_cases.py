"""The cases of RFC 8867, "Test Cases for ... Interactive Real-Time Media"."""

from __future__ import annotations

from headend.evaluation.case import Case, Untested
from headend.evaluation.curves import Curve, Trade

CASES: tuple[Case, ...] = ()
UNTESTED: tuple[Untested, ...] = ()
CURVES: tuple[Curve, ...] = ()
TRADES: tuple[Trade, ...] = ()
