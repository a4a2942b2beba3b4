# The compiled engine as Python sees it. Kept by hand and held against the module by stubtest; the
# Rust side is crates/headend-python.

from collections.abc import Mapping, Sequence
from typing import ClassVar, final

__all__ = [
    "Columns",
    "ConfigError",
    "Emulation",
    "EmulationError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "build",
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
    "parse",
    "read_recording",
    "reference",
    "refuse",
    "required_files",
    "schema",
    "student_t_quantile",
]

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
    # `recording`: real hosts send again what it holds, in virtual time; a ValueError says why that
    # cannot be. `follow`: a flow and a time in ns; the life of its first packet from then on
    # becomes the table `steps`.
    def __new__(
        cls,
        scenario: Scenario,
        seed: int | None = None,
        follow: tuple[str, int] | None = None,
        recording: bytes | None = None,
    ) -> Run: ...
    def advance(self, wall_seconds: float) -> tuple[int, bool]: ...
    # What was captured since the last call, of a pcapng file for each point.
    def take_capture(self) -> dict[str, bytes]: ...
    # In a replay: how the frames have ended so far, as JSON: "entered", "delivered", "discarded",
    # "marked", "strays" and the "digest" of all ends.
    def frames(self) -> str | None: ...
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
) -> list[tuple[str, str | None, bool]]: ...
def schema() -> str: ...
def student_t_quantile(p: float, degrees: int) -> float: ...
