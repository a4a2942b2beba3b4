"""Writes runs as data files of measuring tools, from their results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headend.errors import InputError, refuse_argument, take_path
from headend.measurement.flent_file import write_flent
from headend.measurement.run import record_run
from headend.results.export import check_target, refuse_present
from headend.results.folder import make_folder, name_folders, write_file
from headend.results.record import read_manifest
from headend.running.comparison import Comparison, load_results
from headend.running.result import Result

#: The ending of a data file of flent.
FLENT_SUFFIX = ".flent.gz"


def export_flent(
    results: Result | Comparison | str | Path, target: str | Path, *, force: bool = False
) -> list[Path]:
    """Write a run as a data file of flent, which flent opens and plots; a comparison as several.

    A file has the round-trip times of the flows that are ``ping`` or ``isochronous``, and of each
    flow over TCP what it brought and its own round-trip time. Its test, which decides on the plots
    that flent offers, follows from their directions: ``tcp_nup``, ``tcp_ndown``,
    ``rrul_be_nflows`` for both, or ``ping``. The note has the seed and the resolved scenario. A run
    has no date: its time begins in 1970.

    Parameters
    ----------
    results
        A run or a comparison, or the folder of one.
    target
        The folder to write to; it is made if it is not there. The files are called after the runs,
        ``NAME.flent.gz``.
    force
        Replace files that are there.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    InputError
        For results of another kind, for a run without anything that such a file holds, and for a
        file that is there.

    Examples
    --------
    >>> import headend, tempfile
    >>> line = {"line": {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}}
    >>> flow = {"upload": {"application": "bulk", "direction": "up"}}
    >>> result = headend.run({"duration": "1 s", "link": line, "flow": flow})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print([file.name for file in headend.export_flent(result, folder)])
    ['scenario.flent.gz']
    """
    runs = _take_runs(results)
    names = [f"{name}{FLENT_SUFFIX}" for name in _name_files(runs)]
    target = check_target(target, [])
    refuse_present((target / name for name in names), force=force)
    contents = [_write_run(run, name) for run, name in zip(runs, names, strict=True)]
    make_folder(target)
    for name, content in zip(names, contents, strict=True):
        write_file(content, target / name)
    return [target / name for name in names]


def _take_runs(results: Result | Comparison | str | Path) -> Sequence[Result]:
    if isinstance(results, Result):
        return [results]
    if isinstance(results, Comparison):
        return results.results
    if not isinstance(results, str | Path):
        raise refuse_argument("results", "a Result, a Comparison or the folder of one", results)
    folder = take_path(results, "results")
    kind = read_manifest(folder).get("kind", "run")
    if kind not in ("run", "comparison"):
        raise InputError(f"{folder}: expected the results of a run or a comparison, found a {kind}")
    return load_results([folder])


def _name_files(runs: Sequence[Result]) -> list[str]:
    """Name the file of each run after its label, and its seed where several runs have that."""
    labels = [run.label or run.manifest["name"] for run in runs]
    several = {label for label in labels if labels.count(label) > 1}
    return name_folders(
        [
            f"{label}-seed-{run.manifest['seed']}" if label in several else label
            for label, run in zip(labels, runs, strict=True)
        ]
    )


def _write_run(run: Result, name: str) -> bytes:
    import json

    measurement = record_run(run)
    if not measurement.rates and not measurement.delays:
        raise InputError(
            f"{run.folder or run.label}: flent has no series for what it holds; expected a flow"
            ' that is a ping, isochronous probes (application "ping" or "isochronous") or over TCP'
        )
    manifest = run.manifest
    note = (
        f"headend {manifest['headend']}, scenario {manifest['name']}, seed {manifest['seed']}:"
        f" {json.dumps(manifest['scenario'], sort_keys=True)}"
    )
    title = " — ".join(filter(None, (run.title, run.label))) or manifest["name"]
    return write_flent(measurement, title=title, note=note, name=name)
