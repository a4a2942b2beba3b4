//! Bulk transfer over TCP: files one after the other, groups of files with a rest after each group,
//! or one transfer that never ends.

use super::definition::{About, Definition, Fault, Property, ensure, ensure_span};
use super::memory::Setting;
use super::sizes::log_normal;
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::measure::{Chart, Kind, Unit};
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::ByteCount;

/// Parameters of a bulk transfer.
///
/// Use it for uploads, downloads and backups, which fill a line and its queue. FTP is files with a
/// `size`, each over a connection of its own. nttcp is
/// `{ size = "8 MiB", files = 3, write = "4 KiB" }`. Bursts above a sustained rate are groups of
/// files with a `rest`.
///
/// Source: a choice of ours; with `size`, the file transfers of CM-GL-Buffer's measurements.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Time between the starts of two groups. A group starts later if the previous group and its
    /// rest are not over. Flows with the same value stay synchronized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// Number of files, sent one after the other. Without it, files follow each other until the
    /// flow's stop time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Number of files in a group, after which there is a rest instead of a pause. Without it there
    /// are no groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u64>,
    /// Time between the end of a file and the start of the next.
    pub pause: Duration,
    /// Whether all files use one connection. Otherwise each file has a new one, and begins with
    /// slow start.
    pub persistent: bool,
    /// Shortest time between the end of a group and the start of the next. A longer one fills the
    /// token bucket further.
    pub rest: Duration,
    /// Spread of the files' sizes, which are log-normal: standard deviation of their natural
    /// logarithm. With 0 all are equal; with 1 one in twenty is larger than three times the mean.
    pub sigma: f64,
    /// Mean size of a file. Without it the transfer never ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
    /// Number of bytes that the program writes at a time. It writes the next part once at most this
    /// many bytes are unsent. Each write ends in a segment of its own while the window has room for
    /// all. Without it, a file is written at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<ByteCount>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            every: None,
            files: None,
            group: None,
            // A choice: about the time that a program needs to open the next file.
            pause: Duration::from_millis(100),
            persistent: false,
            rest: Duration::ZERO,
            sigma: 0.0,
            size: None,
            write: None,
        }
    }
}

/// One sample for each file.
static COMPLETION_TIME: Kind = Kind {
    place: 40,
    compared_by: &[("file p50", "p50")],
    chart: Some(Chart {
        name: "files",
        title: "File completion time",
        axis: "until complete (s)",
        factor: 1e-9,
        explanation: "Each point is a file, from its first packet to its last byte at the \
                      receiver. Lower is better; a wide spread means that some were unlucky with \
                      losses.",
        is_points: true,
        is_after_queues: true,
        place: 10,
    }),
    ..Kind::new(
        "completion_time",
        Unit::Time,
        "From a file's first packet to its last byte at the receiver.",
    )
};

impl Definition for Config {
    fn about() -> About {
        About {
            name: "bulk",
            properties: &[
                Property::Bulk,
                Property::Distant,
                Property::Greedy,
                Property::Transfer,
            ],
            measures: const { &[COMPLETION_TIME.whole()] },
        }
    }

    fn transport(&self) -> &'static str {
        "tcp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Up, Direction::Down]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure(
            self.size
                .is_none_or(|size| (1..=LARGEST_FILE).contains(&size.0)),
            "size",
            "a file of 1 B to 1 000 000 GB",
        )?;
        ensure(
            self.files != Some(0),
            "files",
            "at least 1; without it, files follow each other to the end",
        )?;
        ensure(
            self.files.is_none() || self.size.is_some(),
            "files",
            "a size beside it: a transfer without a size never ends",
        )?;
        ensure(
            (0.0..=5.0).contains(&self.sigma) && (self.sigma == 0.0 || self.size.is_some()),
            "sigma",
            "0 to 5, with a size beside it where it is not 0",
        )?;
        ensure(
            self.group
                .is_none_or(|files| files > 0 && self.size.is_some()),
            "group",
            "at least 1 file, with a size beside it",
        )?;
        ensure(
            self.group.is_some() || self.rest.is_zero(),
            "rest",
            "a group beside it: how many files come before a rest",
        )?;
        ensure(
            self.group.is_some() || self.every.is_none(),
            "every",
            "a group beside it: how many files start so often",
        )?;
        ensure(
            self.write.is_none_or(|write| write.0 > 0),
            "write",
            "at least 1 B",
        )?;
        ensure_span(self.rest, "rest")?;
        ensure_span(self.every.unwrap_or_default(), "every")?;
        ensure_span(self.pause, "pause")
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Bulk::new(self.clone(), direction.sender()))
    }

    fn connections(&self) -> u64 {
        1
    }

    fn most_to_send(&self) -> f64 {
        if self.sigma > 0.0 {
            return f64::INFINITY;
        }
        self.size.map_or(f64::INFINITY, |size| size.0 as f64)
    }

    fn samples(&self, of: &Setting) -> f64 {
        let Some(size) = self.size else { return 0.0 };
        of.files(size.0, of.rtt / 2.0, self.pause, self.files)
    }
}

/// A sender of files.
#[derive(Debug)]
pub struct Bulk {
    config: Config,
    from: Side,
    /// The connection, if one is open.
    flow: Option<FlowId>,
    /// Total size of the files on this connection, the current one included.
    expected: u64,
    /// Size of the current file.
    size: u64,
    /// Number of bytes of the current file that are not written yet.
    left: u64,
    /// Whether a file is being sent.
    busy: bool,
    started_at: Instant,
    /// Start of the current group.
    group_started_at: Instant,
    files_done: u64,
    stopped: bool,
}

impl Bulk {
    /// Creates a sender on side `from` that starts on [`AppEvent::Started`].
    pub fn new(config: Config, from: Side) -> Self {
        Self {
            config,
            from,
            flow: None,
            expected: 0,
            size: 0,
            left: 0,
            busy: false,
            started_at: Instant::ZERO,
            group_started_at: Instant::ZERO,
            files_done: 0,
            stopped: false,
        }
    }

    fn begin(&mut self, cx: &mut AppContext<'_>) {
        self.started_at = cx.now;
        if self.is_between_groups() {
            self.group_started_at = cx.now;
        }
        self.busy = true;
        // The sequence of random sizes does not depend on how the transfers go.
        self.size = match self.config.size {
            None => u64::MAX,
            Some(ByteCount(size)) if self.config.sigma == 0.0 => size,
            Some(ByteCount(mean)) => {
                let size = mean as f64 * log_normal(self.config.sigma, cx.rng);
                (size.round() as u64).clamp(1, LARGEST_FILE)
            }
        };
        self.start_file(cx);
    }

    fn is_between_groups(&self) -> bool {
        (self.config.group).is_some_and(|files| self.files_done.is_multiple_of(files))
    }

    fn start_file(&mut self, cx: &mut AppContext<'_>) {
        let flow = self.flow.unwrap_or_else(|| {
            self.expected = 0;
            cx.connect(0, self.from)
        });
        self.flow = Some(flow);
        if self.config.size.is_some() {
            self.expected += self.size;
            cx.expect(flow, self.from.other(), self.expected);
        }
        self.left = self.size;
        self.write(cx);
    }

    /// Writes the rest of the file, or its next part.
    fn write(&mut self, cx: &mut AppContext<'_>) {
        let Some(flow) = self.flow.filter(|_| self.left > 0) else {
            return;
        };
        let Some(ByteCount(write)) = self.config.write else {
            return cx.send(flow, self.from, std::mem::take(&mut self.left));
        };
        let bytes = self.left.min(write);
        self.left -= bytes;
        cx.send(flow, self.from, bytes);
        if self.left > 0 {
            cx.await_room(flow, self.from, write);
        }
    }

    fn finish(&mut self, cx: &mut AppContext<'_>) {
        let time = cx.now - self.started_at;
        cx.measure(COMPLETION_TIME.whole(), time.as_nanos() as f64);
        self.busy = false;
        self.files_done += 1;
        let more = !self.stopped && self.config.files.is_none_or(|n| self.files_done < n);
        if !more || !self.config.persistent {
            self.hang_up(cx);
        }
        if !more {
            return;
        }
        let next = if self.is_between_groups() {
            let every = self.config.every.unwrap_or_default();
            (cx.now + self.config.rest).max(self.group_started_at + every)
        } else {
            cx.now + self.config.pause
        };
        cx.wake_at(next, NEXT_FILE);
    }

    /// A file that is being sent is completed. An endless transfer, or a connection without a file,
    /// is closed.
    fn stop(&mut self, cx: &mut AppContext<'_>) {
        self.stopped = true;
        if !self.busy || self.config.size.is_none() {
            self.hang_up(cx);
        }
    }

    /// TCP has given the connection up: the current file is sent again from its start, and its
    /// start time stays.
    fn lost(&mut self, cx: &mut AppContext<'_>) {
        self.flow = None;
        if self.busy && !self.stopped {
            self.start_file(cx);
        }
    }

    fn hang_up(&mut self, cx: &mut AppContext<'_>) {
        if let Some(flow) = self.flow.take() {
            cx.hang_up(flow);
        }
    }
}

impl Application for Bulk {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.begin(cx),
            AppEvent::Stopped => self.stop(cx),
            AppEvent::Timer { .. } if !self.stopped => self.begin(cx),
            AppEvent::Flow {
                flow,
                news: News::Received { .. },
            } if self.flow == Some(flow) => self.finish(cx),
            AppEvent::Flow {
                flow,
                news: News::Writable { .. },
            } if self.flow == Some(flow) => self.write(cx),
            AppEvent::Flow {
                flow,
                news: News::Closed,
            } if self.flow == Some(flow) => self.lost(cx),
            AppEvent::Flow { .. } | AppEvent::Timer { .. } => {}
        }
    }
}

const NEXT_FILE: u64 = 0;
/// One petabyte, which no run can transfer.
const LARGEST_FILE: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::traffic::testing::Bench;

    const FLOW: FlowId = FlowId(0);

    fn config(text: &str) -> Config {
        toml::from_str(text).expect("a good configuration")
    }

    fn received(flow: FlowId, total: u64) -> AppEvent {
        let at = Side::Peer;
        AppEvent::Flow {
            flow,
            news: News::Received { at, total },
        }
    }

    fn started(text: &str) -> (Bulk, Bench) {
        let mut bulk = Bulk::new(config(text), Side::Host);
        let mut bench = Bench::new(1);
        bench.notify(&mut bulk, AppEvent::Started);
        (bulk, bench)
    }

    #[test]
    fn a_file_is_opened_expected_sent_and_timed() {
        let (mut bulk, mut bench) = started("size = \"1 MB\"\nfiles = 1");
        let expected = [
            (FLOW, Side::Host, Command::Open),
            (FLOW, Side::Peer, Command::Expect { total: 1_000_000 }),
            (FLOW, Side::Host, Command::Send { bytes: 1_000_000 }),
        ];
        assert_eq!(bench.commands(), expected);
        bench.now = Instant::from_nanos(2_500_000);
        bench.notify(&mut bulk, received(FLOW, 1_000_000));
        let closed = [
            (FLOW, Side::Host, Command::Close),
            (FLOW, Side::Peer, Command::Close),
        ];
        assert_eq!(bench.commands(), closed);
        assert_eq!(bench.samples("completion_time"), [2_500_000.0]);
        assert_eq!(bench.next_timer(), None, "there was one file");
    }

    #[test]
    fn the_next_file_has_a_fresh_connection_after_the_pause() {
        let (mut bulk, mut bench) = started("size = \"1 MB\"\npause = \"3 s\"");
        bench.commands();
        bench.now = Instant::from_nanos(7);
        bench.notify(&mut bulk, received(FLOW, 1_000_000));
        bench.commands();
        let (at, token) = bench.next_timer().expect("another file follows");
        assert_eq!(at, Instant::from_nanos(3_000_000_007));
        bench.notify(&mut bulk, AppEvent::Timer { token });
        assert_eq!(bench.commands()[0], (FlowId(1), Side::Host, Command::Open));
    }

    #[test]
    fn a_kept_connection_counts_its_bytes_on() {
        let text = "size = \"1 kB\"\nfiles = 2\npersistent = true";
        let (mut bulk, mut bench) = started(text);
        bench.commands();
        bench.notify(&mut bulk, received(FLOW, 1000));
        assert_eq!(bench.commands(), [], "it stays open");
        let (_, token) = bench.next_timer().expect("another file follows");
        bench.notify(&mut bulk, AppEvent::Timer { token });
        let expected = [
            (FLOW, Side::Peer, Command::Expect { total: 2000 }),
            (FLOW, Side::Host, Command::Send { bytes: 1000 }),
        ];
        assert_eq!(bench.commands(), expected);
        bench.notify(&mut bulk, received(FLOW, 2000));
        assert_eq!(bench.commands().len(), 2, "now it is closed");
    }

    #[test]
    fn an_endless_transfer_ends_when_it_is_stopped() {
        let (mut bulk, mut bench) = started("");
        let send = Command::Send { bytes: u64::MAX };
        assert_eq!(bench.commands()[1], (FLOW, Side::Host, send));
        bench.notify(&mut bulk, AppEvent::Stopped);
        assert_eq!(bench.commands().len(), 2, "both sides close");
        assert_eq!(bench.samples("completion_time").len(), 0);
    }

    #[test]
    fn a_file_under_way_is_finished_after_the_stop_and_none_follows() {
        let (mut bulk, mut bench) = started("size = \"1 MB\"");
        bench.commands();
        bench.notify(&mut bulk, AppEvent::Stopped);
        assert_eq!(bench.commands(), []);
        bench.notify(&mut bulk, received(FLOW, 1_000_000));
        assert_eq!(bench.commands().len(), 2);
        assert_eq!(bench.next_timer(), None);
    }

    #[test]
    fn a_file_whose_connection_was_given_up_starts_over_on_the_same_clock() {
        let (mut bulk, mut bench) = started("size = \"1 MB\"");
        bench.commands();
        bench.now = Instant::from_nanos(60);
        let news = News::Closed;
        bench.notify(&mut bulk, AppEvent::Flow { flow: FLOW, news });
        let again = bench.commands();
        assert_eq!(again[0], (FlowId(1), Side::Host, Command::Open));
        assert_eq!(again.len(), 3);
        bench.now = Instant::from_nanos(100);
        bench.notify(&mut bulk, received(FlowId(1), 1_000_000));
        assert_eq!(bench.samples("completion_time"), [100.0]);
    }

    #[test]
    fn stopped_between_two_files_a_kept_connection_is_closed() {
        let (mut bulk, mut bench) = started("size = \"1 kB\"\npersistent = true");
        bench.commands();
        bench.notify(&mut bulk, received(FLOW, 1000));
        bench.notify(&mut bulk, AppEvent::Stopped);
        assert_eq!(bench.commands().len(), 2);
        let (_, token) = bench.next_timer().expect("the next file was due");
        bench.notify(&mut bulk, AppEvent::Timer { token });
        assert_eq!(bench.commands(), []);
    }

    #[test]
    fn after_a_group_there_is_a_rest_and_groups_keep_in_step() {
        let text = "size = \"1 MB\"\npause = \"0 s\"\ngroup = 2\nrest = \"2 s\"\nevery = \"10 s\"";
        let (mut bulk, mut bench) = started(text);
        let mut starts = Vec::new();
        // Each file takes 1 s; those of the third group take 5 s.
        for file in 0..7 {
            starts.push(bench.now.as_nanos() / 1_000_000_000);
            bench.now += Duration::from_secs(if file / 2 == 2 { 5 } else { 1 });
            bench.notify(&mut bulk, received(FlowId(file), 1_000_000));
            let (_, token) = bench.next_timer().expect("another file follows");
            bench.notify(&mut bulk, AppEvent::Timer { token });
        }
        assert_eq!(starts, [0, 1, 10, 11, 20, 25, 32]);
    }

    #[test]
    fn a_program_writes_the_next_part_when_the_connection_is_writable() {
        let (mut bulk, mut bench) = started("size = \"10 KiB\"\nfiles = 1\nwrite = \"4 KiB\"");
        let mut sent = Vec::new();
        loop {
            let commands = bench.commands();
            sent.extend(commands.iter().filter_map(|command| match command.2 {
                Command::Send { bytes } => Some(bytes),
                _ => None,
            }));
            if commands.last().map(|last| last.2) != Some(Command::Await { unsent: 4096 }) {
                break;
            }
            let news = News::Writable { at: Side::Host };
            bench.notify(&mut bulk, AppEvent::Flow { flow: FLOW, news });
        }
        assert_eq!(sent, [4096, 4096, 2048]);
    }

    #[test]
    fn sizes_have_the_configured_mean_and_spread() {
        let (mut bulk, mut bench) = started("size = \"1 MB\"\nsigma = 0.8\npersistent = true");
        let mut logs = Vec::new();
        let mut total = 0;
        for _ in 0..10_000 {
            for (.., command) in bench.commands() {
                if let Command::Send { bytes } = command {
                    logs.push(crate::math::ln(bytes as f64));
                    total += bytes;
                }
            }
            bench.notify(&mut bulk, received(FLOW, total));
            let (_, token) = bench.next_timer().expect("another file follows");
            bench.notify(&mut bulk, AppEvent::Timer { token });
        }
        let mean = logs.iter().sum::<f64>() / 1e4;
        let squares = logs.iter().map(|log| (log - mean) * (log - mean));
        // μ = ln 10⁶ − 0.32. The standard errors are 0.008 and 0.64·√2/100; that of the arithmetic
        // mean is 0.95 % (√(e^0.64 − 1)/100).
        assert!((mean - 13.4955).abs() < 0.032, "{mean}");
        assert!((squares.sum::<f64>() / 1e4 - 0.64).abs() < 0.036);
        assert!((total as f64 / 1e10 - 1.0).abs() < 0.038, "{total}");
    }
}
