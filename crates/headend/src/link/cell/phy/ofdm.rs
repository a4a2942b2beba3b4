//! OFDM frames on the air: 802.11a/g, n (HT), ac (VHT) and ax (HE), to a single receiver.
//!
//! A frame is a preamble and whole symbols. The bits that a symbol carries follow from the number
//! of data subcarriers, the modulation, the code rate and the number of spatial streams.
//!
//! Source: IEEE 802.11-2020 §17.4.3 (OFDM), §19.4.3 (HT, mixed format), §21.4.3 (VHT), and IEEE
//! 802.11ax-2021 §27.3 and §27.4 (HE single-user PPDU).
//!
//! Simplifications: the encoders of VHT (`N_ES`) are one for each 600 Mbit/s, without the five
//! exceptions of §21.5, and HE has LDPC codes, with neither tail bits nor an extra symbol. HE
//! frames have the 2x training fields (4x with the guard interval of 3.2 us) and no packet
//! extension.

use super::{Format, Mode};
use crate::time::Duration;

/// Bits for each subcarrier, and the code rate as a fraction, by MCS (§19.5, §21.5, 27.5).
const MODULATIONS: [(u64, u64, u64); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];
/// Data bits of a symbol of 802.11a/g at 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s (§17.3.2.3).
const LEGACY_BITS: [u64; 8] = [24, 36, 48, 72, 96, 144, 192, 216];
/// Bits of the SERVICE field before the data, and tail bits of a convolutional encoder.
const SERVICE: u64 = 16;
const TAIL: u64 = 6;
/// Preamble and SIGNAL field of 802.11a/g, which begin HT, VHT and HE frames too, in ns.
const LEGACY_PREAMBLE: u64 = 20_000;

/// Data bits of a symbol.
pub(super) fn bits_of_symbol(mode: Mode) -> u64 {
    if mode.format == Format::Ofdm {
        return LEGACY_BITS[usize::from(mode.mcs)];
    }
    let (bits, numerator, denominator) = MODULATIONS[usize::from(mode.mcs)];
    let coded = subcarriers(mode) * bits * u64::from(mode.streams);
    coded * numerator / denominator
}

/// Duration of a symbol with its guard interval, in ns.
pub(super) fn symbol(mode: Mode) -> u64 {
    match mode.format {
        Format::Ofdm | Format::Dsss => 4000,
        Format::Ht | Format::Vht => 3200 + u64::from(mode.guard),
        Format::He => 12_800 + u64::from(mode.guard),
    }
}

/// Duration of a PSDU of `bytes`, without the signal extension of the 2.4 GHz band.
pub(super) fn frame(bytes: u64, mode: Mode) -> Duration {
    let bits = SERVICE + 8 * bytes + TAIL * encoders(mode);
    let data = bits.div_ceil(bits_of_symbol(mode)) * symbol(mode);
    let data = match mode.format {
        // With the short guard interval, the frame ends on a boundary of 4 us.
        Format::Ht | Format::Vht => data.div_ceil(4000) * 4000,
        Format::Ofdm | Format::He | Format::Dsss => data,
    };
    Duration::from_nanos(preamble(mode) + data)
}

/// The most bytes of a PSDU whose frame lasts no longer than `span`.
pub(super) fn bytes_within(span: Duration, mode: Mode) -> u64 {
    let mut data = span.as_nanos().saturating_sub(preamble(mode));
    if matches!(mode.format, Format::Ht | Format::Vht) {
        data = data / 4000 * 4000;
    }
    let bits = data / symbol(mode) * bits_of_symbol(mode);
    bits.saturating_sub(SERVICE + TAIL * encoders(mode)) / 8
}

/// Data subcarriers.
fn subcarriers(mode: Mode) -> u64 {
    match (mode.format, mode.width) {
        (Format::He, 20) => 234,
        (Format::He, 40) => 468,
        (Format::He, 80) => 980,
        (Format::He, _) => 1960,
        (_, 20) => 52,
        (_, 40) => 108,
        (_, 80) => 234,
        (_, _) => 468,
    }
}

/// Convolutional encoders, each of which adds tail bits; none where LDPC is used.
fn encoders(mode: Mode) -> u64 {
    // Bits of a symbol of 4 us at 300 Mbit/s, and of one of 3.6 us at 600 Mbit/s.
    match mode.format {
        Format::Ht => bits_of_symbol(mode).div_ceil(1200),
        Format::Vht => bits_of_symbol(mode).div_ceil(2160),
        Format::He => 0,
        Format::Ofdm | Format::Dsss => 1,
    }
}

/// Duration of the preamble with its signalling and training fields, in ns.
fn preamble(mode: Mode) -> u64 {
    let training = match mode.streams {
        0 | 1 => 1,
        2 => 2,
        3 | 4 => 4,
        5 | 6 => 6,
        _ => 8,
    };
    match mode.format {
        Format::Ofdm | Format::Dsss => LEGACY_PREAMBLE,
        // HT-SIG, HT-STF, HT-LTF.
        Format::Ht => LEGACY_PREAMBLE + 8000 + 4000 + 4000 * training,
        // VHT-SIG-A, VHT-STF, VHT-LTF, VHT-SIG-B.
        Format::Vht => LEGACY_PREAMBLE + 8000 + 4000 + 4000 * training + 4000,
        // RL-SIG, HE-SIG-A, HE-STF, HE-LTF.
        Format::He => {
            let guard = u64::from(mode.guard);
            let field = if guard > 1600 { 12_800 } else { 6400 } + guard;
            LEGACY_PREAMBLE + 4000 + 8000 + 4000 + field * training
        }
    }
}
