//! HTTP/2 as a page sees it (RFC 9113): one connection to a server, on which the answers to many requests share the stream frame by frame.
//!
//! What is modelled: streams and the limit of how many are open at once (§5.1.2), DATA frames with their headers (§4.1, §6.1), the client's
//! preface (§3.4). Of the answers that are ready a server sends one after the other, as RFC 9218 §10 has it for what is not
//! incremental, or a frame of each in turn. It decides when the connection has room, frame by frame, so that what is asked for later need not wait
//! for what has not left yet. What is left out: flow control (browsers open their windows wide), header compression, server push.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::config::{Fault, ensure};
use crate::units::ByteCount;

/// Parameters of HTTP/2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Payload of a full DATA frame: what an answer sends in its turn, and about what a server commits to its connection ahead of time.
    pub frame: ByteCount,
    /// Which of the answers that are ready comes next.
    pub order: Order,
    /// How many requests a connection may have open. More of them keep the connection busy where answers are small; what is beyond waits.
    pub streams: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // RFC 9113 §6.5.2: SETTINGS_MAX_FRAME_SIZE.
            frame: ByteCount(16_384),
            order: Order::InOrder,
            // RFC 9113 §6.5.2: SETTINGS_MAX_CONCURRENT_STREAMS should be no smaller, and is what servers set.
            streams: 100,
        }
    }
}

impl Config {
    /// Finds values that make no sense.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let frame = (1..1 << 24).contains(&self.frame.0);
        ensure(frame, "http2.frame", "1 B to 16777215 B (RFC 9113 §4.2)")?;
        let streams = (1..=100_000).contains(&self.streams);
        ensure(streams, "http2.streams", "1 to 100 000")
    }
}

/// Which of the answers that are ready comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// One after the other, as they were asked for.
    InOrder,
    /// A frame of each in turn: all progress, and all are finished late.
    RoundRobin,
}

/// The client's preface with its SETTINGS frame (RFC 9113 §3.4): 24 B, and 9 B with three settings of 6 B.
pub(super) const PREFACE: u64 = 24 + 9 + 3 * 6;
/// Header of a frame (RFC 9113 §4.1).
const FRAME_HEADER: u64 = 9;

/// The answers of one connection's server that are ready and not all written.
#[derive(Debug)]
pub(super) struct Multiplexer {
    order: Order,
    frame: u64,
    /// Size and bytes still to be written, the next one first.
    ready: VecDeque<(u64, u64)>,
}

/// A frame to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its bytes, header included.
    pub(super) bytes: u64,
    /// The size of the answer that it ends.
    pub(super) ends: Option<u64>,
}

impl Multiplexer {
    /// Of a server that nobody has asked yet.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            order: config.order,
            frame: config.frame.0,
            ready: VecDeque::with_capacity(config.streams as usize),
        }
    }

    /// An answer of `size` bytes is ready.
    pub(super) fn add(&mut self, size: u64) {
        self.ready.push_back((size, size));
    }

    /// The next frame, if any answer has one.
    pub(super) fn next_frame(&mut self) -> Option<Frame> {
        let (size, left) = self.ready.pop_front()?;
        let payload = left.min(self.frame);
        let left = left - payload;
        match self.order {
            _ if left == 0 => {}
            Order::InOrder => self.ready.push_front((size, left)),
            Order::RoundRobin => self.ready.push_back((size, left)),
        }
        Some(Frame {
            bytes: payload + FRAME_HEADER,
            ends: (left == 0).then_some(size),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(order: Order) -> Vec<(u64, Option<u64>)> {
        let config = Config {
            frame: ByteCount(1000),
            order,
            ..Config::default()
        };
        let mut server = Multiplexer::new(&config);
        for size in [2500, 400, 1000] {
            server.add(size);
        }
        std::iter::from_fn(|| server.next_frame())
            .map(|frame| (frame.bytes, frame.ends))
            .collect()
    }

    #[test]
    fn in_order_an_answer_is_finished_before_the_next_begins() {
        let expected = [
            (1009, None),
            (1009, None),
            (509, Some(2500)),
            (409, Some(400)),
            (1009, Some(1000)),
        ];
        assert_eq!(frames(Order::InOrder), expected);
    }

    #[test]
    fn in_turn_small_answers_overtake_large_ones() {
        let expected = [
            (1009, None),
            (409, Some(400)),
            (1009, Some(1000)),
            (1009, None),
            (509, Some(2500)),
        ];
        assert_eq!(frames(Order::RoundRobin), expected);
    }
}
