"""Real hosts in scenarios: what the engine says of them, and none in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import headend
from headend.cli.main import app
from headend.errors import InputError
from headend.scenario.shipped import list_scenarios
from headend.scenario.source import read_scenario
from simulated import list_simulated

REFUSED = (
    "host.laptop is real: headend emulate real-program -- COMMAND runs a program there;"
    " --set host.laptop.real=false leaves it out"
)


def make_home(**more: Any) -> dict[str, Any]:
    """Describe a line with a real laptop."""
    line = {"point_to_point": {"up": {"rate": "10 Mbit/s"}, "down": {"rate": "100 Mbit/s"}}}
    host = {"laptop": {"via": ["line"], "real": True}}
    return {"link": {"line": line}, "host": host, **more}


def test_the_engine_tells_the_real_hosts_and_the_bounds() -> None:
    scenario = read_scenario(make_home(emulation={"stall": "20 ms"})).load().scenario
    assert scenario.real_hosts == [
        ("laptop", "customer", "10.0.0.1", "fd00:6865:6164::1"),
        ("server", "network", "10.0.0.2", "fd00:6865:6164::2"),
    ]
    assert scenario.is_unlimited
    assert scenario.duration_ns == 10 * 24 * 3600 * 10**9
    assert scenario.emulation_bounds_ns == (1_000_000, 20_000_000)
    assert scenario.flows == [("laptop", "real")]


def test_some_shipped_scenarios_have_real_hosts_and_all_others_run() -> None:
    real = set(list_scenarios()) - set(list_simulated())
    assert real == {"real-program", "real-program-behind-an-upload"}


@pytest.mark.parametrize("command", ["run", "compare --vary queue=codel,pie"])
def test_a_command_in_virtual_time_refuses_them_in_one_sentence(command: str) -> None:
    verb, *rest = command.split()
    answer = CliRunner().invoke(app, [verb, "real-program", *rest])
    assert answer.exit_code == 2
    assert REFUSED in " ".join(answer.output.split())
    assert "Traceback" not in answer.output


def test_so_do_the_functions(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^host\.laptop is real: headend emulate SCENARIO -- COMMAND"
    ):
        headend.run(make_home())
    with pytest.raises(InputError, match=r"host\.laptop is real: "):
        headend.compare(make_home(), vary={"link.line.point_to_point.up.queue": ["codel", "pie"]})
    sweep = tmp_path / "rates.toml"
    sweep.write_text(
        'scenario = "real-program"\n[grid]\nqueue = ["codel", "pie"]\n[measures]\nuse ='
        ' "cable.up.utilisation"\n',
        encoding="utf-8",
    )
    answer = CliRunner().invoke(app, ["sweep", str(sweep)])
    assert answer.exit_code == 2
    assert REFUSED in " ".join(answer.output.split())


def test_an_override_leaves_them_out() -> None:
    name = "real-program-behind-an-upload"
    result = headend.run(name, set={"host.laptop.real": False, "duration": "7 s"}, report=False)
    assert sorted(result.flows["flow"].unique()) == ["call", "upload"]
    with pytest.raises(InputError, match=r"with host\.laptop\.real=false none is left"):
        headend.run("real-program", set={"host.laptop.real": False})
