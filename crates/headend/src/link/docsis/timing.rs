//! When things happen on a DOCSIS channel: frames and minislots, MAPs and their lead, symbols and pipelines.
//!
//! Upstream time is cut into frames of equal length that hold a whole number of minislots each. For OFDMA a frame is K symbols on all
//! subcarriers (its minislots lie beside each other in frequency); for SC-QAM it is one minislot's time.
//! Formulas: MULPI v3.1 Annex B, as the public ns-3 module has them.
//!
//! The minislots of a MAP interval that can be granted are numbered in one row: those of the first channel in the order of time, then those
//! of the second, and so on. Request opportunities are spread evenly over the interval; their minislots are not in the row, so a
//! grant that runs across an opportunity is still one segment.
//!
//! Where the length of MAPs varies (one channel only), "a MAP" here is the shortest one: a longer one is several of them in one piece.
//! Their minislots are then all in the row, and the CMTS's budget lacks those of the opportunities.

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The upstream channel, and the delays of the request-grant loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamTiming {
    /// Channels of the bonding group, all alike.
    pub channels: u64,
    /// Length of a frame.
    pub frame: Duration,
    /// Minislots in a frame of one channel.
    pub minislots_per_frame: u64,
    /// Bytes a minislot carries, after coding.
    pub minislot_bytes: u64,
    /// Bytes of a grant that carry no MAC frames: segment headers, and for SC-QAM preamble and guard time.
    pub segment_overhead: u64,
    /// Frames between two MAPs: of the shortest, where their length varies.
    pub frames_per_map: u64,
    /// MAPs last from one to so many of these intervals, as much as their grants take; 1: all are alike.
    pub longest_map: u64,
    /// Request opportunities in the interval of the longest MAP, of all channels together; at least one.
    pub opportunities: u64,
    /// Minislots of a request opportunity.
    pub opportunity_minislots: u64,
    /// Time from a MAP's arrival at the modem to the interval it describes.
    pub modem_map_processing: Duration,
    /// Time from knowing the queue to sending the burst that carries the request.
    pub burst_preparation: Duration,
    /// Modem's transmit pipeline.
    pub modem_pipeline: Duration,
    /// CMTS's receive pipeline.
    pub cmts_pipeline: Duration,
    /// Time the CMTS takes to make a MAP.
    pub cmts_map_processing: Duration,
    /// Time a MAP needs downstream besides propagation and interleaving: the pipelines and one symbol, without cyclic prefix.
    pub map_transmission: Duration,
    /// Downstream interleaver's delay.
    pub interleaving: Duration,
    /// One-way propagation delay.
    pub propagation: Duration,
    /// Bytes of MAC header before each PDU.
    pub mac_header: u64,
}

impl UpstreamTiming {
    /// Time between two MAPs: two of the shortest.
    pub fn map_interval(&self) -> Duration {
        self.frame * self.frames_per_map
    }

    /// When the interval of MAP `map` begins.
    pub fn allocation_start(&self, map: u64) -> Instant {
        Instant::ZERO + self.map_interval() * map
    }

    /// When MAP `map` reaches the modem.
    pub fn map_arrival(&self, map: u64) -> Instant {
        self.allocation_start(map) - self.modem_map_processing
    }

    /// Shortest time from a request to the start of a grant that answers it, in whole frames.
    pub fn minimum_request_grant(&self) -> Duration {
        let loop_delay = self.modem_map_processing
            + self.propagation * 2
            + self.interleaving
            + self.cmts_map_processing
            + self.map_transmission;
        let all = loop_delay + self.modem_pipeline + self.cmts_pipeline + self.frame;
        self.frame * all.as_nanos().div_ceil(self.frame.as_nanos())
    }

    /// The first MAP whose acknowledgement time has reached a request sent at `at`, and that has not passed the modem by `now`.
    pub fn first_map_for(&self, at: Instant, now: Instant) -> u64 {
        let interval = self.map_interval().as_nanos();
        let answered = (at + self.minimum_request_grant())
            .as_nanos()
            .div_ceil(interval);
        answered.max(self.first_map_after(now))
    }

    /// The first MAP that has not passed the modem by `now`.
    pub fn first_map_after(&self, now: Instant) -> u64 {
        let interval = self.map_interval().as_nanos();
        (now + self.modem_map_processing)
            .as_nanos()
            .div_ceil(interval)
    }

    /// The first frame boundary at or after `at`.
    pub fn next_frame(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().div_ceil(self.frame.as_nanos()) * self.frame.as_nanos())
    }

    /// Minislots of one MAP interval that can be granted, on all channels.
    pub fn minislots_per_map(&self) -> u64 {
        self.minislots_per_channel() * self.channels
    }

    /// Minislots of one MAP interval that can be granted on one channel.
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

    /// Bytes that the request opportunities of a MAP take of its budget, beyond those that are not in the row.
    pub fn opportunity_bytes(&self) -> u64 {
        match self.longest_map {
            1 => 0,
            longest => {
                self.opportunities * self.opportunity_minislots * self.minislot_bytes / longest
            }
        }
    }

    /// Minislots that a grant of `bytes` of MAC frames needs, in one segment.
    pub fn minislots_for(&self, bytes: u64) -> u64 {
        (bytes + self.segment_overhead).div_ceil(self.minislot_bytes)
    }

    /// Bytes of MAC frames that a segment of so many minislots has room for.
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

    /// The first minislot of `channel` that is in frame `frame` or later.
    pub fn first_minislot(&self, channel: u64, frame: u64) -> u64 {
        let usable = self.minislots_per_channel();
        channel * usable + (frame * usable).div_ceil(self.frames_per_map)
    }

    /// When the frame that holds minislot `minislot` of MAP `map` begins.
    pub fn minislot_start(&self, map: u64, minislot: u64) -> Instant {
        self.allocation_start(map) + self.frame * self.frame_of(minislot)
    }

    /// When what ends in minislot `minislot` of MAP `map` comes out of the CMTS.
    pub fn delivery(&self, map: u64, minislot: u64) -> Instant {
        self.minislot_start(map, minislot) + self.frame + self.propagation + self.cmts_pipeline
    }

    /// When request opportunity `index` is, counted from the start of time over all MAPs.
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

    /// What the channels carry, all minislots granted: bit/s.
    pub fn capacity(&self) -> Rate {
        let bytes = self.minislot_bytes * self.minislots_per_map() - self.opportunity_bytes();
        let bits = u128::from(bytes) * 8_000_000_000;
        Rate((bits / u128::from(self.map_interval().as_nanos())) as u64)
    }
}

/// The downstream channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownstreamTiming {
    /// What the channel carries for PDUs and their MAC headers, MAPs taken off.
    pub rate: Rate,
    /// Length of an OFDM symbol: packets leave at symbol boundaries. Zero for SC-QAM, which has none to wait for.
    pub symbol: Duration,
    /// CMTS's transmit pipeline.
    pub cmts_pipeline: Duration,
    /// Modem's receive pipeline.
    pub modem_pipeline: Duration,
    /// Interleaver's delay.
    pub interleaving: Duration,
    /// One-way propagation delay.
    pub propagation: Duration,
    /// Bytes of MAC header before each PDU.
    pub mac_header: u64,
}

impl DownstreamTiming {
    /// When a packet whose last byte was ready to be sent at `at` comes out of the modem.
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

    /// A small bonding group: 3 channels, 20 frames of 1 minislot each, 6 opportunities of 2 minislots.
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
        // The ns-3 module's documentation, with its defaults; it takes no minislots for requests.
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
