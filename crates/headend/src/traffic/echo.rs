//! Requests with responses, as ping and isochronous probes send them: matches responses to requests
//! and measures round-trip times.
//!
//! Each request has one round-trip time; NaN if no response arrived in time.

use std::collections::VecDeque;

use super::AppContext;
use crate::metrics::measure::{Felt, Kind, Unit};
use crate::time::{Duration, Instant};

/// One sample for each request; NaN for a request without a response.
pub(super) static RTT: Kind = Kind {
    felt: Felt::AsWaiting,
    place: 30,
    compared_by: &[("round trip p50", "p50"), ("round trip p99", "p99")],
    figure: Some("ping"),
    demand: Some(("p95", "good")),
    ..Kind::new("rtt", Unit::Time, "Round-trip time of a probe.")
};

/// The requests that may still be answered.
#[derive(Debug)]
pub(super) struct Requests {
    timeout: Duration,
    /// Token of the wake-up for [`Self::expire`].
    token: u64,
    number: u64,
    /// Outstanding requests, the oldest first. Requests answered out of order stay until they are
    /// the oldest.
    outstanding: VecDeque<Request>,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    number: u64,
    sent_at: Instant,
    answered: bool,
}

impl Requests {
    /// Creates an empty list. One request will be sent every `interval`.
    pub(super) fn new(interval: Duration, timeout: Duration, token: u64) -> Self {
        let most = timeout.as_nanos() / interval.as_nanos() + 2;
        Self {
            timeout,
            token,
            number: 0,
            outstanding: VecDeque::with_capacity(most as usize),
        }
    }

    /// Whether the number of outstanding requests stays within [`MOST_OUTSTANDING`].
    pub(super) fn fit(interval: Duration, timeout: Duration) -> bool {
        !timeout.is_zero() && timeout.as_nanos() / interval.as_nanos() <= MOST_OUTSTANDING
    }

    /// Adds a request that is sent now, and returns its number.
    pub(super) fn make(&mut self, cx: &mut AppContext<'_>) -> u64 {
        // A request that times out now must be removed first, whichever wake-up comes first.
        self.expire(cx);
        let first = self.outstanding.is_empty();
        self.outstanding.push_back(Request {
            number: self.number,
            sent_at: cx.now,
            answered: false,
        });
        if first {
            cx.wake_at(cx.now + self.timeout, self.token);
        }
        self.number += 1;
        self.number - 1
    }

    /// Handles a response. A response to a request that has timed out is ignored.
    pub(super) fn answered(&mut self, number: u64, cx: &mut AppContext<'_>) {
        let position = self
            .outstanding
            .binary_search_by_key(&number, |request| request.number);
        if let Ok(index) = position {
            let request = &mut self.outstanding[index];
            request.answered = true;
            let rtt = cx.now - request.sent_at;
            cx.measure(RTT.whole(), rtt.as_nanos() as f64);
        }
        // The oldest request stays until its timeout even if it is answered, because the one
        // pending wake-up belongs to it.
    }

    /// Removes the requests that have timed out, and schedules a wake-up for the oldest that is
    /// left.
    pub(super) fn expire(&mut self, cx: &mut AppContext<'_>) {
        let before = self.outstanding.len();
        while let Some(oldest) = self.outstanding.front()
            && cx.now >= oldest.sent_at + self.timeout
        {
            if !oldest.answered {
                cx.measure(RTT.whole(), f64::NAN);
            }
            self.outstanding.pop_front();
        }
        if let Some(oldest) = self.outstanding.front()
            && self.outstanding.len() < before
        {
            cx.wake_at(oldest.sent_at + self.timeout, self.token);
        }
    }
}

/// Largest number of outstanding requests.
const MOST_OUTSTANDING: u64 = 100_000;
