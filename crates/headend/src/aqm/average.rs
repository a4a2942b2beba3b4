//! The weighted average queue length that RED, FRED and CBT use (Floyd and Jacobson 1993 §4), and
//! its unit.
//!
//! Each arrival is a sample: `avg ← (1−w)·avg + w·q`. An empty queue gives no samples. At the first
//! arrival after a pause, the average therefore decays as if `m` small packets had arrived at an
//! empty queue: `avg ← (1−w)^m·avg`. `m` is the length of the pause in packet times.

use crate::math;
use crate::queue::Depth;
use crate::time::Instant;
use crate::units::{ByteCount, Limit, Rate};

/// The unit of an average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Bytes, as the line's framing counts them.
    Bytes,
    /// Packets.
    Packets,
}

impl Unit {
    /// The length of a queue in this unit.
    pub(super) fn of(self, depth: Depth) -> f64 {
        match self {
            Self::Bytes => depth.bytes as f64,
            Self::Packets => depth.packets as f64,
        }
    }

    /// A threshold on a line of this rate, with its unit; `None` for an unlimited one.
    pub(super) fn of_threshold(threshold: Limit, rate: Rate) -> Option<(Self, f64)> {
        match threshold {
            Limit::Packets(packets) => Some((Self::Packets, packets as f64)),
            Limit::Unlimited => None,
            Limit::Bytes(_) | Limit::Time(_) => {
                threshold.bytes_at(rate).map(|n| (Self::Bytes, n as f64))
            }
        }
    }
}

/// A weighted average queue length.
#[derive(Debug, Clone)]
pub(super) struct Average {
    weight: f64,
    /// Bytes of a typical packet. A pause is counted in its transmission time.
    mean_packet: u64,
    value: f64,
    /// When the queue became empty, or was last found empty.
    empty_since: Instant,
}

impl Average {
    /// The average of an empty queue. `weight` is the weight of the newest sample, and
    /// `mean_packet` the size of a typical packet.
    pub(super) fn new(weight: f64, mean_packet: ByteCount) -> Self {
        Self {
            weight,
            mean_packet: mean_packet.0,
            value: 0.0,
            empty_since: Instant::ZERO,
        }
    }

    /// The current average.
    pub(super) fn value(&self) -> f64 {
        self.value
    }

    /// Adds a sample: a packet arrives behind `queue`, on a line of this rate.
    pub(super) fn sample(&mut self, queue: f64, now: Instant, rate: Rate) {
        if queue > 0.0 {
            self.value += self.weight * (queue - self.value);
        } else {
            self.decay(now, rate);
        }
    }

    /// Called when the queue becomes empty.
    pub(super) fn note_empty(&mut self, now: Instant) {
        self.empty_since = now;
    }

    /// Adds a sample after a packet has departed, for laws that sample at departures as well.
    pub(super) fn sample_departure(&mut self, queue: f64, now: Instant) {
        self.value += self.weight * (queue - self.value);
        if queue == 0.0 {
            self.note_empty(now);
        }
    }

    /// Keeps the average constant, for tests.
    #[cfg(test)]
    pub(super) fn freeze(&mut self) {
        self.weight = 0.0;
    }

    fn decay(&mut self, now: Instant, rate: Rate) {
        let idle = now - self.empty_since;
        self.empty_since = now;
        if self.value > 0.0 {
            let packet_time = rate.time_for(self.mean_packet);
            let packets = idle.as_nanos() as f64 / packet_time.as_nanos() as f64;
            self.value *= math::powf(1.0 - self.weight, packets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    /// A packet of 1000 B takes 800 µs.
    const RATE: Rate = Rate(10_000_000);
    const PACKET: ByteCount = ByteCount(1000);

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{found} is not {expected}"
        );
    }

    // The figures were computed independently, by a few lines of Python, from the two formulas of
    // the paper.

    #[test]
    fn a_step_of_60_packets_passes_15_at_the_148th_arrival_and_30_at_the_355th() {
        let mut average = Average::new(1.0 / 512.0, PACKET);
        let mut passed = Vec::new();
        for arrival in 1..=1000 {
            let before = average.value();
            average.sample(60.0, at(arrival), RATE);
            for threshold in [15.0, 30.0] {
                if before < threshold && average.value() >= threshold {
                    passed.push(arrival);
                }
            }
            match arrival {
                1 => assert_near(average.value(), 0.117_187_5),
                100 => assert_near(average.value(), 10.654_771_284_516_85),
                512 => assert_near(average.value(), 37.948_806_524_727_85),
                _ => {}
            }
        }
        assert_eq!(passed, [148, 355]);
        assert_near(average.value(), 51.506_427_283_934_514);
    }

    /// An average of 30 packets; the queue became empty at time zero.
    fn thirty() -> Average {
        Average {
            value: 30.0,
            ..Average::new(1.0 / 512.0, PACKET)
        }
    }

    #[test]
    fn a_pause_of_100_packet_times_decays_as_100_samples_of_an_empty_queue() {
        let mut average = thirty();
        average.sample(0.0, at(80_000), RATE);
        assert_near(average.value(), 24.672_614_357_741_573);
    }

    #[test]
    fn part_of_a_packet_time_counts_as_part() {
        let mut average = thirty();
        average.sample(0.0, at(10_000), RATE);
        assert_near(average.value(), 29.275_747_597_340_676);
    }

    #[test]
    fn a_pause_is_counted_once_however_many_arrivals_find_the_queue_empty() {
        let mut average = thirty();
        for arrival in 1..=10 {
            average.sample(0.0, at(8_000 * arrival), RATE);
        }
        assert_near(average.value(), 24.672_614_357_741_573);
    }

    #[test]
    fn the_average_does_not_decay_while_the_rate_is_zero() {
        let mut average = thirty();
        average.sample(0.0, at(80_000), Rate(0));
        assert_near(average.value(), 30.0);
    }

    #[test]
    fn a_departure_is_a_sample_and_the_last_one_starts_a_pause() {
        let mut average = thirty();
        average.sample_departure(0.0, at(80_000));
        assert_near(average.value(), 30.0 * 511.0 / 512.0);
        average.sample(0.0, at(80_000), RATE);
        assert_near(average.value(), 30.0 * 511.0 / 512.0);
    }

    #[test]
    fn a_threshold_is_counted_in_the_unit_it_is_written_in() {
        let of = |threshold| Unit::of_threshold(threshold, Rate(8_000_000));
        assert_eq!(of(Limit::Packets(15)), Some((Unit::Packets, 15.0)));
        assert_eq!(
            of(Limit::Bytes(ByteCount(9000))),
            Some((Unit::Bytes, 9000.0))
        );
        assert_eq!(
            of(Limit::Time(Duration::from_millis(5))),
            Some((Unit::Bytes, 5000.0))
        );
        assert_eq!(of(Limit::Unlimited), None);
        let depth = Depth {
            packets: 3,
            bytes: 2000,
        };
        assert_near(Unit::Packets.of(depth), 3.0);
        assert_near(Unit::Bytes.of(depth), 2000.0);
    }
}
