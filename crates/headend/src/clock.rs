//! Clocks: what the engine waits on between two events.
//!
//! With virtual time, a clock jumps to the next event. With real time, it sleeps until the next
//! event, or until frames of real hosts arrive. The simulation cannot tell the two apart.
//!
//! An arrival carries the clock's time as its timestamp. Every later step uses scheduled time, so
//! that delays of the real clock do not add up.

use std::io;
use std::iter::Peekable;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::packet::frames::Frames;
use crate::packet::{FrameId, Side};
use crate::time::Instant;

/// A real host of the scenario, by its place in the list of real hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RealHostId(pub u16);

/// A real host: programs on it send and receive the frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealHost {
    /// Its name in the scenario.
    pub name: String,
    /// The customer's side, or the network's.
    pub side: Side,
    /// Its IPv4 address.
    pub ipv4: Ipv4Addr,
    /// Its IPv6 address.
    pub ipv6: Ipv6Addr,
    /// The largest packet that its links carry, in IP bytes.
    pub mtu: u16,
    /// The DSCP that its frames are given when they enter; `None` leaves theirs.
    pub dscp: Option<u8>,
}

/// A frame that a real host has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The time of its arrival.
    pub at: Instant,
    /// The host that sent it.
    pub from: RealHostId,
    /// The frame. Its bytes lie in the [`Frames`] that the clock was given.
    pub frame: FrameId,
}

/// How far a run may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The same as `Until`; then the run is over.
    End(Instant),
    /// The same as `Until`; then the caller of [`run_with`] gets control back.
    ///
    /// [`run_with`]: crate::simulation::Simulation::run_with
    Return(Instant),
    /// The arrivals and all events up to this time are handled.
    Until(Instant),
}

impl Wake {
    /// The time up to which events are handled.
    pub const fn at(self) -> Instant {
        match self {
            Self::End(at) | Self::Return(at) | Self::Until(at) => at,
        }
    }
}

/// A source of time and of frames from real hosts.
pub trait Clock {
    /// Waits until `deadline` or until frames arrive. The bytes of these are put into `frames`, and
    /// the arrivals are appended to `arrivals`, in order of time.
    ///
    /// # Errors
    ///
    /// Any error of the outside world, such as of a socket.
    fn wait_until(
        &mut self,
        deadline: Instant,
        frames: &mut Frames,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Wake>;

    /// A frame has crossed the network at `at`, which is the scheduled time: `bytes` are to be
    /// written to `to`. They carry the DSCP and the ECN field with which they left the network.
    ///
    /// # Errors
    ///
    /// Any error of the outside world, such as of a socket.
    fn depart(&mut self, at: Instant, to: RealHostId, bytes: &[u8]) -> io::Result<()>;
}

/// Virtual time, with frames that are known beforehand. What departs is given to nobody.
pub struct VirtualClock<I: Iterator> {
    arrivals: Peekable<I>,
    end: Instant,
    pause: Instant,
}

impl<I, B> VirtualClock<I>
where
    I: Iterator<Item = (Instant, RealHostId, B)>,
    B: AsRef<[u8]>,
{
    /// A clock that replays `arrivals` (time, sender and bytes of each), which are in order of
    /// time, and ends the run at `end`, or when the scenario's duration is over.
    pub fn new(arrivals: impl IntoIterator<IntoIter = I>, end: Instant) -> Self {
        Self {
            arrivals: arrivals.into_iter().peekable(),
            end,
            pause: Instant::FAR_FUTURE,
        }
    }

    /// Lets the caller of `run_with` have control once events up to `at` were handled.
    pub fn pause_at(&mut self, at: Instant) {
        self.pause = at;
    }
}

impl<I, B> Clock for VirtualClock<I>
where
    I: Iterator<Item = (Instant, RealHostId, B)>,
    B: AsRef<[u8]>,
{
    fn wait_until(
        &mut self,
        deadline: Instant,
        frames: &mut Frames,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Wake> {
        let first = self.arrivals.peek().map(|&(at, ..)| at);
        let due = first.map_or(deadline, |first| first.min(deadline));
        if due.min(self.end) > self.pause {
            return Ok(Wake::Return(self.pause));
        }
        if due > self.end || (first.is_none() && deadline >= self.end) {
            return Ok(Wake::End(self.end));
        }
        // Arrivals at one time are handed over together: they enter before what they cause is
        // handled.
        while let Some((at, from, bytes)) = self.arrivals.next_if(|&(at, ..)| at == due) {
            let frame = frames.keep(bytes.as_ref());
            arrivals.extend(frame.map(|frame| Arrival { at, from, frame }));
        }
        Ok(Wake::Until(due))
    }

    fn depart(&mut self, _at: Instant, _to: RealHostId, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}
