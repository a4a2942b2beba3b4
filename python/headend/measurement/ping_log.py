"""Reads what ``ping`` printed: that of Linux (iputils, busybox), macOS and Windows, and ``fping``.

Only numbers are looked for, since some of these speak the user's language. A gap in the numbers of
answers is a loss; lines that tell of a time-out or of an error say which one.
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from headend.errors import InputError
from headend.measurement.fields import LATEST_S, LONGEST_DELAY_MS, LONGEST_S
from headend.measurement.reader import Content, Reader
from headend.measurement.record import DelaySeries, Measurement, Probe, Trip
from headend.measurement.sequence import unwrap
from headend.text.wording import write_count

#: Every system's ping sends one probe a second unless told otherwise.
_USUAL_INTERVAL_S = 1.0

_DAY_S = 86400.0

#: Lines at the begin of a file that are looked at to know it.
_LOOKED_AT = 200

#: Longer lines are none of ping's.
_LONGEST_LINE = 500

#: More probes than these between two answers are no loss: the log was cut and pasted.
_LARGEST_GAP = 100_000

#: "PING a.example (192.0.2.1) 56(84) bytes of data.", "PING a.example (192.0.2.1): 56 data bytes"
_HEADER = re.compile(r"(?:PING6\(|PING \S+ ?\().*\d")
#: The others number from 0, iputils from 1.
_HEADER_FROM_ZERO = re.compile(r"PING6|.*\): \d")

#: "[1700000000.123456] " of -D, "12:34:56.789012 " of macOS's --apple-time.
_STAMP = re.compile(r"\[(\d{1,11}\.\d{1,9})\]\s")
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d\.\d{1,9})\s")

#: "icmp_seq=1", "icmp_seq 1", "seq=0"; of fping "192.0.2.1 : [0], 84 bytes".
_NUMBER = re.compile(r"\b(?:icmp_)?seq[= ](\d{1,9})\b")
_FPING = re.compile(r"\S+\s+: \[(\d{1,9})\], (?:(?:\d+ bytes, )(\d{1,9}(?:\.\d{1,9})?) ms|.*)")

#: "time=10.3 ms", "Zeit=10,3 ms"; of Windows "time<1ms TTL=57".
_TIME = re.compile(r"[=<]\s?(\d{1,9}(?:[.,]\d{1,9})?)\s?ms\b")
_WINDOWS = re.compile(r"[=<]\s?(\d{1,9})\s?ms\b.*\bTTL=\d+\s*$")

#: "10 packets transmitted, 9 received, 10% packet loss, time 9012ms", in any language.
_TOTAL = re.compile(r"(\d{1,9}) \D*, (\d{1,9}) .*?\d%")
_TOTAL_TIME = re.compile(r"\b(\d{1,12})\s?ms\s*$")

#: "--- example.org ping statistics ---"; what follows are sums.
_SUMS = re.compile(r"---.*---\s*$")


@dataclass
class _Line:
    """What one line tells: the number of a probe, when the line was written, and the delay if any.

    Parameters
    ----------
    number
        Of the probe; None where the tool has no numbers.
    at
        When it was printed, s of whatever clock; None where the log does not say.
    delay
        In ms; None of a probe without an answer.
    """

    number: int | None
    at: float | None
    delay: float | None


@dataclass
class _Run:
    """One run of ping.

    Parameters
    ----------
    first
        The number of its first probe; None where the log does not begin with the run's header.
    lines
        In order.
    sent
        How many probes it sent, by its own sum.
    lasted
        How long, s, by its own sum.
    absolute
        Whether times are s since 1970.
    """

    first: int | None = None
    lines: list[_Line] = field(default_factory=list)
    sent: int | None = None
    lasted: float | None = None
    absolute: bool = False


def recognises(content: Content) -> bool:
    """Whether a line at the begin of a text is one of ping."""
    if content.json is not None:
        return False
    head = content.data[: _LOOKED_AT * _LONGEST_LINE].decode(errors="replace")
    lines = head.splitlines()[:_LOOKED_AT]
    return any(_HEADER.match(line) or _read_line(line) for line in lines)


def _read_line(line: str) -> _Line | None:
    """Read what a line tells of one probe; None of any other line."""
    if len(line) > _LONGEST_LINE:
        return None
    at, line = _cut_time(line.strip())
    if match := _FPING.match(line):
        delay = float(match[2]) if match[2] else None
        return _Line(int(match[1]), at, delay)
    if match := _NUMBER.search(line):
        time = _TIME.search(line, match.end())
        return _Line(int(match[1]), at, float(time[1].replace(",", ".")) if time else None)
    if match := _WINDOWS.search(line):
        return _Line(None, at, float(match[1]))
    return None


def _cut_time(line: str) -> tuple[float | None, str]:
    if match := _STAMP.match(line):
        return float(match[1]), line[match.end() :]
    if match := _CLOCK.match(line):
        hours, minutes, seconds = int(match[1]), int(match[2]), float(match[3])
        return hours * 3600 + minutes * 60 + seconds, line[match.end() :]
    return None, line


def _split(text: str) -> Iterator[_Run]:
    """Give the runs of a log, one after the other."""
    run = _Run()
    answered_last = False
    in_sums = False
    for line in text.splitlines():
        if len(line) <= _LONGEST_LINE and _HEADER.match(line):
            if run.lines:
                yield run
            run, in_sums = _Run(0 if _HEADER_FROM_ZERO.match(line) else 1), False
            continue
        if found := _read_line(line):
            numbered = run.lines and run.lines[-1].number is not None
            if run.lines and (found.number is not None) != numbered:
                continue
            if _STAMP.match(line.strip()):
                run.absolute = True
            elif run.lines:
                _pass_midnight(found, run.lines[-1])
            run.lines.append(found)
            answered_last = found.number is None
            continue
        stripped = line.strip()
        if _SUMS.match(stripped):
            in_sums = True
        elif in_sums and run.sent is None and (match := _TOTAL.match(stripped)):
            run.sent = int(match[1])
            if time := _TOTAL_TIME.search(stripped):
                run.lasted = int(time[1]) / 1e3
        elif answered_last and not stripped:
            # Windows' ping, which numbers nothing, ends its replies with an empty line.
            in_sums = True
        elif answered_last and not in_sums:
            run.lines.append(_Line(None, None, None))
    if run.lines:
        yield run


def _pass_midnight(line: _Line, before: _Line) -> None:
    """Let the time of day of a line that comes after midnight go on from the day before."""
    if line.at is not None and before.at is not None:
        line.at += _DAY_S * max(0, round((before.at - line.at) / _DAY_S))


def read(content: Content) -> Measurement:
    """Read the log of ping.

    Raises
    ------
    InputError
        That begins with the path: no reply with a time in it.
    """
    text = content.data.decode(errors="replace")
    runs = list(_split(text))
    if not any(line.delay is not None for run in runs for line in run.lines):
        many = sum(len(run.lines) for run in runs)
        raise InputError(
            f"{content.path}: expected replies such as"
            ' "64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=10.3 ms", found'
            f" {write_count(many, 'probe')} without a reply"
        )
    notes: list[str] = []
    delays: list[DelaySeries] = []
    started: float | None = None
    offset = 0.0
    for run in runs:
        begin, series, own = _read_run(content, run)
        if begin is not None and run.absolute:
            started = begin if started is None else started
            offset = begin - started
        delays.append(_shift(series, offset))
        offset = max([offset, *delays[-1].times, *delays[-1].lost]) + _USUAL_INTERVAL_S
        notes.extend(note for note in own if note not in notes)
    return Measurement(
        tools=("ping",),
        paths=(content.path,),
        started=started,
        delays=tuple(delays),
        notes=tuple(notes),
        dropped=("addresses",),
    )


def _shift(series: DelaySeries, by: float) -> DelaySeries:
    return DelaySeries(
        series.trip,
        series.probe,
        [at + by for at in series.times],
        series.delays,
        [at + by for at in series.lost],
        series.lost_count,
    )


def _read_run(content: Content, run: _Run) -> tuple[float | None, DelaySeries, list[str]]:
    """Give when a run began by its clock, its delays from then on, and what to know of them."""
    notes: list[str] = []
    given = [line.number for line in run.lines if line.number is not None]
    numbers = unwrap(given) if given else list(range(len(run.lines)))
    answers: dict[int, _Line] = {}
    again = 0
    for number, line in zip(numbers, run.lines, strict=True):
        if line.delay is None:
            continue
        if line.delay > LONGEST_DELAY_MS:
            raise InputError(
                f"{content.path}: expected delays of up to an hour, found {line.delay:g} ms"
            )
        again += number in answers
        answers.setdefault(number, line)
    if again:
        notes.append(f"Replies that came twice: {again:,}.")
    first = min(numbers) if run.first is None else min(run.first, *numbers)
    last = max(numbers)
    if run.sent is not None and run.first is not None:
        last = max(last, min(run.first + run.sent - 1, last + _LARGEST_GAP))
    sent = {
        number: line.at - (line.delay or 0.0) / 1e3
        for number, line in answers.items()
        if line.at is not None
    }
    if len(sent) == len(answers) and sent:
        begin, times = _place(content, sent, first, last)
    else:
        begin = None
        interval = _USUAL_INTERVAL_S
        if run.lasted is not None and run.sent is not None and run.sent > 1:
            interval = run.lasted / (run.sent - 1)
            notes.append(
                f"The log has no times; its sum says that probes were {interval:.3g} s apart."
            )
        else:
            notes.append("The log has no times: probes are taken to be 1 s apart.")
        times = {number: (number - first) * interval for number in (first, last, *answers)}
    known = sorted(answers)
    return (
        begin,
        DelaySeries(
            Trip.ROUND,
            Probe.ICMP,
            [times[number] for number in known],
            [float(answers[number].delay or 0.0) for number in known],
            (lost := _list_lost(known, times, first, last)),
            len(lost),
        ),
        notes,
    )


def _place(
    content: Content, sent: dict[int, float], first: int, last: int
) -> tuple[float, dict[int, float]]:
    """Give when a run began, and when its known, first and last probes were sent, s from then."""
    known = sorted(sent)
    steps = [
        (sent[b] - sent[a]) / (b - a) for a, b in itertools.pairwise(known) if sent[b] > sent[a]
    ]
    interval = statistics.median(steps) if steps else _USUAL_INTERVAL_S
    sent = dict(sent)
    sent.setdefault(first, sent[known[0]] - (known[0] - first) * interval)
    sent.setdefault(last, sent[known[-1]] + (last - known[-1]) * interval)
    begin = min(sent.values())
    if max(sent.values()) - begin > LONGEST_S or not -LONGEST_S <= begin <= LATEST_S:
        raise InputError(
            f"{content.path}: expected times of one measurement, found some from {begin:.0f} to"
            f" {max(sent.values()):.0f} s since 1970"
        )
    return begin, {number: at - begin for number, at in sent.items()}


def _list_lost(known: Sequence[int], times: dict[int, float], first: int, last: int) -> list[float]:
    """List when probes without an answer were sent, between those whose time is known."""
    lost: list[float] = []
    if first not in known:
        lost.append(times[first])
    for left, right in itertools.pairwise(sorted({first, *known, last})):
        gap = right - left
        if 1 < gap <= _LARGEST_GAP:
            start, end = times[left], times[right]
            lost.extend(start + (end - start) * step / gap for step in range(1, gap))
    if last > max([first, *known]):
        lost.append(times[last])
    return lost


#: Logs of ping.
PING_LOG = Reader("ping", "a log of ping", recognises, read)
