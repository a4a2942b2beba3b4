"""The points of a study: what is kept of each, the jobs that measure them, and the table of all."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headend.analysis.expect import Quantity, parse_quantity_name
from headend.analysis.sums import add_up, check_measures, parse_sum
from headend.design.place import add_line
from headend.errors import InputError, suggest
from headend.results.store import PointStore
from headend.running.executor import Batch, Executor, Finished, OnProgress, run_missing
from headend.running.job import Job, prepare
from headend.running.memory import Allowance
from headend.scenario.source import read_scenario
from headend.scenario.subjects import Vocabulary
from headend.study.definition import Study
from headend.study.evaluated import gather_evaluation, list_verdicts, prepare_evaluation

if TYPE_CHECKING:
    import polars as pl

    from headend.results.record import Record


@dataclass(frozen=True)
class Columns:
    """What a study keeps of a run: one row.

    Parameters
    ----------
    measures
        Quantities by the column's name.
    distributions
        Delays, of which the percentiles 0 to 100 are kept.
    series
        Columns over time.
    """

    measures: Mapping[str, str]
    distributions: Mapping[str, str] = field(default_factory=dict)
    series: Mapping[str, str] = field(default_factory=dict)

    def describe(self) -> str:
        """Give a text that is the same for equal selections."""
        return json.dumps([dict(self.measures), dict(self.distributions), dict(self.series)])

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse what a scenario has not got."""
        check_measures(self.measures, vocabulary)
        for name, text in self.distributions.items():
            read_distribution(text, vocabulary, f"distributions.{name}")
        for name, text in self.series.items():
            read_series(text, vocabulary, f"series.{name}")

    def take(self, record: Record, vocabulary: Vocabulary) -> pl.DataFrame:
        """Take the row from the tables of a run."""
        import polars as pl

        tables = record.tables
        numbers = {
            name: add_up(parse_sum(text, vocabulary), tables)
            for name, text in self.measures.items()
        }
        lists: dict[str, list[float] | None] = {}
        for name, text in self.distributions.items():
            of = read_distribution(text, vocabulary)
            lists[name] = take_percentiles(tables["histograms"], of)
        for name, text in self.series.items():
            curve = read_series(text, vocabulary)
            lists[name] = curve.take(tables[curve.table])
        kinds = dict.fromkeys(numbers, pl.Float64) | dict.fromkeys(lists, pl.List(pl.Float64))
        return pl.DataFrame([{**numbers, **lists}], schema=kinds, strict=False)


def run_points(
    study: Study,
    store: PointStore,
    stop: threading.Event,
    on_progress: OnProgress | None = None,
    executor: Executor | None = None,
) -> pl.DataFrame | None:
    """Run the missing points of a study: for those who want its table alone, unjudged.

    Parameters
    ----------
    study
        The study.
    store
        Where finished points are kept and found.
    stop
        Setting it ends the run; finished points stay in the store.
    on_progress
        Told of progress.
    executor
        Who runs them; by default the threads of this process.

    Returns
    -------
    polars.DataFrame or None
        A row for each point: its axes, its seed, and its measures in base units (ns, bit/s, bytes,
        ratio). None when it was stopped before all were done.

    Raises
    ------
    InputError
        When a point's scenario is refused or its run failed.
    """
    jobs = prepare_points(study)
    (finished,) = run_missing([Batch(jobs, store)], stop, executor, on_progress)
    return gather_points(study, jobs, store, finished) if finished.complete else None


def prepare_points(study: Study, allowance: Allowance | None = None) -> list[Job]:
    """Check every point of a study; faults are told with the line of ``study.toml``, if any.

    Raises
    ------
    InputError
        When a point's scenario is refused or needs more memory than is allowed, or what the study
        sets for all points has no effect.
    """
    if study.request is not None:
        return prepare_evaluation(study.request, allowance)
    columns = Columns(study.measures, study.distributions, study.series)
    file = study.folder / "study.toml"
    # Points of one scenario share its text. It is read anew each time: the file may have changed.
    read = functools.cache(read_scenario)
    jobs, settings = [], {}
    for point in study.list_points():
        own = point.setting
        text = read(own.scenario, study.access)
        settings[own.scenario, dict(own.overrides).get("bottleneck")] = own
        try:
            jobs.append(prepare(text, own.overrides, point.seed, columns, allowance))
        except InputError as error:
            message = str(error).replace("(from --set ", f"(from {file}: ")
            if message.startswith(("measures.", "distributions.", "series.")):
                message = f"{file}: {add_line(message, file)}"
            raise InputError(message) from error
    # Only a scenario tells what `queue` stands for.
    for own in settings.values():
        scenario = read(own.scenario, study.access).load(own.overrides).scenario
        study.check_paths(scenario.queue_path or "")
    return jobs


def gather_points(
    study: Study, jobs: Sequence[Job], store: PointStore, finished: Finished
) -> pl.DataFrame:
    """Put the points that were run into one table, in the order of the grid.

    Raises
    ------
    InputError
        When one of them failed.
    """
    import polars as pl

    places = study.list_places()
    for place, job in zip(places, jobs, strict=True):
        if failure := finished.failures.get(job.key):
            raise InputError(f"{study.name}: {place}: {failure.reason}")
    if study.request is not None:
        return gather_evaluation(study.request, jobs, store, finished)
    if not places:
        return pl.DataFrame()
    measured = pl.concat([store.read(job.key) for job in jobs])
    return pl.DataFrame(places, infer_schema_length=None).hstack(measured)


def select_rows(study: Study, points: pl.DataFrame) -> pl.DataFrame:
    """Give what the functions of an analysis are given: points, or the verdicts on them."""
    return points if study.request is None else list_verdicts(study.request, points)


def read_distribution(
    text: str, vocabulary: Vocabulary, shown_as: str = "distributions"
) -> Quantity:
    """Understand what to take the distribution of: ``FLOW.delay`` or ``QUEUE.delay``."""
    try:
        quantity = parse_quantity_name(f"{text}.p50", vocabulary)
    except InputError:
        quantity = None
    if quantity is None or quantity.metric != "delay":
        raise InputError(
            f'{shown_as}: expected the delay of a flow or queue, such as "call.up.delay", found'
            f' "{text}"'
        )
    return quantity


@dataclass(frozen=True)
class Curve:
    """A column of the values over time of one queue, one flow or one connection."""

    table: str
    place: Mapping[str, str | int]
    column: str

    def take(self, rows: pl.DataFrame) -> list[float]:
        """Give its values in the order of time, one for each interval."""
        import polars as pl

        own = rows.lazy().filter(*(pl.col(name) == value for name, value in self.place.items()))
        # Only what is kept is put in order, not all columns of a long run.
        kept = own.sort("time_ns").select(pl.col(self.column).cast(pl.Float64)).collect()
        return kept[self.column].to_list()


def read_series(text: str, vocabulary: Vocabulary, shown_as: str = "series") -> Curve:
    """Understand which values over time to keep.

    Parameters
    ----------
    text
        ``QUEUE.COLUMN``, ``FLOW.up.COLUMN``, ``FLOW.down.COLUMN`` or ``FLOW.connection.COLUMN``:
        the flow's first connection, and that of the first member where it has several.
    vocabulary
        What the scenario has.
    shown_as
        How an error names the text.
    """
    from headend.engine.columns import TABLES

    subject, _, column = text.rpartition(".")
    flow, _, direction = subject.rpartition(".")
    if subject in vocabulary.queues and subject not in vocabulary.members:
        curve = Curve("queue_series", {"queue": subject}, column)
    elif (
        flow in vocabulary.flows and flow not in vocabulary.members and direction in ("up", "down")
    ):
        curve = Curve("flow_series", {"flow": flow, "direction": direction}, column)
    elif flow in vocabulary.flows and direction == "connection":
        first = vocabulary.members.get(flow, [flow])[0]
        curve = Curve("connection_series", {"flow": first, "connection": 0}, column)
    else:
        raise InputError(
            f"{shown_as}: expected a column of one queue or flow, such as"
            ' "cable.up.drop_probability" or "call.up.discarded", or of its first connection, such'
            f' as "upload.connection.cwnd_bytes", found "{text}"'
        )
    known = TABLES[curve.table].keys() - curve.place.keys()
    if column not in known:
        raise InputError(f'{shown_as}: {subject} has no column "{column}"{suggest(column, known)}')
    return curve


def take_percentiles(histograms: pl.DataFrame, of: Quantity) -> list[float] | None:
    """Give the percentiles 0 to 100 of a delay, of all members, in ns. None if not measured."""
    import polars as pl

    rows = histograms.filter(
        pl.col("kind") == of.table.removesuffix("s"), pl.col("name").is_in(of.members)
    )
    if of.direction:
        rows = rows.filter(pl.col("direction") == of.direction)
    rows = rows.group_by("lower_ns", "upper_ns").agg(pl.col("count").sum()).sort("lower_ns")
    if rows.is_empty():
        return None
    shares = (rows["count"].cum_sum() / rows["count"].sum()).to_numpy()
    places = shares.searchsorted([number / 100 for number in range(1, 101)])
    uppers = rows["upper_ns"].to_list()
    last = len(uppers) - 1
    return [float(rows["lower_ns"][0]), *(float(uppers[min(place, last)]) for place in places)]
