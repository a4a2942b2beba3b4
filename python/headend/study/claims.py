"""Claims: what a document says, what was measured, and whether the two agree."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headend.analysis.estimate import estimate_mean, find_quantile, give_interval
from headend.errors import InputError, suggest
from headend.study.analysis import call, refuse_answer

if TYPE_CHECKING:
    import polars as pl

#: More seeds than these are not asked for: a difference that small is none.
_MOST_SEEDS = 10_000


class ClaimVerdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    #: It holds, but nearly any model would pass it: it is not counted as reproduced.
    WEAK = "weak"
    DIFFERS = "differs"
    #: The interval over the seeds reaches from what is accepted to what is not.
    UNDECIDED = "undecided"
    UNTESTABLE = "cannot be tested"
    #: The study was run in its quick form, which checks nothing.
    OPEN = "no verdict"


#: What is counted: a quick run is not.
COUNTED = tuple(verdict for verdict in ClaimVerdict if verdict is not ClaimVerdict.OPEN)


class Kind(StrEnum):
    """What a claim is evidence for."""

    #: The document measured or simulated it.
    RESULT = "published result"
    #: The document says so, without data.
    EXPECTATION = "published expectation"
    #: It follows from the document's own numbers, without a model.
    ARITHMETIC = "arithmetic"
    #: A scenario carries a parameter of the document.
    SETTING = "setting"
    #: A question that the document does not ask.
    OURS = "ours"


@dataclass(frozen=True)
class Claim:
    """What a document states, or what we ask beside it.

    Parameters
    ----------
    id
        A short name that stays.
    source
        Where the document says it.
    statement
        What it says, in a sentence.
    expected
        The number or the order it comes to, with what is accepted.
    check
        The function of ``analysis.py`` that measures it.
    limits
        Numbers that the function holds the measurement against.
    least_seeds
        With how many seeds it can be checked: more than one where it is about an interval over
        them.
    kind
        What it is evidence for.
    published
        The document's own value or order, in its own precision and as short as it can be shown
        beside a picture; nothing where the document has none.
    gap
        What the document leaves open, or contradicts itself about, and the verdict's dependence.
    fitted
        What was chosen after a first run had been seen.
    weak
        Why nearly any model passes it; such a claim is not counted as reproduced.
    """

    id: str
    source: str
    statement: str
    expected: str
    check: str
    limits: dict[str, Any] = field(default_factory=dict)
    least_seeds: int = 1
    kind: Kind = Kind.OURS
    published: str = ""
    gap: str = ""
    fitted: str = ""
    weak: str = ""

    @classmethod
    def read(cls, item: dict[str, Any]) -> Claim:
        """Take a claim from its table in ``study.toml``."""
        name = f"claim {item['id']}"
        check_table(item, _TEXTS, ("limits", "least_seeds"), name)
        if not item.get("weak", "-").strip():
            raise InputError(
                f"{name}: weak: expected why nearly any model passes it, found no text"
            )
        kinds = {kind.name.lower(): kind for kind in Kind}
        # A claim that names no kind is the author's own question.
        kind = item.get("kind", Kind.OURS.name.lower())
        if kind not in kinds:
            expected = ", ".join(f'"{word}"' for word in kinds)
            raise InputError(f'{name}: unknown kind "{kind}"; expected one of {expected}')
        return cls(
            id=item["id"],
            source=item["source"],
            statement=" ".join(item["statement"].split()),
            expected=item["expected"],
            check=item["check"],
            limits=dict(item.get("limits", {})),
            least_seeds=item.get("least_seeds", 1),
            kind=kinds[kind],
            **{key: " ".join(item.get(key, "").split()) for key in _NOTES},
        )


#: What a claim may have in words besides what it needs, and all of it that is text.
_NOTES = ("published", "gap", "fitted", "weak")
_TEXTS = ("id", "source", "statement", "expected", "check", "kind", *_NOTES)


def check_table(
    item: Mapping[str, Any], texts: Collection[str], others: Collection[str], where: str
) -> None:
    """Refuse a key that a table has not got, and what is to be a text and is none."""
    known = (*texts, *others)
    for key in item:
        if key not in known:
            raise InputError(f'{where}: unknown key "{key}"{suggest(key, known)}')
    for key in texts:
        if not isinstance(item.get(key, ""), str):
            raise InputError(f"{where}: {key}: expected a text, found {item[key]!r}")


@dataclass(frozen=True)
class ClaimResult:
    """What was measured for a claim.

    Parameters
    ----------
    measured
        In words and numbers.
    verdict
        Whether it agrees; of a weak claim too it says `REPRODUCED` if it does.
    interval
        The 95 % interval of the measured number, where there is one.
    why
        Where it differs, the cause and the experiment that tested it; elsewhere, remarks.
    deciding_seeds
        Where it is undecided, with about how many seeds it would not be; None if not known.
    """

    measured: str
    verdict: ClaimVerdict
    interval: tuple[float, float] | None = None
    why: str = ""
    deciding_seeds: int | None = None


@dataclass(frozen=True)
class CheckedClaim:
    """A claim with its result."""

    claim: Claim
    result: ClaimResult

    @property
    def verdict(self) -> ClaimVerdict:
        """How it is counted: a weak claim that holds is weak."""
        holds = self.result.verdict is ClaimVerdict.REPRODUCED
        return ClaimVerdict.WEAK if holds and self.claim.weak else self.result.verdict

    @property
    def differs(self) -> bool:
        """Whether the claim was tested and does not hold here."""
        return self.verdict is ClaimVerdict.DIFFERS

    def format_interval(self) -> str:
        """Give the interval over the seeds in words after a space; nothing if there is none."""
        interval = self.result.interval
        return f" (95 % interval {interval[0]:.3g} to {interval[1]:.3g})" if interval else ""

    def describe_seeds(self) -> str:
        """Say how many seeds would decide it; nothing where it is decided."""
        if self.verdict is not ClaimVerdict.UNDECIDED:
            return ""
        seeds = self.result.deciding_seeds
        if seeds is None:
            return "with how many seeds it would be decided is not known"
        return f"about {seeds} seeds would decide it"

    def describe_verdict(self) -> str:
        """Give the verdict of the measurement with all notes on it."""
        notes = (
            self.describe_seeds(),
            self.result.why,
            self.claim.gap and f"left open by the document: {self.claim.gap}",
            self.claim.fitted and f"chosen after a first run: {self.claim.fitted}",
            self.claim.weak and f"weak: {self.claim.weak}",
        )
        text = "; ".join(filter(None, notes))
        return f"{self.result.verdict}: {text}" if text else str(self.result.verdict)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        claim = asdict(self.claim)
        del claim["check"]
        return {**claim, **asdict(self.result), "verdict": self.verdict}

    @classmethod
    def from_dict(cls, item: Mapping[str, Any]) -> CheckedClaim:
        """Take it from what `to_dict` gave."""
        kept = ("id", "source", "statement", "expected", "limits", "least_seeds", *_NOTES)
        claim = Claim(**{key: item[key] for key in kept}, kind=Kind(item["kind"]), check="")
        interval = None
        if item["interval"]:
            low, high = item["interval"]
            interval = (float(low), float(high))
        verdict = ClaimVerdict(item["verdict"])
        if verdict is ClaimVerdict.WEAK:
            verdict = ClaimVerdict.REPRODUCED
        seeds = item["deciding_seeds"]
        return cls(claim, ClaimResult(item["measured"], verdict, interval, item["why"], seeds))


def check_claims(
    claims: Sequence[Claim], analysis: ModuleType, points: pl.DataFrame, *, quick: bool = False
) -> list[CheckedClaim]:
    """Measure every claim on the points of a study; ``quick`` leaves out verdicts and remarks."""
    seeds = points["seed"].n_unique() if "seed" in points.columns else 1
    checked = []
    for claim in claims:
        result: Any
        if seeds < claim.least_seeds:
            why = f"it is about what seeds have in common, and needs {claim.least_seeds} or more"
            result = ClaimResult(f"{seeds} seed", ClaimVerdict.UNTESTABLE, why=why)
        else:
            result = call(analysis, claim.check, f"claim {claim.id}", points, claim.limits)
        if not isinstance(result, ClaimResult):
            found = type(result).__name__
            problem = f"expected it to return a ClaimResult, found {found}"
            raise refuse_answer(analysis, claim.check, problem)
        if quick:
            result = ClaimResult(result.measured, ClaimVerdict.OPEN, result.interval)
        checked.append(CheckedClaim(claim, result))
    return checked


def decide(agrees: bool) -> ClaimVerdict:
    """Give the verdict on a claim that was tested."""
    return ClaimVerdict.REPRODUCED if agrees else ClaimVerdict.DIFFERS


@dataclass(frozen=True)
class Decision:
    """What the values of several seeds say of a range of accepted means.

    Parameters
    ----------
    mean
        Over the seeds.
    interval
        Its 95 % interval; None with one seed.
    verdict
        Whether the mean is accepted; undecided where the interval reaches over a bound of what is.
    deciding_seeds
        Where it is undecided, with about how many seeds the interval would end before that bound,
        if mean and spread stay as they are; None where that would take more than 10 000.
    """

    mean: float
    interval: tuple[float, float] | None
    verdict: ClaimVerdict
    deciding_seeds: int | None = None

    def tell(self, measured: str, why: str = "") -> ClaimResult:
        """Give it as the result of a claim, with what was measured in words."""
        return ClaimResult(measured, self.verdict, self.interval, why, self.deciding_seeds)


def decide_over_seeds(
    values: Sequence[float], low: float = -math.inf, high: float = math.inf
) -> Decision:
    """Hold the mean over seeds against what is accepted.

    Parameters
    ----------
    values
        One number for each seed, in the unit of the bounds. For a comparison: the differences of
        the same seeds, with zero as the bound.
    low, high
        The bounds of what is accepted; both are accepted themselves.

    Examples
    --------
    >>> decide_over_seeds([1.0, 1.2, 1.1], low=0.5).verdict
    <ClaimVerdict.REPRODUCED: 'reproduced'>
    >>> found = decide_over_seeds([0.2, 1.4, 0.9], low=0.5)
    >>> found.verdict, found.deciding_seeds
    (<ClaimVerdict.UNDECIDED: 'undecided'>, 16)
    """
    found = estimate_mean(values)
    agrees = decide(low <= found.mean <= high)
    interval = give_interval(values)
    margin = min(abs(found.mean - low), abs(found.mean - high))
    # Seeds that all give a bound itself have no width: the bound is accepted.
    if interval is None or found.half < margin or found.half == 0:
        return Decision(found.mean, interval, agrees)

    def reach(count: int) -> float:
        """Give the half width of an interval over so many values, in standard deviations."""
        return find_quantile(count) / math.sqrt(count)

    deviation = found.half / reach(found.count)
    counts = range(2, _MOST_SEEDS + 1)
    needed = next((count for count in counts if deviation * reach(count) < margin), None)
    return Decision(found.mean, interval, ClaimVerdict.UNDECIDED, needed)


def join_decisions(decisions: Iterable[Decision], measured: str, why: str = "") -> ClaimResult:
    """Give one result for a claim over several numbers: all of them have to agree.

    Parameters
    ----------
    decisions
        One for each number.
    measured
        All of them, in words.
    why
        What is to be known where they do not all agree.

    Returns
    -------
    ClaimResult
        It differs where one differs; or else it is undecided where one is, with the seeds that the
        last to be decided takes.
    """
    decisions = list(decisions)
    if any(decision.verdict is ClaimVerdict.DIFFERS for decision in decisions):
        return ClaimResult(measured, ClaimVerdict.DIFFERS, why=why)
    undecided = [item for item in decisions if item.verdict is ClaimVerdict.UNDECIDED]
    if not undecided:
        return ClaimResult(measured, ClaimVerdict.REPRODUCED)
    needed = [item.deciding_seeds for item in undecided]
    known = [seeds for seeds in needed if seeds is not None]
    seeds = max(known) if len(known) == len(needed) else None
    return ClaimResult(measured, ClaimVerdict.UNDECIDED, why=why, deciding_seeds=seeds)
