//! How long the frames of a cell are on the air, and the modes in which they are sent.
//!
//! A [`Mode`] is a format with its modulation, streams, width and guard interval. [`dsss`] and
//! [`ofdm`] reckon the durations of their formats, and [`errors`] which MPDUs break. Control frames
//! are sent in a basic mode, which every station of the cell can decode (IEEE 802.11-2020 §10.6).

pub mod dsss;
mod errors;
mod ofdm;

pub use dsss::{Preamble, RATES};
pub use errors::error_rate;

use crate::time::Duration;
use crate::units::Rate;

/// MPDU bytes of an acknowledgement and of CTS (IEEE 802.11-2020 §9.3.1.3, 9.3.1.4).
pub const ACK_BYTES: u64 = 14;
/// MPDU bytes of RTS (§9.3.1.2).
pub const RTS_BYTES: u64 = 20;
/// MPDU bytes of a compressed block acknowledgement without its bitmap (§9.3.1.8).
const BLOCK_ACK_BYTES: u64 = 24;

/// Bytes of the delimiter before each MPDU of an A-MPDU (§9.7.1).
pub const DELIMITER: u64 = 4;

/// The format of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// 802.11b.
    Dsss,
    /// 802.11a and g.
    Ofdm,
    /// 802.11n.
    Ht,
    /// 802.11ac.
    Vht,
    /// 802.11ax.
    He,
}

/// How a frame is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Its format.
    pub format: Format,
    /// Modulation and code rate. Of DSSS and OFDM: the index of the rate, in ascending order.
    pub mcs: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Width of the channel in MHz.
    pub width: u16,
    /// Guard interval in ns.
    pub guard: u16,
}

impl Mode {
    /// The modes of a format without streams: DSSS or OFDM, in ascending order of rate.
    pub fn legacy(format: Format) -> impl DoubleEndedIterator<Item = Self> {
        let count = if format == Format::Dsss { 4 } else { 8 };
        (0..count).map(move |mcs| Self {
            format,
            mcs,
            streams: 1,
            width: 20,
            guard: 800,
        })
    }

    /// The mode of 802.11b at `rate`, if it is one of [`RATES`].
    pub fn dsss(rate: Rate) -> Option<Self> {
        Self::legacy(Format::Dsss).find(|mode| mode.rate() == rate)
    }

    /// Its data rate, rounded down to bit/s.
    pub fn rate(self) -> Rate {
        if self.format == Format::Dsss {
            return RATES[usize::from(self.mcs)];
        }
        Rate(ofdm::bits_of_symbol(self) * 1_000_000_000 / ofdm::symbol(self))
    }
}

/// What the durations of frames depend on besides their modes.
#[derive(Debug, Clone, PartialEq)]
pub struct Phy {
    /// The preamble of DSSS frames.
    pub preamble: Preamble,
    /// Modes of control frames, in ascending order of rate.
    pub basic: Vec<Mode>,
    /// Time without a signal that ends every OFDM frame in the 2.4 GHz band.
    pub signal_extension: Duration,
}

impl Phy {
    /// Duration of a frame of `bytes`.
    pub fn frame(&self, bytes: u64, mode: Mode) -> Duration {
        match mode.format {
            Format::Dsss => self.preamble.frame(bytes, mode.rate()),
            _ => ofdm::frame(bytes, mode) + self.signal_extension,
        }
    }

    /// The most bytes of a frame that lasts no longer than `span`. Not of DSSS, which has no long
    /// frames.
    pub fn bytes_within(&self, span: Duration, mode: Mode) -> u64 {
        ofdm::bytes_within(span.saturating_sub(self.signal_extension), mode)
    }

    /// The mode of the answer to a frame: the fastest basic mode of no larger rate, or the slowest
    /// one if all are faster (§10.6.6.5.2). For HT, VHT and HE the rate is that of the OFDM mode
    /// with the same modulation and code rate (§10.6.11).
    pub fn control(&self, mode: Mode) -> Mode {
        let rate = match mode.format {
            Format::Dsss | Format::Ofdm => mode.rate(),
            _ => non_ht_reference(mode.mcs),
        };
        let is_like = |basic: &&Mode| basic.rate() <= rate && is_decodable(**basic, mode);
        let below = self.basic.iter().rev().find(is_like);
        *below.unwrap_or(&self.basic[0])
    }

    /// Duration of the acknowledgement at the slowest basic rate. EIFS includes it (§10.3.2.3.7).
    pub fn slowest_answer(&self) -> Duration {
        self.frame(ACK_BYTES, self.basic[0])
    }
}

/// Bytes of an A-MPDU of `before` bytes with one more MPDU: it is padded to a multiple of 4 B, and
/// a delimiter precedes the MPDU (§9.7.1).
pub fn subframe(before: u64, mpdu: u64) -> u64 {
    before.next_multiple_of(4) + DELIMITER + mpdu
}

/// MPDU bytes of the block acknowledgement of up to `mpdus` MPDUs.
pub fn block_ack_bytes(mpdus: u32) -> u64 {
    BLOCK_ACK_BYTES + if mpdus > 64 { 32 } else { 8 }
}

/// Whether a receiver of frames in `mode` decodes those in the basic mode. Only 802.11b stations do
/// not decode OFDM.
fn is_decodable(basic: Mode, mode: Mode) -> bool {
    basic.format == Format::Dsss || mode.format != Format::Dsss
}

/// The OFDM rate of the same modulation and code rate (Table 10-10, "non-HT reference rate").
fn non_ht_reference(mcs: u8) -> Rate {
    const MEGABITS: [u64; 8] = [6, 12, 18, 24, 36, 48, 54, 54];
    Rate(MEGABITS[usize::from(mcs).min(7)] * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phy(preamble: Preamble) -> Phy {
        Phy {
            preamble,
            basic: Mode::legacy(Format::Dsss).take(2).collect(),
            signal_extension: Duration::ZERO,
        }
    }

    fn mode(format: Format, mcs: u8, streams: u8, width: u16, guard: u16) -> Mode {
        Mode {
            format,
            mcs,
            streams,
            width,
            guard,
        }
    }

    /// Whole microseconds, and tenths where there are any.
    fn micros(duration: Duration) -> String {
        (duration.as_nanos() as f64 / 1000.0).to_string()
    }

    #[test]
    fn dsss_frames_last_as_the_standard_says() {
        let at = |rate| Mode::dsss(Rate(rate)).expect("a rate of 802.11b");
        let long = phy(Preamble::Long);
        // 1536 B at 11 Mbit/s are 1117.09 us.
        assert_eq!(micros(long.frame(1536, at(11_000_000))), "1310");
        assert_eq!(micros(long.frame(1536, at(1_000_000))), "12480");
        assert_eq!(
            micros(long.frame(ACK_BYTES, long.control(at(11_000_000)))),
            "248"
        );
        assert_eq!(
            micros(long.frame(ACK_BYTES, long.control(at(1_000_000)))),
            "304"
        );
        assert_eq!(
            micros(long.frame(RTS_BYTES, long.control(at(5_500_000)))),
            "272"
        );
        let short = phy(Preamble::Short);
        assert_eq!(
            micros(short.frame(ACK_BYTES, short.control(at(11_000_000)))),
            "152"
        );
        assert_eq!(
            micros(short.frame(ACK_BYTES, short.control(at(1_000_000)))),
            "304"
        );
        assert_eq!(micros(short.slowest_answer()), "304");
    }

    #[test]
    fn answers_go_at_the_largest_basic_rate_that_is_no_larger() {
        let at = |rate| Mode::dsss(Rate(rate)).expect("a rate of 802.11b");
        let mut phy = phy(Preamble::Long);
        let rate = |phy: &Phy, mode| phy.control(mode).rate();
        assert_eq!(rate(&phy, at(11_000_000)), RATES[1]);
        assert_eq!(rate(&phy, at(1_000_000)), RATES[0]);
        phy.basic = vec![at(2_000_000)];
        assert_eq!(rate(&phy, at(1_000_000)), RATES[1]);
        phy.basic = [0, 2, 4]
            .map(|mcs| mode(Format::Ofdm, mcs, 1, 20, 800))
            .to_vec();
        // MCS 1 is QPSK 1/2, as 12 Mbit/s are; MCS 3 and more are no less than 24 Mbit/s.
        let of = |mcs| mode(Format::He, mcs, 2, 80, 800);
        assert_eq!(rate(&phy, of(0)), Rate(6_000_000));
        assert_eq!(rate(&phy, of(2)), Rate(12_000_000));
        assert_eq!(rate(&phy, of(11)), Rate(24_000_000));
    }

    /// The largest rates of each amendment, in the tables of §19.5, §21.5 and §27.5.
    #[test]
    fn rates_are_those_of_the_standards_tables() {
        let megabits = |mode: Mode| mode.rate().0 as f64 / 1e6;
        let near = |found: f64, expected: f64| (found - expected).abs() < 0.06;
        let ofdm: Vec<f64> = Mode::legacy(Format::Ofdm).map(megabits).collect();
        assert_eq!(ofdm, [6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0]);
        for (mode, expected) in [
            (mode(Format::Ht, 0, 1, 20, 800), 6.5),
            (mode(Format::Ht, 7, 1, 20, 800), 65.0),
            (mode(Format::Ht, 7, 1, 40, 400), 150.0),
            (mode(Format::Ht, 7, 4, 40, 400), 600.0),
            (mode(Format::Vht, 9, 1, 80, 400), 433.3),
            (mode(Format::Vht, 8, 2, 20, 800), 156.0),
            (mode(Format::Vht, 9, 8, 160, 400), 6933.3),
            (mode(Format::He, 0, 1, 20, 3200), 7.3),
            (mode(Format::He, 11, 1, 20, 800), 143.4),
            (mode(Format::He, 11, 2, 80, 800), 1201.0),
            (mode(Format::He, 11, 1, 160, 800), 1201.0),
            (mode(Format::He, 4, 2, 40, 1600), 195.0),
        ] {
            assert!(
                near(megabits(mode), expected),
                "{mode:?}: {}",
                megabits(mode)
            );
        }
    }

    #[test]
    fn ofdm_frames_are_a_preamble_and_whole_symbols() {
        let mut phy = phy(Preamble::Long);
        // 14 B at 24 Mbit/s: 134 bits in two symbols of 96.
        let ack = mode(Format::Ofdm, 4, 1, 20, 800);
        assert_eq!(micros(phy.frame(14, ack)), "28");
        // 1536 B at 54 Mbit/s: 12 310 bits in 57 symbols of 216.
        let fastest = mode(Format::Ofdm, 7, 1, 20, 800);
        assert_eq!(micros(phy.frame(1536, fastest)), "248");
        phy.signal_extension = Duration::from_micros(6);
        assert_eq!(micros(phy.frame(1536, fastest)), "254");
        phy.signal_extension = Duration::ZERO;
        // 12 326 bits in 48 symbols of 260; with the short guard interval 172.8 us become 176.
        let ht = |guard| mode(Format::Ht, 7, 1, 20, guard);
        assert_eq!(micros(phy.frame(1538, ht(800))), "228");
        assert_eq!(micros(phy.frame(1538, ht(400))), "212");
        // VHT-SIG-B, a second training field, and 12 468 bits with the tails of two encoders in
        // four symbols of 3120.
        let vht = mode(Format::Vht, 9, 2, 80, 400);
        assert_eq!(micros(phy.frame(1555, vht)), "60");
        // Five symbols of 14.4 us, and training fields of 7.2 us.
        let he = mode(Format::He, 0, 1, 80, 1600);
        assert_eq!(ofdm::bits_of_symbol(he), 490);
        assert_eq!(micros(phy.frame(300, he)), "116");
    }

    #[test]
    fn the_longest_frame_within_a_time_fits_and_one_byte_more_does_not() {
        let phy = phy(Preamble::Long);
        for mode in [
            mode(Format::Ofdm, 5, 1, 20, 800),
            mode(Format::Ht, 7, 2, 40, 400),
            mode(Format::Vht, 9, 3, 80, 400),
            mode(Format::He, 11, 2, 160, 800),
        ] {
            let span = Duration::from_micros(5484);
            let bytes = phy.bytes_within(span, mode);
            assert!(phy.frame(bytes, mode) <= span, "{mode:?}");
            assert!(phy.frame(bytes + 1, mode) > span, "{mode:?}");
        }
    }
}
