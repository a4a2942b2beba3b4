"""How a scenario names code, what results keep of it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headend
from headend.errors import InputError
from headend.running.result import Result

LAW = """\
from typing import Literal

from headend import ControlLaw, Duration, Probability, Rate, Size


class Law(ControlLaw):
    target: Duration = "5 ms"
    room: Size = "10 kB"
    share: Probability = "50 %"
    limit_rate: Rate = "1 Mbit/s"
    weight: float = 0.5
    count: int = 3
    ecn: bool = True
    mode: Literal["soft", "hard"] = "soft"

    def __init__(self):
        if self.count > 9:
            raise ValueError("count: expected 9 at most")

    def enqueue(self, packet, backlog, line):
        backlog.push(packet)

    def internals(self):
        return {"burst_allowance": self.target, "average_bytes": self.room}


class Needs(ControlLaw):
    target: Duration

    def dequeue(self, backlog, line):
        return backlog.pop()


class Misspelt(ControlLaw):
    def enqeue(self, packet, backlog, line):
        backlog.push(packet)


class Idle(ControlLaw):
    pass


class Taken(Law):
    limit: int = 5
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_law.py").write_text(LAW)
    return tmp_path


def run(queue: object, **further: object) -> Result:
    return headend.run(
        "upload-and-call", set={"queue": queue, "duration": "11 s", **further}, report=False
    )


@pytest.mark.parametrize(
    "queue",
    [
        "my_law.py:Law",
        {"custom": "my_law.py:Law", "target": "7 ms"},
        {"custom": {"code": "my_law.py:Law", "target": "7 ms"}},
    ],
)
def test_a_law_is_named_in_three_ways_and_has_its_parameters(folder: Path, queue: object) -> None:
    series = run(queue).tables["queue_series"]
    delay = series.filter(series["queue"] == "cable.up")["burst_allowance_ns"].to_list()
    assert set(delay) == {5e6 if isinstance(queue, str) else 7e6}


def test_a_parameter_is_set_by_its_path(folder: Path) -> None:
    result = headend.run(
        "upload-and-call",
        set={"queue": "my_law.py:Law", "queue.custom.target": "9 ms", "duration": "11 s"},
        report=False,
    )
    series = result.tables["queue_series"]
    assert series.filter(series["queue"] == "cable.up")["burst_allowance_ns"][0] == 9e6


def test_results_hold_the_code_and_repeat_the_run_without_its_file(folder: Path) -> None:
    first = headend.run("upload-and-call", set={"queue": "my_law.py:Law", "duration": "11 s"})
    assert list(first.manifest["code"]) == ["my_law.py:Law"]
    assert "class Law(ControlLaw)" in json.dumps(first.manifest["scenario"])
    (folder / "my_law.py").unlink()
    again = headend.run(first.manifest["scenario"])
    assert again.flows.equals(first.flows)


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        ("my_law.py:Lw", 'no class is called "Lw"; did you mean "Law"?'),
        ("my_law.py:Duration", '"Duration" is no class of the kind headend.ControlLaw'),
        ("other.py:Law", "no such file"),
        (
            "my_law.py",
            '"my_law.py:Law", found "my_law.py"; the file has Law, Needs, Misspelt, Idle,',
        ),
        ("my_law.py:", 'expected a file and a class in it, such as "my_law.py:Law", found "my_law'),
        ("other.py", 'such as "other.py:MyClass", found "other.py"; no such file'),
        ("my_law.py:Misspelt", 'Misspelt.enqeue is never called; did you mean "enqueue"?'),
        ("my_law.py:Idle", "Idle has none of the methods enqueue, dequeue, update"),
        ("my_law.py:Taken", '"limit" is the engine\'s'),
        ("my_law.py:Needs", "target: expected a value, since Needs has no default for it"),
        ({"custom": "my_law.py:Law", "targt": "5 ms"}, 'no parameter "targt"; did you mean "targ'),
        ({"custom": "my_law.py:Law", "target": 5}, 'a duration such as "15 ms", found 5'),
        ({"custom": "my_law.py:Law", "target": "5"}, "expected a duration"),
        ({"custom": "my_law.py:Law", "share": "150 %"}, "share"),
        ({"custom": "my_law.py:Law", "count": 1.5}, "count: expected a whole number, found 1.5"),
        ({"custom": "my_law.py:Law", "count": True}, "count: expected a whole number, found true"),
        ({"custom": "my_law.py:Law", "ecn": 1}, "ecn: expected true or false, found 1"),
        ({"custom": "my_law.py:Law", "mode": "x"}, 'mode: expected "soft" or "hard", found "x"'),
        ({"custom": "my_law.py:Law", "count": 10}, "count: expected 9 at most"),
    ],
)
def test_what_cannot_be_used_is_one_error(folder: Path, queue: object, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        run(queue)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_a_class_is_told_the_classes_of_the_kind_that_is_meant(folder: Path) -> None:
    (folder / "both.py").write_text(
        "import headend\nfrom headend import ControlLaw\n\n\nclass Law(ControlLaw):\n    pass\n\n\n"
        "class Mine(headend.CongestionControl):\n    pass\n\n\nclass Other(Mine):\n    pass\n"
    )
    told = r'"both\.py:Mine", found "both\.py"; the file has Mine, Other'
    with pytest.raises(InputError, match=rf"{told} \(from --set tcp\.congestion"):
        headend.run("upload-and-call", set={"tcp.congestion": "both.py"})
    with pytest.raises(InputError, match=rf"senders: .*{told}$"):
        headend.recommend(upstream="5 Mbit/s", downstream="50 Mbit/s", senders="both.py")


def test_code_that_does_not_compile_is_named_with_its_line(folder: Path) -> None:
    (folder / "broken.py").write_text("from headend import ControlLaw\n\nclass Law(ControlLaw:\n")
    with pytest.raises(InputError, match=r"broken.py, line 3: .*class Law\(ControlLaw:"):
        run("broken.py:Law")


SCENARIO = """\
duration = "1 s"

[link.line.point_to_point]
up = { rate = "1 Mbit/s", queue = "CODE" }

[flow.ping]
application = "ping"
rtt = "10 ms"
"""

#: Says on standard output that it was executed.
NOISY = "print('executed')\n" + LAW


def test_code_that_a_scenario_names_is_executed_only_where_it_is_allowed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "noisy.py").write_text(NOISY)
    (folder / "scenario.toml").write_text(SCENARIO.replace("CODE", "noisy.py:Law"))
    with pytest.raises(InputError, match=r"executed with your rights; .*--allow-files noisy\.py"):
        headend.run("scenario.toml")
    assert capsys.readouterr().out == ""
    headend.run("scenario.toml", allow_files=["noisy.py"])
    assert "executed" in capsys.readouterr().out


def test_code_in_another_folder_is_not_read(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "scenario.toml").write_text(SCENARIO.replace("CODE", "../my_law.py:Law"))
    with pytest.raises(InputError, match=r"not in the folder .*inner or below"):
        headend.run("inner/scenario.toml")


def test_code_within_a_scenario_is_executed_only_where_the_scenario_is_allowed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "noisy.py").write_text(NOISY.replace("'executed'", "'executed', 2"))
    (folder / "scenario.toml").write_text(SCENARIO.replace("CODE", "drop_tail"))
    first = headend.run("scenario.toml", set={"queue": "noisy.py:Law"})
    capsys.readouterr()
    (folder / "again.json").write_text(json.dumps(first.manifest["scenario"]))
    (folder / "noisy.py").write_text("")
    with pytest.raises(InputError, match=r"--allow-files again\.json"):
        headend.run("again.json")
    again = headend.run("again.json", allow_files=["again.json"])
    assert again.flows.equals(first.flows)


def test_a_sweep_executes_what_its_file_names_only_where_that_is_allowed(folder: Path) -> None:
    (folder / "sweep.toml").write_text(
        'scenario = "upload-and-call"\n[grid]\nqueue = ["codel", "my_law.py:Law"]\n'
        '[set]\nduration = "11 s"\n'
    )
    with pytest.raises(InputError, match=r"my_law\.py \(queue=.*--allow-files my_law\.py"):
        headend.sweep("sweep.toml")
    allowed = headend.sweep("sweep.toml", allow_files=["my_law.py"])
    assert not allowed.failures


def test_a_sweep_varies_a_parameter_of_the_law_that_a_person_names(folder: Path) -> None:
    (folder / "sweep.toml").write_text(
        'scenario = "upload-and-call"\n\n'
        '[grid]\n"queue.custom.target" = ["5 ms", "7 ms"]\n[set]\nduration = "11 s"\n'
    )
    swept = headend.sweep("sweep.toml", set={"queue": "my_law.py:Law"})
    assert not swept.failures
    assert swept.count_done() == 2


def test_setting_a_parameter_names_no_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "noisy.py").write_text(NOISY)
    (folder / "scenario.toml").write_text(SCENARIO.replace("CODE", "noisy.py:Law"))
    with pytest.raises(InputError, match=r"names the code noisy\.py, which"):
        headend.run("scenario.toml", set={"queue.custom.target": "7 ms"})
    assert "executed" not in capsys.readouterr().out


@pytest.mark.parametrize("code", ["law.py:Law", "x:Law", "law"])
def test_text_within_a_scenario_is_refused_whatever_its_name(
    folder: Path, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps(NOISY)
    queue = f'{{ custom = {{ code = "{code}", text = {text} }} }}'
    (folder / "scenario.toml").write_text(SCENARIO.replace('"CODE"', queue))
    with pytest.raises(InputError, match=r"a file holds code"):
        headend.run("scenario.toml")
    # A code that a person names has its own text, not that of the scenario.
    if code != "law.py:Law":
        headend.run("scenario.toml", set={"queue.custom.code": "my_law.py:Law"})
    assert "executed" not in capsys.readouterr().out


def test_a_folder_that_may_be_read_is_not_executed(folder: Path) -> None:
    (folder / "scenario.toml").write_text(SCENARIO.replace("CODE", "my_law.py:Law"))
    with pytest.raises(InputError, match=r"executed with your rights"):
        headend.run("scenario.toml", allow_files=[folder])


def test_senders_of_a_file_of_tiers_are_not_executed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "evil.py").write_text(
        "from headend import CongestionControl\nprint('executed')\n\n\n"
        "class Control(CongestionControl):\n    pass\n"
    )
    (folder / "tiers.toml").write_text(
        'senders = "evil.py:Control"\nseeds = 1\n[tier.small]\nupstream = "5 Mbit/s"\n'
    )
    with pytest.raises(InputError, match=r"executed with your rights"):
        headend.recommend("tiers.toml", seeds=1)
    assert "executed" not in capsys.readouterr().out


def test_nothing_of_a_module_is_carried_from_one_run_to_another(folder: Path) -> None:
    (folder / "counting.py").write_text(
        "from headend import ControlLaw\n\nSEEN = []\n\n\nclass Law(ControlLaw):\n"
        "    def enqueue(self, packet, backlog, line):\n"
        "        SEEN.append(packet.size)\n"
        "        (backlog.discard if len(SEEN) < 50 else backlog.push)(packet)\n"
    )
    first, second = run("counting.py:Law"), run("counting.py:Law")
    assert first.queues.equals(second.queues)
    assert first.queues["discarded_congested"].sum() >= 0


def test_a_periodic_law_runs_on_a_plain_link_that_is_idle_at_first(folder: Path) -> None:
    (folder / "periodic.py").write_text(
        "from headend import ControlLaw\n\n\nclass Law(ControlLaw):\n"
        "    next_update = 10_000_000\n    updates = 0\n\n"
        "    def enqueue(self, packet, backlog, line):\n        backlog.push(packet)\n\n"
        "    def update(self, backlog, line):\n"
        "        self.updates += 1\n        self.next_update = line.now + 10_000_000\n\n"
        "    def internals(self):\n        return {'average_packets': self.updates}\n"
    )
    (folder / "scenario.toml").write_text(
        SCENARIO.replace("CODE", "drop_tail").replace(
            'application = "ping"', 'application = "ping"\nstart = "200 ms"'
        )
    )
    result = headend.run("scenario.toml", set={"queue": "periodic.py:Law"})
    updates = result.tables["queue_series"]["average_packets"].drop_nulls().to_list()
    assert max(updates) > 10


def test_a_control_without_a_method_for_its_timer_has_none(folder: Path) -> None:
    (folder / "timer.py").write_text(
        "from headend import CongestionControl\n\n\nclass Control(CongestionControl):\n"
        "    next_timer = 1\n\n    def on_ack(self, ack):\n        pass\n"
    )
    result = headend.run(
        "upload-and-call",
        set={"tcp.congestion": "timer.py:Control", "duration": "11 s"},
        report=False,
    )
    assert not result.is_partial
