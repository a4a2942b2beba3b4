"""Every case of every family: the engine takes it, and it says what it measures and why."""

from __future__ import annotations

import re

import pytest

from headend.engine.description import describe
from headend.evaluation.case import Bottleneck, Case, Extent
from headend.evaluation.criterion import BoundSource
from headend.evaluation.experiment import prepare_jobs
from headend.evaluation.family import FAMILIES, Family
from headend.evaluation.line import count_flows, size_buffer
from headend.evaluation.naming import list_parameters, split_name, write_name
from headend.evaluation.queue_cases import CASES as QUEUE_CASES
from headend.evaluation.request import make_request
from headend.running.memory import read_allowance

FAMILY_LIST = list(FAMILIES.values())
EVERY = [(family, case) for family in FAMILY_LIST for case in family.cases]

#: The sections of the documents, by their tables of contents, that have tests.
SECTIONS = {
    "queue": {
        "4.4", "4.5", "5.1.1", "5.1.2", "5.2", "5.3", "5.4", "6.2", "7.2", "8.2.2 to 8.2.4",
        "8.2.5", "8.2.6", "9.1", "9.2", "10.2",
    },
    "sender": {
        "5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1", "5.2.2", "5.2.3", "6.4", "7.1",
        "7.3", "7.5", "7.8", "7.9",
    },
    "media": {"5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "6.3"},
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILY_LIST, ids=lambda own: own.name)
def test_every_section_with_a_test_is_run(family: Family) -> None:
    assert {case.section for case in family.cases} == SECTIONS[family.name]
    assert not SECTIONS[family.name] & {own.section for own in family.untested}
    assert all(own.why and own.title for own in family.untested)
    assert set(family.needs) <= SECTIONS[family.name]


@pytest.mark.parametrize("family", FAMILY_LIST, ids=lambda own: own.name)
def test_the_engine_takes_every_case_with_its_measures(family: Family) -> None:
    name = family.baseline or "video_call"
    request = make_request(family, [name], seeds=[1])
    jobs = prepare_jobs(request, (), read_allowance(None))
    assert len(jobs) == len(list(request.list_columns()))
    assert len({case.id for case in family.cases}) == len(family.cases)


@pytest.mark.parametrize(("family", "case"), EVERY, ids=lambda own: getattr(own, "id", ""))
def test_a_criterion_reads_what_its_case_keeps(family: Family, case: Case) -> None:
    assert len({own.id for own in case.criteria}) == len(case.criteria)
    assert len({own.statement for own in case.criteria}) == len(case.criteria)
    for criterion in case.criteria:
        readable = False
        for variant in case.variants:
            kept = dict.fromkeys([*case.list_measures(variant), *case.spans], 1.0)
            readable = readable or criterion.read(kept) is not None
        assert readable, criterion.id
        assert criterion.read({}) in (None, 0.0)
        # A multiple needs a baseline.
        assert family.baseline or criterion.bound.factor is None
        if criterion.bound.factor not in (None, 1.0):
            assert criterion.bound.source is BoundSource.MARGIN
        assert not criterion.needs or criterion.needs in case.measures


def test_a_place_names_itself_and_sizes_its_buffer() -> None:
    bottleneck = Bottleneck(10e6, 100e6, 1.0)
    assert bottleneck.labels == ("10 Mbit/s", "100 ms", "1 BDP")
    assert size_buffer(bottleneck) == 125_000
    assert size_buffer(bottleneck, 200e6) == 250_000
    # RFC 7928 §8.2.2 to §8.2.4: ROUND(factor × S), and S = 2 × 125 kB / 1500 B = 166.7 packets.
    assert [count_flows(bottleneck, own) for own in (0.036, 0.081, 0.114)] == [6, 14, 19]


def test_a_grid_has_each_case_where_it_says() -> None:
    request = make_request(FAMILIES["queue"], ["codel"], rates=[1e6, 2e6], rtts=[1e7, 2e7])
    sizes = {extent: len(request.list_bottlenecks(extent)) for extent in Extent}
    assert sizes == {Extent.GRID: 8, Extent.PATHS: 4, Extent.RATES: 2, Extent.ONE: 1}
    assert request.list_bottlenecks(Extent.ONE)[0] == Bottleneck(1e6, 2e7, 1.0)
    quick = make_request(FAMILIES["queue"], ["codel"], quick=True)
    assert quick.list_bottlenecks(Extent.GRID) == (Bottleneck(10e6, 100e6, 1.0),)


def test_every_queue_that_has_a_limit_gets_the_buffer_of_the_place() -> None:
    case = QUEUE_CASES[0]
    bottleneck = Bottleneck(10e6, 100e6, 1.0)
    scenario = case.build(bottleneck, "")
    (path,) = case.paths
    for queue in describe().queues:
        written = dict(write_name(case, "", scenario, queue))
        if queue == "drop_tail":
            assert written == {}
            continue
        assert written[path] == queue
        has_limit = "limit" in list_parameters(queue)
        assert written.get(f"{path}.{queue}.limit") == ("125000 B" if has_limit else None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ('{codel={target="15 ms"}}', "125000 B"),
        ('{codel={limit="9 kB"}}', None),
        ("my_law.py:MyLaw", "125000 B"),
    ],
)
def test_a_name_is_passed_on_as_it_was_typed(name: str, expected: str | None) -> None:
    case = QUEUE_CASES[0]
    written = dict(write_name(case, "", case.build(Bottleneck(10e6, 100e6, 1.0), ""), name))
    (path,) = case.paths
    assert written[path] == name
    limits = {own for key, own in written.items() if re.search(r"\.limit$", key)}
    assert limits == ({expected} if expected else set())
    assert split_name(name)[0] in ("codel", "custom")
