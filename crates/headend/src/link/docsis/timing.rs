//! When things happen on a DOCSIS channel: frames and minislots, MAPs and their lead, symbols and pipelines.
//!
//! Upstream time is cut into frames of equal length that hold a whole number of minislots each. For OFDMA a frame is K symbols on all
//! subcarriers (its minislots lie beside each other in frequency); for SC-QAM it is one minislot's time on each bonded channel.
//! Formulas: MULPI v3.1 Annex B, as the public ns-3 module has them.

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
    /// Frames between two MAPs.
    pub frames_per_map: u64,
    /// Request opportunities in the interval of a MAP, of all channels together; at least one.
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
    /// Time between two MAPs.
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
        let frames = loop_delay.as_nanos() as f64 / self.frame.as_nanos() as f64
            + (self.modem_pipeline + self.cmts_pipeline + self.frame).as_nanos() as f64
                / self.frame.as_nanos() as f64;
        self.frame * frames.ceil() as u64
    }

    /// The first MAP whose acknowledgement time has reached a request sent at `at`, and that has not passed the modem by `now`.
    pub fn first_map_for(&self, at: Instant, now: Instant) -> u64 {
        let interval = self.map_interval().as_nanos();
        let answered = (at + self.minimum_request_grant())
            .as_nanos()
            .div_ceil(interval);
        let arriving = (now + self.modem_map_processing)
            .as_nanos()
            .div_ceil(interval);
        answered.max(arriving)
    }

    /// The first frame boundary at or after `at`.
    pub fn next_frame(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().div_ceil(self.frame.as_nanos()) * self.frame.as_nanos())
    }

    /// Minislots of one MAP interval.
    pub fn minislots_per_map(&self) -> u64 {
        self.frames_per_map * self.minislots_per_frame
    }

    /// Minislots that a grant of `bytes` of MAC frames needs.
    pub fn minislots_for(&self, bytes: u64) -> u64 {
        (bytes + self.segment_overhead).div_ceil(self.minislot_bytes)
    }

    /// When the frame that holds minislot `minislot` of MAP `map` begins.
    pub fn minislot_start(&self, map: u64, minislot: u64) -> Instant {
        self.allocation_start(map) + self.frame * (minislot / self.minislots_per_frame)
    }

    /// When what ends in minislot `minislot` of MAP `map` comes out of the CMTS.
    pub fn delivery(&self, map: u64, minislot: u64) -> Instant {
        self.minislot_start(map, minislot) + self.frame + self.propagation + self.cmts_pipeline
    }

    /// What the channel carries, all minislots granted: bit/s.
    pub fn capacity(&self) -> Rate {
        let bits = u128::from(self.minislot_bytes * self.minislots_per_frame) * 8_000_000_000;
        Rate((bits / u128::from(self.frame.as_nanos())) as u64)
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

    #[test]
    fn the_ofdma_defaults_give_the_numbers_of_the_fact_sheet() {
        // The ns-3 module's documentation, with its defaults.
        let plant = Plant::docsis31();
        let up = plant.upstream_timing();
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
}
