"""What the TCP senders of a run did, event by event: the run is simulated once more, and observed.

A run is deterministic and its results hold the resolved scenario, so that nobody has to decide
before the run that its senders shall be observed. The tables of the second run are compared with
the results: what is written is of the run that they are of.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headend.errors import InputError, describe_system, refuse_argument, suggest
from headend.results.export import check_target, refuse_present, write_tables
from headend.results.folder import make_folder, name_folders
from headend.results.scratch import open_scratch
from headend.running.execution import Execution
from headend.running.resimulation import Resimulation, plan_again
from headend.running.result import Result
from headend.text.wording import list_names

_LOGGER = logging.getLogger(__name__)

#: The ending of a qlog that is a JSON text sequence.
QLOG_SUFFIX = ".sqlog"

#: The most that the traces of a run may take on the disk: no program draws so much.
LARGEST_QLOG_BYTES = 2**30

#: What can be written of senders.
KINDS = ("qlog", "tcp_info")

#: Names that an error lists at most.
MOST_NAMED = 6


def export_qlog(
    results: Result | str | Path,
    target: str | Path,
    *,
    flows: Sequence[str] | None = None,
    force: bool = False,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | None = None,
    progress: bool = False,
) -> list[Path]:
    """Write what the TCP senders of a run did as qlog, which qvis draws.

    The run is simulated again. Each end of a connection that sends data has a file,
    ``FLOW.NUMBER.client.sqlog`` or ``FLOW.NUMBER.server.sqlog``: qlog 0.3
    (draft-ietf-quic-qlog-main-schema-05) as JSON text sequences, with the events of QUIC that TCP
    has too (draft-ietf-quic-qlog-quic-events-04). Times are in ms since the start of the run, sizes
    in bytes. ``docs/reference/results.md`` says what each event means here.

    The first 100 ends that send data have a file; that there are more is logged as a warning of the
    logger ``headend``.

    Parameters
    ----------
    results
        A run, or the folder of one.
    target
        The folder to write to; it is made if it is not there.
    flows
        Only the connections of these flows; ``web`` also stands for ``web.1``, ``web.2`` and so on.
        All flows that use TCP by default.
    force
        Replace files that are there.
    allow_files
        Files and folders from which traces and captures may be read; a file with code that is named
        here may be executed.
    memory
        What the run may take, as in ``headend.run``.
    progress
        Show a progress bar on standard error.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    InputError
        For results that cannot be simulated again, or that this engine simulates otherwise; for a
        flow that there is not, or that is not TCP; for more than 1 GiB of events; and for files
        that are there.

    Examples
    --------
    >>> import headend, tempfile
    >>> line = {"line": {"point_to_point": {"up": {"rate": "1 Mbit/s"}}}}
    >>> flow = {"upload": {"application": "bulk", "direction": "up"}}
    >>> result = headend.run({"duration": "1 s", "link": line, "flow": flow})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print([file.name for file in headend.export_qlog(result, folder)])
    ['upload.0.client.sqlog']
    """
    senders = plan_senders(results, flows, allow_files=allow_files, memory=memory)
    with _show_progress(senders, wanted=progress) as on_progress:
        return senders.write("qlog", target, force=force, on_progress=on_progress)


def export_tcp_info(
    results: Result | str | Path,
    target: str | Path,
    *,
    flows: Sequence[str] | None = None,
    force: bool = False,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | None = None,
    progress: bool = False,
) -> list[Path]:
    """Write what Linux's ``tcp_info`` would say of the senders of a run, as ``tcp_info.csv``.

    The run is simulated again. A row is of one end of an open connection that sends data, at the
    end of an interval of the series. The columns are those of ``struct tcp_info`` (``ss -ti``), in
    its units: windows in segments, times in µs, rates in bytes per second; ``time_ns`` is in ns.
    ``docs/reference/results.md`` explains each.

    Parameters, errors and what is returned are those of `headend.export_qlog`; in place of more
    than 1 GiB of events, more than 500 000 rows are refused.
    """
    senders = plan_senders(results, flows, allow_files=allow_files, memory=memory)
    with _show_progress(senders, wanted=progress) as on_progress:
        return senders.write("tcp_info", target, force=force, on_progress=on_progress)


@contextmanager
def _show_progress(senders: Senders, *, wanted: bool) -> Iterator[Callable[[int], None] | None]:
    if not wanted:
        yield None
        return
    from headend.running.progress import show_bars

    with show_bars([senders.label], senders.duration_ns) as bars:
        yield bars[senders.label]


@dataclass(frozen=True)
class Senders:
    """The TCP senders of some flows of a run, which is simulated again to observe them."""

    again: Resimulation
    flows: Sequence[str]

    @property
    def label(self) -> str:
        """The label of the run."""
        return self.again.result.label

    @property
    def duration_ns(self) -> int:
        """The simulated time of the run."""
        return self.again.scenario.duration_ns

    def write(
        self,
        kind: str,
        target: str | Path,
        *,
        force: bool = False,
        on_progress: Callable[[int], None] | None = None,
        stop: threading.Event | None = None,
    ) -> list[Path]:
        """Write ``qlog`` or ``tcp_info``, whole or not at all; nothing after ``stop`` is set."""
        if kind == "qlog":
            return self._write_qlog(target, force=force, on_progress=on_progress, stop=stop)
        target = check_target(target, ["tcp_info"], force=force)
        execution = self._observe(kind, on_progress=on_progress, stop=stop)
        if not execution.finished:
            return []
        if execution.left_out:
            from headend._engine import Run

            most = Run.most_tcp_info_rows
            raise InputError(
                f"{self.again.shown_as}: tcp_info would have {execution.left_out + most} rows,"
                f" of at most {most}; {self._choose()}"
            )
        from headend.engine.columns import build_plain_frame

        table = build_plain_frame(execution.tables[kind].read())
        return write_tables({kind: table}, target, "csv", None, force=force)

    def _write_qlog(self, target: str | Path, *, force: bool, **asked: Any) -> list[Path]:
        target = check_target(target, [], force=force)
        # Traces of another run would stand beside the new ones.
        refuse_present(sorted(target.glob(f"*{QLOG_SUFFIX}")), force=force)
        make_folder(target)
        try:
            with open_scratch(target) as scratch:
                traces = _Traces(scratch, self.again.shown_as, self._choose())
                execution = self._observe("qlog", on_qlog=traces.append, **asked)
                if not execution.finished:
                    return []
                # Those of an earlier export would stand beside the new ones.
                for path in target.glob(f"*{QLOG_SUFFIX}"):
                    path.unlink()
                written = traces.move_to(target)
        except OSError as error:
            raise InputError(f"{target}: cannot be written: {describe_system(error)}") from error
        if execution.left_out:
            from headend._engine import Run

            _LOGGER.warning(
                "%s: the first %d ends of connections have a trace, %d more have none; %s",
                self.again.shown_as,
                Run.most_qlog_traces,
                execution.left_out,
                self._choose(),
            )
        return written

    def _observe(self, kind: str, **asked: Any) -> Execution:
        return self.again.execute((kind, self.flows), **asked)

    def _choose(self) -> str:
        """Say how less is written."""
        if len(self.flows) > 1:
            flows = list_names(self.flows, MOST_NAMED)
            return f"choose flows with --flow (from Python, flows): {flows}"
        return "shorten the run, or let fewer connections be opened"


class _Traces:
    """Traces that grow in a scratch folder."""

    def __init__(self, folder: Path, shown_as: str, choose: str) -> None:
        self.folder, self.shown_as, self.choose = folder, shown_as, choose
        self.names: dict[str, str] = {}
        self.size = 0

    def append(self, pieces: Mapping[str, bytes]) -> None:
        """Write each trace's piece behind those that came before."""
        for trace, piece in pieces.items():
            if trace not in self.names:
                (name,) = name_folders([trace], taken=list(self.names.values()))
                self.names[trace] = name
            with (self.folder / f"{self.names[trace]}{QLOG_SUFFIX}").open("ab") as file:
                file.write(piece)
            self.size += len(piece)
        if self.size > LARGEST_QLOG_BYTES:
            raise InputError(
                f"{self.shown_as}: its events take more than 1 GiB, which no program draws;"
                f" {self.choose}"
            )

    def move_to(self, target: Path) -> list[Path]:
        """Put the traces in their place, whole."""
        paths = [target / f"{name}{QLOG_SUFFIX}" for name in self.names.values()]
        for path in paths:
            (self.folder / path.name).replace(path)
        return paths


def plan_senders(
    results: Result | str | Path,
    flows: Sequence[str] | None = None,
    *,
    allow_files: Sequence[str | Path] = (),
    memory: str | int | None = None,
) -> Senders:
    """Check all that can be checked before a run is simulated again; see `export_qlog`."""
    again = plan_again(results, allow_files=allow_files, memory=memory)
    return Senders(again, _choose_flows(again, flows))


def _choose_flows(again: Resimulation, wanted: Sequence[str] | None) -> list[str]:
    """Give the flows that use TCP, or those of them that are wanted, with all their members."""
    transports = dict(again.result.flows.select("flow", "transport").iter_rows())
    tcp = [flow for flow, transport in transports.items() if transport == "tcp"]
    if wanted is None:
        if not tcp:
            raise InputError(
                f"{again.shown_as}: none of its flows uses TCP, whose senders could be observed"
            )
        return tcp
    if isinstance(wanted, str) or not all(isinstance(name, str) for name in wanted):
        raise refuse_argument("flows", "a list of names", wanted)
    chosen: dict[str, None] = {}
    for name in wanted:
        members = [flow for flow in transports if flow == name or _is_member(flow, name)]
        if not members:
            known = {flow.partition(".")[0] for flow in tcp} | set(tcp)
            raise InputError(
                f'--flow {name}: no flow is called "{name}"{suggest(name, sorted(known))}'
            )
        found = [flow for flow in members if flow in tcp]
        if not found:
            expected = f"a flow that uses TCP ({list_names(tcp, MOST_NAMED)})" if tcp else "TCP"
            used = transports[members[0]].upper()
            raise InputError(f"--flow {name}: expected {expected}, found one that uses {used}")
        chosen |= dict.fromkeys(found)
    if not chosen:
        raise refuse_argument("flows", "a list of names", wanted)
    return list(chosen)


def _is_member(flow: str, name: str) -> bool:
    """Say whether a flow is one of several of a name: ``web.1`` of ``web``."""
    rest = flow.removeprefix(f"{name}.")
    return rest != flow and all(part.isdecimal() for part in rest.split("."))
