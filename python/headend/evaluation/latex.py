"""The verdicts as a LaTeX table for a paper, by the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headend.analysis.ranking import Feasibility
from headend.evaluation.tables import name_section, write_number
from headend.results.folder import refuse_foreign, write_file

if TYPE_CHECKING:
    from headend.evaluation.findings import Findings, Verdict

#: How every file of ours begins.
_HEAD = "% Written by headend evaluate"

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#",
        "_": r"\_", "$": r"\$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "§": r"\S", "–": "--", "×": r"$\times$",
        "µ": r"$\mu$", "\N{NO-BREAK SPACE}": "~", "<": r"$<$", ">": r"$>$", "−": r"$-$",
    }
)  # fmt: skip

#: How a verdict is marked behind its number.
_MARKS = {
    Feasibility.HOLDS: "",
    Feasibility.FAILS: r"\,$\times$",
    Feasibility.UNDECIDED: r"\,?",
    Feasibility.MISSING: "",
}


def check_latex(path: Path, *, force: bool = False) -> Path:
    """Refuse to write over a file that is none of ours, before anything is run.

    Raises
    ------
    InputError
        For one, unless it is forced, and for a folder, a pipe or a device.
    """
    way_out = "give --latex another name, or replace it with --force"
    refuse_foreign(path, "LaTeX", re.compile(_HEAD.encode()), way_out, force=force)
    return path


def write_latex(findings: Findings, path: Path) -> Path:
    """Write the table to a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(render_latex(findings).encode(), path)
    return path


def render_latex(findings: Findings) -> str:
    """Give the table: a row for each criterion, a column for each name, at its worst condition."""
    request = findings.request
    names = request.every
    heads = " & ".join(["Section", "Criterion", "Required", *(escape(name) for name in names)])
    lines = [
        f"{_HEAD}: {request.family.document}, {len(request.seeds)} seeds; 95 % intervals.",
        "% Numbers are those of the worst condition. A cross: fails; a question mark: undecided.",
        rf"\begin{{tabular}}{{lll{'r' * len(names)}}}",
        r"\toprule",
        rf"{heads} \\",
        r"\midrule",
        *_list_lines(findings),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _list_lines(findings: Findings) -> Iterator[str]:
    request = findings.request
    for case in findings.cases:
        for criterion in case.criteria:
            verdicts = [findings.find(name, case, criterion) for name in request.every]
            cells = [
                escape(name_section(criterion.section or case.section)),
                escape(f"{case.title}: {criterion.what}"),
                escape(criterion.write_bound(request.family.baseline)),
                *(_write_cell(own) for own in verdicts),
            ]
            yield rf"{' & '.join(cells)} \\"


def _write_cell(verdict: Verdict) -> str:
    if verdict.worst is None:
        return "--"
    worst = verdict.worst
    told = escape(write_number(worst.own, verdict.criterion.kind)) + _MARKS[verdict.standing]
    return rf"{told} ({escape(worst.missing)})" if worst.missing else told


def escape(text: str) -> str:
    r"""Write a text so that LaTeX prints it as it is.

    Examples
    --------
    >>> print(escape("drop_tail ≤ 5 %"))
    drop\_tail $\leq$ 5 \%
    """
    return text.translate(_ESCAPES)
