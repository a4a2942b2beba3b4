"""The wish of a sweep: conditions that must hold, and an objective to be optimised under them.

::

    wish      = condition | "most" term | "least" term
    condition = term operator bound
    term      = measure [ "/" measure ]
    measure   = a name of [measures], or a quantity of expectations such as call.mos.p5
    operator  = ">=" | ">" | "<=" | "<"

A condition is written as in ``[expect]``. It is held against the mean over the seeds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headend.analysis.expect import Quantity, check_bound, split_expectation
from headend.analysis.sums import parse_sum
from headend.errors import InputError, naming, suggest
from headend.scenario.subjects import Vocabulary
from headend.text.quantity import Kind, parse_quantity

#: The keys of a file's ``[wish]``.
_KEYS = ("hold", "most", "least")

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}

#: A condition as error messages show it.
_EXAMPLE = "call >= 4.0"


@dataclass(frozen=True)
class Term:
    """A quantity of a wish: one measure, or the ratio of two, computed for each seed.

    Parameters
    ----------
    text
        The term as it is written.
    measures
        The measures' names in the results; the term is the first divided by the second.
    """

    text: str
    measures: tuple[str, ...]


@dataclass(frozen=True)
class Condition:
    """A condition that the mean of a term must meet."""

    text: str
    term: Term
    operator: str
    limit: str
    #: Where it is written, for error messages.
    where: str = field(default="", repr=False, compare=False)

    @property
    def higher_is_better(self) -> bool:
        """Whether more of the term is better."""
        return self.operator.startswith(">")

    def is_met(self, value: float, bound: float) -> bool:
        """Say whether a value meets a bound, both in base units."""
        return _OPERATORS[self.operator](value, bound)

    def read_bound(self, kind: Kind) -> float:
        """Give the bound in the base unit of what the term measures."""
        return parse_quantity(self.limit, "ratio" if len(self.term.measures) > 1 else kind).value


@dataclass(frozen=True)
class Criteria:
    """What must hold of a setting, and what there should be most or least of.

    Parameters
    ----------
    constraints
        The conditions, all of which must hold.
    objective
        The term to maximise or minimise; None where all that meet the conditions are equal.
    higher_is_better
        Whether to maximise it.
    """

    constraints: tuple[Condition, ...] = ()
    objective: Term | None = None
    higher_is_better: bool = True
    #: Where the objective is written, for error messages.
    where: str = field(default="", repr=False, compare=False)

    def __bool__(self) -> bool:
        """Say whether the wish has a condition or an objective."""
        return bool(self.constraints) or self.objective is not None

    @property
    def terms(self) -> list[Term]:
        """All terms without repetition, those of the conditions first."""
        terms = [*(condition.term for condition in self.constraints), self.objective]
        return list(dict.fromkeys(term for term in terms if term))

    def list_paths(self, measures: Mapping[str, str]) -> dict[str, str]:
        """Give the terms' quantities that ``[measures]`` does not name, each under its path."""
        names = (name for term in self.terms for name in term.measures)
        return {name: name for name in names if name not in measures}

    def describe(self) -> str:
        """Write it in words.

        Examples
        --------
        >>> read_preferences(["call >= 4.0", "most upload"], {"call": "", "upload": ""}).describe()
        'call >= 4.0 and the most upload'
        """
        parts = [condition.text for condition in self.constraints]
        if self.objective:
            parts.append(
                f"the {'most' if self.higher_is_better else 'least'} {self.objective.text}"
            )
        return " and ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Give the wish with the keys of a file's ``[wish]``."""
        content: dict[str, Any] = {}
        if self.constraints:
            content["hold"] = [condition.text for condition in self.constraints]
        if self.objective:
            content["most" if self.higher_is_better else "least"] = self.objective.text
        return content

    def check(self, measures: Mapping[str, str], vocabulary: Vocabulary) -> None:
        """Refuse quantities that a scenario does not measure, and impossible bounds.

        A bound is impossible if its unit is of another kind, or if every possible value meets it,
        or none.

        Raises
        ------
        InputError
            Its text begins with the place of the fault.
        """
        for condition in self.constraints:
            with naming(condition.where):
                kind, quantity = _parse(condition.term, measures, vocabulary)
                bound = condition.read_bound(kind)
                if quantity:
                    check_bound(quantity, condition.operator, bound, condition.limit)
        if self.objective:
            with naming(self.where):
                _parse(self.objective, measures, vocabulary)


def read_criteria(content: Mapping[str, Any], measures: Mapping[str, str]) -> Criteria:
    """Read a file's ``[wish]``.

    Parameters
    ----------
    content
        ``hold`` with a condition or a list of them, and ``most`` or ``least``.
    measures
        The sweep's ``[measures]``, by name.

    Raises
    ------
    InputError
        Beginning with the key, such as ``wish.hold``.
    """
    for key in content:
        if key not in _KEYS:
            raise InputError(f'wish.{key}: unknown key "{key}"{suggest(key, _KEYS)}')
    hold = content.get("hold", [])
    texts = [hold] if isinstance(hold, str) else hold
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(
            f'wish.hold: expected a condition such as "{_EXAMPLE}", or a list of them, found'
            f" {hold!r}"
        )
    if "most" in content and "least" in content:
        raise InputError("wish.least: there is wish.most too; expected one of them")
    conditions = tuple(_read_condition("wish.hold", text, measures) for text in texts)
    for key in ("most", "least"):
        if key in content:
            text, where = content[key], f"wish.{key}"
            if not isinstance(text, str):
                raise InputError(f'{where}: expected a measure such as "upload", found {text!r}')
            term = _read_term(where, text, measures)
            return Criteria(conditions, term, key == "most", where)
    return Criteria(conditions)


def read_preferences(texts: Sequence[str], measures: Mapping[str, str]) -> Criteria:
    """Read the values of ``--prefer``: conditions, ``most MEASURE`` and ``least MEASURE``.

    Raises
    ------
    InputError
        Beginning with the option.

    Examples
    --------
    >>> read_preferences(["call.mos.p5 >= 4.0", "least page"], {"page": ""}).to_dict()
    {'hold': ['call.mos.p5 >= 4.0'], 'least': 'page'}
    """
    conditions: list[Condition] = []
    objective: tuple[Term, bool, str] | None = None
    for text in texts:
        where = f'--prefer "{text}"'
        goal, _, rest = text.strip().partition(" ")
        if goal not in ("most", "least") or goal in measures:
            conditions.append(_read_condition(where, text.strip(), measures))
        elif objective:
            raise InputError(f'{where}: expected one most or least, found "{objective[2]}" before')
        else:
            objective = (_read_term(where, rest.strip(), measures), goal == "most", text)
    if objective is None:
        return Criteria(tuple(conditions))
    term, higher_is_better, text = objective
    return Criteria(tuple(conditions), term, higher_is_better, f'--prefer "{text}"')


def _read_condition(where: str, text: str, measures: Mapping[str, str]) -> Condition:
    with naming(where):
        expression, operator, limit = split_expectation(text, _EXAMPLE)
    return Condition(text, _read_term(where, expression, measures), operator, limit, where)


def _read_term(where: str, text: str, measures: Mapping[str, str]) -> Term:
    parts = [text] if text in measures else [part.strip() for part in text.split("/")]
    if len(parts) > 2:
        raise InputError(f'{where}: expected a measure or a ratio of two, found "{text}"')
    for part in parts:
        if part not in measures and "." not in part:
            expected = (
                f'no measure is called "{part}"{suggest(part, measures)}'
                if part and measures
                else f'expected a measure such as "call.mos.mean", found "{part}"'
            )
            raise InputError(f"{where}: {expected}")
    return Term(" / ".join(parts), tuple(parts))


def _parse(
    term: Term, measures: Mapping[str, str], vocabulary: Vocabulary
) -> tuple[Kind, Quantity | None]:
    """Give the kind of a term, and its quantity; None for the quantity of a sum or ratio."""
    sums = [parse_sum(measures.get(name, name), vocabulary) for name in term.measures]
    first, *divisors = [quantities[0].kind for quantities in sums]
    if divisors and divisors[0] != first:
        raise InputError(f'"{term.text}": a ratio of a {first} and a {divisors[0]}')
    is_alone = len(sums) == len(sums[0]) == 1
    return first, sums[0][0] if is_alone else None
