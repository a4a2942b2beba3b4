"""What a recommendation keeps of each run: all that conditions can ask for."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headend.analysis.criteria import Criteria
from headend.analysis.expect import Quantity, list_quantities, parse_quantity_name
from headend.analysis.sums import BASE_UNITS, take_worst
from headend.errors import InputError
from headend.running.measuring import make_frame
from headend.scenario.subjects import Vocabulary

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record

#: The columns that tell a point from the others.
_POINT = ("tier", "setting", "choice", "sender", "feature", "seed")


@dataclass(frozen=True)
class Kept:
    """Every quantity of flows, queues, channels and the run, by its name in conditions.

    Parameters
    ----------
    vocabulary
        Of the scenario.
    besides
        Other quantities that were asked for, such as those of one member of a group.
    """

    vocabulary: Vocabulary
    besides: tuple[str, ...] = ()

    def describe(self) -> str:
        """Give a text that is the same for equal selections."""
        return self._description

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse nothing: what a scenario has not got is not kept of it."""

    def take(self, record: Record, vocabulary: Vocabulary) -> pl.DataFrame:
        """Take a row for each quantity; without a value where nothing was measured."""
        needed = dict.fromkeys(own.table for own in self._quantities.values())
        lists = {name: record.lists(name) for name in needed if name in record.tables}
        return make_frame(
            [
                {
                    "measure": name,
                    "subject": quantity.subject,
                    "direction": quantity.direction,
                    "metric": name.removeprefix(f"{quantity.subject}."),
                    "value": take_worst(quantity, lists),
                    "unit": BASE_UNITS[quantity.kind],
                }
                for name, quantity in self._quantities.items()
            ]
        )

    @functools.cached_property
    def _description(self) -> str:
        return f"kept{json.dumps(list(self._quantities))}"

    @functools.cached_property
    def _quantities(self) -> dict[str, Quantity]:
        names = dict.fromkeys((*list_quantities(self.vocabulary), *self.besides))
        return {name: parse_quantity_name(name, self.vocabulary) for name in names}


def keep(criteria: Criteria, vocabulary: Vocabulary, made: list[Kept]) -> Kept:
    """Keep all that can be asked, so that other conditions need no new points; more if asked.

    A selection that was made before for an equal scenario is given again: it has understood its
    quantities.
    """
    for own in made:
        if own.vocabulary == vocabulary:
            return own
    known = dict.fromkeys(list_quantities(vocabulary))
    asked = [part for term in criteria.terms for name in term.measures for part in list_parts(name)]
    besides = []
    for part in dict.fromkeys(asked):
        # Some candidates have queues that others have not.
        with suppress(InputError):
            if part not in known:
                parse_quantity_name(part, vocabulary)
                besides.append(part)
    made.append(Kept(vocabulary, tuple(besides)))
    return made[-1]


def list_parts(measure: str) -> list[str]:
    """List the quantities of a sum.

    Examples
    --------
    >>> list_parts("up.goodput + down.goodput"), list_parts("call.mos.p5")
    (['up.goodput', 'down.goodput'], ['call.mos.p5'])
    """
    return [part.strip() for part in measure.split("+")]


def add_sums(table: pl.DataFrame, wishes: Iterable[Criteria]) -> pl.DataFrame:
    """Add the rows of the sums that wishes name to a table that has all their parts."""
    import polars as pl

    if not table.width:
        return table
    kept = table.filter(~pl.col("measure").str.contains("+", literal=True).fill_null(value=False))
    known = set(kept["measure"].unique())
    names = dict.fromkeys(name for wish in wishes for term in wish.terms for name in term.measures)
    sums = [
        _add_up(kept, name, parts)
        for name in names
        if len(parts := list_parts(name)) > 1 and known.issuperset(parts)
    ]
    return pl.concat([kept, *sums], rechunk=True)


def _add_up(table: pl.DataFrame, name: str, parts: Sequence[str]) -> pl.DataFrame:
    """Give the rows of a sum; without a value where a part has none."""
    import polars as pl

    first, *others = [table.filter(pl.col("measure") == part) for part in parts]
    point = [name for name in _POINT if name in table.columns]
    total = first
    for other in others:
        joined = total.join(
            other.select(*point, pl.col("value").alias("_other")),
            on=point,
            how="inner",
            maintain_order="left",
        )
        total = joined.with_columns(pl.col("value") + pl.col("_other")).drop("_other")
    return total.with_columns(
        measure=pl.lit(name),
        subject=pl.lit(None, dtype=pl.String),
        direction=pl.lit(None, dtype=pl.String),
        metric=pl.lit(name),
    )
