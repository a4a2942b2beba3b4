"""Tests of designs: grids, explicit settings, what a factor writes, and what a manifest keeps."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from headend.design.design import Design, Setting
from headend.design.factor import Factor, Role, find_role
from headend.errors import InputError

QUEUE = Factor("queue", "queue", ("codel", "pie"), ("codel", "pie"))
DELAY = Factor("flow.call.rtt", "rtt", ("10 ms", "20 ms"), ("10 ms", "20 ms"))


def test_a_grid_combines_dimensions_and_writes_what_is_shared_first() -> None:
    design = Design(
        ((QUEUE,), (DELAY,)), (3, 4), "line.toml", (("duration", '"2 s"'),), (("warmup", '"1 s"'),)
    )
    points = design.list_points()
    assert [(point.setting.number, point.factor_labels, point.seed) for point in points[1:4]] == [
        (1, ("codel", "10 ms"), 4),
        (2, ("codel", "20 ms"), 3),
        (2, ("codel", "20 ms"), 4),
    ]
    assert points[-1].setting.scenario == "line.toml"
    assert points[-1].setting.overrides == (
        ("duration", '"2 s"'), ("warmup", '"1 s"'), ("queue", '"pie"'), ("flow.call.rtt", '"20 ms"')
    )  # fmt: skip


def test_a_value_may_write_several_paths_and_choose_a_scenario() -> None:
    homes = Factor(
        "", "homes", (1, 2), (1, 2),
        writes=((("a.count", "1"),), (("a.count", "2"), ("b.count", "2"))),
        scenarios=(None, "street.toml"),
    )  # fmt: skip
    one, two = Design(((homes,),), scenario="line.toml").list_settings()
    assert (one.scenario, one.overrides) == ("line.toml", (("a.count", "1"),))
    assert (two.scenario, two.overrides) == ("street.toml", (("a.count", "2"), ("b.count", "2")))


def test_settings_may_be_listed_one_by_one() -> None:
    tier = Factor("", "tier", ("gold", "iron"), ("gold", "iron"), role="given")
    settings = (
        Setting(1, ("gold", "codel"), "a.toml"),
        Setting(2, ("iron", "codel"), "b.toml"),
        Setting(3, ("iron", "pie"), "c.toml"),
    )
    design = Design(((tier,), (QUEUE,)), (1, 2), settings=settings)
    assert len(design.list_points()) == 6
    assert [own.factor_labels for own in Design.from_dict(design.to_dict()).settings] == [
        own.factor_labels for own in settings
    ]


@pytest.mark.parametrize("settings", [(), (Setting(1, ("codel", "20 ms"), "line.toml"),)])
def test_a_manifest_keeps_a_design_but_not_what_was_simulated(
    settings: tuple[Setting, ...],
) -> None:
    design = Design(((QUEUE,), (DELAY,)), (1, 7), "line.toml", settings=settings)
    read = Design.from_dict(json.loads(json.dumps(design.to_dict())))
    assert read == design.as_labelled()
    assert (read.names, read.seeds, read.scenario) == (["queue", "rtt"], (1, 7), None)


def test_too_many_points_are_refused_before_any_is_made() -> None:
    many = replace(QUEUE, values=tuple(range(1001)), labels=tuple(range(1001)))
    with pytest.raises(InputError, match="1001 settings × 100 seeds are 100,100 points"):
        Design(((many,),), tuple(range(100)), "line.toml").list_points()


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("scenario", "scenario"),
        ("link.cable.docsis.upstream.rate", "given"),
        ("queue.buffer_control.rate", "choice"),
        ("flow.a.tcp.congestion", "choice"),
    ],
)
def test_a_path_tells_who_sets_its_values(path: str, role: Role) -> None:
    assert find_role(path) == role
