"""The result of a run, as people have it in Python: what it left, what is to be said of it, and its report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headend.errors import take_path
from headend.judging.grading import Finding, judge_flows
from headend.judging.verdict import Verdict, judge
from headend.results.folder import REPORT, create_folder
from headend.results.record import Record
from headend.text.quantity import format_quantity


@dataclass(repr=False)
class Result(Record):
    """Tables and manifest of one run; docs/reference/results.md says what each column means."""

    def __repr__(self) -> str:
        """Say in one line what was run; tables and manifest are attributes."""
        duration = format_quantity(self.manifest.get("duration_ns"), "time")
        told = [repr(self.label or self.title), f"seed {self.manifest.get('seed')}", duration]
        told += [
            f"{count} {name if count != 1 else name.removesuffix('s')}"
            for name, column in (("flows", "flow"), ("queues", "queue"))
            if name in self.tables
            for count in [self.tables[name][column].n_unique()]
        ]
        return f"<Result {', '.join(told)}{', partial' if self.is_partial else ''}>"

    def _repr_html_(self) -> str:
        """Give a notebook the title and the verdict."""
        from html import escape

        duration = format_quantity(self.manifest.get("duration_ns"), "time")
        partial = ", partial" if self.is_partial else ""
        return (
            f"<p><b>{escape(self.title)}</b> ({escape(self.label)}, seed {self.manifest.get('seed')}, {duration}{partial})</p>"
            f"<p>{escape(self.verdict.paragraph)}</p>"
        )

    @property
    def findings(self) -> list[Finding]:
        """How each flow fared, in the order of the tables."""
        return judge_flows(self)

    @property
    def verdict(self) -> Verdict:
        """Who suffered, how much, where the queue stood: ``paragraph`` says it, ``to_dict()`` gives it as ``run --json`` does."""
        return judge(self)

    def save(self, folder: str | Path, *, force: bool = False, report: bool = True) -> Path:
        """Write a results folder, whole or not at all.

        Parameters
        ----------
        folder
            Where; it must not exist yet.
        force
            Replace a results folder that is there.
        report
            Also write ``report.html``.
        """
        folder = take_path(folder, "folder")
        with create_folder(folder, force=force) as fresh:
            self.write_into(fresh)
        self.folder = folder
        if report:
            self.report(folder / REPORT)
        return folder

    def report(self, path: str | Path) -> Path:
        """Write the self-contained report of this run."""
        from headend.report.page import write_report

        return write_report([self], take_path(path, "path"))
