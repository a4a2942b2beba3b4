"""Replaying a recording in virtual time: equal departures, or arrivals under other settings.

Recorded senders do not react: what they sent, they sent in answer to the line that was emulated.
Under other settings a replay is therefore open loop, and its results say so.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.analysis.lateness import find_emulation
from headend.errors import InputError, take_path
from headend.files import read_bytes
from headend.running.experiment import Plan, plan_run
from headend.running.keeping import keep_run
from headend.running.memory import measure_machine
from headend.scenario.file_access import FileAccess, read_allowed
from headend.scenario.source import Loaded, Overrides, Text, write_overrides
from headend.text.wording import write_count

if TYPE_CHECKING:
    from headend.results.record import Record
    from headend.running.result import Result

#: A recording is held in memory; this share of the machine's is the most that it may take.
LARGEST_SHARE = 0.25

#: Beginnings of paths whose values do not act on packets.
NOT_OF_THE_LINE = ("title", "description", "expect", "results", "emulation")

#: What frames are counted by, beside the digest over the end of every one of them.
COUNTS = ("entered", "delivered", "discarded", "marked", "strays")


@dataclass(frozen=True)
class Replay:
    """A replay to be: the scenario as it was recorded, or with what is changed, and the recording.

    What the recording says of itself are its ``hosts``, and its ``end`` with the frames, which is
    None of a killed run. The changed paths differ from the recorded run's, and act on packets.
    """

    plan: Plan
    path: Path
    content: bytes
    about: Mapping[str, Any]
    changed: Sequence[str]

    @property
    def duration_ns(self) -> int:
        """How long it simulates, in ns; a guess where the recording has no end."""
        end = self.about.get("end")
        return int(end["end_ns"]) if end else self.plan.duration_ns

    def carry_out(
        self,
        on_progress: Callable[[int], None] | None = None,
        stop: threading.Event | None = None,
    ) -> Result:
        """Run it in virtual time and judge its expectations."""
        from headend.engine.columns import Frames

        execution = self.plan.execute(on_progress, stop, self.content)
        frames = json.loads(execution.frames or "{}")
        end = self.about.get("end") or {}
        recorded = end.get("frames")
        equal = None
        if recorded is not None and not self.changed and execution.finished:
            equal = all(frames.get(name) == count for name, count in recorded.items())
        emulation = {
            "kind": "open_loop" if self.changed else "replayed",
            "hosts": {
                name: {"command": None, "exit": None, "ended": None} for name in self.about["hosts"]
            },
            "outside": False,
            "scheduling": None,
            "lateness": None,
            "overruns": 0,
            "strays": frames.get("strays", 0),
            "frames": frames,
            "recorded": recorded,
            "recording": str(self.path),
            "changed": list(self.changed),
            "equal": equal,
        }
        return self.plan.complete(execution, Frames(execution.tables), emulation)


def plan_replay(
    path: Path,
    overrides: Overrides = (),
    *,
    seed: int | None = None,
    allow_files: Sequence[str | Path] = (),
) -> Replay:
    """Read a recording and check its scenario, with what is changed."""
    from headend import _engine
    from headend.engine.build import check_engine

    check_engine()
    content = read_bytes(path, int(LARGEST_SHARE * measure_machine()), "recording")
    try:
        about = json.loads(_engine.read_recording(content))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    for name in about["hosts"]:
        if dict(overrides).get(f"host.{name}.real") == "false":
            raise InputError(
                f"host.{name}.real: expected true, since the recording has packets of {name}; found"
                " false"
            )
    access = FileAccess(allowed=read_allowed(allow_files), scenario=path.parent, person_writes=True)
    text = Text(path.stem, str(path), json.dumps(about["scenario"]), "json", access)
    chosen = about["seed"] if seed is None else seed
    plan = plan_run(text, overrides, seed=chosen, is_emulated=True)
    try:
        _engine.check_recording(plan.loaded.scenario, content)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    # Paths that act on packets; none where all repeat the recording.
    changed = [key for key, _ in overrides if key.split(".")[0] not in NOT_OF_THE_LINE]
    if changed and _of_the_line(plan.loaded) == _of_the_line(text.load()):
        changed = []
    changed = list(dict.fromkeys(changed))
    if plan.seed != about["seed"]:
        changed.append("seed")
    return Replay(plan, path, content, about, changed)


def _of_the_line(loaded: Loaded) -> dict[str, Any]:
    """Give what acts on packets in a scenario."""
    return {key: value for key, value in loaded.resolved.items() if key not in NOT_OF_THE_LINE}


def replay(
    path: str | Path,
    *,
    set: Mapping[str, Any] | Overrides = (),  # noqa: A002 - the word of the command line
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    report: bool = True,
    allow_files: Sequence[str | Path] = (),
) -> Result:
    """Replay a recording of ``headend emulate --record`` in virtual time.

    Parameters
    ----------
    path
        The recording.
    set
        Overrides by path, such as ``{"queue": "docsis_pie"}``. With them the replay is open loop:
        the recorded senders do not react, and the result says so.
    seed
        In place of the recorded one; neighbours then act otherwise, so the replay is open loop.
    out
        Folder to write results and report to; none by default.
    force
        Replace a results folder that is there.
    report
        Also write ``report.html`` to the folder.
    allow_files
        Files and folders besides the recording's from which traces and captures may be read.

    Returns
    -------
    Result
        Tables as Polars frames; ``manifest["emulation"]["equal"]`` says whether every frame ended
        as it was recorded.

    Raises
    ------
    InputError
        When the recording, a value or the folder is not usable, in one line.
    """
    planned = plan_replay(
        take_path(path, "path"), write_overrides(set), seed=seed, allow_files=allow_files
    )
    return keep_run(planned.carry_out, out, force=force, report=report)


def describe_replay(result: Record) -> str:
    """Say whether a replay equals its recording, or what differs; empty if not comparable.

    Examples
    --------
    >>> from headend.results.record import Record
    >>> frames = {"entered": 9, "delivered": 8, "discarded": 1, "marked": 0, "digest": 5}
    >>> def tell(**others):
    ...     return describe_replay(Record({}, {"emulation": {"frames": frames, **others}}))
    >>> tell(kind="replayed", recorded=frames, equal=True)
    'as recorded: 9 frames, every departure equal'
    >>> tell(kind="replayed", recorded={**frames, "delivered": 7}, equal=False)
    'not as recorded: delivered 8, recorded 7'
    >>> tell(kind="replayed", recorded=None, equal=None)
    'the recorded run was killed: replayed to its last arrival, 9 frames'
    """
    emulation = find_emulation(result) or {}
    if emulation.get("kind") != "replayed":
        return ""
    frames, recorded = emulation["frames"], emulation.get("recorded")
    count = write_count(frames.get("entered", 0), "frame")
    if recorded is None:
        return f"the recorded run was killed: replayed to its last arrival, {count}"
    if emulation["equal"]:
        return f"as recorded: {count}, every departure equal"
    if emulation["equal"] is None:
        return f"stopped before its end: {count} of {recorded['entered']:,}"
    differing = [
        f"{name} {frames[name]:,}, recorded {recorded[name]:,}"
        for name in COUNTS
        if name in frames and frames[name] != recorded.get(name, frames[name])
    ]
    others = "as many frames of each fate, but not the same ones at the same times"
    return f"not as recorded: {'; '.join(differing) or others}"
