//! HTTP/2 for a page load (RFC 9113): one connection to a server, on which the responses to many
//! requests share the stream frame by frame.
//!
//! The model has streams and the limit of concurrent streams (§5.1.2), DATA frames with their
//! headers (§4.1, §6.1) and the client's preface (§3.4). A server sends the responses that are
//! ready one after the other, as RFC 9218 §10 specifies for non-incremental responses, or one frame
//! of each in turn. It chooses each frame when the connection is writable. A response that is
//! requested later thus does not wait for data that has not been sent yet.
//!
//! Left out are flow control (browsers use large windows), header compression and server push.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::definition::{Fault, ensure};
use crate::units::ByteCount;

/// Parameters of HTTP/2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Payload of a full DATA frame. It is the part of a response that is sent at a time, and about
    /// the amount that a server writes to its connection ahead of time.
    pub frame: ByteCount,
    /// Which of the responses that are ready is sent next.
    pub order: Order,
    /// Largest number of concurrent requests on a connection. More of them keep the connection busy
    /// if responses are small. Further requests wait.
    pub streams: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // RFC 9113 §6.5.2: SETTINGS_MAX_FRAME_SIZE.
            frame: ByteCount(16_384),
            order: Order::InOrder,
            // RFC 9113 §6.5.2: SETTINGS_MAX_CONCURRENT_STREAMS should not be smaller. Servers set
            // this value.
            streams: 100,
        }
    }
}

impl Config {
    /// Checks for values that make no sense.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let frame = (1..1 << 24).contains(&self.frame.0);
        ensure(frame, "http2.frame", "1 B to 16777215 B (RFC 9113 §4.2)")?;
        let streams = (1..=100_000).contains(&self.streams);
        ensure(streams, "http2.streams", "1 to 100 000")
    }
}

/// Which of the responses that are ready is sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// One response after the other, in the order of the requests.
    InOrder,
    /// One frame of each response in turn. All responses progress, and all are complete late.
    RoundRobin,
}

/// The client's preface with its SETTINGS frame (RFC 9113 §3.4): 24 B, and 9 B with three settings
/// of 6 B.
pub(super) const PREFACE: u64 = 24 + 9 + 3 * 6;
/// Header of a frame (RFC 9113 §4.1).
const FRAME_HEADER: u64 = 9;

/// The responses of a server on one connection that are ready and not fully written.
#[derive(Debug)]
pub(super) struct Multiplexer {
    order: Order,
    frame: u64,
    /// Size of each response and number of bytes still to be written. The response that is sent
    /// next is the first.
    ready: VecDeque<(u64, u64)>,
}

/// A frame to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// Size of the frame, header included.
    pub(super) bytes: u64,
    /// Size of the response that the frame completes, if any.
    pub(super) ends: Option<u64>,
}

impl Multiplexer {
    /// Creates the state of a server without requests.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            order: config.order,
            frame: config.frame.0,
            ready: VecDeque::with_capacity(config.streams as usize),
        }
    }

    /// Adds a response of `size` bytes that is ready.
    pub(super) fn add(&mut self, size: u64) {
        self.ready.push_back((size, size));
    }

    /// Takes the next frame to write; `None` if there is no response.
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
