"""The result of a recommendation: its table, its summary, and what each tier shall have."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from headend.analysis.criteria import Criteria, read_preferences
from headend.analysis.summary import FIGURE, summarise_means
from headend.design.design import Design, make_settings
from headend.design.factor import Factor, Role
from headend.errors import InputError, refuse_argument
from headend.pages.notebook import Drawn
from headend.recommendation.candidate import Candidate
from headend.recommendation.conditions import list_vocabularies, read_tier_wish
from headend.recommendation.deciding import Decision, decide
from headend.recommendation.exporting import write_scenario_file
from headend.recommendation.keeping import add_sums, list_parts
from headend.recommendation.owner import OwnChoices, find_own_choices
from headend.recommendation.owner_words import answer_owner
from headend.recommendation.rates import name_files
from headend.recommendation.request import Request
from headend.recommendation.sentences import answer_recommendation
from headend.recommendation.tier import Tier
from headend.results.experiment import Experiment, check_fit, open_experiment, read_experiment
from headend.results.folder import MANIFEST
from headend.results.store import list_points

if TYPE_CHECKING:
    import polars as pl

    from headend.figures import Figure
    from headend.wording.answer import Answer


@dataclass(frozen=True, repr=False)
class Recommendation(Experiment, Drawn):
    """A recommendation: ``table`` has all points, ``summary`` means, ``decisions`` the choices.

    A notebook shows it with its question, its answer, the matrix of tiers and choices, and the
    figure that shows why.

    Parameters
    ----------
    request
        What was asked.
    tiers
        Each tier with what was tried for it, and what must hold.
    """

    kind = "recommendation"

    request: Request
    tiers: tuple[tuple[Tier, tuple[Candidate, ...], Criteria], ...]

    def __repr__(self) -> str:
        """Say what each tier shall have; table and summary are attributes."""
        parts = [
            f"{own.tier.name}: {own.find(own.recommended).label}"
            if own.recommended
            else f"{own.tier.name}: nothing holds"
            for own in self.decisions
        ]
        parts += [] if self.complete else ["not run to its end"]
        return f"<Recommendation {'; '.join(parts)}>"

    @property
    def name(self) -> str:
        """What its results are called."""
        return self.request.name

    @property
    def title(self) -> str:
        """A question, or nothing."""
        return self.request.title

    @functools.cached_property
    def design(self) -> Design:
        """The settings of all tiers, one by one."""
        senders = self.request.senders
        roles: dict[str, Role] = {"tier": "given", "choice": "choice"}
        settings = [(tier.name, own.label) for tier, tried, _ in self.tiers for own in tried]
        places: list[tuple[str, ...]] = [*settings]
        if senders:
            roles["sender"] = "given"
            places = [
                (tier.name, own.label, str(sender))
                for tier, tried, _ in self.tiers
                for own in tried
                for sender in self.request.list_senders(tier)
            ]
        factors = []
        for (name, role), values in zip(roles.items(), zip(*places, strict=True), strict=True):
            labels = tuple(dict.fromkeys(values))
            factors.append(Factor("", name, labels, labels, role))
        dimensions = tuple((factor,) for factor in factors)
        return Design(dimensions, self.request.seeds, settings=make_settings(places))

    @functools.cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """What each tier shall have, in the order of the request."""
        return tuple(
            self._prefer(own) if own.tier.is_own else own
            for own in self._all
            if own.tier.variation is None
        )

    def _prefer(self, decision: Decision) -> Decision:
        """Let a line of one's own have what its owner is advised to."""
        advised = find_own_choices(decision, self.variations).advised
        is_settable = advised is not None and decision.find(advised).is_settable
        return replace(decision, preferred=advised) if is_settable else decision

    @functools.cached_property
    def variations(self) -> tuple[Decision, ...]:
        """What holds of lines of one's own if they are a little different."""
        return tuple(own for own in self._all if own.tier.variation)

    @functools.cached_property
    def _all(self) -> tuple[Decision, ...]:
        import polars as pl

        seeds, demands = self.request.seeds, self.request.demands
        found = []
        for tier, candidates, wish in self.tiers:
            own = self.table.filter(pl.col("tier") == tier.name) if self.table.width else self.table
            senders = self.request.list_senders(tier)
            found.append(decide(tier, candidates, own, wish, seeds, demands, senders))
        return tuple(found)

    @functools.cached_property
    def own_choices(self) -> OwnChoices | None:
        """What helps a line of one's own, by who can do it; None for tiers."""
        decision = next((own for own in self.decisions if own.tier.is_own), None)
        return find_own_choices(decision, self.variations) if decision else None

    def join(self, other: Recommendation) -> Self:
        """Give the results of this and of other tiers, to which the same was asked."""
        import polars as pl

        tables = [own.table for own in (self, other) if own.table.width]
        return replace(
            self,
            request=replace(self.request, tiers=self.request.tiers + other.request.tiers),
            tiers=self.tiers + other.tiers,
            table=pl.concat(tables, how="vertical_relaxed", rechunk=True),
            complete=self.complete and other.complete,
            notes=tuple(dict.fromkeys(self.notes + other.notes)),
            points=tuple(list_points((*self.points, *other.points))),
        )

    @functools.cached_property
    def summary(self) -> pl.DataFrame:
        """Means over seeds by point and measure: ``count``, ``mean``, ``low``, ``high``."""
        sender = ["sender"] if self.request.senders else []
        keys = ["tier", "setting", "choice", *sender, "feature", *FIGURE]
        return summarise_means(self.table, keys)

    def describe(self) -> dict[str, Any]:
        """Give what the manifest keeps besides the design: what was asked, and what was tried."""
        return {
            "request": self.request.to_dict(),
            "tiers": [
                {
                    "name": tier.name,
                    # The bounds of shares are absolute: they are of the tier's rates.
                    "wish": {**wish.to_dict(), "bounds": [one.limit for one in wish.constraints]},
                    "candidates": [own.to_dict() for own in candidates],
                }
                for tier, candidates, wish in self.tiers
            ],
        }

    def list_files(self) -> dict[str, bytes]:
        """Give each tier's scenario with its recommended or nearest setting, by file name."""
        if not self.complete:
            return {}
        names = name_files([own.tier for own in self.decisions])
        return {
            f"{name}.toml": write_scenario_file(self.request, decision).encode()
            for name, decision in zip(names, self.decisions, strict=True)
            if decision.chosen.setting
        }

    @property
    def answer(self) -> Answer:
        """The answer with which a page or command begins."""
        if self.own_choices:
            return answer_owner(self.own_choices)
        return answer_recommendation(self.request.title, self.decisions)

    def judge_again(self, expect: str | Sequence[str] = (), prefer: str = "") -> Self:
        """Judge the same results by other conditions; nothing is run.

        Parameters
        ----------
        expect
            What must hold, in place of what was asked, such as ``"call.mos.p5 >= 4.2"``, or several
            of such. By default the conditions stay as they are.
        prefer
            What there should be most or least of, such as ``"least page.page_load_time.p50"``. By
            default as it is.

        Raises
        ------
        InputError
            For a condition that cannot be understood, and for a quantity that the results do not
            hold.
        """
        conditions = tuple(filter(None, (expect,))) if isinstance(expect, str) else tuple(expect)
        if not all(isinstance(one, str) for one in conditions):
            raise refuse_argument("expect", "conditions as text", expect)
        request = replace(
            self.request,
            expect=conditions or self.request.expect,
            prefer=prefer or self.request.prefer,
        )
        tiers = []
        for tier, candidates, _ in self.tiers:
            wish = read_tier_wish(request, tier, list_vocabularies(request, tier, candidates))
            if self.table.width:
                _check_kept(wish, set(self.table["measure"].unique()))
            tiers.append((tier, candidates, wish))
        table = add_sums(self.table, [wish for _, _, wish in tiers])
        return replace(self, request=request, tiers=tuple(tiers), table=table)

    def draw_figures(self) -> list[Figure]:
        """Draw the figures of its page."""
        from headend.recommendation.figure import draw_recommendation

        return draw_recommendation(self.decisions, self.request.people.flows, self.table)


def _check_kept(wish: Criteria, kept: set[str | None]) -> None:
    """Refuse what was not kept of the runs."""
    asked = [(one.where, one.term) for one in wish.constraints]
    asked += [(wish.where, wish.objective)] if wish.objective else []
    for where, term in asked:
        for part in (part for name in term.measures for part in list_parts(name)):
            if part not in kept:
                raise InputError(
                    f"{where}: {part} was not kept of these results; run the recommendation again"
                    " with it"
                )


def choose_recommendation_folder(name: str) -> Path:
    """Give the folder of a recommendation's results; another run goes on from what is there."""
    return Path("results") / "recommend" / name


def open_recommendation_folder(folder: Path, request: Request, *, force: bool = False) -> None:
    """Make the folder before anything is run; refuse the results of none of the same tiers."""

    def tell_apart(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
        found = [str(own.get("name")) for own in manifest.get("tiers", ())]
        wanted = [tier.name for tier in request.tiers]
        is_same = not found or set(found) & set(wanted)
        return None if is_same else (f"of {', '.join(found)}", f"of {', '.join(wanted)}")

    open_experiment(folder, Recommendation.kind, tell_apart, force=force)


def load_recommendation(folder: str | Path) -> Recommendation:
    """Read a recommendation back that was run to its end, without running anything.

    Raises
    ------
    InputError
        When it was not, when it is damaged, or when the folder holds something else.
    """
    folder = Path(folder)
    manifest, table = read_experiment(folder, Recommendation.kind)
    try:
        request = Request.from_dict(manifest["request"])
        tiers = tuple(
            (tier, tuple(map(Candidate.from_dict, own["candidates"])), _read_wish(own["wish"]))
            for tier, own in zip(request.tiers, manifest["tiers"], strict=True)
        )
        notes = tuple(map(str, manifest.get("warnings", ())))
        points = tuple(map(str, manifest.get("points", ())))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{folder / MANIFEST}: damaged: {error}") from error
    result = Recommendation(
        request, tiers, table=table, complete=True, folder=folder, notes=notes, points=points
    )
    check_fit(result.design, table, folder)
    return result


def _read_wish(content: Mapping[str, Any]) -> Criteria:
    """Read what must hold, also where the manifest has each condition in its parts."""
    held = content.get("hold", ())
    if "bounds" not in content:
        held, found = [one["text"] for one in held], [one["bound"] for one in held]
        words = {word: " / ".join(content[word]) for word in ("most", "least") if word in content}
        content = {"bounds": found, **words}
    texts = [f"{word} {content[word]}" for word in ("most", "least") if word in content]
    wish = read_preferences([*held, *texts], {})
    bounds = zip(wish.constraints, content["bounds"], strict=True)
    return replace(wish, constraints=tuple(replace(one, limit=bound) for one, bound in bounds))
