//! A passive meter of one direction of a TCP connection: it sees the segments of one sender enter
//! and arrive, and the acknowledgements of its receiver.
//!
//! Sequence numbers are 64 bits wide here and do not wrap around: [`Space::unwrap`] makes them of
//! the 32 bits on the wire.

use std::collections::VecDeque;

use crate::time::{Duration, Instant};

/// The sequence numbers of one sender.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Space {
    /// The largest number so far.
    largest: Option<u64>,
}

impl Space {
    /// The number of 64 bits that `value` stands for: the one nearest to the largest so far.
    pub(crate) fn unwrap(&mut self, value: u32) -> u64 {
        let number = self.near(value);
        self.largest = Some(self.largest.map_or(number, |largest| largest.max(number)));
        number
    }

    /// The same, without taking note of the number.
    pub(crate) fn near(&self, value: u32) -> u64 {
        let Some(largest) = self.largest else {
            return FIRST + u64::from(value);
        };
        let ahead = value.wrapping_sub(largest as u32).cast_signed();
        largest.saturating_add_signed(i64::from(ahead))
    }
}

/// Below the first number there is room for numbers that come before it.
const FIRST: u64 = 1 << 32;

/// The meter of one direction.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// The sequence number after the last byte that was sent.
    sent_to: Option<u64>,
    /// Segments whose acknowledgement gives a round-trip time, the oldest first: the number after
    /// each, and when it was sent.
    timed: VecDeque<(u64, Instant)>,
    /// All bytes below have arrived.
    received_to: Option<u64>,
    /// Ranges above that have arrived, in order.
    islands: Vec<(u64, u64)>,
}

impl Meter {
    /// A new one, in the memory of this one.
    pub(crate) fn cleared(mut self) -> Self {
        self.timed.clear();
        self.islands.clear();
        Self {
            timed: self.timed,
            islands: self.islands,
            ..Self::default()
        }
    }

    /// A segment of `length` numbers (bytes, SYN and FIN) enters. True if it was sent before.
    pub(crate) fn sent(&mut self, at: Instant, seq: u64, length: u64) -> bool {
        let end = seq + length;
        let sent_to = *self.sent_to.get_or_insert(seq);
        if length == 0 {
            return false;
        }
        if end <= sent_to {
            // All that is on its way may be acknowledged late, when this one has arrived.
            self.timed.clear();
            return true;
        }
        self.sent_to = Some(end);
        if seq < sent_to {
            self.timed.clear();
        } else if self.timed.len() < MOST_TIMED {
            self.timed.push_back((end, at));
        }
        false
    }

    /// The acknowledgement of all bytes below `ack` is back at the sender. Gives the time since the
    /// latest segment that it acknowledges was sent, if none of those was sent twice.
    pub(crate) fn acknowledged(&mut self, at: Instant, ack: u64) -> Option<Duration> {
        let mut sent_at = None;
        while let Some(&(end, sent)) = self.timed.front()
            && end <= ack
        {
            self.timed.pop_front();
            sent_at = Some(sent);
        }
        sent_at.map(|sent| at.since(sent))
    }

    /// A segment arrives. Gives how many of its bytes had not arrived before.
    pub(crate) fn received(&mut self, seq: u64, length: u64) -> u64 {
        let (mut start, end) = (seq, seq + length);
        let received_to = *self.received_to.get_or_insert(seq);
        start = start.max(received_to);
        if start >= end {
            return 0;
        }
        if start == received_to && self.islands.is_empty() {
            self.received_to = Some(end);
            return end - start;
        }
        self.join(start, end)
    }

    /// Adds a range to the islands.
    fn join(&mut self, start: u64, end: u64) -> u64 {
        let first = self.islands.partition_point(|island| island.1 < start);
        let after = self.islands.partition_point(|island| island.0 <= end);
        let (mut from, mut to, mut known) = (start, end, 0);
        for island in &self.islands[first..after] {
            known += (island.1.min(end)).saturating_sub(island.0.max(start));
            (from, to) = (from.min(island.0), to.max(island.1));
        }
        self.islands.splice(first..after, [(from, to)]);
        if self.islands.len() > MOST_ISLANDS {
            // Only a connection that was joined in its middle gets here.
            self.received_to = Some(self.islands[0].0);
        }
        self.swallow();
        end - start - known
    }

    /// Islands that all bytes before have reached are no islands.
    fn swallow(&mut self) {
        let mut to = self.received_to.unwrap_or_default();
        let gone = self.islands.iter().take_while(|island| {
            let joins = island.0 <= to;
            if joins {
                to = to.max(island.1);
            }
            joins
        });
        let gone = gone.count();
        self.islands.drain(..gone);
        self.received_to = Some(to);
    }
}

/// Segments whose round-trip times are taken at the same time.
const MOST_TIMED: usize = 64;
/// Ranges that a receiver is behind by, at most.
const MOST_ISLANDS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn numbers_go_on_where_those_on_the_wire_wrap_around() {
        let mut space = Space::default();
        let first = space.unwrap(u32::MAX - 10);
        assert_eq!(space.unwrap(20), first + 31);
        assert_eq!(space.unwrap(u32::MAX), first + 10, "an old one");
        assert_eq!(space.near(30), first + 41);
        assert_eq!(space.near(u32::MAX - 20), first - 10);
    }

    #[test]
    fn a_round_trip_is_that_of_the_latest_segment_acknowledged() {
        let mut meter = Meter::default();
        assert!(!meter.sent(ms(0), 1000, 100));
        assert!(!meter.sent(ms(3), 1100, 100));
        assert!(!meter.sent(ms(4), 1200, 100));
        assert_eq!(meter.acknowledged(ms(20), 1050), None, "half a segment");
        let rtt = meter.acknowledged(ms(23), 1200);
        assert_eq!(rtt, Some(Duration::from_millis(20)));
        assert_eq!(meter.acknowledged(ms(23), 1200), None, "a duplicate");
        let rtt = meter.acknowledged(ms(30), 1300);
        assert_eq!(rtt, Some(Duration::from_millis(26)));
    }

    #[test]
    fn bytes_sent_twice_or_waiting_behind_such_give_no_round_trip() {
        let mut meter = Meter::default();
        meter.sent(ms(0), 0, 100);
        meter.sent(ms(1), 100, 100);
        assert!(meter.sent(ms(50), 0, 100), "it was sent before");
        assert_eq!(meter.acknowledged(ms(70), 200), None);
        meter.sent(ms(80), 200, 100);
        assert_eq!(
            meter.acknowledged(ms(90), 300),
            Some(Duration::from_millis(10))
        );
    }

    #[test]
    fn an_acknowledgement_without_data_is_not_sent_again() {
        let mut meter = Meter::default();
        assert!(!meter.sent(ms(0), 500, 0));
        assert!(!meter.sent(ms(0), 500, 0));
        assert!(!meter.sent(ms(1), 500, 10));
        assert!(!meter.sent(ms(2), 510, 0));
        assert!(meter.sent(ms(2), 500, 10));
    }

    #[test]
    fn every_byte_counts_once_in_whatever_order_it_arrives() {
        let mut meter = Meter::default();
        assert_eq!(meter.received(0, 100), 100);
        assert_eq!(meter.received(200, 100), 100, "behind a hole");
        assert_eq!(meter.received(400, 100), 100);
        assert_eq!(meter.received(250, 200), 100, "between two");
        assert_eq!(meter.received(0, 100), 0);
        assert_eq!(meter.received(50, 100), 50);
        assert_eq!(meter.received(100, 100), 50);
        assert_eq!((meter.received_to, meter.islands.len()), (Some(500), 0));
    }

    proptest::proptest! {
        #[test]
        fn goodput_is_the_number_of_bytes_that_have_arrived(
            segments in proptest::collection::vec((0_u64..300, 1_u64..40), 1..60)
        ) {
            let mut meter = Meter::default();
            let mut seen = std::collections::BTreeSet::new();
            meter.received(0, 0);
            for (seq, length) in segments {
                let fresh = (seq..seq + length).filter(|&byte| seen.insert(byte)).count();
                proptest::prop_assert_eq!(meter.received(seq, length), fresh as u64);
            }
        }
    }
}
