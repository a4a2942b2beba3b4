//! Bulk transfer: a file over TCP, then perhaps the next one; or one transfer that never ends.

use super::config::{Definition, Fault, ensure, ensure_span};
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::Measure;
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::ByteCount;

/// Parameters of a bulk transfer.
///
/// Use it for uploads, downloads and backups: what fills a line and its queue.
///
/// Source: a choice of ours; with `size`, the file transfers of CM-GL-Buffer's measurements.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How many files, one after the other. Without it files follow each other until the flow's stop time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Time between the end of a file and the start of the next.
    pub pause: Duration,
    /// Whether all files go over one connection. Otherwise each has a fresh one, and starts slowly.
    pub persistent: bool,
    /// Size of a file. Without it the transfer never ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            files: None,
            // A choice: about what a program takes to open the next file.
            pause: Duration::from_millis(100),
            persistent: false,
            size: None,
        }
    }
}

impl Definition for Config {
    fn name(&self) -> &'static str {
        "bulk"
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
        ensure_span(self.pause, "pause")
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Bulk::new(self.clone(), direction.sender()))
    }
}

/// A sender of files.
#[derive(Debug)]
pub struct Bulk {
    config: Config,
    from: Side,
    /// The connection, while there is one.
    flow: Option<FlowId>,
    /// Bytes written to it.
    written: u64,
    /// Whether a file is under way.
    busy: bool,
    started_at: Instant,
    files_done: u64,
    stopped: bool,
}

impl Bulk {
    /// A transfer by side `from` that begins when it is started.
    pub fn new(config: Config, from: Side) -> Self {
        Self {
            config,
            from,
            flow: None,
            written: 0,
            busy: false,
            started_at: Instant::ZERO,
            files_done: 0,
            stopped: false,
        }
    }

    fn begin(&mut self, cx: &mut AppContext<'_>) {
        self.started_at = cx.now;
        self.busy = true;
        self.write(cx);
    }

    fn write(&mut self, cx: &mut AppContext<'_>) {
        let flow = self.flow.unwrap_or_else(|| {
            self.written = 0;
            cx.connect(0, self.from)
        });
        self.flow = Some(flow);
        match self.config.size {
            Some(ByteCount(size)) => {
                self.written += size;
                cx.expect(flow, self.from.other(), self.written);
                cx.send(flow, self.from, size);
            }
            None => cx.send(flow, self.from, u64::MAX),
        }
    }

    fn finish(&mut self, cx: &mut AppContext<'_>) {
        let time = cx.now - self.started_at;
        cx.measure(Measure::CompletionTime, time.as_nanos() as f64);
        self.busy = false;
        self.files_done += 1;
        let more = !self.stopped && self.config.files.is_none_or(|n| self.files_done < n);
        if !more || !self.config.persistent {
            self.hang_up(cx);
        }
        if more {
            cx.wake_at(cx.now + self.config.pause, NEXT_FILE);
        }
    }

    /// A file under way is finished; an endless transfer, or a connection that waits for the next file, ends here.
    fn stop(&mut self, cx: &mut AppContext<'_>) {
        self.stopped = true;
        if !self.busy || self.config.size.is_none() {
            self.hang_up(cx);
        }
    }

    /// TCP has given the connection up: a file under way starts over, on the same clock.
    fn lost(&mut self, cx: &mut AppContext<'_>) {
        self.flow = None;
        if self.busy && !self.stopped {
            self.write(cx);
        }
    }

    fn hang_up(&mut self, cx: &mut AppContext<'_>) {
        if let Some(flow) = self.flow.take() {
            for side in Side::BOTH {
                cx.close(flow, side);
            }
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
                news: News::Closed,
            } if self.flow == Some(flow) => self.lost(cx),
            AppEvent::Flow { .. } | AppEvent::Timer { .. } => {}
        }
    }
}

const NEXT_FILE: u64 = 0;
/// A petabyte: no run gets to its end.
const LARGEST_FILE: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::traffic::testing::Desk;

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

    fn started(text: &str) -> (Bulk, Desk) {
        let mut bulk = Bulk::new(config(text), Side::Host);
        let mut desk = Desk::new(1);
        desk.tell(&mut bulk, AppEvent::Started);
        (bulk, desk)
    }

    #[test]
    fn a_file_is_opened_expected_sent_and_timed() {
        let (mut bulk, mut desk) = started("size = \"1 MB\"\nfiles = 1");
        let expected = [
            (FLOW, Side::Host, Command::Open),
            (FLOW, Side::Peer, Command::Expect { total: 1_000_000 }),
            (FLOW, Side::Host, Command::Send { bytes: 1_000_000 }),
        ];
        assert_eq!(desk.commands(), expected);
        desk.now = Instant::from_nanos(2_500_000);
        desk.tell(&mut bulk, received(FLOW, 1_000_000));
        let closed = [
            (FLOW, Side::Host, Command::Close),
            (FLOW, Side::Peer, Command::Close),
        ];
        assert_eq!(desk.commands(), closed);
        assert_eq!(desk.samples("completion_time"), [2_500_000.0]);
        assert_eq!(desk.next_timer(), None, "there was one file");
    }

    #[test]
    fn the_next_file_has_a_fresh_connection_after_the_pause() {
        let (mut bulk, mut desk) = started("size = \"1 MB\"\npause = \"3 s\"");
        desk.commands();
        desk.now = Instant::from_nanos(7);
        desk.tell(&mut bulk, received(FLOW, 1_000_000));
        desk.commands();
        let (at, token) = desk.next_timer().expect("another file follows");
        assert_eq!(at, Instant::from_nanos(3_000_000_007));
        desk.tell(&mut bulk, AppEvent::Timer { token });
        assert_eq!(desk.commands()[0], (FlowId(1), Side::Host, Command::Open));
    }

    #[test]
    fn a_kept_connection_counts_its_bytes_on() {
        let text = "size = \"1 kB\"\nfiles = 2\npersistent = true";
        let (mut bulk, mut desk) = started(text);
        desk.commands();
        desk.tell(&mut bulk, received(FLOW, 1000));
        assert_eq!(desk.commands(), [], "it stays open");
        let (_, token) = desk.next_timer().expect("another file follows");
        desk.tell(&mut bulk, AppEvent::Timer { token });
        let expected = [
            (FLOW, Side::Peer, Command::Expect { total: 2000 }),
            (FLOW, Side::Host, Command::Send { bytes: 1000 }),
        ];
        assert_eq!(desk.commands(), expected);
        desk.tell(&mut bulk, received(FLOW, 2000));
        assert_eq!(desk.commands().len(), 2, "now it is closed");
    }

    #[test]
    fn an_endless_transfer_ends_when_it_is_stopped() {
        let (mut bulk, mut desk) = started("");
        let send = Command::Send { bytes: u64::MAX };
        assert_eq!(desk.commands()[1], (FLOW, Side::Host, send));
        desk.tell(&mut bulk, AppEvent::Stopped);
        assert_eq!(desk.commands().len(), 2, "both sides close");
        assert_eq!(desk.samples("completion_time").len(), 0);
    }

    #[test]
    fn a_file_under_way_is_finished_after_the_stop_and_none_follows() {
        let (mut bulk, mut desk) = started("size = \"1 MB\"");
        desk.commands();
        desk.tell(&mut bulk, AppEvent::Stopped);
        assert_eq!(desk.commands(), []);
        desk.tell(&mut bulk, received(FLOW, 1_000_000));
        assert_eq!(desk.commands().len(), 2);
        assert_eq!(desk.next_timer(), None);
    }

    #[test]
    fn a_file_whose_connection_was_given_up_starts_over_on_the_same_clock() {
        let (mut bulk, mut desk) = started("size = \"1 MB\"");
        desk.commands();
        desk.now = Instant::from_nanos(60);
        let news = News::Closed;
        desk.tell(&mut bulk, AppEvent::Flow { flow: FLOW, news });
        let again = desk.commands();
        assert_eq!(again[0], (FlowId(1), Side::Host, Command::Open));
        assert_eq!(again.len(), 3);
        desk.now = Instant::from_nanos(100);
        desk.tell(&mut bulk, received(FlowId(1), 1_000_000));
        assert_eq!(desk.samples("completion_time"), [100.0]);
    }

    #[test]
    fn stopped_between_two_files_a_kept_connection_is_closed() {
        let (mut bulk, mut desk) = started("size = \"1 kB\"\npersistent = true");
        desk.commands();
        desk.tell(&mut bulk, received(FLOW, 1000));
        desk.tell(&mut bulk, AppEvent::Stopped);
        assert_eq!(desk.commands().len(), 2);
        let (_, token) = desk.next_timer().expect("the next file was due");
        desk.tell(&mut bulk, AppEvent::Timer { token });
        assert_eq!(desk.commands(), []);
    }
}
