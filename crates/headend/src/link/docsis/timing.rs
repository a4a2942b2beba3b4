//! Times on a DOCSIS channel: frames and minislots, MAPs and their lead, symbols and pipelines.
//!
//! Upstream time is divided into frames of equal length, each with a whole number of minislots.
//! With OFDMA a frame is K symbols on all subcarriers, and its minislots are next to each other in
//! frequency. With SC-QAM a frame is the time of one minislot. Formulas: MULPI v3.1 Annex B, as in
//! the public ns-3 module.
//!
//! The grantable minislots of a MAP interval are numbered in one sequence: those of the first
//! channel in order of time, then those of the second channel, and so on. Request opportunities are
//! spread evenly over the interval. Their minislots are not in the sequence, so a grant that
//! extends across an opportunity is still one segment.
//!
//! The length of MAPs may vary (with one channel only). Then "a MAP" here is the shortest one, and
//! a longer MAP is several of them in one piece. In this case the sequence includes the minislots
//! of the opportunities, and the budget of the CMTS excludes them.

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The upstream channel, and the delays of the request-grant loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamTiming {
    /// Number of channels in the bonding group, all alike.
    pub channels: u64,
    /// Length of a frame.
    pub frame: Duration,
    /// Minislots in a frame of one channel.
    pub minislots_per_frame: u64,
    /// Bytes that a minislot carries, after coding.
    pub minislot_bytes: u64,
    /// Bytes of a grant that carry no MAC frames: segment headers, and for SC-QAM the preamble and
    /// guard time.
    pub segment_overhead: u64,
    /// Frames between two MAPs. If the length of MAPs varies: frames of the shortest MAP.
    pub frames_per_map: u64,
    /// Longest MAP, in intervals of the shortest MAP. The length of a MAP depends on its grants. 1:
    /// all MAPs have the same length.
    pub longest_map: u64,
    /// Request opportunities in the interval of the longest MAP, on all channels together; at least
    /// one.
    pub opportunities: u64,
    /// Minislots of a request opportunity.
    pub opportunity_minislots: u64,
    /// Time from the arrival of a MAP at the modem to the interval that it describes.
    pub modem_map_processing: Duration,
    /// Time from reading the queue length to sending the burst that carries the request.
    pub burst_preparation: Duration,
    /// Transmit pipeline of the modem.
    pub modem_pipeline: Duration,
    /// Receive pipeline of the CMTS.
    pub cmts_pipeline: Duration,
    /// Time that the CMTS needs to make a MAP.
    pub cmts_map_processing: Duration,
    /// Downstream time of a MAP besides propagation and interleaving: the pipelines and one symbol
    /// without cyclic prefix.
    pub map_transmission: Duration,
    /// Delay of the downstream interleaver.
    pub interleaving: Duration,
    /// One-way propagation delay.
    pub propagation: Duration,
    /// Bytes of the MAC header before each PDU.
    pub mac_header: u64,
}

impl UpstreamTiming {
    /// Time between two MAPs of the shortest length.
    pub fn map_interval(&self) -> Duration {
        self.frame * self.frames_per_map
    }

    /// Start of the interval of MAP `map`.
    pub fn allocation_start(&self, map: u64) -> Instant {
        Instant::ZERO + self.map_interval() * map
    }

    /// Time at which MAP `map` reaches the modem.
    pub fn map_arrival(&self, map: u64) -> Instant {
        self.allocation_start(map) - self.modem_map_processing
    }

    /// Shortest time from a request to the start of its grant, in whole frames.
    pub fn minimum_request_grant(&self) -> Duration {
        let loop_delay = self.modem_map_processing
            + self.propagation * 2
            + self.interleaving
            + self.cmts_map_processing
            + self.map_transmission;
        let all = loop_delay + self.modem_pipeline + self.cmts_pipeline + self.frame;
        self.frame * all.as_nanos().div_ceil(self.frame.as_nanos())
    }

    /// The first MAP that acknowledges a request sent at `at`, and that has not reached the modem
    /// before `now`.
    pub fn first_map_for(&self, at: Instant, now: Instant) -> u64 {
        let interval = self.map_interval().as_nanos();
        let answered = (at + self.minimum_request_grant())
            .as_nanos()
            .div_ceil(interval);
        answered.max(self.first_map_after(now))
    }

    /// The first MAP that has not reached the modem before `now`.
    pub fn first_map_after(&self, now: Instant) -> u64 {
        let interval = self.map_interval().as_nanos();
        (now + self.modem_map_processing)
            .as_nanos()
            .div_ceil(interval)
    }

    /// The first MAP whose last burst is not prepared before `now`.
    pub fn first_map_unprepared(&self, now: Instant) -> u64 {
        (now + self.latest_preparation()).as_nanos() / self.map_interval().as_nanos()
    }

    /// The time before its start at which a burst is prepared at the latest. A MAP that arrives
    /// later than `burst_preparation` before its first burst is no reason to miss that burst.
    pub fn latest_preparation(&self) -> Duration {
        self.burst_preparation.min(self.modem_map_processing)
    }

    /// The first frame boundary at or after `at`.
    pub fn next_frame(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().div_ceil(self.frame.as_nanos()) * self.frame.as_nanos())
    }

    /// Grantable minislots of one MAP interval, on all channels.
    pub fn minislots_per_map(&self) -> u64 {
        self.minislots_per_channel() * self.channels
    }

    /// Grantable minislots of one MAP interval, on one channel.
    pub fn minislots_per_channel(&self) -> u64 {
        let all = self.frames_per_map * self.minislots_per_frame;
        let requests = self.opportunities * self.opportunity_minislots;
        if self.longest_map > 1 {
            all
        } else if self.channels == 1 {
            all.saturating_sub(requests).max(1)
        } else {
            ((all * self.channels).saturating_sub(requests) / self.channels).max(1)
        }
    }

    /// Bytes that the request opportunities of a MAP take from its budget. Opportunities outside
    /// the sequence of minislots do not count.
    pub fn opportunity_bytes(&self) -> u64 {
        match self.longest_map {
            1 => 0,
            longest => {
                self.opportunities * self.opportunity_minislots * self.minislot_bytes / longest
            }
        }
    }

    /// Minislots that a grant for `bytes` of MAC frames needs, in one segment.
    pub fn minislots_for(&self, bytes: u64) -> u64 {
        (bytes + self.segment_overhead).div_ceil(self.minislot_bytes)
    }

    /// Bytes of MAC frames that fit into a segment of `minislots` minislots.
    pub fn room(&self, minislots: u64) -> u64 {
        (minislots * self.minislot_bytes).saturating_sub(self.segment_overhead)
    }

    /// The frame of the MAP interval that holds `minislot`.
    pub fn frame_of(&self, minislot: u64) -> u64 {
        let usable = self.minislots_per_channel();
        let in_channel = match self.channels {
            1 => minislot,
            _ => minislot % usable,
        };
        in_channel * self.frames_per_map / usable
    }

    /// The first minislot of `channel` in frame `frame` or later.
    pub fn first_minislot(&self, channel: u64, frame: u64) -> u64 {
        let usable = self.minislots_per_channel();
        channel * usable + (frame * usable).div_ceil(self.frames_per_map)
    }

    /// Start of the frame that holds minislot `minislot` of MAP `map`.
    pub fn minislot_start(&self, map: u64, minislot: u64) -> Instant {
        self.allocation_start(map) + self.frame * self.frame_of(minislot)
    }

    /// Time at which the CMTS delivers data whose last byte is in minislot `minislot` of MAP `map`.
    pub fn delivery(&self, map: u64, minislot: u64) -> Instant {
        self.minislot_start(map, minislot) + self.frame + self.propagation + self.cmts_pipeline
    }

    /// Time of request opportunity `index`, counted over all MAPs since the start of the run.
    pub fn opportunity(&self, index: u64) -> Instant {
        let (period, within) = (index / self.opportunities, index % self.opportunities);
        let length = self.map_interval() * self.longest_map;
        let offset = length.as_nanos() * within / self.opportunities;
        Instant::ZERO + length * period + Duration::from_nanos(offset)
    }

    /// The first request opportunity at or after `at`.
    pub fn first_opportunity(&self, at: Instant) -> u64 {
        let length = self.map_interval().as_nanos() * self.longest_map;
        let (period, within) = (at.as_nanos() / length, at.as_nanos() % length);
        period * self.opportunities + (within * self.opportunities).div_ceil(length)
    }

    /// Capacity of the channels with all minislots granted, in bit/s.
    pub fn capacity(&self) -> Rate {
        let bytes = self.minislot_bytes * self.minislots_per_map() - self.opportunity_bytes();
        let bits = u128::from(bytes) * 8_000_000_000;
        Rate((bits / u128::from(self.map_interval().as_nanos())) as u64)
    }
}

/// The downstream channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownstreamTiming {
    /// Rate available for PDUs and their MAC headers. The rate of MAPs is subtracted.
    pub rate: Rate,
    /// Length of an OFDM symbol. Packets leave at symbol boundaries. Zero for SC-QAM, which has no
    /// such boundaries.
    pub symbol: Duration,
    /// Transmit pipeline of the CMTS.
    pub cmts_pipeline: Duration,
    /// Receive pipeline of the modem.
    pub modem_pipeline: Duration,
    /// Delay of the interleaver.
    pub interleaving: Duration,
    /// One-way propagation delay.
    pub propagation: Duration,
    /// Bytes of the MAC header before each PDU.
    pub mac_header: u64,
}

impl DownstreamTiming {
    /// Time at which the modem delivers a packet whose last byte was ready at `at`.
    pub fn delivery(&self, at: Instant) -> Instant {
        let boundary = match self.symbol.as_nanos() {
            0 => at,
            symbol => Instant::from_nanos(at.as_nanos().div_ceil(symbol) * symbol),
        };
        boundary
            + self.cmts_pipeline
            + self.symbol
            + self.propagation
            + self.interleaving
            + self.modem_pipeline
    }
}

#[cfg(test)]
mod tests {
    use super::super::preset::Plant;
    use super::*;

    /// A small bonding group: 3 channels, 20 frames of 1 minislot each, 6 opportunities of 2
    /// minislots.
    pub(super) fn bonded() -> UpstreamTiming {
        UpstreamTiming {
            channels: 3,
            minislots_per_frame: 1,
            frames_per_map: 20,
            opportunities: 6,
            opportunity_minislots: 2,
            ..Plant::docsis30().upstream_timing()
        }
    }

    #[test]
    fn the_ofdma_defaults_give_the_numbers_of_the_fact_sheet() {
        // Values from the documentation of the ns-3 module, with its defaults. It takes no
        // minislots for requests.
        let plant = Plant::docsis31();
        let up = UpstreamTiming {
            opportunity_minislots: 0,
            ..plant.upstream_timing()
        };
        assert_eq!(up.frame.as_nanos(), 135_000);
        assert_eq!(up.minislots_per_frame, 235);
        assert_eq!(up.minislot_bytes, 48);
        assert_eq!(up.capacity().0 / 100_000, 6684);
        assert_eq!(up.frames_per_map, 15);
        assert_eq!(up.modem_map_processing.as_nanos(), 757_500);
        assert_eq!(up.minimum_request_grant().as_nanos(), 12 * 135_000);
        let down = plant.downstream_timing();
        assert_eq!(down.symbol.as_nanos(), 22_500);
        assert_eq!(down.interleaving.as_nanos(), 45_000);
        let gbits = down.rate.0 as f64 / 1e9;
        assert!((gbits - 1.712).abs() < 0.002, "{gbits}");
    }

    #[test]
    fn request_opportunities_are_taken_off_the_minislots_that_can_be_granted() {
        let timing = bonded();
        assert_eq!(timing.minislots_per_channel(), 16);
        assert_eq!(timing.minislots_per_map(), 48);
    }

    #[test]
    fn the_row_of_minislots_runs_through_each_channel_in_time() {
        let timing = bonded();
        let frames: Vec<u64> = (0..48).map(|slot| timing.frame_of(slot)).collect();
        for channel in frames.chunks(16) {
            assert_eq!((channel[0], channel[15]), (0, 18));
            assert!(channel.is_sorted());
        }
        for (channel, frame) in [(0, 0), (0, 7), (1, 0), (2, 19)] {
            let first = timing.first_minislot(channel, frame);
            assert!(first == 16 * (channel + 1) || timing.frame_of(first) >= frame);
            assert!(first == 16 * channel || timing.frame_of(first - 1) < frame);
        }
    }

    #[test]
    fn opportunities_are_evenly_spread_and_found_again() {
        let timing = bonded();
        let interval = timing.map_interval().as_nanos();
        for index in [0, 1, 5, 6, 7, 600_001] {
            let at = timing.opportunity(index);
            assert_eq!(
                at.as_nanos(),
                interval / 6 * index + (interval % 6) * index / 6
            );
            assert_eq!(timing.first_opportunity(at), index);
            let just_after = at + Duration::from_nanos(1);
            assert_eq!(timing.first_opportunity(just_after), index + 1);
        }
    }
}
