//! How often an MPDU arrives broken at a signal-to-noise ratio.
//!
//! The channel adds white noise and nothing else: there is no fading, so that the errors of an MCS
//! rise from few to nearly all within 2 dB. In a home the same MCS needs 5 to 10 dB more (from
//! memory), and its errors rise more slowly. The streams of a frame share the power and do not
//! disturb each other.
//!
//! Source: the error rates of MPDUs of 1458 B that IEEE 802.11's task group ax agreed on for
//! simulations of systems (IEEE 802.11-14/0571, and 11-14/0803 for other lengths), not read there
//! but in ns-3's tables (`reference/error-rate-tables.cc`); here as a line in the logarithm of the
//! error rate through 10 % and 1 %.

use super::{Format, Mode};
use crate::math;
use crate::units::Decibels;

/// Bytes of an MPDU with the error rates below.
const BYTES: f64 = 1458.0;

/// The ratios in dB at which 10 % and 1 % of MPDUs break, by MCS, with convolutional codes
/// (802.11g to ac).
const CONVOLUTIONAL: [[f64; 2]; 10] = [
    [0.86, 1.53],
    [3.89, 4.54],
    [6.37, 7.06],
    [9.63, 10.45],
    [12.72, 13.53],
    [17.02, 17.96],
    [18.31, 19.22],
    [19.58, 20.50],
    [23.65, 24.70],
    [25.10, 26.10],
];

/// The same with LDPC codes (802.11ax).
const LDPC: [[f64; 2]; 12] = [
    [-0.67, -0.34],
    [2.34, 2.67],
    [4.81, 5.09],
    [7.87, 8.24],
    [10.89, 11.19],
    [15.08, 15.44],
    [16.46, 16.82],
    [17.99, 18.38],
    [21.64, 22.03],
    [23.47, 23.88],
    [26.78, 27.23],
    [28.86, 29.30],
];

/// The MCS of the modulation and code rate of an OFDM rate, in ascending order of the rates. 9
/// Mbit/s is a BPSK with the code of QPSK's second rate: it needs half of its power.
const OF_OFDM: [(usize, f64); 8] = [
    (0, 0.0),
    (2, -3.01),
    (1, 0.0),
    (2, 0.0),
    (3, 0.0),
    (4, 0.0),
    (5, 0.0),
    (6, 0.0),
];

/// The share of MPDUs of `bytes` that arrive broken in a mode of 802.11g or later, where a receiver
/// has this ratio of signal to noise.
pub fn error_rate(mode: Mode, ratio: Decibels, bytes: u64) -> f64 {
    let mcs = usize::from(mode.mcs);
    let ([tenth, hundredth], shift) = match mode.format {
        Format::Dsss => unreachable!("an 802.11b station with a ratio is refused"),
        Format::Ofdm => {
            let (mcs, shift) = OF_OFDM[mcs];
            (CONVOLUTIONAL[mcs], shift)
        }
        Format::Ht | Format::Vht => (CONVOLUTIONAL[mcs], 0.0),
        Format::He => (LDPC[mcs], 0.0),
    };
    let of_stream = ratio.0 - 10.0 * math::log10(f64::from(mode.streams)) - shift;
    let decades = 1.0 + (of_stream - tenth) / (hundredth - tenth);
    let error = math::powf(10.0, -decades);
    if error >= 1.0 {
        return 1.0;
    }
    // An MPDU survives if all of its parts do.
    1.0 - math::powf(1.0 - error, bytes as f64 / BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(format: Format, mcs: u8, streams: u8) -> Mode {
        Mode {
            format,
            mcs,
            streams,
            width: 20,
            guard: 800,
        }
    }

    fn error(mode: Mode, ratio: f64, bytes: u64) -> f64 {
        error_rate(mode, Decibels(ratio), bytes)
    }

    #[test]
    fn errors_are_those_of_the_table_at_its_points() {
        for (mode, tenth, hundredth) in [
            (mode(Format::Ht, 0, 1), 0.86, 1.53),
            (mode(Format::Vht, 9, 1), 25.10, 26.10),
            (mode(Format::He, 11, 1), 28.86, 29.30),
            (mode(Format::Ofdm, 7, 1), 18.31, 19.22),
        ] {
            assert!((error(mode, tenth, 1458) - 0.1).abs() < 1e-9, "{mode:?}");
            assert!((error(mode, hundredth, 1458) - 0.01).abs() < 1e-9);
            assert!(error(mode, tenth - 5.0, 1458) >= 1.0);
            assert!(error(mode, hundredth + 5.0, 1458) < 1e-5);
        }
    }

    #[test]
    fn the_rates_of_802_11g_need_more_power_in_their_order() {
        let errors = (0..8).map(|rate| error(mode(Format::Ofdm, rate, 1), 9.63, 1458));
        let errors: Vec<f64> = errors.collect();
        assert!(errors.is_sorted_by(|one, other| one <= other), "{errors:?}");
        assert!((errors[4] - 0.1).abs() < 1e-9, "24 Mbit/s is MCS 3");
        // BPSK at rate 3/4: 3 dB less than QPSK needs.
        let nine = error(mode(Format::Ofdm, 1, 1), 6.37 - 3.01, 1458);
        assert!((nine - 0.1).abs() < 1e-9, "{nine}");
    }

    #[test]
    fn two_streams_need_twice_the_power_and_short_mpdus_break_less_often() {
        let (one, two) = (mode(Format::He, 7, 1), mode(Format::He, 7, 2));
        let doubled = 17.99 + 10.0 * math::log10(2.0);
        assert!((error(two, doubled, 1458) - error(one, 17.99, 1458)).abs() < 1e-9);
        let short = error(one, 17.99, 146);
        assert!((0.009..0.012).contains(&short), "{short}");
    }
}
