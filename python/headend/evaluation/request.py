"""A request: which names, by which document, over which conditions and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headend.design.design import Design, make_settings
from headend.design.factor import Factor
from headend.errors import InputError, suggest
from headend.evaluation.case import Bottleneck, Case, Extent
from headend.evaluation.family import FAMILIES, Family
from headend.evaluation.naming import make_safe
from headend.text.quantity import Kind, parse_quantity

#: Seeds by default, and in the quick form: the interval of two is twelve standard errors to each
#: side, and decides next to nothing.
SEEDS, QUICK_SEEDS = (1, 2, 3, 4, 5), (1, 2, 3)

#: The columns of the design.
FACTORS = ("case", "variant", "rate", "rtt", "buffer", "name")


@dataclass(frozen=True)
class Setting:
    """One thing to run: a case with a variant at a bottleneck, with a name in it."""

    case: Case
    variant: str
    bottleneck: Bottleneck
    name: str

    @property
    def labels(self) -> tuple[str, ...]:
        """Its values of the design's factors."""
        return (self.case.id, self.variant, *self.bottleneck.labels, self.name)


@dataclass(frozen=True)
class Request:
    """What is run and judged.

    Parameters
    ----------
    family
        By which document.
    names
        What is evaluated, as it was typed.
    against
        What stands beside, the baseline first.
    rates, rtts, buffers
        Of the grid: bit/s, ns, and bandwidth-delay products.
    cases
        The ids of the cases that are run.
    """

    family: Family
    names: tuple[str, ...]
    against: tuple[str, ...]
    rates: tuple[float, ...]
    rtts: tuple[float, ...]
    buffers: tuple[float, ...]
    cases: tuple[str, ...]
    seeds: tuple[int, ...] = SEEDS

    @property
    def every(self) -> tuple[str, ...]:
        """All names that are run: those that are evaluated, then those beside."""
        return tuple(dict.fromkeys((*self.names, *self.against)))

    @property
    def name(self) -> str:
        """What the results are called."""
        return "-".join([self.family.name, *map(make_safe, self.names)])

    def list_bottlenecks(self, extent: Extent) -> tuple[Bottleneck, ...]:
        """List the bottlenecks at which a case is run."""
        main = max(self.rtts)
        rates = self.rates[:1] if extent is Extent.ONE else self.rates
        rtts = self.rtts if extent in (Extent.GRID, Extent.PATHS) else (main,)
        buffers = self.buffers if extent is Extent.GRID else (choose_usual(self.buffers),)
        return tuple(
            Bottleneck(rate, rtt, buffer) for rate in rates for rtt in rtts for buffer in buffers
        )

    def list_settings(self) -> Iterator[Setting]:
        """List what is run, in the order of the document."""
        for case in self.family.cases:
            if case.id not in self.cases:
                continue
            for variant in case.variants:
                for bottleneck in self.list_bottlenecks(case.extent):
                    for name in self.every:
                        yield Setting(case, variant, bottleneck, name)

    def list_columns(self) -> Iterator[dict[str, Any]]:
        """List the points: the leading columns of the rows of each, in order."""
        for number, setting in enumerate(self.list_settings(), start=1):
            labels = dict(zip(FACTORS, setting.labels, strict=True))
            for seed in self.seeds:
                yield {"setting": number, **labels, "seed": seed}

    def make_design(self) -> Design:
        """Give what is run as a design."""
        rows = [setting.labels for setting in self.list_settings()]
        dimensions = []
        for number, name in enumerate(FACTORS):
            labels = tuple(dict.fromkeys(row[number] for row in rows))
            dimensions.append((Factor(name, name, labels, labels, "given"),))
        return Design(tuple(dimensions), self.seeds, settings=make_settings(rows))

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        return {
            "family": self.family.name,
            "names": list(self.names),
            "against": list(self.against),
            "rates": list(self.rates),
            "rtts": list(self.rtts),
            "buffers": list(self.buffers),
            "cases": list(self.cases),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], seeds: Sequence[int]) -> Request:
        """Read what `to_dict` gave; a KeyError, TypeError or ValueError for something else."""
        family = FAMILIES[content["family"]]
        for name in content["cases"]:
            family.find_case(name)
        return cls(
            family,
            tuple(map(str, content["names"])),
            tuple(map(str, content["against"])),
            tuple(map(float, content["rates"])),
            tuple(map(float, content["rtts"])),
            tuple(map(float, content["buffers"])),
            tuple(content["cases"]),
            tuple(seeds),
        )


def make_request(
    family: Family,
    names: Sequence[str],
    *,
    against: Sequence[str] = (),
    rates: Sequence[float] | None = None,
    rtts: Sequence[float] | None = None,
    buffers: Sequence[float] | None = None,
    sections: Sequence[str] = (),
    seeds: Sequence[int] | None = None,
    quick: bool = False,
) -> Request:
    """Fill in what is not said.

    Raises
    ------
    InputError
        For no name, and for a section without a case.
    """
    names = tuple(dict.fromkeys(name.strip() for name in names))
    if not names or not all(names):
        raise InputError(f"expected the name of a {family.noun}, found nothing")
    beside = (family.baseline, *family.against, *against)
    defaults = family.rates, family.rtts, family.buffers
    if quick:
        defaults = family.rates[:1], family.rtts[-1:], (choose_usual(family.buffers),)
    return Request(
        family,
        names,
        tuple(dict.fromkeys(own.strip() for own in beside if own.strip())),
        tuple(rates or defaults[0]),
        tuple(rtts or defaults[1]),
        tuple(buffers or defaults[2]),
        choose_cases(family, sections),
        tuple(seeds) if seeds else QUICK_SEEDS if quick else SEEDS,
    )


def choose_usual(buffers: Sequence[float]) -> float:
    """Choose the buffer of what is run with one: one bandwidth-delay product (RFC 7928 §1.2).

    Examples
    --------
    >>> choose_usual([0.5, 1.0, 4.0]), choose_usual([2.0, 4.0])
    (1.0, 2.0)
    """
    return 1.0 if 1.0 in buffers else buffers[0]


def choose_cases(family: Family, sections: Sequence[str]) -> tuple[str, ...]:
    """Choose the cases of some sections, such as ``5`` or ``8.2``, or by their ids; all of none.

    Raises
    ------
    InputError
        For a section that has no case.
    """
    if not sections:
        return tuple(case.id for case in family.cases)
    found: list[str] = []
    for wanted in sections:
        section = wanted.strip().removeprefix("§")
        own = [
            case.id
            for case in family.cases
            if case.id == section
            or case.section == section
            or case.section.startswith((f"{section}.", f"{section} "))
        ]
        if not own:
            known = [name for case in family.cases for name in (case.section, case.id)]
            told = next(
                (f": {own.why}" for own in family.untested if own.section == section),
                suggest(section, known) or f"; it has {', '.join(dict.fromkeys(known[::2]))}",
            )
            raise InputError(f"--section {wanted}: {family.document} has no test there{told}")
        found += own
    return tuple(case.id for case in family.cases if case.id in found)


def read_quantities(option: str, text: str, kind: Kind) -> tuple[float, ...]:
    """Read a list of quantities, such as ``10 Mbit/s, 50 Mbit/s``, in base units.

    Raises
    ------
    InputError
        For what is none, or not above zero.
    """
    found = []
    for part in text.split(","):
        try:
            value = parse_quantity(part.strip(), kind).value
        except ValueError as error:
            raise InputError(f"{option} {text}: {error}") from error
        if value <= 0:
            raise InputError(f"{option} {text}: expected more than zero, found {part.strip()}")
        found.append(value)
    return tuple(dict.fromkeys(found))
