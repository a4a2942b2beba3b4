//! Datagram sources without feedback: constant bit rate, Poisson arrivals, exponential sizes.
//!
//! The two random kinds are what queueing theory speaks of: Poisson arrivals of equal packets make a rate-limited link an M/D/1 queue,
//! Poisson arrivals of exponential sizes an M/M/1 queue.

use super::{AppContext, AppEvent, Application};
use crate::flow::FlowId;
use crate::packet::Side;
use crate::time::Duration;

/// How the gaps between packets are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gaps {
    /// All equal.
    Constant,
    /// Exponential: a Poisson process.
    Exponential,
}

/// How packet sizes are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// All equal.
    Constant,
    /// Exponential, rounded to whole bytes and cut to 29 … 65535 B; the mean stays within 0.1 % for means of 200 … 8000 B.
    Exponential,
}

/// Parameters of a datagram source.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Which side sends.
    pub from: Side,
    /// Mean gap between packets.
    pub gap: Duration,
    /// Mean size, IP bytes.
    pub size: u16,
    /// How gaps are drawn.
    pub gaps: Gaps,
    /// How sizes are drawn.
    pub sizes: Sizes,
}

/// A source of datagrams.
#[derive(Debug)]
pub struct Cbr {
    config: Config,
    flow: Option<FlowId>,
    number: u64,
}

impl Cbr {
    /// A source that begins when it is started.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            flow: None,
            number: 0,
        }
    }

    fn tick(&mut self, cx: &mut AppContext<'_>) {
        let Some(flow) = self.flow else { return };
        let size = match self.config.sizes {
            Sizes::Constant => self.config.size,
            Sizes::Exponential => cx
                .rng
                .exponential(f64::from(self.config.size))
                .round()
                .clamp(29.0, 65535.0) as u16,
        };
        cx.datagram(flow, self.config.from, self.number, size);
        self.number += 1;
        let gap = match self.config.gaps {
            Gaps::Constant => self.config.gap,
            Gaps::Exponential => Duration::from_nanos(
                cx.rng
                    .exponential(self.config.gap.as_nanos() as f64)
                    .round() as u64,
            ),
        };
        cx.wake_at(cx.now + gap, 0);
    }
}

impl Application for Cbr {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => {
                self.flow = Some(cx.open_datagrams(0));
                self.tick(cx);
            }
            AppEvent::Stopped => self.flow = None,
            AppEvent::Timer { .. } => self.tick(cx),
            AppEvent::Flow { .. } => {}
        }
    }
}
