"""Running scenarios from Python: one run, or several side by side with equal traffic and seeds."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from headend.analysis.expect import Expectation, parse_expectation
from headend.analysis.round_trips import leave_out_round_trips
from headend.design.design import Design
from headend.design.factor import Value
from headend.design.seeds import choose_seeds, read_seed
from headend.design.varying import check_varied, make_design, refuse_alike, write_vary
from headend.errors import InputError
from headend.files import STANDARD_INPUT_SHOWN, parse_toml
from headend.results.record import RESULT_FORMAT
from headend.running.execution import Execution, describe_failure, execute, execute_all
from headend.running.keeping import keep_run
from headend.running.memory import Allowance, Room, check_kept, check_memory, read_allowance
from headend.running.real_hosts import refuse_real_hosts
from headend.running.result import Result
from headend.scenario.codes import list_codes
from headend.scenario.conflicts import check_settings, check_shared, note_replaced
from headend.scenario.file_access import FileAccess, read_allowed
from headend.scenario.modems import is_modem, show_option, write_modems
from headend.scenario.parameters import find_value
from headend.scenario.source import (
    Loaded,
    Overrides,
    Source,
    Text,
    is_sweep,
    read_scenario,
    write_overrides,
)
from headend.scenario.subjects import Vocabulary
from headend.scenario.supposed import note_supposed
from headend.text.quantity import format_quantity, read_integer
from headend.version import read_version

if TYPE_CHECKING:
    import polars as pl

    from headend.running.comparison import Comparison

#: The type of ``modem=``: the path of a file, or paths by the names of modems.
Modems = str | Path | Mapping[str, str | Path] | None

#: A setting's label and a seed: what tells a run from the others of a comparison.
Run = tuple[str, int]


@dataclass(frozen=True)
class Plan:
    """A run that can be started: a checked scenario, its expectations and its label."""

    loaded: Loaded
    expectations: list[Expectation]
    label: str
    overrides: Overrides
    seed: int
    follow: tuple[str, int] | None = None
    #: Warnings for whoever reads the results, beside the engine's own.
    notes: tuple[str, ...] = ()
    #: The most memory that the run can need, in bytes.
    memory: int = 0
    #: The design that the run is part of, and its setting's label for each factor of the design;
    #: None for a run by itself.
    design: Design | None = None
    factor_labels: tuple[Value, ...] = ()
    #: The scenario's text, from which a trial of another setting is loaded.
    text: Text | None = None

    @property
    def run(self) -> Run:
        """The label and the seed, which no other run of a comparison has."""
        return self.label, self.seed

    @property
    def duration_ns(self) -> int:
        """The simulated time of the whole run, in ns."""
        return self.loaded.scenario.duration_ns

    def carry_out(
        self,
        on_progress: Callable[[int], None] | None = None,
        stop: threading.Event | None = None,
    ) -> Result:
        """Run it and judge its expectations."""
        # Now, so that an interrupted run is kept without delay.
        from headend.engine.columns import Frames

        execution = self.execute(on_progress, stop)
        return self.complete(execution, Frames(execution.tables))

    def execute(
        self,
        on_progress: Callable[[int], None] | None = None,
        stop: threading.Event | None = None,
        recording: bytes | None = None,
    ) -> Execution:
        """Run it in virtual time, with the arrivals of a recording where there is one."""
        return execute(
            self.loaded.scenario,
            seed=self.seed,
            follow=self.follow,
            on_progress=on_progress,
            stop=stop,
            recording=recording,
        )

    def complete(
        self,
        execution: Execution,
        tables: MutableMapping[str, pl.DataFrame],
        emulation: Mapping[str, Any] | None = None,
    ) -> Result:
        """Check the expectations against the tables, and give the run's tables and manifest.

        Parameters
        ----------
        emulation
            What the manifest says of real programs, or of a recording of them; such a run has no
            length but the time that it ran. None for a simulation alone.
        """
        scenario = self.loaded.scenario
        duration_ns = scenario.duration_ns if emulation is None else execution.simulated_ns
        is_open_loop = emulation is not None and emulation["kind"] == "open_loop"
        if is_open_loop:
            tables = leave_out_round_trips(tables)
        outcomes = [
            expectation.check(tables, is_open_loop=is_open_loop).to_dict()
            for expectation in self.expectations
        ]
        manifest = self._describe(execution, duration_ns, outcomes, emulation)
        if self.follow and tables["steps"].is_empty():
            flow, since = self.follow
            at = format_quantity(since, "time")
            manifest["warnings"].append(f"no packet of {flow} entered a queue from {at} on")
        if execution.failure:
            manifest["failure"] = describe_failure(execution.failure, execution.simulated_ns)
            manifest["warnings"].insert(0, f"stopped {manifest['failure']}")
        is_short = bool(emulation and scenario.warmup_ns) or not execution.finished
        if is_short and execution.simulated_ns <= scenario.warmup_ns:
            stopped = format_quantity(execution.simulated_ns, "time")
            warmup = format_quantity(scenario.warmup_ns, "time")
            manifest["warnings"].append(
                f"stopped at {stopped}, before the warm-up of {warmup} was over: all figures are of"
                " the warm-up, which a run that ends leaves out"
            )
        return Result(
            tables,
            manifest,
            self.label,
            wall_seconds=execution.wall_seconds,
            capture=execution.capture,
        )

    def _describe(
        self,
        execution: Execution,
        duration_ns: int,
        outcomes: list[dict[str, Any]],
        emulation: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Give the manifest of the run, as docs/reference/results.md defines it."""
        scenario = self.loaded.scenario
        manifest: dict[str, Any] = {
            "headend": read_version(),
            "format": RESULT_FORMAT,
            "kind": "run",
            "engine": execution.engine_version,
            "name": self.loaded.name,
            "label": self.label,
            "title": scenario.title,
            "description": scenario.description,
            "seed": self.seed,
            "duration_ns": duration_ns,
            "warmup_ns": scenario.warmup_ns,
            "simulated_ns": execution.simulated_ns,
            "partial": not execution.finished,
            "bottleneck": scenario.bottleneck,
            "overrides": [list(pair) for pair in self.overrides],
            "expectations": outcomes,
            "warnings": [*scenario.warnings, *self.notes],
            # With the seed of this run, so that the scenario alone repeats it.
            "scenario": {**self.loaded.resolved, "seed": self.seed},
        }
        if codes := list_codes(manifest["scenario"]):
            manifest["code"] = codes
        if modem_files := json.loads(scenario.modem_files_json()):
            manifest["modem_files"] = modem_files
        if emulation is not None:
            manifest["emulation"] = dict(emulation)
        if self.design:
            manifest |= {"design": self.design.to_dict(), "place": list(self.factor_labels)}
        if self.follow:
            manifest["explain"] = list(self.follow)
        return manifest


def plan_run(
    source: Source | Text,
    overrides: Overrides = (),
    *,
    varied: Overrides = (),
    seed: int | None = None,
    label: str = "",
    explain: str | None = None,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | Allowance | None = None,
    is_emulated: bool = False,
) -> Plan:
    """Check all that can be checked before a run, and return its plan.

    Further parameters are those of `run`.

    Parameters
    ----------
    varied
        Further overrides, of this run of several only.
    label
        The run's name; by default the scenario's.
    is_emulated
        Whether real programs run at the scenario's real hosts, or a recording replaces them.
    """
    allowance = read_allowance(memory)
    if seed is not None:
        seed = read_seed(seed)
        _check_seed_alone(overrides, "--seed")
    text = source if isinstance(source, Text) else _read(source, allow_files)
    shared, overrides = overrides, [*overrides, *varied]
    text = text.allow_named(overrides)
    loaded = _load(text, overrides)
    if not is_emulated:
        refuse_real_hosts(loaded.scenario, text.shown_as)
    queue_path = loaded.scenario.queue_path or ""
    _check_overrides(text, shared, varied, queue_path)
    vocabulary = Vocabulary.from_scenario(loaded.scenario)
    expectations = _parse_expectations(text, loaded, vocabulary, overrides)
    bytes_needed = check_memory(loaded.scenario, allowance, text.shown_as)
    chosen = loaded.scenario.seed if seed is None else seed
    follow = None
    if explain is not None:
        from headend.results.life import parse_follow

        follow = parse_follow(explain, vocabulary, loaded.scenario.duration_ns)
    notes = note_replaced(text, loaded, overrides, queue_path)
    notes += note_supposed(text, loaded, overrides)
    name = label or loaded.name
    return Plan(
        loaded,
        expectations,
        name,
        overrides,
        chosen,
        follow,
        tuple(notes),
        bytes_needed,
        text=text,
    )


def _check_overrides(text: Text, shared: Overrides, varied: Overrides, queue_path: str) -> None:
    """Refuse overrides that replace each other.

    Parameters
    ----------
    shared
        The overrides of all runs, of ``--set`` and ``--modem``.
    varied
        Those of this run alone, of ``--vary``.
    """
    check_varied([path for path, _ in varied], queue_path)
    reason = "--vary {} sets it in every run"
    by_path = [(path, path) for path, _ in varied]
    files = [(path, value) for path, value in shared if is_modem(path)]
    settings = [(path, value) for path, value in shared if not is_modem(path)]
    check_shared(by_path, files, queue_path, "--modem", reason)
    check_shared(by_path, settings, queue_path, "--set {}", reason)
    options = {path: show_option(path) for path, _ in files}
    options |= {path: f"--vary {path}" for path, _ in varied}
    check_settings(text, [*shared, *varied], queue_path, shown=options)


def _parse_expectations(
    text: Text, loaded: Loaded, vocabulary: Vocabulary, overrides: Overrides
) -> list[Expectation]:
    """Parse the scenario's expectations; an error names the line of the file, or the override."""
    expectations = []
    for name, expression in loaded.scenario.expect:
        try:
            expectations.append(parse_expectation(name, expression, vocabulary))
        except InputError as error:
            path = f"expect.{name}"
            raise text.refuse(path, str(error).removeprefix(f"{path}: "), overrides) from error
    return expectations


def _read(source: Source, allow_files: Sequence[str | Path]) -> Text:
    codes: frozenset[str] | None = None if isinstance(source, Mapping) else frozenset()
    access = FileAccess(allowed=read_allowed(allow_files), person_writes=True, codes=codes)
    return read_scenario(source, access)


def _find_inner_path(message: str, text: Text, overrides: Overrides) -> str:
    """Suggest the path inside the kind that the scenario has, for one of another kind or of none.

    A path that the scenario could not have either is not suggested.
    """
    match = re.search(r'(\S+): expected one name, found also "([^"]+)"', message)
    if match is None or text.format != "toml":
        return ""
    table, key = match.groups()
    kinds = find_value(parse_toml(text.content), table)
    if not isinstance(kinds, dict) or len(kinds) != 1:
        return ""
    (kind,) = kinds
    beside = f"{table}.{key}"
    for place in (f"{table}.{kind}", f"{table}.{kind}.{key}"):
        # A kind in the place of the scenario's own, or a key beside it that belongs inside.
        moved = [
            (place + path.removeprefix(beside), value)
            if _is_within(path, beside)
            else (path, value)
            for path, value in overrides
        ]
        try:
            text.load(moved)
        except InputError:
            continue
        meant = next(new for new, old in zip(moved, overrides, strict=True) if new != old)
        return f'; did you mean "{meant[0]}"?'
    return f"; {table} is {kind} in this scenario"


def _is_within(path: str, table: str) -> bool:
    return path == table or path.startswith(f"{table}.")


def _load(text: Text, overrides: Overrides) -> Loaded:
    """Check a scenario; a sweep's file is pointed to where it is run."""
    try:
        return text.load(overrides)
    except InputError as error:
        if hint := _find_inner_path(str(error), text, overrides):
            raise InputError(f"{error}{hint}") from error
        file = Path(text.shown_as)
        if text.format != "toml" or not is_sweep(text.content):
            raise
        if text.shown_as == STANDARD_INPUT_SHOWN:
            raise InputError(
                f"{text.shown_as}: this is a sweep or a study, not a scenario; write it to a file:"
                " headend sweep FILE runs a sweep, headend study run FOLDER a study"
            ) from error
        # A study's file has a scenario and a grid too.
        kind, command = ("study", "study run") if file.name == "study.toml" else ("sweep", "sweep")
        target = file.parent if kind == "study" else file
        raise InputError(
            f"{file}: this is a {kind}, not a scenario; headend {command} {target} runs it"
        ) from error


def run(
    scenario: Source,
    *,
    set: Mapping[str, Any] | Overrides = (),  # noqa: A002 - the word of the command line
    modem: Modems = None,
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    report: bool = True,
    progress: bool = False,
    explain: str | None = None,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | None = None,
) -> Result:
    """Run a scenario.

    Parameters
    ----------
    scenario
        Path of a file, name of a shipped scenario, ``-`` for standard input, or a dictionary.
    set
        Overrides by path, such as ``{"queue": "docsis_pie", "flow.call.rtt": "80 ms"}``; ``queue``
        means the bottleneck's queue, and ``low_latency`` (``off``, ``on``, ``2019``) the low
        latency of its cable line in both directions.
    modem
        The configuration file of the line's only modem, or files by the names of modems. They are
        read wherever they are.
    seed
        In place of the scenario's own.
    out
        Folder to write results and report to; none by default.
    force
        Replace a results folder that is there.
    report
        Also write ``report.html`` to the folder.
    progress
        Show a progress bar on standard error.
    explain
        ``FLOW@TIME``: the life of that flow's next packet becomes the table ``steps`` and a figure
        of the report.
    allow_files
        Files and folders from which traces and captures may be read, besides the scenario's own
        folder, and for overrides the one where the program runs.
    memory
        What it may take: a size such as ``"8GB"``, a share of the machine's memory such as
        ``"50%"``, or bytes. Half of the machine's by default.

    Returns
    -------
    Result
        Tables as Polars frames.

    Raises
    ------
    InputError
        When the scenario or the folder is not usable, in one line; or when the report cannot be
        written: then the results are kept in the folder.

    Examples
    --------
    >>> line = {"line": {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}}
    >>> scenario = {"duration": "2 s", "link": line, "flow": {"ping": {"application": "ping"}}}
    >>> result = run(scenario, set={"flow.ping.rtt": "40 ms"})
    >>> result.flows.select("flow", "direction", "packets_sent").row(0)
    ('ping', 'up', 3)
    """
    plan = plan_run(
        scenario,
        [*write_overrides(set), *write_modems(modem)],
        seed=seed,
        explain=explain,
        allow_files=allow_files,
        memory=memory,
    )

    def carry_out() -> Result:
        if not progress:
            return plan.carry_out()
        from headend.running.progress import show_bars

        with show_bars([plan.label], plan.duration_ns) as bars:
            return plan.carry_out(on_progress=bars[plan.label])

    return check_failure(keep_run(carry_out, out, force=force, report=report))


def check_failure(result: Result) -> Result:
    """Give a run back, unless code of the user's own ended it.

    Raises
    ------
    InputError
        What that code said.
    """
    if result.failure:
        raise InputError(result.failure)
    return result


def _check_seed_alone(overrides: Overrides, by: str) -> None:
    """Refuse a seed among the overrides where the seed is chosen otherwise."""
    if any(path == "seed" for path, _ in overrides):
        raise InputError(
            f"--set seed: has no effect, since {by} sets the seed; leave out one of them"
        )


def plan_comparison(
    source: Source,
    vary: Mapping[str, Sequence[str]],
    *,
    overrides: Overrides = (),
    labels: Sequence[str] = (),
    seed: int | None = None,
    seeds: int | Sequence[int] = 1,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | Allowance | None = None,
) -> list[Plan]:
    """Make a plan for every combination of varied values and seed; equal seeds, equal traffic.

    Arguments are those of `compare`, with the values of ``vary`` as TOML texts.
    """
    allowance = read_allowance(memory)
    if read_integer(seeds) is None:
        if seed is not None:
            raise InputError(
                "seed: has no effect beside a list of seeds, which names every seed; leave out one"
                " of them"
            )
        _check_seed_alone(overrides, "a list of seeds")
    design, names = make_design(source, vary, labels)
    # Once: standard input cannot be read again.
    text = _read(source, allow_files)
    plans = []
    for setting, label in zip(design.list_settings(), names, strict=True):
        try:
            plan = plan_run(
                text,
                overrides,
                varied=setting.overrides,
                seed=seed,
                label=label,
                memory=allowance,
            )
        except InputError as error:
            message = str(error)
            # Name the option that was typed: to the engine, all that is changed is set.
            for path, value in setting.overrides:
                message = message.replace(
                    f"(from --set {path}={value})", f"(from --vary {path}={value})"
                )
            raise InputError(message) from error
        plans.append(replace(plan, factor_labels=setting.factor_labels))
    _refuse_same(plans)
    refuse_alike([plan.label for plan in plans])
    all_seeds = choose_seeds(seeds, plans[0].seed)
    if len(plans) == len(all_seeds) == 1:
        raise _refuse_single(plans[0].label if vary else "")
    check_kept([plan.loaded.scenario for plan in plans for _ in all_seeds], allowance)
    design = replace(design, seeds=all_seeds)
    return [replace(plan, seed=seed, design=design) for plan in plans for seed in all_seeds]


def _refuse_single(label: str) -> InputError:
    """Give the error for a comparison of one run; the label is empty where nothing is varied."""
    if not label:
        return InputError(
            "--seeds asks for one run, which is nothing to compare: give several seeds (--seeds"
            " 10), for means with intervals; or several settings, such as --vary"
            " queue=drop_tail,codel"
        )
    return InputError(
        f"--vary asks for one run ({label}), which is nothing to compare: give several values, such"
        " as queue=drop_tail,codel; or several seeds (--seeds 10), for means with intervals"
    )


def _refuse_same(plans: Sequence[Plan]) -> None:
    """Refuse values written in two ways, such as ``40ms`` and ``40 ms``: equal runs."""
    labels: dict[str, str] = {}
    for plan in plans:
        before = labels.get(content := plan.loaded.scenario.resolved_json())
        if before is not None:
            raise InputError(
                f'--vary: "{before}" and "{plan.label}" are the same setting; leave out one of them'
            )
        labels[content] = plan.label


def carry_out_all(
    plans: Sequence[Plan],
    on_progress: Mapping[Run, Callable[[int], None]],
    stop: threading.Event,
    on_done: Callable[[int], None] | None = None,
    memory: str | int | None = None,
) -> dict[Run, Result]:
    """Run all plans on all cores, or as memory allows, and give results in the plans' order.

    The first seed is begun under every setting before the second one: what a stop leaves can be
    compared. Plans not begun before it are left out.
    """
    done = {}
    seeds = list(dict.fromkeys(plan.seed for plan in plans))
    by_seed = sorted(plans, key=lambda plan: seeds.index(plan.seed))
    allowance = read_allowance(memory)
    kept = check_kept([plan.loaded.scenario for plan in plans], allowance)
    room = Room(allowance.size - kept)

    def carry_out(plan: Plan) -> Result | None:
        with room.take(plan.memory):
            return None if stop.is_set() else plan.carry_out(on_progress.get(plan.run), stop)

    for plan, result in execute_all(by_seed, carry_out, stop):
        done[plan.run] = result
        if on_done:
            on_done(len(done))
    return {plan.run: done[plan.run] for plan in plans if plan.run in done}


def name_runs(plans: Sequence[Plan]) -> dict[Run, str]:
    """Name the runs of a comparison: by their settings, and by their seeds if there are several."""
    several = len({plan.seed for plan in plans}) > 1
    return {
        plan.run: f"{plan.label}, seed {plan.seed}" if several else plan.label for plan in plans
    }


def run_comparison(
    plans: Sequence[Plan],
    stop: threading.Event,
    on_progress: Mapping[str, Callable[[int], None]] = MappingProxyType({}),
    on_done: Callable[[int], None] | None = None,
    memory: str | int | None = None,
) -> Comparison:
    """Run the plans of a comparison.

    A run that was stopped counts only where its setting has no whole one.

    Parameters
    ----------
    stop
        Setting it ends the runs early.
    on_progress
        What to call with the simulated time so far of each run, by its name.
    on_done
        Called with how many runs are done.
    memory
        What all of them together may take.

    Raises
    ------
    KeyboardInterrupt
        Where nothing was begun before the stop.
    """
    from headend.running.comparison import Comparison

    names = name_runs(plans)
    progress = {run: on_progress[name] for run, name in names.items() if name in on_progress}
    results = carry_out_all(plans, progress, stop, on_done, memory)
    if not results:
        raise KeyboardInterrupt
    finished = {run for run, result in results.items() if not result.is_partial}
    labels = {label for label, _ in finished}
    compared = [
        result for run, result in results.items() if run in finished or run[0] not in labels
    ]
    missing: dict[str, list[int]] = {}
    for label, seed in names:
        if (label, seed) not in finished:
            missing.setdefault(label, []).append(seed)
    unfinished = [name for run, name in names.items() if run not in finished]
    first = plans[0].loaded
    return Comparison(
        compared, first.name, first.scenario.title, unfinished=unfinished, missing_seeds=missing
    )


def compare(
    scenario: Source,
    vary: Mapping[str, Sequence[Any]],
    *,
    set: Mapping[str, Any] | Overrides = (),  # noqa: A002 - the word of the command line
    modem: Modems = None,
    labels: Sequence[str] = (),
    seed: int | None = None,
    seeds: int | Sequence[int] = 1,
    out: str | Path | None = None,
    force: bool = False,
    report: bool = True,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | None = None,
) -> Comparison:
    """Run a scenario with every combination of some values, and give the runs side by side.

    Parameters
    ----------
    scenario
        Path of a file, name of a shipped scenario, ``-`` for standard input, or a dictionary.
    vary
        Values by path, such as ``{"queue": ["drop_tail", "docsis_pie"]}``; ``{}`` with several
        seeds runs the scenario as it is.
    set
        Overrides that all runs share.
    modem
        The configuration file of the line's only modem, or files by the names of modems, which all
        runs share. To compare files, vary ``modem``: ``{"modem": ["old.cm", "new.cm"]}``.
    labels
        What to call the combinations; of a grid, as many names as its choice has values are those
        of the values.
    seed
        In place of the scenario's own; the same for all.
    seeds
        How many seeds each combination is run with, from that one on; or a list of them. With
        several, the report has intervals.
    out
        Folder to write to; none by default.
    force
        Replace a results folder that is there.
    report
        Also write ``report.html`` to the folder.
    allow_files
        Files and folders from which traces and captures may be read, besides the scenario's own
        folder, and for overrides the one where the program runs.
    memory
        What all runs together may take: a size such as ``"8GB"``, a share of the machine's memory
        such as ``"50%"``, or bytes. Half of the machine's by default; where it is short, fewer runs
        go side by side.

    Returns
    -------
    Comparison
        The runs, with the answer, the figures and the tables over all of them.

    Raises
    ------
    InputError
        When the scenario, a value or the folder is not usable, in one line.

    Examples
    --------
    >>> line = {"line": {"point_to_point": {"up": {"rate": "2 Mbit/s"}}}}
    >>> flow = {"call": {"application": "voice"}}
    >>> flow["upload"] = {"application": "bulk", "direction": "up"}
    >>> scenario = {"duration": "3 s", "link": line, "bottleneck": "line.up", "flow": flow}
    >>> compare(scenario, {"queue": ["drop_tail", "docsis_pie"]}, seeds=2)
    <Comparison 'scenario': drop_tail, docsis_pie; 2 seeds>
    """
    plans = plan_comparison(
        scenario,
        write_vary(vary),
        overrides=[*write_overrides(set), *write_modems(modem)],
        labels=labels,
        seed=seed,
        seeds=seeds,
        allow_files=allow_files,
        memory=memory,
    )
    return keep_run(
        lambda: run_comparison(plans, threading.Event(), memory=memory),
        out,
        force=force,
        report=report,
    )
