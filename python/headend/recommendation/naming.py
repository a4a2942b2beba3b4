"""Names what a recommendation speaks of: quantities, conditions, and settings as advice."""

from __future__ import annotations

import re

from headend.analysis.criteria import Condition
from headend.analysis.measures import MeasureValues
from headend.recommendation.candidate import DEFAULT_TARGET, Candidate
from headend.recommendation.feature import Feature
from headend.recommendation.tier import Tier
from headend.sweeps.conclusion import Conclusion
from headend.sweeps.naming import write_mean, write_operators
from headend.text.quantity import format_quantity

#: Metrics whose names say too little.
_METRICS = {
    "mos": "MOS",
    "missed": "packets late",
    "frames_late": "frames late",
    "page_load_time": "load time",
    "goodput": "rate",
}

#: The same for cells, which have no room.
_SHORT = {
    "mos": "MOS",
    "missed": "late",
    "frames_late": "late",
    "page_load_time": "",
    "goodput": "",
}

_TERM = re.compile(r"(.+?)\.([a-z_]+)(?:\.(mean|min|max|count|p[0-9]+))?")


def name_term(text: str) -> str:
    """Name a quantity in words.

    Examples
    --------
    >>> name_term("call.mos.p5"), name_term("page.page_load_time.p50"), name_term(
    ...     "cable.up.delay.p95"
    ... )
    ('call MOS (5th percentile)', 'page load time (median)', 'cable.up delay (95th percentile)')
    >>> name_term("game.missed.mean"), name_term("upload.goodput / backup.goodput")
    ('game packets late', 'upload rate / backup rate')
    """
    if "/" in text:
        return " / ".join(name_term(part.strip()) for part in text.split("/"))
    match = _TERM.fullmatch(text)
    if match is None:
        return text
    subject, metric, statistic = match.groups()
    words = _METRICS.get(metric, metric.replace("_", " "))
    told = {"p50": "median", "p999": "99.9th percentile", "mean": ""}.get(
        statistic or "mean", statistic
    )
    told = re.sub(r"^p(\d+)$", r"\1th percentile", told)
    return f"{subject} {words}{f' ({told})' if told else ''}"


def name_condition(condition: Condition) -> str:
    """Write a condition in words, with its bound as it was written.

    Examples
    --------
    >>> from headend.analysis.criteria import read_preferences
    >>> name_condition(read_preferences(["call.mos.p5 >= 4.0"], {}).constraints[0])
    'call MOS (5th percentile) ≥ 4.0'
    """
    bound = condition.text.rpartition(condition.operator)[2].strip()
    return write_operators(f"{name_term(condition.term.text)} {condition.operator} {bound}")


def write_value(conclusion: Conclusion, term: str, setting: int) -> str:
    """Write a term's name and its mean with the interval."""
    return f"{name_term(term)} {write_mean(conclusion.terms[term], setting)}"


def write_short(measured: MeasureValues, term: str, setting: int) -> str:
    """Write a term and its mean briefly, for a cell: without statistic and interval."""
    match = _TERM.fullmatch(term)
    name = name_term(term)
    if match and "/" not in term:
        name = f"{match[1]} {_SHORT.get(match[2], match[2].replace('_', ' '))}".strip()
    return f"{name} {write_plain(measured, setting)}"


def write_plain(measured: MeasureValues, setting: int) -> str:
    """Write a mean without its interval; a dash where there is none."""
    if setting not in measured.estimates:
        return "–"
    mean = measured.estimates[setting].mean
    return format_quantity(float(f"{mean:.3g}"), measured.info.kind)


def advise(tier: Tier, candidate: Candidate) -> str:
    """Say what to set, as an imperative sentence without its full stop."""
    target, buffer = candidate.target or DEFAULT_TARGET, ""
    if candidate.size:
        drained = candidate.size * 1024 * 8 / tier.upstream
        time = format_quantity(float(f"{drained:.2g}") * 1e9, "time")
        rate = format_quantity(tier.upstream, "rate")
        buffer = f"a target buffer of {candidate.size} KiB ({time} at {rate})"
    if candidate.feature is Feature.TODAY:
        return "Leave the line as it is"
    if candidate.feature is Feature.BUFFER_CONTROL:
        return f"Set {buffer}{' and the AQM off' if tier.is_docsis31 else ''}"
    if candidate.feature is Feature.LOW_LATENCY:
        classic = f", with AQM {target} ms in the classic queue" if candidate.target else ""
        return (
            f"Turn low latency on{classic}; only packets that are marked DSCP 45, DSCP 46 or ECT(1)"
            " gain by it"
        )
    has_aqm = tier.is_docsis31 and _has_aqm(tier)
    if tier.is_docsis31 and not (candidate.target or buffer):
        verb = "Leave the AQM on with" if has_aqm else "Turn the AQM on with"
        return f"{verb} its defaults (DOCSIS-PIE, a target of {target} ms)"
    limited = f" and {buffer}" if buffer else ""
    return (
        f"{'Leave' if has_aqm else 'Turn'} the AQM on (DOCSIS-PIE) with a target of {target}"
        f" ms{limited}"
    )


def _has_aqm(tier: Tier) -> bool:
    """Say whether a DOCSIS 3.1 tier's modems have their AQM on: yes, unless switched off."""
    today = (tier.today or {}).get("upstream", {})
    return not today.get("aqm_disabled") and "docsis_pie" in today.get("queue", "docsis_pie")
