# The compiled engine as Python sees it. Kept by hand and held against the module by stubtest; the
# Rust side is crates/headend-python.

from collections.abc import Mapping, Sequence
from typing import ClassVar, final

__all__ = [
    "AckSample",
    "Backlog",
    "Columns",
    "ConfigError",
    "CongestionSignal",
    "Emulation",
    "EmulationError",
    "Line",
    "Packet",
    "Random",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "build",
    "cbrt",
    "check_recording",
    "columns",
    "config_carry",
    "config_defaults",
    "config_from_text",
    "config_mics",
    "config_settings",
    "config_sign",
    "config_table",
    "config_to_json",
    "config_to_toml",
    "describe",
    "file_of_code",
    "parse",
    "read_quantity",
    "read_recording",
    "reference",
    "refuse",
    "required_files",
    "schema",
    "student_t_quantile",
]

# What laws and congestion controls of one's own see. Times are whole ns, sizes bytes, rates bit/s.

# A packet. A law has it from its arrival, or from taking it out of the backlog, until it pushes,
# discards or returns it; afterwards it can only be read.
@final
class Packet:
    # IP bytes; application bytes; and bytes as the line counts them.
    @property
    def size(self) -> int: ...
    @property
    def payload(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    # When it entered the queue, and how long it has waited there; 0 for one that arrives.
    @property
    def enqueued_at(self) -> int: ...
    @property
    def sojourn(self) -> int: ...
    # The number of its flow; a number is used again once its flow is closed.
    @property
    def flow(self) -> int: ...
    @property
    def dscp(self) -> int: ...
    # ``tcp``, ``udp`` or ``other``.
    @property
    def protocol(self) -> str: ...
    # ``not_ect``, ``ect0``, ``ect1`` or ``ce``.
    @property
    def ecn(self) -> str: ...
    # Whether it is a TCP segment without data.
    @property
    def is_ack(self) -> bool: ...

# The packets of a queue, in order of arrival. Packets can be taken, pushed, marked and discarded in
# ``enqueue`` and ``dequeue`` only; elsewhere it can be read how full the queue is.
@final
class Backlog:
    # What waits: bytes as the line counts them, and packets.
    @property
    def bytes(self) -> int: ...
    @property
    def packets(self) -> int: ...
    def __len__(self) -> int: ...
    # Bytes in the other backlogs of the same scheduler.
    @property
    def others(self) -> int: ...
    # The oldest packet, to be read; None if none waits.
    @property
    def head(self) -> Packet | None: ...
    # The packet at a place, counted from the oldest, to be read.
    def peek(self, index: int) -> Packet: ...
    # Whether a packet fits under the limit.
    def fits(self, packet: Packet) -> bool: ...
    # Appends a packet. False: it did not fit under the limit, and was discarded.
    def push(self, packet: Packet) -> bool: ...
    # Takes out the oldest packet, the newest, or that at a place.
    def pop(self) -> Packet | None: ...
    def pop_last(self) -> Packet | None: ...
    def remove(self, index: int) -> Packet: ...
    def discard(self, packet: Packet) -> None: ...
    # Marks a packet CE. False: it is not ECN-capable, and is as it was.
    def mark(self, packet: Packet) -> bool: ...

# The line of a queue at the time of a call; what it has not got is None.
@final
class Line:
    # The time since the start of the run.
    @property
    def now(self) -> int: ...
    # Nominal rate.
    @property
    def rate(self) -> int: ...
    # The largest packet: IP bytes, and bytes as the line counts them.
    @property
    def mtu(self) -> int: ...
    @property
    def max_packet(self) -> int: ...
    # Of the token buckets of a cable line.
    @property
    def sustained_rate(self) -> int | None: ...
    @property
    def peak_rate(self) -> int | None: ...
    @property
    def tokens(self) -> int | None: ...
    # Of a modem, from the latest MAP: bytes granted, bytes whose request it acknowledges without a
    # grant, and the time between two MAPs.
    @property
    def granted(self) -> int | None: ...
    @property
    def pending(self) -> int | None: ...
    @property
    def map_interval(self) -> int | None: ...

# A stream of random numbers of the run.
@final
class Random:
    # Uniform over 0 <= u < 1.
    def uniform(self) -> float: ...
    # Uniform over the whole numbers from 0 to ``bound`` - 1.
    def below(self, bound: int) -> int: ...

# The contents of one acknowledgement, and the sender's state when it arrived.
@final
class AckSample:
    @property
    def now(self) -> int: ...
    # Bytes newly known to have arrived, to be lost, and reported as CE-marked.
    @property
    def newly_acked(self) -> int: ...
    @property
    def newly_lost(self) -> int: ...
    @property
    def ce_bytes(self) -> int: ...
    # Bytes in flight before and after this acknowledgement.
    @property
    def prior_in_flight(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    # Bytes of which a new slow-start threshold is a share (RFC 5681: FlightSize), and whether
    # windows and thresholds are whole segments, as in Linux.
    @property
    def flight_size(self) -> int: ...
    @property
    def whole_segments(self) -> bool: ...
    # Round-trip times: of the segment just acknowledged (None if it was sent more than once),
    # smoothed, and the smallest so far.
    @property
    def rtt(self) -> int | None: ...
    @property
    def srtt(self) -> int | None: ...
    @property
    def min_rtt(self) -> int | None: ...
    @property
    def one_way_delay(self) -> int | None: ...
    # Bytes delivered since the acknowledged segment was sent, divided by that time.
    @property
    def delivery_rate(self) -> int | None: ...
    # Total bytes delivered: now, and when the acknowledged segment was sent.
    @property
    def delivered(self) -> int: ...
    @property
    def prior_delivered(self) -> int: ...
    # Bytes in flight when that segment, or the last of the newly lost ones, was sent.
    @property
    def sent_in_flight(self) -> int: ...
    @property
    def lost_in_flight(self) -> int: ...
    # Whether the sender had no more data, whether the window limited it, and whether the window
    # must not grow since losses are being repaired.
    @property
    def app_limited(self) -> bool: ...
    @property
    def cwnd_limited(self) -> bool: ...
    @property
    def in_recovery(self) -> bool: ...
    # Round trips since the start.
    @property
    def round(self) -> int: ...
    @property
    def mss(self) -> int: ...
    # A slow-start threshold of this share of the flight size, and at least two segments.
    def threshold(self, share: float) -> int: ...

# Why a sender must slow down.
@final
class CongestionSignal:
    # ``ecn``, ``loss`` or ``timeout``.
    @property
    def kind(self) -> str: ...
    # Bytes lost, of a loss.
    @property
    def lost(self) -> int: ...

# Cube root, as the engine computes it: the same bits on every platform.
def cbrt(x: float) -> float: ...

# The file that a code's name begins with, ``my_law.py`` of ``my_law.py:MyLaw``; None for a name
# that is of no file.
def file_of_code(name: str) -> str | None: ...

# A quantity that a scenario writes, as a number: a duration in ns, a size in bytes, a rate in
# bit/s, a probability from 0 to 1; ``json`` is the value as JSON.
def read_quantity(kind: str, json: str) -> int | float: ...

class ScenarioError(ValueError):
    path: str | None
    line: int | None
    column: int | None
    message: str
    # A name or key that means nothing, as written; what there is; what was perhaps meant.
    unknown: str | None
    known: list[str]
    meant: str | None

class ConfigError(ValueError):
    # The line and the key of an error in a text; None for other errors.
    line: int | None
    path: str | None
    message: str

class RunError(RuntimeError): ...

# A scenario that cannot be emulated here: one sentence on what is missing and how to allow it.
class EmulationError(RuntimeError): ...

@final
class Scenario:
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    # Of a run without a limit, the most that it can be.
    @property
    def duration_ns(self) -> int: ...
    @property
    def is_unlimited(self) -> bool: ...
    # By name: its name, "customer" or "network", its IPv4 and its IPv6 address.
    @property
    def real_hosts(self) -> list[tuple[str, str, str, str]]: ...
    # Of the 99th percentile of the lateness, and of any stall.
    @property
    def emulation_bounds_ns(self) -> tuple[int, int]: ...
    @property
    def warmup_ns(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def expect(self) -> list[tuple[str, str]]: ...
    @property
    def warnings(self) -> list[str]: ...
    # What a run can need of memory, the largest part first: keys, the reckoning, bytes, whether it
    # is of result tables.
    @property
    def memory(self) -> list[tuple[str, str, int, bool]]: ...
    # Names in results: flows with their applications, and queues.
    @property
    def flows(self) -> list[tuple[str, str]]: ...
    @property
    def queues(self) -> list[str]: ...
    @property
    def bottleneck(self) -> str | None: ...
    @property
    def queue_path(self) -> str | None: ...
    def resolved_json(self) -> str: ...
    # The effects of each modem's file that was read, as a JSON list of objects with "key" (that
    # names the file), "file", "set" (a list of "key", "value" and "tlv"), "more" (keys beyond
    # those), "replaced", "kept" and "notes" (lists of clauses).
    def modem_files_json(self) -> str: ...
    # The configuration file of a modem, and a sentence for each setting of the scenario that it
    # does not hold. Without a secret the file has no CMTS MIC. With `by_class` it names the modem's
    # service class in place of the values that the class gives.
    def modem_file(
        self, modem: str | None = None, secret: bytes | None = None, *, by_class: bool = False
    ) -> tuple[bytes, list[str]]: ...

@final
class Columns:
    # By name: lists of text, or a type code ("d" or "q") and the bytes of an array.array of it;
    # made anew at each call.
    def read(self) -> dict[str, list[str] | tuple[str, bytes]]: ...
    # The bytes of a Parquet file; None for a table without columns.
    def encode_parquet(self) -> bytes | None: ...

@final
class Run:
    engine_version: ClassVar[str]
    # How many ends of connections have a qlog, and how many rows `tcp_info` has; more are counted.
    most_qlog_traces: ClassVar[int]
    most_tcp_info_rows: ClassVar[int]
    # `recording`: real hosts send again what it holds, in virtual time; a ValueError says why that
    # cannot be. `follow`: a flow and a time in ns; the life of its first packet from then on
    # becomes the table `steps`. `observe`: "qlog" or "tcp_info", and flows; what happens at their
    # senders is for `take_qlog`, or becomes the table `tcp_info`.
    def __new__(
        cls,
        scenario: Scenario,
        seed: int | None = None,
        follow: tuple[str, int] | None = None,
        recording: bytes | None = None,
        observe: tuple[str, Sequence[str]] | None = None,
    ) -> Run: ...
    # Raises what interrupts code of the user's own during a call; the run goes no further then.
    def advance(self, wall_seconds: float) -> tuple[int, bool]: ...
    # The simulated time so far, in ns.
    @property
    def now(self) -> int: ...
    # What was captured since the last call, of a pcapng file for each point.
    def take_capture(self) -> dict[str, bytes]: ...
    # What was written as qlog since the last call, of a JSON text sequence for each trace.
    def take_qlog(self) -> dict[str, bytes]: ...
    # Ends of connections without a trace, and rows of `tcp_info` that there was no room for.
    def left_out(self) -> int: ...
    # In a replay: how the frames have ended so far, as JSON: "entered", "delivered", "discarded",
    # "marked", "strays" and the "digest" of all ends.
    def frames(self) -> str | None: ...
    # What code of the user's own said when it failed and ended the run; None if none did.
    def failure(self) -> str | None: ...
    # Tables by name.
    def finish(self) -> dict[str, Columns]: ...

# A scenario in real time, with real programs. Linux only; elsewhere `enter` raises EmulationError.
@final
class Emulation:
    # Prepares this process, which has one thread: its next child may make an Emulation. Asks for
    # SCHED_FIFO, which the parent gives up again after the fork. `outside` needs root.
    @staticmethod
    def enter(outside: bool) -> None: ...
    # `options` is JSON: "commands" (a list of "host" and "argv"), "main" (a host), and, where they
    # differ from what follows, "outside" (false), "record" (null), "snaplen" (0: whole frames),
    # "output" ("inherit" or a file), "cwd" (null: here), "congestion" (null: that of this system).
    def __new__(cls, scenario: Scenario, seed: int, options: str) -> Emulation: ...
    # What happened since the last update, if there is something within `timeout` seconds: JSON with
    # "at_ns", "lateness" (of this interval, or null), "exited" (statuses by host, as of a shell)
    # and "over", and rows of tables.
    def next(self, timeout: float) -> tuple[str, dict[str, Columns]] | None: ...
    # Passes a signal to the commands; those that do not end within 2 s are killed.
    def stop(self, signal: int) -> None: ...
    # What was captured up to the last update, since the last call.
    def take_capture(self) -> dict[str, bytes]: ...
    # After "over": JSON with "simulated_ns", "lateness", "frames", "overruns", "strays",
    # "scheduling" ("fifo" or "other"), "cpu_seconds" and "exited", and the tables that updates did
    # not have.
    def finish(self) -> tuple[str, dict[str, Columns]]: ...

# What the module was made of: "commit" (None where HEADEND_COMMIT did not name it), "profile",
# "target".
def build() -> dict[str, str | None]: ...

# The columns of every table of results, by its name.
def columns() -> dict[str, list[str]]: ...

# The file with the buffer and the AQM of another file's first upstream service flow, or with its
# low latency. Raises ConfigError with a clause that says why not.
def config_carry(data: bytes, source: bytes, low_latency: bool) -> bytes: ...

# What stands for the numbers that a modem's file does not set, as JSON, which
# headend.modem_file.settings reads.
def config_defaults() -> str: ...

# The bytes of the file that a text describes: TOML, or JSON if it begins with a brace. Raises
# ConfigError with the line and the key.
def config_from_text(text: str) -> bytes: ...

# Verifies the message integrity checks of a modem's file. Returns JSON: "cm_mic", "cmts_mic" and
# "extended_mic" (null if the file defines none), each with "state" (right, stale, wrong,
# unverifiable, missing), and with "found", "computed" (hexadecimal) and "why" where there are.
# "extended_mic" has "hmac_type", the types that it "selects", and "is_cmts_mic" (TLV 7 holds the
# digest) too. Raises ConfigError for an MTA's file, which has no such checks.
def config_mics(data: bytes, secret: bytes | None = None) -> str: ...

# What a modem's file sets of its line, as JSON, which headend.modem_file.settings reads: numbers in
# base units with the paths of their TLVs, and what follows of them. Any bytes are described.
def config_settings(data: bytes) -> str: ...

# The file with all checks made anew, or with the CM MIC alone. Raises ConfigError if there is
# neither a secret nor `cm_only`, and for a file that cannot be signed.
def config_sign(data: bytes, secret: bytes | None = None, *, cm_only: bool = False) -> bytes: ...

# The definitions of the TLVs, as a JSON list of objects with "number" (such as "24|25.35.2"),
# "name", "aliases", "form", "unit", "range", "meanings", "default", "about" and "source".
def config_table() -> str: ...

# A modem's file as JSON; any bytes can be decoded. The JSON has "kind" (cable_modem or mta), "size"
# in bytes, "tlvs" and, if bytes at the end are no TLV, "rest". A TLV has "tlv" (such as "24.35.2"),
# "path" (such as "24[1].35.2"), "offset", "hex", and where there are "name", "value", "unit",
# "shown", "meaning", "problem" and "nested".
def config_to_json(data: bytes) -> str: ...

# A modem's file as TOML, with names and comments. Both are read back to the same bytes.
def config_to_toml(data: bytes) -> str: ...

# What the engine says of queue disciplines, applications and their measures, as JSON, which
# headend.engine.description reads.
def describe() -> str: ...
def parse(
    text: str,
    *,
    format: str = "toml",
    overrides: Sequence[tuple[str, str]] = ...,
    files: Mapping[str, bytes] = ...,
) -> Scenario: ...

# Refuses, with a ValueError, a recording whose hosts are not the real hosts of the scenario.
def check_recording(scenario: Scenario, data: bytes) -> None: ...

# What a recording says of itself, as JSON: "headend" (the version that wrote it), "seed",
# "scenario", "hosts", "end" ("end_ns" and "frames"; null if it breaks off) and the number of
# "arrivals". Raises a ValueError with one sentence.
def read_recording(data: bytes) -> str: ...
def reference() -> str: ...
def refuse(
    text: str,
    path: str,
    why: str,
    *,
    format: str = "toml",
    overrides: Sequence[tuple[str, str]] = ...,
) -> str: ...
def required_files(
    text: str, *, format: str = "toml", overrides: Sequence[tuple[str, str]] = ...
) -> list[tuple[str, str | None, str]]: ...
def schema() -> str: ...
def student_t_quantile(p: float, degrees: int) -> float: ...
