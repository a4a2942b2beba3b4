//! Bulk transfer: one connection that sends a file, or for ever; then perhaps the next file.

use super::{AppContext, AppEvent, Application, News};
use crate::flow::FlowId;
use crate::metrics::Measure;
use crate::packet::Side;
use crate::time::{Duration, Instant};

/// Parameters of a bulk transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Which side sends.
    pub from: Side,
    /// Bytes of a file; `None` sends until the end of the run.
    pub size: Option<u64>,
    /// How many files, one after the other, each over a fresh connection; `None` repeats for ever.
    pub files: Option<u64>,
    /// Pause between two files.
    pub pause: Duration,
}

/// A sender of files.
#[derive(Debug)]
pub struct Bulk {
    config: Config,
    flow: Option<FlowId>,
    started_at: Instant,
    files_done: u64,
    stopped: bool,
}

impl Bulk {
    /// A transfer that begins when it is started.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            flow: None,
            started_at: Instant::ZERO,
            files_done: 0,
            stopped: false,
        }
    }

    fn begin(&mut self, cx: &mut AppContext<'_>) {
        self.started_at = cx.now;
        let flow = cx.connect(0, self.config.from);
        let bytes = self.config.size.unwrap_or(u64::MAX);
        cx.send(flow, self.config.from, bytes);
        if let Some(size) = self.config.size {
            cx.expect(flow, self.config.from.other(), size);
        }
        self.flow = Some(flow);
    }

    fn finish(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        cx.measure(
            Measure::CompletionTime,
            (cx.now - self.started_at).as_nanos() as f64,
        );
        cx.close(flow, self.config.from);
        cx.close(flow, self.config.from.other());
        self.flow = None;
        self.files_done += 1;
        if !self.stopped
            && self
                .config
                .files
                .is_none_or(|files| self.files_done < files)
        {
            cx.wake_at(cx.now + self.config.pause, 0);
        }
    }
}

impl Application for Bulk {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.begin(cx),
            AppEvent::Timer { .. } if !self.stopped => self.begin(cx),
            AppEvent::Stopped => {
                self.stopped = true;
                // An endless transfer ends here; a file is finished.
                if let (Some(flow), None) = (self.flow, self.config.size) {
                    cx.close(flow, self.config.from);
                    cx.close(flow, self.config.from.other());
                    self.flow = None;
                }
            }
            AppEvent::Flow {
                flow,
                news: News::Received { .. },
            } => self.finish(flow, cx),
            AppEvent::Flow { .. } | AppEvent::Timer { .. } => {}
        }
    }
}
