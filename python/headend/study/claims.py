"""Claims: what a document says, what was measured, and whether the two agree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headend.errors import InputError, suggest
from headend.study.analysis import call, refuse_answer

if TYPE_CHECKING:
    import polars as pl


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    #: The interval over the seeds reaches from what is accepted to what is not.
    UNDECIDED = "undecided"
    UNTESTABLE = "cannot be tested"
    #: The study was run in its quick form, which judges nothing.
    OPEN = "no verdict"


class Standing(StrEnum):
    """How a claim is counted: by its verdict, or as weak where nearly any model would do."""

    REPRODUCED = "reproduced"
    WEAK = "weak"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    UNTESTABLE = "cannot be tested"
    OPEN = "no verdict"


#: What is counted: a quick run is not.
COUNTED = tuple(standing for standing in Standing if standing is not Standing.OPEN)


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
        With how many seeds it can be judged: more than one where it is about an interval over them.
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
        check_keys(item, _KEYS, name)
        check_texts(item, _TEXTS, name)
        return cls(
            id=item["id"],
            source=item["source"],
            statement=" ".join(item["statement"].split()),
            expected=item["expected"],
            check=item["check"],
            limits=dict(item.get("limits", {})),
            least_seeds=item.get("least_seeds", 1),
            kind=_read_kind(item),
            **{key: " ".join(item.get(key, "").split()) for key in _JOINED},
        )


@dataclass(frozen=True)
class Finding:
    """What was measured for a claim.

    Parameters
    ----------
    measured
        In words and numbers.
    verdict
        Whether it agrees.
    interval
        The 95 % interval of the measured number, where there is one.
    why
        Where it differs, the cause and the experiment that tested it; elsewhere, remarks.
    deciding_seeds
        Where it is undecided, with about how many seeds it would not be; None if not known.
    """

    measured: str
    verdict: Verdict
    interval: tuple[float, float] | None = None
    why: str = ""
    deciding_seeds: int | None = None


@dataclass(frozen=True)
class Judgement:
    """A claim with its finding."""

    claim: Claim
    finding: Finding

    @property
    def is_missed(self) -> bool:
        """Whether the claim was tested and does not hold here."""
        return self.finding.verdict is Verdict.DIFFERS

    @property
    def standing(self) -> Standing:
        """How it is counted."""
        verdict = self.finding.verdict
        is_weak = self.claim.weak and verdict is Verdict.REPRODUCED
        return Standing.WEAK if is_weak else Standing(verdict)

    def leave_open(self) -> Judgement:
        """Give it without a verdict and its words: what a quick run measured."""
        finding = Finding(self.finding.measured, Verdict.OPEN, self.finding.interval)
        return Judgement(self.claim, finding)

    def tell_interval(self) -> str:
        """Give the interval over the seeds in words after a space; nothing if there is none."""
        interval = self.finding.interval
        return f" (95 % interval {interval[0]:.3g} to {interval[1]:.3g})" if interval else ""

    def tell_decision(self) -> str:
        """Say with how many seeds it would be decided; nothing where it is."""
        if self.finding.verdict is not Verdict.UNDECIDED:
            return ""
        seeds = self.finding.deciding_seeds
        if seeds is None:
            return "with how many seeds it would be decided is not known"
        return f"about {seeds} seeds would decide it"

    def tell_verdict(self) -> str:
        """Give the verdict with all that is to be known of it."""
        notes = (
            self.tell_decision(),
            self.finding.why,
            self.claim.gap and f"left open by the document: {self.claim.gap}",
            self.claim.fitted and f"chosen after a first run: {self.claim.fitted}",
            self.claim.weak and f"weak: {self.claim.weak}",
        )
        told = "; ".join(filter(None, notes))
        return f"{self.finding.verdict}: {told}" if told else str(self.finding.verdict)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        claim = asdict(self.claim)
        del claim["check"]
        return {**claim, **asdict(self.finding)}

    @classmethod
    def from_dict(cls, item: dict[str, Any]) -> Judgement:
        """Take it from what `to_dict` gave."""
        claim = Claim(**{key: item[key] for key in _KEPT}, kind=Kind(item["kind"]), check="")
        interval = None
        if item["interval"]:
            low, high = item["interval"]
            interval = (float(low), float(high))
        finding = Finding(
            item["measured"],
            Verdict(item["verdict"]),
            interval,
            item["why"],
            item["deciding_seeds"],
        )
        return cls(claim, finding)


#: What a claim's table may have, and what of it is text.
_JOINED = ("published", "gap", "fitted", "weak")
_TEXTS = ("id", "source", "statement", "expected", "check", "kind", *_JOINED)
_KEYS = (*_TEXTS, "limits", "least_seeds")
#: What of a claim its results repeat, besides its kind.
_KEPT = ("id", "source", "statement", "expected", "limits", "least_seeds", *_JOINED)


def check_keys(item: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Refuse a key that a table has not got."""
    for key in item:
        if key not in known:
            raise InputError(f'{where}: unknown key "{key}"{suggest(key, known)}')


def check_texts(item: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
    """Refuse what is to be a text and is none."""
    for key in keys:
        if not isinstance(item.get(key, ""), str):
            raise InputError(f"{where}: {key}: expected a text, found {item[key]!r}")


def _read_kind(item: dict[str, Any]) -> Kind:
    """Take a claim's kind from its table; a claim that names none is the author's own question."""
    name = item.get("kind", Kind.OURS.name.lower())
    names = {kind.name.lower(): kind for kind in Kind}
    if name not in names:
        expected = ", ".join(f'"{word}"' for word in names)
        raise InputError(f'claim {item["id"]}: unknown kind "{name}"; expected one of {expected}')
    return names[name]


def decide(agrees: bool) -> Verdict:
    """Give the verdict on a claim that was tested."""
    return Verdict.REPRODUCED if agrees else Verdict.DIFFERS


def judge_claims(
    claims: Sequence[Claim], analysis: ModuleType, points: pl.DataFrame
) -> list[Judgement]:
    """Measure every claim on the points of a study."""
    judgements = []
    for claim in claims:
        seeds = points["seed"].n_unique() if "seed" in points.columns else 1
        if seeds < claim.least_seeds:
            why = f"it is about what seeds have in common, and needs {claim.least_seeds} or more"
            finding = Finding(f"{seeds} seed", Verdict.UNTESTABLE, why=why)
        else:
            finding = call(analysis, claim.check, f"claim {claim.id}", points, claim.limits)
        if not isinstance(finding, Finding):
            raise refuse_answer(analysis, claim.check, "a Finding", finding)
        judgements.append(Judgement(claim, finding))
    return judgements
