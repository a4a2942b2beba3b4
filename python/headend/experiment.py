"""Running scenarios from Python: one run, or several side by side with equal traffic and seeds."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headend.errors import InputError
from headend.execution import Execution, execute, execute_all
from headend.expect import Expectation, Vocabulary, parse_expectation
from headend.folder import MANIFEST, create_folder
from headend.result import RESULT_FORMAT, Result, read_manifest
from headend.scenario import Loaded, Overrides, Source, read_scenario, write_overrides

#: Seeds are 64 bits.
LARGEST_SEED = 2**64 - 1

#: The largest comparison that one report can show.
MOST_RUNS = 12


@dataclass(frozen=True)
class Plan:
    """One run to be: a checked scenario, its expectations, and what to call it."""

    loaded: Loaded
    expectations: list[Expectation]
    label: str
    overrides: Overrides
    seed: int

    @property
    def duration_ns(self) -> int:
        """How long it simulates, in ns."""
        return self.loaded.scenario.duration_ns

    def carry_out(
        self,
        on_progress: Callable[[int], None] | None = None,
        stop: threading.Event | None = None,
    ) -> Result:
        """Run it and judge its expectations."""
        import headend.columns  # noqa: F401 - now, so that an interrupted run is kept without delay

        execution = execute(
            self.loaded.scenario, seed=self.seed, on_progress=on_progress, stop=stop
        )
        return self._complete(execution)

    def _complete(self, execution: Execution) -> Result:
        from headend import __version__

        scenario = self.loaded.scenario
        from headend.columns import build_frames

        tables = build_frames(execution.tables)
        outcomes = [expectation.check(tables).to_dict() for expectation in self.expectations]
        manifest: dict[str, Any] = {
            "headend": __version__,
            "format": RESULT_FORMAT,
            "kind": "run",
            "engine": execution.engine_version,
            "name": self.loaded.name,
            "label": self.label,
            "title": scenario.title,
            "description": scenario.description,
            "seed": self.seed,
            "duration_ns": scenario.duration_ns,
            "warmup_ns": scenario.warmup_ns,
            "simulated_ns": execution.simulated_ns,
            "partial": not execution.finished,
            "bottleneck": scenario.bottleneck,
            "overrides": [list(pair) for pair in self.overrides],
            "expectations": outcomes,
            "warnings": scenario.warnings,
            "scenario": self.loaded.resolved,
        }
        return Result(tables, manifest, self.label, wall_seconds=execution.wall_seconds)


def plan_run(
    source: Source,
    overrides: Overrides = (),
    *,
    seed: int | None = None,
    label: str = "",
) -> Plan:
    """Check everything that can be checked before running."""
    if seed is not None and (
        isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED
    ):
        raise InputError(f"seed: expected a whole number from 0 to {LARGEST_SEED}, found {seed!r}")
    text = read_scenario(source)
    loaded = text.load(overrides)
    vocabulary = Vocabulary.from_scenario(loaded.scenario, loaded.resolved)
    expectations = []
    for name, wanted in loaded.scenario.expect:
        try:
            expectations.append(parse_expectation(name, wanted, vocabulary))
        except InputError as error:
            path = f"expect.{name}"
            raise text.refuse(path, str(error).removeprefix(f"{path}: "), overrides) from error
    chosen = loaded.scenario.seed if seed is None else seed
    return Plan(loaded, expectations, label or loaded.name, overrides, chosen)


def run(
    scenario: Source,
    *,
    set: Mapping[str, Any] | Overrides = (),  # noqa: A002 - the word of the command line
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool = False,
) -> Result:
    """Run a scenario.

    Parameters
    ----------
    scenario
        Path of a file, name of a shipped scenario, or a dictionary.
    set
        Overrides by path, such as ``{"queue": "docsis_pie", "flow.call.rtt": "80 ms"}``; ``queue`` means the
        bottleneck's queue.
    seed
        In place of the scenario's own.
    out
        Folder to write results and report to; none by default.
    force
        Replace a results folder that is there.
    progress
        Show a progress bar on standard error.

    Returns
    -------
    Result
        Tables as Polars frames.

    Raises
    ------
    InputError
        When the scenario or the folder is not usable, in one line.
    """
    plan = plan_run(scenario, write_overrides(set), seed=seed)
    if out is None:
        return _watch(plan, progress)
    with create_folder(Path(out), force=force) as fresh:
        result = _watch(plan, progress)
        result.write_into(fresh)
    result.folder = Path(out)
    result.report(result.folder / "report.html")
    return result


def _watch(plan: Plan, progress: bool) -> Result:
    if not progress:
        return plan.carry_out()
    from headend.cli.terminal import show_progress

    with show_progress([plan.label], plan.duration_ns) as bars:
        return plan.carry_out(on_progress=bars[plan.label])


@dataclass
class Comparison:
    """Several runs side by side."""

    results: list[Result]
    name: str
    title: str = ""
    folder: Path | None = field(default=None, compare=False)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write one folder with a folder for each run in it and one report over all."""
        folder = Path(folder)
        with create_folder(folder, force=force) as fresh:
            self.write_into(fresh)
        self.folder = folder
        self.report(folder / "report.html")
        return folder

    def report(self, path: Path) -> Path:
        """Write the self-contained report over all runs."""
        from headend.report import write_report

        return write_report(self.results, path, title=self.title)

    def write_into(self, folder: Path) -> None:
        """Write runs and manifest into a folder that exists."""
        from headend import __version__

        names = name_folders([result.label for result in self.results])
        for result, name in zip(self.results, names, strict=True):
            (folder / name).mkdir()
            result.write_into(folder / name)
        manifest = {
            "headend": __version__,
            "format": RESULT_FORMAT,
            "kind": "comparison",
            "name": self.name,
            "title": self.title,
            "runs": names,
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        (folder / MANIFEST).write_text(text, encoding="utf-8")


def load_results(folders: Sequence[str | Path]) -> list[Result]:
    """Read the runs of results folders; a comparison's folder stands for all its runs."""
    results = []
    for folder in map(Path, folders):
        manifest = read_manifest(folder)
        if manifest.get("kind") == "comparison":
            results += [Result.load(folder / name) for name in manifest["runs"]]
        else:
            results.append(Result.load(folder))
    label_distinctly(results)
    return results


def label_distinctly(results: Sequence[Result]) -> None:
    """Give runs that are called the same the names of their folders, or numbers."""
    labels = [result.label for result in results]
    for number, result in enumerate(results, 1):
        if labels.count(result.label) > 1:
            names = [other.folder.name if other.folder else "" for other in results]
            own = result.folder.name if result.folder else ""
            result.label = own if own and names.count(own) == 1 else f"{result.label} ({number})"


def plan_comparison(
    source: Source,
    vary: Mapping[str, Sequence[str]],
    *,
    overrides: Overrides = (),
    labels: Sequence[str] = (),
    seed: int | None = None,
) -> list[Plan]:
    """Make a plan for every combination of the varied values; all share traffic and seed.

    Parameters
    ----------
    source
        The scenario.
    vary
        TOML texts of the values to take, by path.
    overrides
        What all runs share.
    labels
        What to call the runs, in order; by default, their values.
    """
    combinations = list(itertools.product(*vary.values()))
    if len(combinations) > MOST_RUNS:
        raise InputError(
            f"--vary asks for {len(combinations)} runs; one report shows at most {MOST_RUNS}"
        )
    if labels and len(labels) != len(combinations):
        raise InputError(
            f"{len(labels)} labels for {len(combinations)} runs: give one for each, or none"
        )
    plans = []
    for number, combination in enumerate(combinations):
        varied = list(zip(vary, combination, strict=True))
        label = labels[number] if labels else label_values(varied)
        try:
            plans.append(plan_run(source, [*overrides, *varied], seed=seed, label=label))
        except InputError as error:
            raise InputError(_echo_vary(str(error), varied)) from error
    found = [plan.label for plan in plans]
    for label in found:
        if found.count(label) > 1:
            raise InputError(f'two runs would both be called "{label}": give each a --label')
    return plans


def carry_out_all(
    plans: Sequence[Plan],
    on_progress: Mapping[str, Callable[[int], None]],
    stop: threading.Event,
) -> list[Result]:
    """Run all plans on all cores, keeping their order. Plans not begun before a stop are left out."""
    done = {
        plan.label: result
        for plan, result in execute_all(
            plans, lambda plan: plan.carry_out(on_progress.get(plan.label), stop), stop
        )
    }
    return [done[plan.label] for plan in plans if plan.label in done]


def compare(
    scenario: Source,
    vary: Mapping[str, Sequence[Any]],
    *,
    set: Mapping[str, Any] | Overrides = (),  # noqa: A002 - the word of the command line
    labels: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
) -> Comparison:
    """Run a scenario with every combination of some values, and give the runs side by side.

    Parameters
    ----------
    scenario
        Path of a file, name of a shipped scenario, or a dictionary.
    vary
        Values by path, such as ``{"queue": ["drop_tail", "docsis_pie"]}``.
    set
        Overrides that all runs share.
    labels
        What to call the runs.
    seed
        In place of the scenario's own; the same for all.
    out
        Folder to write to; none by default.
    force
        Replace a results folder that is there.
    """
    texts = {
        path: [text for _, text in write_overrides({str(n): v for n, v in enumerate(values)})]
        for path, values in vary.items()
    }
    plans = plan_comparison(
        scenario, texts, overrides=write_overrides(set), labels=labels, seed=seed
    )
    first = plans[0].loaded
    results = carry_out_all(plans, {}, threading.Event())
    comparison = Comparison(results, first.name, first.scenario.title)
    if out is not None:
        comparison.save(out, force=force)
    return comparison


def split_values(text: str) -> list[str]:
    """Split ``A,B,C`` at the commas outside quotes, brackets and braces.

    Examples
    --------
    >>> split_values('drop_tail, {codel = {target = "5 ms", interval = "100 ms"}}')
    ['drop_tail', '{codel = {target = "5 ms", interval = "100 ms"}}']
    """
    values, depth, quote, start = [], 0, "", 0
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            values.append(text[start:position])
            start = position + 1
    return [value.strip() for value in [*values, text[start:]]]


def label_values(pairs: Sequence[tuple[str, str]]) -> str:
    """Say what a run has that others have not: its values, each after its key where there are several.

    Examples
    --------
    >>> label_values([("queue", "codel")])
    'codel'
    >>> label_values([("flow.near.tcp.congestion", "reno"), ("flow.far.tcp.congestion", "cubic")])
    'near=reno, far=cubic'
    >>> label_values([("queue", "codel"), ("flow.call.rtt", "40 ms")])
    'queue=codel, rtt=40 ms'
    """
    values = [shorten_value(value) for _, value in pairs]
    if len(pairs) == 1:
        return values[0]
    keys = _shorten_paths([path for path, _ in pairs])
    return ", ".join(f"{key}={value}" for key, value in zip(keys, values, strict=True))


def _shorten_paths(paths: Sequence[str]) -> list[str]:
    """Give each path by its last key, or where those are alike, by the keys in which it differs."""
    keys = [path.split(".") for path in paths]
    lasts = [own[-1] for own in keys]
    if len(set(lasts)) == len(lasts):
        return lasts
    while all(own and own[-1] == keys[0][-1] for own in keys):
        keys = [own[:-1] for own in keys]
    while all(own and own[0] == keys[0][0] for own in keys):
        keys = [own[1:] for own in keys]
    short = [".".join(own) for own in keys]
    return short if all(short) else list(paths)


def _echo_vary(message: str, varied: Sequence[tuple[str, str]]) -> str:
    """Name the option that was typed: to the engine, all that is changed is set."""
    for path, value in varied:
        message = message.replace(f"(from --set {path}={value})", f"(from --vary {path}={value})")
    return message


def shorten_value(text: str) -> str:
    """Write a TOML value as a label: without the braces and quotes around it.

    Examples
    --------
    >>> shorten_value('{buffer_control = {target = "32 KiB"}}')
    'buffer_control target 32 KiB'
    """
    return re.sub(r"\s+", " ", re.sub(r"[{}\"'=]", " ", text)).strip()


def name_folders(labels: Sequence[str]) -> list[str]:
    """Give each label a folder name of its own.

    Examples
    --------
    >>> name_folders(["drop tail, 1 s", "drop tail; 1 s"])
    ['drop-tail-1-s', 'drop-tail-1-s-2']
    """
    names: list[str] = []
    for label in labels:
        stem = re.sub(r"[^\w.]+", "-", label).strip("-.") or "run"
        name, number = stem, 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names
