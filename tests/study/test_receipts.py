"""Receipts: what every shipped claim says of itself, and when a number is decided."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path

import pytest

from headend.scenario.shipped import list_studies
from headend.study import ClaimVerdict, Kind, decide_over_seeds, join_decisions, read_study
from headend.study.documents import FIVE, Group, find_all, find_group, read_catalogue
from headend.study.locating import choose_study, rank_study

DOCS = Path(__file__).parents[2] / "docs"
STUDIES = sorted(list_studies().items())


@pytest.mark.parametrize(("name", "folder"), STUDIES, ids=[name for name, _ in STUDIES])
def test_every_claim_names_its_kind_and_a_result_what_was_published(
    name: str, folder: Path
) -> None:
    content = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    assert [claim["id"] for claim in content["claim"] if "kind" not in claim] == []
    results = [claim for claim in read_study(name, folder).claims if claim.kind is Kind.RESULT]
    assert [claim.id for claim in results if not claim.published] == []


def test_the_five_documents_have_77_published_results() -> None:
    results = {
        name: sum(claim.kind is Kind.RESULT for claim in read_study(name, folder).claims)
        for name, folder in STUDIES
    }
    assert sum(count for name, count in results.items() if find_group(name) is Group.FIVE) == 77
    assert sum(count for name, count in results.items() if name.startswith("recommend/")) == 0


def test_prose_counts_the_receipts_as_they_are() -> None:
    texts = {
        name: (DOCS.parent / name).read_text(encoding="utf-8")
        for name in ("docs/receipts.md", "docs/explanation/what-to-believe.md", "CHANGELOG.md")
    }
    counts = {}
    for name, text in texts.items():
        found = re.search(
            r"[Oo]f (?:the )?77 published results .*?cannot be tested", text, re.DOTALL
        )
        assert found, name
        counts[name] = [int(number) for number in re.findall(r"\d+", found[0])]
    assert [sum(numbers[1:]) for numbers in counts.values()] == [77, 77, 77]
    assert len(set(map(tuple, counts.values()))) == 1


def test_what_a_figure_shows_is_in_the_list_of_its_document_or_the_source_of_a_claim() -> None:
    studies = [read_study(name, folder) for name, folder in STUDIES]
    sources: dict[str, str] = {}
    for study in studies:
        document = study.name.split("/")[0]
        own = " ".join(f"{claim.source}, {find_all(claim.source, [])}" for claim in study.claims)
        sources[document] = sources.get(document, "") + own
    unknown = [
        (study.name, figure.name, shown)
        for study in studies
        for figure in study.figures
        for shown in figure.shows
        if shown not in sources[study.name.split("/")[0]]
        and shown not in read_catalogue(study.folder.parent)
    ]
    assert unknown == []


@pytest.mark.parametrize("document", FIVE)
def test_a_document_s_list_has_every_figure_that_its_studies_name(document: str) -> None:
    studies = [read_study(name, path) for name, path in STUDIES if name.startswith(f"{document}/")]
    catalogue = read_catalogue(studies[0].folder.parent)
    named = {
        name
        for study in studies
        for source in (study.source, *(claim.source for claim in study.claims))
        for name in find_all(source, [])
    }
    shown = {name for study in studies for figure in study.figures for name in figure.shows}
    assert (named | shown) - catalogue.keys() == set()
    lasts = {study.name.rsplit("/", 1)[-1] for study in studies}
    assert {entry.study for entry in catalogue.values()} - lasts == {""}


def test_every_reading_of_a_document_is_used_by_a_study() -> None:
    studies = [read_study(name, path) for name, path in STUDIES]
    for folder in {path.parent for _, path in STUDIES if (path.parent / "readings.toml").is_file()}:
        used = {one.name for own in studies if own.folder.parent == folder for one in own.readings}
        written = tomllib.loads((folder / "readings.toml").read_text(encoding="utf-8"))
        assert written.keys() == used, folder.name


@pytest.mark.parametrize("document", FIVE)
def test_one_study_draws_each_figure_of_a_document(document: str) -> None:
    studies = [read_study(name, path) for name, path in STUDIES if name.startswith(f"{document}/")]
    for name, entry in read_catalogue(studies[0].folder.parent).items():
        showing = [own for own in studies if any(name in one.shows for one in own.figures)]
        chosen = choose_study(entry, studies)
        if entry.note:
            assert showing == [], name
            continue
        assert chosen in showing, name
        if not entry.study:
            best = rank_study(name, chosen)
            assert [rank_study(name, own) for own in showing].count(best) == 1, name


def test_a_mean_whose_interval_reaches_over_a_bound_is_undecided() -> None:
    values = [0.2, 1.4, 0.9]
    found = decide_over_seeds(values, low=0.5)
    assert found.verdict is ClaimVerdict.UNDECIDED
    assert found.deciding_seeds == 16
    assert decide_over_seeds(values, low=-0.7).verdict is ClaimVerdict.REPRODUCED
    assert decide_over_seeds(values, high=-0.7).verdict is ClaimVerdict.DIFFERS
    assert decide_over_seeds(values, 0.0, 1.0).verdict is ClaimVerdict.UNDECIDED


def test_as_many_seeds_as_are_asked_for_decide_it_if_their_spread_stays() -> None:
    values = [0.2, 1.4, 0.9]
    needed = decide_over_seeds(values, low=0.5).deciding_seeds
    assert needed is not None
    mean = sum(values) / 3
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / 2)

    def spread(count: int) -> list[float]:
        """As many values of the same mean and deviation."""
        signs = [1.0 if number % 2 else -1.0 for number in range(count)]
        middle = sum(signs) / count
        width = math.sqrt(sum((sign - middle) ** 2 for sign in signs) / (count - 1))
        return [mean + (sign - middle) * deviation / width for sign in signs]

    assert decide_over_seeds(spread(needed), low=0.5).verdict is ClaimVerdict.REPRODUCED
    assert decide_over_seeds(spread(needed - 1), low=0.5).verdict is ClaimVerdict.UNDECIDED


def test_a_mean_at_the_bound_itself_is_never_decided_by_chance() -> None:
    assert decide_over_seeds([1.0, 2.0, 3.0], low=2.0).verdict is ClaimVerdict.UNDECIDED
    assert decide_over_seeds([1.0, 2.0, 3.0], low=2.0).deciding_seeds is None
    assert decide_over_seeds([2.0, 2.0], low=2.0).verdict is ClaimVerdict.REPRODUCED


def test_one_seed_has_no_interval() -> None:
    found = decide_over_seeds([1.0], low=0.5)
    assert (found.verdict, found.interval) == (ClaimVerdict.REPRODUCED, None)
    finding = found.tell("1.0")
    assert (finding.measured, finding.verdict, finding.interval) == ("1.0", found.verdict, None)


def test_a_claim_over_several_numbers_agrees_where_all_do() -> None:
    agrees = decide_over_seeds([1.0, 1.1], low=0.0)
    differs = decide_over_seeds([1.0, 1.1], high=0.0)
    undecided = [decide_over_seeds([0.2, 1.4, 0.9], low=low) for low in (0.5, 0.0)]
    assert join_decisions([agrees, agrees], "1", "why").why == ""
    assert join_decisions([agrees, *undecided, differs], "1", "why").verdict is ClaimVerdict.DIFFERS
    joined = join_decisions([agrees, *undecided], "1", "why")
    assert (joined.verdict, joined.deciding_seeds, joined.why) == (
        ClaimVerdict.UNDECIDED,
        16,
        "why",
    )
