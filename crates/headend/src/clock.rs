//! Clocks: virtual time jumps to the next event; real time sleeps until it, or until packets arrive from outside.
//!
//! The simulation cannot tell them apart. Arrivals enter stamped with the clock's time; every later step uses scheduled time, so lateness
//! does not add up.

use std::io;

use crate::flow::FlowId;
use crate::packet::{Ecn, FrameId, Side};
use crate::time::Instant;

/// A packet from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it came.
    pub at: Instant,
    /// Its flow.
    pub flow: FlowId,
    /// The side it came from.
    pub from: Side,
    /// IP bytes.
    pub size: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// The frame it stands for.
    pub frame: FrameId,
}

/// A source of time, and of packets from outside.
pub trait Clock {
    /// Waits until `deadline` (`None`: for ever) or until packets arrive, which are appended to `arrivals` in order. Returns the instant up to which
    /// events may now be handled; `None` at the end of the run.
    ///
    /// # Errors
    ///
    /// Whatever the outside world reports.
    fn wait_until(
        &mut self,
        deadline: Option<Instant>,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Option<Instant>>;
}

/// Virtual time, with arrivals known beforehand (none, in a plain simulation).
#[derive(Debug, Default)]
pub struct VirtualClock {
    arrivals: std::collections::VecDeque<Arrival>,
}

impl VirtualClock {
    /// A clock that plays back `arrivals`, which are in order of time.
    pub fn with_arrivals(arrivals: Vec<Arrival>) -> Self {
        assert!(
            arrivals.is_sorted_by_key(|arrival| arrival.at),
            "recorded arrivals are in order of time"
        );
        Self {
            arrivals: arrivals.into(),
        }
    }
}

impl Clock for VirtualClock {
    fn wait_until(
        &mut self,
        deadline: Option<Instant>,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Option<Instant>> {
        let Some(first) = self.arrivals.front() else {
            return Ok(deadline);
        };
        if deadline.is_some_and(|deadline| deadline < first.at) {
            return Ok(deadline);
        }
        let at = first.at;
        while self
            .arrivals
            .front()
            .is_some_and(|arrival| arrival.at == at)
        {
            arrivals.extend(self.arrivals.pop_front());
        }
        Ok(Some(at))
    }
}
