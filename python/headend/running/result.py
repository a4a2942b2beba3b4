"""The result of a run in Python: its record, its answer and verdict, and its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headend.analysis.lateness import NOT_TRUSTWORTHY, is_trustworthy
from headend.errors import take_path
from headend.results.record import Record, cached_on_record
from headend.running.keeping import Saved
from headend.text.quantity import format_quantity
from headend.wording.emulation import describe_kind

if TYPE_CHECKING:
    from headend.analysis.quality import FlowQuality
    from headend.figures import Figure
    from headend.wording.answer import Answer
    from headend.wording.verdict import RunVerdict


@dataclass(repr=False)
class Result(Record, Saved):
    """Tables and manifest of one run; docs/reference/results.md says what each column means."""

    def __repr__(self) -> str:
        """Say what was run, and the answer; tables and manifest are attributes."""
        duration = format_quantity(self.manifest.get("duration_ns"), "time")
        parts = [repr(self.label or self.title), f"seed {self.manifest.get('seed')}", duration]
        parts += [
            f"{count} {name if count != 1 else name.removesuffix('s')}"
            for name, column in (("flows", "flow"), ("queues", "queue"))
            if name in self.tables
            for count in [self.tables[name][column].n_unique()]
        ]
        parts += filter(None, [describe_kind(self)])
        parts += ["partial"] if self.is_partial else []
        parts += [] if is_trustworthy(self) else [NOT_TRUSTWORTHY]
        return f"<Result {', '.join(parts)}>"

    def present(self) -> tuple[Answer, list[Figure]]:
        """Give the answer and all figures of its page."""
        return _present(self)

    @property
    def answer(self) -> Answer:
        """The beginning of its page: question, two sentences at most, a matrix, a figure's name."""
        return self.present()[0]

    @property
    def findings(self) -> list[FlowQuality]:
        """How each flow fared, in the order of the tables."""
        from headend.analysis.quality import judge_flows

        return judge_flows(self)

    @property
    def verdict(self) -> RunVerdict:
        """How flows fared and where the queue stood, as sentences and as ``run --json`` has it."""
        from headend.wording.verdict import judge

        return judge(self)

    def report(self, path: str | Path) -> Path:
        """Write the self-contained report of this run."""
        from headend.pages.page import write_report

        return write_report([self], take_path(path, "path"))

    def to_csv(
        self, folder: str | Path, *, tables: Sequence[str] | None = None, force: bool = False
    ) -> list[Path]:
        """Write its tables as CSV, a file for each, as ``headend export`` does.

        Parameters
        ----------
        folder
            Where; it is made if it is not there.
        tables
            Only these; all by default.
        force
            Replace files that are there.

        Returns
        -------
        list of Path
            The files that were written.

        Raises
        ------
        InputError
            For a table that it has not, and for a file that is there.

        Examples
        --------
        >>> import headend, tempfile
        >>> line = {"line": {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}}
        >>> flow = {"ping": {"application": "ping"}}
        >>> result = headend.run({"duration": "1 s", "link": line, "flow": flow})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print([file.name for file in result.to_csv(folder, tables=["flows"])])
        ['flows.csv']
        """
        from headend.results.export import export_results

        return export_results([self], folder, tables=tables, force=force)


@cached_on_record
def _present(record: Record) -> tuple[Answer, list[Figure]]:
    from headend.figures import draw_figures
    from headend.wording.run import answer_run

    figures = draw_figures([record])
    answer = answer_run(record)
    return answer.settle_why([figure.name for figure in figures]), figures
