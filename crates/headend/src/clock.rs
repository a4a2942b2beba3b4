//! Clocks: what the engine waits on between two events.
//!
//! With virtual time, a clock jumps to the next event. With real time, it sleeps until the next
//! event, or until packets arrive from outside. The simulation cannot tell the two apart.
//!
//! An arrival carries the clock's time as its timestamp. Every later step uses scheduled time, so
//! that delays of the real clock do not add up.

use std::io;

use crate::flow::FlowId;
use crate::packet::{Ecn, FrameId, Side};
use crate::time::Instant;

/// A packet that arrives from outside the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The time of its arrival.
    pub at: Instant,
    /// Its flow.
    pub flow: FlowId,
    /// The side that sent it.
    pub from: Side,
    /// Its size in IP bytes.
    pub size: u16,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The real frame that it stands for.
    pub frame: FrameId,
}

/// A source of time and of packets from outside.
pub trait Clock {
    /// Waits until `deadline` (`None`: without end) or until packets arrive; these are appended to
    /// `arrivals` in order. Returns the time up to which events may now be handled, or `None` at
    /// the end of the run.
    ///
    /// # Errors
    ///
    /// Any error of the outside world, such as of a socket.
    fn wait_until(
        &mut self,
        deadline: Option<Instant>,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Option<Instant>>;
}

/// Virtual time, with arrivals that are known beforehand (none, in a plain simulation).
#[derive(Debug, Default)]
pub struct VirtualClock {
    arrivals: std::collections::VecDeque<Arrival>,
}

impl VirtualClock {
    /// A clock that replays `arrivals`, which are in order of time.
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
