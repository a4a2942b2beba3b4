//! Datagrams at constant intervals in one or both directions, as calls, games and constant-bit-rate
//! sources send them.
//!
//! The times at which the stream sends do not depend on the network.

use super::scored::Source;
use super::{AppContext, AppEvent, Application};
use crate::flow::FlowId;
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::{ByteCount, Rate};

/// Time between packets as a fraction of nanoseconds, so that the rate stays exact in the long run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    nanos: u64,
    per: u64,
}

impl Pace {
    /// One packet every `gap`.
    pub(super) fn every(gap: Duration) -> Self {
        Self {
            nanos: gap.as_nanos(),
            per: 1,
        }
    }

    /// `count` packets a second.
    pub(super) fn per_second(count: u32) -> Self {
        Self {
            nanos: 1_000_000_000,
            per: u64::from(count),
        }
    }

    /// Packets of `size` at `rate`.
    pub(super) fn at_rate(rate: Rate, size: ByteCount) -> Self {
        Self {
            nanos: size.0 * 8_000_000_000,
            per: rate.0,
        }
    }

    /// Time from the first packet to packet `number`.
    pub(super) fn due(self, number: u64) -> Duration {
        let nanos = u128::from(self.nanos) * u128::from(number) / u128::from(self.per);
        Duration::from_nanos(nanos as u64)
    }

    /// Time between two packets, rounded down.
    pub(super) fn gap(self) -> Duration {
        Duration::from_nanos(self.nanos / self.per)
    }
}

/// Time at which the first packet of a stream is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A random time within the first interval, different for each side.
    Random,
    /// The start of the stream.
    Zero,
}

/// A stream of datagrams, in one or both directions.
#[derive(Debug)]
pub(super) struct Stream {
    pace: Pace,
    size: u16,
    phase: Phase,
    /// Which sides send.
    sides: [bool; 2],
    first: [Instant; 2],
    /// Sequence number of each side's next packet.
    next: [u64; 2],
    flow: Option<FlowId>,
}

impl Stream {
    /// Creates a stream that begins with [`Self::start`]. `size` is in IP bytes and must have been
    /// checked.
    pub(super) fn new(pace: Pace, size: ByteCount, phase: Phase, sides: [bool; 2]) -> Self {
        Self {
            pace,
            size: size.0 as u16,
            phase,
            sides,
            first: [Instant::ZERO; 2],
            next: [0; 2],
            flow: None,
        }
    }

    /// Opens the flow and schedules wake-ups for [`Self::tick`], whose token is the sending side's
    /// index.
    pub(super) fn start(&mut self, cx: &mut AppContext<'_>) {
        self.flow = Some(cx.open_datagrams(0));
        for side in Side::BOTH {
            // Both sides draw random numbers even if only one sends: the times of a side's packets
            // do not depend on whether the other side sends.
            let offset = match self.phase {
                Phase::Random => cx.rng.span(self.pace.gap()),
                Phase::Zero => Duration::ZERO,
            };
            self.first[side.index()] = cx.now + offset;
            if self.sides[side.index()] {
                cx.wake_at(self.first[side.index()], side.index() as u64);
            }
        }
    }

    /// Sends the packet that is due and schedules the next wake-up. Returns the sender and the
    /// packet's number; `None` once stopped.
    pub(super) fn tick(&mut self, token: u64, cx: &mut AppContext<'_>) -> Option<(Side, u64)> {
        let flow = self.flow?;
        let side = Side::BOTH[token as usize];
        let number = self.next[side.index()];
        cx.datagram(flow, side, number, self.size);
        self.next[side.index()] += 1;
        cx.wake_at(self.first[side.index()] + self.pace.due(number + 1), token);
        Some((side, number))
    }

    /// The flow of the packets, while the stream sends.
    pub(super) fn flow(&self) -> Option<FlowId> {
        self.flow
    }

    /// Stops sending.
    pub(super) fn stop(&mut self) {
        self.flow = None;
    }
}

impl Source for Stream {
    fn start(&mut self, cx: &mut AppContext<'_>) {
        Self::start(self, cx);
    }

    fn tick(&mut self, token: u64, cx: &mut AppContext<'_>) -> Option<Side> {
        Self::tick(self, token, cx).map(|(side, _)| side)
    }

    fn stop(&mut self) {
        Self::stop(self);
    }
}

/// A stream whose arrivals are not scored is an application by itself.
impl Application for Stream {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.start(cx),
            AppEvent::Stopped => self.stop(),
            AppEvent::Timer { token } => {
                self.tick(token, cx);
            }
            AppEvent::Flow { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::testing::Bench;

    fn send_times(mut stream: Stream, count: usize) -> Vec<(u64, Side)> {
        let mut bench = Bench::new(1);
        stream.start(&mut bench.context());
        (0..count)
            .map(|_| {
                let (at, token) = bench.next_timer().expect("it goes on");
                let (side, _) = stream.tick(token, &mut bench.context()).expect("running");
                (at.as_nanos(), side)
            })
            .collect()
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_is_kept_in_the_long_run() {
        // 1000 B at 6 Mbit/s: 4/3 ms.
        let pace = Pace::at_rate(Rate(6_000_000), ByteCount(1000));
        let stream = Stream::new(pace, ByteCount(1000), Phase::Zero, [true, false]);
        let times = send_times(stream, 751);
        assert_eq!(times[1], (1_333_333, Side::Host));
        assert_eq!(times[2], (2_666_666, Side::Host));
        assert_eq!(times[750], (1_000_000_000, Side::Host));
    }

    #[test]
    fn both_sides_keep_their_interval_from_a_random_phase() {
        let gap = Duration::from_millis(20);
        let stream = Stream::new(Pace::every(gap), ByteCount(200), Phase::Random, [true; 2]);
        let times = send_times(stream, 100);
        for side in Side::BOTH {
            let of_side: Vec<u64> = times.iter().filter(|t| t.1 == side).map(|t| t.0).collect();
            assert_eq!(of_side.len(), 50);
            assert!(of_side[0] < 20_000_000);
            assert!(of_side.windows(2).all(|w| w[1] - w[0] == 20_000_000));
        }
        assert_ne!(times[0].0, times[1].0, "the sides are not in step");
    }

    #[test]
    fn a_side_sends_at_the_same_times_alone_and_with_the_other() {
        let times = |sides| {
            let pace = Pace::every(Duration::from_millis(20));
            send_times(Stream::new(pace, ByteCount(200), Phase::Random, sides), 40)
        };
        let (alone, both) = (times([true, false]), times([true, true]));
        let up: Vec<_> = both.into_iter().filter(|t| t.1 == Side::Host).collect();
        assert_eq!(alone[..up.len()], up);
    }

    #[test]
    fn a_stopped_stream_sends_no_more() {
        let mut bench = Bench::new(1);
        let pace = Pace::every(Duration::from_millis(1));
        let mut stream = Stream::new(pace, ByteCount(200), Phase::Zero, [true, false]);
        stream.start(&mut bench.context());
        stream.stop();
        let (_, token) = bench.next_timer().expect("the first packet was due");
        assert_eq!(stream.tick(token, &mut bench.context()), None);
        assert_eq!(bench.commands(), []);
        assert_eq!(bench.next_timer(), None);
    }
}
