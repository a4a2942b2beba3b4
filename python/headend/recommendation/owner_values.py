"""What people get, in the words of who owns the line: grades as other pages give them."""

from __future__ import annotations

from headend.analysis.grading import (
    MARKS_OF_MEASURES,
    UNUSABLE,
    UNUSABLE_SCORE,
    UNUSABLE_SHARE,
    Grade,
    Mark,
)
from headend.analysis.ranking import Feasibility
from headend.recommendation.deciding import Decision
from headend.recommendation.sentences import name_bound, name_source, name_term, split_term
from headend.text.quantity import format_quantity
from headend.text.wording import capitalise, join_names


def list_changes(decision: Decision, setting: int, other: int) -> tuple[str, ...]:
    """Say what changes with a setting against another, a sentence for each of the people."""
    better, worse = _list_both(decision, setting, other)
    told = [_describe_change(decision, term, setting, other) for term in (*better, *worse)]
    if not better:
        told.insert(0, "Nobody is better off.")
    if not worse:
        told.append("Nobody is worse off.")
    return tuple(told)


def _list_both(decision: Decision, setting: int, other: int) -> tuple[list[str], list[str]]:
    """List the terms that are clearly better in a setting, or well there alone, and those worse."""
    better, worse = decision.list_changes(setting, other)
    better += [own for own in decision.list_mended(setting, other) if own not in better]
    return better, [own for own in worse if own not in better]


def describe_grades(decision: Decision, setting: int, other: int) -> str:
    """Say in a clause which grades change against another setting, and what an upload loses."""
    grades: dict[tuple[str, str], list[str]] = {}
    rest = []
    for term in (own for terms in _list_both(decision, setting, other) for own in terms):
        before, after = (grade_term(decision, term, own) for own in (other, setting))
        if before and after and before != after:
            grades.setdefault((before, after), []).append(f"the {split_term(term)[0]}")
        elif not after:
            values = [write_term(decision, term, own) for own in (other, setting)]
            rest.append(f"the {name_term(term)} goes from {values[0]} to {values[1]}")
    told = [
        f"{join_names(names)} {'goes' if len(names) == 1 else 'go'} from {before} to {after}"
        for (before, after), names in grades.items()
    ]
    return join_names([*told, *rest])


def describe_lacks(decision: Decision, setting: int) -> str:
    """Say who is not served as was asked with a setting, and how that is."""
    texts = []
    for condition in decision.list_missed(setting):
        term = condition.term.text
        source = name_source(decision, term, setting)
        if decision.find_miss(condition, setting) is None:
            texts.append(f"the {name_term(term)} has no value{source}")
            continue
        value, grade = write_term(decision, term, setting), grade_term(decision, term, setting)
        bound = name_bound(condition)
        asked = ""
        if decision.judge(condition, setting) is Feasibility.UNDECIDED:
            asked = f", not {bound} for sure"
        elif grade in ("", Grade.GOOD):
            asked = f", not {bound}"
        if grade:
            texts.append(f"the {split_term(term)[0]} is {grade} ({value}{asked}){source}")
        else:
            texts.append(f"the {name_term(term)} is {value}{asked}{source}")
    return join_names(texts)


def is_hopeless(decision: Decision, setting: int) -> bool:
    """Say whether somebody is badly served with a setting: it is no comfort that it is nearest."""
    missed = [one.term.text for one in decision.list_missed(setting)]
    grades = [grade_term(decision, own, setting) for own in missed]
    return any(own in (Grade.BAD, UNUSABLE) for own in grades)


def _describe_change(decision: Decision, term: str, setting: int, other: int) -> str:
    values = [write_term(decision, term, own) for own in (other, setting)]
    before, after = (grade_term(decision, term, own) for own in (other, setting))
    if not before or not after:
        return f"The {name_term(term)} goes from {values[0]} to {values[1]}."
    subject = capitalise(f"the {split_term(term)[0]}")
    if before == after:
        return f"{subject} stays {after} ({values[0]}, then {values[1]})."
    return f"{subject} is {before} ({values[0]}) and becomes {after} ({values[1]})."


def grade_term(decision: Decision, term: str, setting: int) -> str:
    """Give the word for the mean of a term; empty where it has no grade."""
    mark, estimate = _find_mark(term), decision.terms[term].estimates.get(setting)
    if mark is None or estimate is None:
        return ""
    is_unusable = estimate.mean < UNUSABLE_SCORE if mark.is_score else False
    if mark.kind == "ratio":
        is_unusable = estimate.mean > UNUSABLE_SHARE
    grade = mark.grade(estimate.mean)
    if grade is Grade.NONE:
        return ""
    return UNUSABLE if is_unusable and grade is Grade.BAD else str(grade)


def write_term(decision: Decision, term: str, setting: int) -> str:
    """Write the mean of a term without its interval, as other pages do: ``MOS 4.37``."""
    measured = decision.terms[term]
    if setting not in measured.estimates:
        return "–"
    mean = float(f"{measured.estimates[setting].mean:.3g}")
    text = format_quantity(mean, measured.info.kind)
    mark = _find_mark(term)
    return " ".join(filter(None, (mark.before, text, mark.after))) if mark else text


def _find_mark(term: str) -> Mark | None:
    """Find the mark by which a term is graded; None where it is another statistic."""
    _, metric, statistic = split_term(term)
    mark = MARKS_OF_MEASURES.get(metric)
    is_same = mark is not None and mark.metric == f"{metric}.{statistic or 'mean'}"
    return mark if is_same else None
