"""Running a study's points on all cores, and keeping each as soon as it is done."""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headend.errors import InputError, suggest
from headend.execution import execute, execute_all
from headend.expect import Quantity, Vocabulary, parse_quantity_name
from headend.folder import describe
from headend.scenario import Loaded, read_scenario
from headend.study.definition import Point, Study

if TYPE_CHECKING:
    import polars as pl

#: Told of each point that is done: how many, of how many, and how many of them were kept from before.
OnPoint = Callable[[int, int, int], None]


@dataclass(frozen=True)
class Work:
    """A point, checked and ready to run, and the key under which its result is kept."""

    point: Point
    loaded: Loaded
    key: str


class PointStore:
    """The points that are done, in one Parquet file that is whole at any time.

    Parameters
    ----------
    path
        The file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        if path.is_file():
            import polars as pl

            try:
                self.rows = {row["key"]: row for row in pl.read_parquet(path).iter_rows(named=True)}
            except (OSError, KeyError, pl.exceptions.PolarsError):
                self.rows = {}  # damaged: its points are run again

    def add(self, key: str, row: dict[str, Any]) -> None:
        """Keep a point."""
        self.rows[key] = {"key": key, **row}
        self.write()

    def take(self, work: Sequence[Work], measured: Sequence[str]) -> pl.DataFrame:
        """Give what was measured at some points, in their order; their places are as the study has them now."""
        import polars as pl

        rows = [
            {**item.point.columns, **{name: self.rows[item.key][name] for name in measured}}
            for item in work
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def write(self) -> None:
        """Write the file anew, whole."""
        import polars as pl

        frame = pl.DataFrame(list(self.rows.values()), infer_schema_length=None)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".points.", dir=self.path.parent) as scratch:
                fresh = Path(scratch) / self.path.name
                frame.write_parquet(fresh)
                fresh.replace(self.path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{self.path}: cannot be written: {describe(error)}") from error


def run_points(
    study: Study, store: PointStore, stop: threading.Event, on_point: OnPoint | None = None
) -> pl.DataFrame | None:
    """Run the points of a study that are not in the store yet.

    Parameters
    ----------
    study
        The study.
    store
        Where finished points are kept and found.
    stop
        Setting it ends the run; finished points stay in the store.
    on_point
        Told of progress.

    Returns
    -------
    polars.DataFrame or None
        A row for each point: its axes, its seed, and its measures in base units (ns, bit/s, bytes, ratio). None when
        it was stopped before all were done.
    """
    work = [prepare(study, point) for point in study.list_points()]
    missing = [item for item in work if item.key not in store.rows]
    kept = len(work) - len(missing)
    done = kept
    if on_point:
        on_point(done, len(work), kept)
    for item, measured in execute_all(missing, functools.partial(_measure, study, stop=stop), stop):
        store.add(item.key, {**item.point.columns, **measured})
        done += 1
        if on_point:
            on_point(done, len(work), kept)
    if done < len(work):
        return None
    if not work:
        store.write()
    return store.take(work, [*study.measures, *study.distributions, *study.series])


def prepare(study: Study, point: Point) -> Work:
    """Check a point's scenario and find the key of its result: what is run, by which engine, and what is measured."""
    if study.scenario is None:
        raise InputError(f"{study.name}: this study has nothing to run")
    loaded = _read_text(point.scenario).load(point.overrides)
    content = [
        loaded.scenario.resolved_json(),
        str(point.seed),
        json.dumps([study.measures, study.distributions, study.series]),
        fingerprint_engine(),
    ]
    return Work(point, loaded, hashlib.sha256("\n".join(content).encode()).hexdigest())


@functools.cache
def fingerprint_engine() -> str:
    """Tell this build of the engine from every other."""
    from headend import _engine

    path = getattr(_engine, "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else "unknown"


def _measure(study: Study, work: Work, *, stop: threading.Event) -> dict[str, Any] | None:

    from headend.columns import build_frames

    vocabulary = Vocabulary.from_scenario(work.loaded.scenario)
    quantities = {
        name: [parse_quantity_name(part.strip(), vocabulary) for part in text.split("+")]
        for name, text in study.measures.items()
    }
    spread = {
        name: read_distribution(text, vocabulary) for name, text in study.distributions.items()
    }
    curves = {name: read_series(text, vocabulary) for name, text in study.series.items()}
    execution = execute(work.loaded.scenario, seed=work.point.seed, stop=stop)
    if not execution.finished:
        return None
    tables = build_frames(execution.tables)
    measured: dict[str, Any] = {name: _add_up(parts, tables) for name, parts in quantities.items()}
    measured |= {name: take_percentiles(tables["histograms"], of) for name, of in spread.items()}
    return measured | {name: of.take(tables[of.table]) for name, of in curves.items()}


def read_distribution(text: str, vocabulary: Vocabulary) -> Quantity:
    """Understand what to take the distribution of: ``FLOW.delay`` or ``QUEUE.delay``."""
    try:
        quantity = parse_quantity_name(f"{text}.p50", vocabulary)
    except InputError:
        quantity = None
    if quantity is None or quantity.metric != "delay":
        raise InputError(
            f'distributions: expected the delay of a flow or queue, such as "call.up.delay", found "{text}"'
        )
    return quantity


@dataclass(frozen=True)
class Curve:
    """A column of one queue's or one flow's values over time."""

    table: str
    place: Mapping[str, str]
    column: str

    def take(self, rows: pl.DataFrame) -> list[int] | list[float]:
        """Give its values in the order of time, one for each interval."""
        import polars as pl

        own = rows.filter(*(pl.col(name) == value for name, value in self.place.items()))
        return own.sort("time_ns")[self.column].to_list()


def read_series(text: str, vocabulary: Vocabulary) -> Curve:
    """Understand which values over time to keep: ``QUEUE.COLUMN``, ``FLOW.up.COLUMN`` or ``FLOW.down.COLUMN``."""
    from headend.columns import TABLES

    subject, _, column = text.rpartition(".")
    flow, _, direction = subject.rpartition(".")
    if subject in vocabulary.queues and subject not in vocabulary.members:
        curve = Curve("queue_series", {"queue": subject}, column)
    elif (
        flow in vocabulary.flows and flow not in vocabulary.members and direction in ("up", "down")
    ):
        curve = Curve("flow_series", {"flow": flow, "direction": direction}, column)
    else:
        raise InputError(
            f'series: expected a column of one queue or flow, such as "cable.up.drop_probability" or'
            f' "call.up.discarded", found "{text}"'
        )
    known = TABLES[curve.table].keys() - curve.place.keys()
    if column not in known:
        raise InputError(f'series: {subject} has no column "{column}"{suggest(column, known)}')
    return curve


def take_percentiles(histograms: pl.DataFrame, of: Quantity) -> list[float] | None:
    """Give the percentiles 0 to 100 of a delay, all members together, in ns. None where nothing was measured."""
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


def _add_up(parts: Sequence[Quantity], tables: Mapping[str, pl.DataFrame]) -> float | None:
    """Add several quantities; one of several directions is their mean. None where one was not measured."""
    values = [quantity.read(tables) for quantity in parts]
    if not all(values):
        return None
    return sum(sum(value) / len(value) for value in values)


_read_text = functools.cache(read_scenario)
