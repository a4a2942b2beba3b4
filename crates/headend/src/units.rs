//! Quantities with units: byte counts, rates, probabilities and buffer limits, and how they are
//! parsed and printed.
//!
//! A scenario writes `"10 Mbit/s"`, `"64 KiB"`, `"5 ms"`, `"10 %"`. A bare number is refused,
//! because its unit would be a guess. A share has no unit and may be a bare number as well: `0.1`
//! is `"10 %"`.

use std::fmt;

use crate::time::Duration;

/// A number of bytes. Each use states which bytes it counts (IP, Ethernet, on the wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteCount(pub u64);

/// Bytes that frames add to a packet. Less than zero: those that they save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overhead(pub i16);

/// A rate in bit/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

/// A probability or share, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(pub f64);

/// A ratio of two powers in dB.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Decibels(pub f64);

/// How much a queue may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// At most this many bytes: those of the framing on a plain link, MAC PDU bytes on a DOCSIS
    /// line.
    Bytes(ByteCount),
    /// At most this many packets.
    Packets(u64),
    /// At most the bytes that the line carries in this time at its nominal rate.
    Time(Duration),
    /// No limit.
    Unlimited,
}

/// How much memory something may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLimit {
    /// At most this many bytes.
    Bytes(ByteCount),
    /// No limit.
    Unlimited,
}

/// How long something may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// At most this time.
    Time(Duration),
    /// No limit.
    Unlimited,
}

/// The most that a service flow may send in the long run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaximumRate {
    /// At most this.
    Rate(Rate),
    /// No limit.
    Unlimited,
}

/// A rate that follows from another one, is given, or is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RelativeRate {
    /// This.
    Rate(Rate),
    /// A share of the other rate, which may be more than all of it.
    Share(f64),
    /// No limit.
    Unlimited,
}

/// A size that is fixed, or that its owner adapts during the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TunedSize {
    /// The size is adapted to what is needed.
    Autotuned,
    /// The size is this from the start.
    Fixed(ByteCount),
}

/// The nanoseconds that one byte takes at 1 bit/s.
const BYTE_NS: u64 = 8_000_000_000;

impl MaximumRate {
    /// The rate, if there is a limit.
    pub const fn limit(self) -> Option<Rate> {
        match self {
            Self::Rate(rate) => Some(rate),
            Self::Unlimited => None,
        }
    }
}

impl RelativeRate {
    /// The rate, where the other one is `rate`; `None` for no limit.
    pub fn of(self, rate: Rate) -> Option<Rate> {
        match self {
            Self::Rate(own) => Some(own),
            Self::Share(share) => Some(Rate((rate.0 as f64 * share).round() as u64)),
            Self::Unlimited => None,
        }
    }
}

impl Rate {
    /// The time to send `bytes` at this rate, rounded up to whole nanoseconds. At rate zero:
    /// [`Duration::MAX`].
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // A 64-bit division suffices below 2.3 GB and is much faster than one of 128 bits.
        if let Some(bits_ns) = bytes.checked_mul(BYTE_NS) {
            return Duration::from_nanos(bits_ns.div_ceil(self.0));
        }
        let bits_ns = u128::from(bytes) * u128::from(BYTE_NS);
        Duration::from_nanos(
            bits_ns
                .div_ceil(u128::from(self.0))
                .min(u128::from(u64::MAX)) as u64,
        )
    }

    /// Like [`Self::time_for`], but rate zero means "not limited" and gives zero.
    pub fn time_for_or_zero(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::ZERO;
        }
        self.time_for(bytes)
    }

    /// The whole bytes that this rate carries in `span`.
    pub fn bytes_in(self, span: Duration) -> u64 {
        (u128::from(self.0) * u128::from(span.as_nanos()) / 8_000_000_000).min(u128::from(u64::MAX))
            as u64
    }

    /// The rate in bytes per second.
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }
}

impl Limit {
    /// The limit in bytes at `rate`; `None` for a limit that is not in bytes.
    pub fn bytes_at(self, rate: Rate) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.0),
            Self::Time(span) => Some(rate.bytes_in(span)),
            Self::Packets(_) | Self::Unlimited => None,
        }
    }
}

/// Whether the character can be part of a number.
fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-' | 'e' | 'E')
}

/// Splits `"10 Mbit/s"` into 10.0 and `"Mbit/s"`.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
    // An exponent needs digits after it; the `e` of "5 exabytes" belongs to the unit.
    let number = text[..end].trim_end_matches(['e', 'E']).replace('_', "");
    let unit = text[number.len().min(end)..].trim_start_matches('_');
    let unit = if text[..end].contains('_') {
        text[end..].trim()
    } else {
        unit.trim()
    };
    let value: f64 = number.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some((value, unit))
}

fn scale(value: f64, factor: f64) -> Option<u64> {
    let scaled = (value * factor).round();
    (scaled < 1.8e19).then_some(scaled as u64)
}

/// Parses a span such as `"10 ms"`. Units: ns, us, ms, s, min, h.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (value, unit) = split(text)?;
    let factor = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    scale(value, factor).map(Duration::from_nanos)
}

/// Parses a rate such as `"10 Mbit/s"`. Units: bit/s, kbit/s, Mbit/s, Gbit/s, also written bps or
/// b/s.
pub fn parse_rate(text: &str) -> Option<Rate> {
    let (value, unit) = split(text)?;
    let prefix = ["bit/s", "bps", "b/s"]
        .iter()
        .find_map(|suffix| unit.strip_suffix(suffix))?;
    let factor = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    scale(value, factor).map(Rate)
}

/// Parses a size such as `"64 KiB"`. Units: B, kB, MB, GB (powers of 1000), KiB, MiB, GiB (powers
/// of 1024).
pub fn parse_bytes(text: &str) -> Option<ByteCount> {
    let (value, unit) = split(text)?;
    let factor = match unit {
        "B" | "bytes" | "byte" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    scale(value, factor).map(ByteCount)
}

/// Parses a share such as `"10 %"` or `"0.1"`.
pub fn parse_probability(text: &str) -> Option<Probability> {
    let (value, unit) = split(text)?;
    let share = match unit {
        "%" => per_cent(value)?,
        "" => value,
        _ => return None,
    };
    share_of(share)
}

/// The share that so many percent are.
fn per_cent(value: f64) -> Option<f64> {
    // The decimal point is moved in the text, because a division would round: "0.7 %" is the number
    // 0.007.
    format!("{value}e-2").parse().ok()
}

/// The largest share of another rate.
const MOST_OF_A_RATE: f64 = 10.0;

/// Parses a share of a rate such as `"95 %"` or `"105 %"`.
fn parse_percent(text: &str) -> Option<f64> {
    let (value, _) = split(text)?;
    per_cent(value).filter(|share| (0.0..=MOST_OF_A_RATE).contains(share))
}

/// The share that a bare number such as `0.1` stands for.
fn share_of(number: f64) -> Option<Probability> {
    (0.0..=1.0).contains(&number).then_some(Probability(number))
}

/// The largest number of packets that a limit may give.
const MOST_PACKETS: f64 = 1e12;

/// The overheads that `tc-cake(8)` accepts, in bytes.
const OVERHEADS: std::ops::RangeInclusive<i64> = -64..=256;

/// Parses an overhead such as `"44 B"` or `"-10 B"`.
pub fn parse_overhead(text: &str) -> Option<Overhead> {
    let text = text.trim();
    let magnitude = text.strip_prefix('-');
    let ByteCount(bytes) = parse_bytes(magnitude.unwrap_or(text))?;
    let bytes = i64::try_from(bytes).ok()?;
    let bytes = if magnitude.is_some() { -bytes } else { bytes };
    (OVERHEADS.contains(&bytes)).then_some(Overhead(bytes as i16))
}

/// The ratios that a receiver may meet, in dB: at the lowest it hears nothing.
const RATIOS: std::ops::RangeInclusive<f64> = -100.0..=100.0;

/// Parses a ratio such as `"25 dB"` or `"-3 dB"`.
pub fn parse_decibels(text: &str) -> Option<Decibels> {
    let text = text.trim();
    let magnitude = text.strip_prefix('-');
    let (value, unit) = split(magnitude.unwrap_or(text))?;
    let value = if magnitude.is_some() { -value } else { value };
    (unit == "dB" && RATIOS.contains(&value)).then_some(Decibels(value))
}

/// Parses a buffer limit: a size, a time at the line's rate, `"60 packets"` or `"unlimited"`.
pub fn parse_limit(text: &str) -> Option<Limit> {
    if text.trim() == "unlimited" {
        return Some(Limit::Unlimited);
    }
    if let Some(bytes) = parse_bytes(text) {
        return Some(Limit::Bytes(bytes));
    }
    if let Some(span) = parse_duration(text) {
        return Some(Limit::Time(span));
    }
    let (value, unit) = split(text)?;
    (matches!(unit, "packets" | "packet") && value.fract() == 0.0 && value <= MOST_PACKETS)
        .then_some(Limit::Packets(value as u64))
}

/// Parses a size or `"unlimited"`.
pub fn parse_memory_limit(text: &str) -> Option<MemoryLimit> {
    if text.trim() == "unlimited" {
        return Some(MemoryLimit::Unlimited);
    }
    parse_bytes(text).map(MemoryLimit::Bytes)
}

/// Parses a rate or `"unlimited"`.
pub fn parse_maximum_rate(text: &str) -> Option<MaximumRate> {
    if text.trim() == "unlimited" {
        return Some(MaximumRate::Unlimited);
    }
    parse_rate(text).map(MaximumRate::Rate)
}

/// Parses a share such as `"95 %"`, a rate or `"unlimited"`.
pub fn parse_relative_rate(text: &str) -> Option<RelativeRate> {
    if text.trim() == "unlimited" {
        return Some(RelativeRate::Unlimited);
    }
    if text.trim_end().ends_with('%') {
        return parse_percent(text).map(RelativeRate::Share);
    }
    parse_rate(text).map(RelativeRate::Rate)
}

/// Parses a size or `"autotuned"`.
pub fn parse_tuned_size(text: &str) -> Option<TunedSize> {
    if text.trim() == "autotuned" {
        return Some(TunedSize::Autotuned);
    }
    parse_bytes(text).map(TunedSize::Fixed)
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 1 << 20 && n % (1 << 20) == 0 => write!(f, "{} MiB", n >> 20),
            n if n >= 1 << 10 && n % (1 << 10) == 0 => write!(f, "{} KiB", n >> 10),
            n if n >= 1_000_000 && n % 1000 == 0 => write!(f, "{} MB", n as f64 / 1e6),
            n if n >= 1000 && n % 100 == 0 => write!(f, "{} kB", n as f64 / 1e3),
            n => write!(f, "{n} B"),
        }
    }
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 1_000_000_000 => write!(f, "{} Gbit/s", n as f64 / 1e9),
            n if n >= 1_000_000 => write!(f, "{} Mbit/s", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{} kbit/s", n as f64 / 1e3),
            n => write!(f, "{n} bit/s"),
        }
    }
}

/// Parses a time or `"unlimited"`.
pub fn parse_time_limit(text: &str) -> Option<TimeLimit> {
    if text.trim() == "unlimited" {
        return Some(TimeLimit::Unlimited);
    }
    parse_duration(text).map(TimeLimit::Time)
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Decibels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dB", self.0)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Time(span) => span.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(span) => span.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for MaximumRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => rate.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for RelativeRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => rate.fmt(f),
            Self::Share(share) => write!(f, "{} %", (share * 1e6).round() / 1e4),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for TunedSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Autotuned => f.write_str("autotuned"),
            Self::Fixed(bytes) => bytes.fmt(f),
        }
    }
}

/// Implements serde's traits and the JSON Schema for a quantity, so that scenarios contain it as
/// text with a unit.
macro_rules! written_with_unit {
    (
        $type:ty, $parse:expr, $number:expr, $units:expr, $name:literal, $example:literal,
        $range:literal
    ) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Quantity {
                    parse: $parse,
                    number: $number,
                    units: $units,
                    expected: concat!($name, " such as ", $example),
                    in_range: concat!($name, " ", $range),
                })
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let number: Option<fn(f64) -> Option<$type>> = $number;
                let types: &[&str] = match number {
                    Some(_) => &["string", "number"],
                    None => &["string"],
                };
                // A single type is written without a list, as everywhere else in the schema.
                let types = match types {
                    [only] => serde_json::Value::from(*only),
                    several => serde_json::Value::from(several),
                };
                schemars::json_schema!({
                    "type": types,
                    "format": stringify!($type),
                    "examples": [$example.split('"').nth(1)],
                })
            }
        }
    };
}

// The ranges are those of 64 bits: 584 years, 18 Ebit/s, 18 EB.
written_with_unit!(
    Duration,
    parse_duration,
    None,
    &[TIMES],
    "a duration",
    "\"10 ms\"",
    "from 0 s to 5e6 h"
);
written_with_unit!(
    Rate,
    parse_rate,
    None,
    &[RATES],
    "a rate",
    "\"10 Mbit/s\"",
    "from 0 bit/s to 1.8e10 Gbit/s"
);
written_with_unit!(
    MaximumRate,
    parse_maximum_rate,
    None,
    &[RATES],
    "a rate or \"unlimited\",",
    "\"10 Mbit/s\"",
    "from 0 bit/s to 1.8e10 Gbit/s"
);
written_with_unit!(
    RelativeRate,
    parse_relative_rate,
    None,
    &[RATES],
    "a share, a rate or \"unlimited\",",
    "\"95 %\"",
    "from 0 % to 1000 %, or from 0 bit/s to 1.8e10 Gbit/s"
);
written_with_unit!(
    ByteCount,
    parse_bytes,
    None,
    &[SIZES],
    "a size",
    "\"64 KiB\"",
    "from 0 B to 1.8e10 GB"
);
written_with_unit!(
    Overhead,
    parse_overhead,
    None,
    &[SIZES],
    "an overhead",
    "\"44 B\"",
    "from -64 B to 256 B"
);
written_with_unit!(
    Probability,
    parse_probability,
    Some(share_of),
    &[],
    "a share",
    "\"10 %\" or 0.1",
    "from 0 to 1, or from 0 % to 100 %"
);
written_with_unit!(
    Decibels,
    parse_decibels,
    None,
    &[&["dB"]],
    "a ratio",
    "\"25 dB\"",
    "from -100 dB to 100 dB"
);
written_with_unit!(
    Limit,
    parse_limit,
    None,
    &[TIMES, SIZES, &["packets"]],
    "a buffer limit",
    "\"250 ms\"",
    "from 0 s or 0 B to 5e6 h or 1.8e10 GB, up to 1e12 packets, in whole ones, or \"unlimited\""
);

written_with_unit!(
    MemoryLimit,
    parse_memory_limit,
    None,
    &[SIZES],
    "a size or \"unlimited\",",
    "\"4 MiB\"",
    "from 0 B to 1.8e10 GB"
);
written_with_unit!(
    TimeLimit,
    parse_time_limit,
    None,
    &[TIMES],
    "a duration or \"unlimited\",",
    "\"10 ms\"",
    "from 0 s to 5e6 h"
);
written_with_unit!(
    TunedSize,
    parse_tuned_size,
    None,
    &[SIZES],
    "a size or \"autotuned\",",
    "\"64 KiB\"",
    "from 0 B to 1.8e10 GB"
);

const RATES: &[&str] = &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
const SIZES: &[&str] = &["B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "bytes"];
const TIMES: &[&str] = &["ns", "us", "ms", "s", "min", "h"];

/// The serde visitor that parses a quantity from its text.
struct Quantity<T> {
    parse: fn(&str) -> Option<T>,
    /// How a bare number is converted; `None` for a quantity that has a unit.
    number: Option<fn(f64) -> Option<T>>,
    /// The units that an unknown unit may be a misspelling of.
    units: &'static [&'static [&'static str]],
    expected: &'static str,
    /// The expectation that an error states when the unit is known and the number is out of range.
    in_range: &'static str,
}

impl<T> Quantity<T> {
    /// What an error says is expected in place of a number without a unit. If the quantity may be a
    /// share, that is meant: of 1 up to this number, and of 100 above.
    fn expected_for_bare(&self, number: f64) -> String {
        let percent = if number <= 1.0 {
            100.0 * number
        } else {
            number
        };
        let meant = format!("{} %", (percent * 1e6).round() / 1e6);
        match (self.parse)(&meant) {
            Some(_) => format!("{}{MEANT}\"{meant}\"?", self.expected),
            None => self.expected.to_owned(),
        }
    }

    /// What an error says is expected in place of `text`, which cannot be parsed.
    fn expected_for(&self, text: &str) -> String {
        let unit = text.trim().trim_start_matches(is_of_number);
        let number = text.trim().strip_suffix(unit).unwrap_or_default();
        if number.is_empty() {
            return self.expected.to_owned();
        }
        if let (true, None, Ok(bare)) = (unit.is_empty(), self.number, number.parse()) {
            return self.expected_for_bare(bare);
        }
        // If the number 1 can be parsed with this unit, the unit is known and the number is out of
        // range.
        if (self.parse)(&format!("1 {unit}")).is_some() {
            return self.in_range.to_owned();
        }
        let meant = (self.units.iter().copied().flatten())
            .find(|known| plain_unit(known) == plain_unit(unit))
            .map(|known| format!("{number} {known}"))
            .filter(|meant| (self.parse)(meant).is_some());
        match meant {
            Some(meant) => format!("{}{MEANT}\"{meant}\"?", self.expected),
            None => self.expected.to_owned(),
        }
    }
}

/// The separator between the expectation and the suggestion in an error message. The reader of a
/// scenario splits the message here again, because serde passes only one text.
pub(crate) const MEANT: &str = "; did you mean ";

/// A unit in lower case; a unit of rates in its usual spelling. Empty for units in which a capital
/// B may mean bytes per second.
fn plain_unit(unit: &str) -> String {
    let unit = unit.replace(' ', "");
    if ["B/s", "B/S", "Bps", "BPS"]
        .iter()
        .any(|bytes| unit.ends_with(bytes))
    {
        return String::new();
    }
    let unit = unit.to_lowercase();
    let of_rate = [
        "bit/s", "bits/s", "bit/sec", "bits/sec", "bitps", "bps", "b/s", "bits", "bit",
    ];
    let prefix = (of_rate.iter()).find_map(|ending| unit.strip_suffix(ending));
    prefix.map_or(unit.clone(), |prefix| format!("{prefix}bit/s"))
}

impl<T> serde::de::Visitor<'_> for Quantity<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        let found = serde::de::Unexpected::Str(text);
        (self.parse)(text).ok_or_else(|| E::invalid_value(found, &self.expected_for(text).as_str()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        self.of_number(number, serde::de::Unexpected::Float(number))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        self.of_number(number as f64, serde::de::Unexpected::Signed(number))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.of_number(number as f64, serde::de::Unexpected::Unsigned(number))
    }
}

impl<T> Quantity<T> {
    /// The quantity that a bare number stands for, if a bare number is allowed.
    fn of_number<E>(self, number: f64, found: serde::de::Unexpected<'_>) -> Result<T, E>
    where
        E: serde::de::Error,
    {
        match self.number {
            Some(read) => read(number).ok_or_else(|| E::invalid_value(found, &self.in_range)),
            None => Err(E::invalid_type(
                found,
                &self.expected_for_bare(number).as_str(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_read_with_its_unit() {
        assert_eq!(parse_duration("1.5 ms"), Some(Duration::from_micros(1500)));
        assert_eq!(parse_duration("10ms"), Some(Duration::from_millis(10)));
        assert_eq!(parse_rate("10 Mbit/s"), Some(Rate(10_000_000)));
        assert_eq!(parse_rate("1.5 Gbps"), Some(Rate(1_500_000_000)));
        assert_eq!(parse_bytes("64 KiB"), Some(ByteCount(65536)));
        assert_eq!(parse_probability("10 %"), Some(Probability(0.1)));
        assert_eq!(parse_decibels("-3.5 dB"), Some(Decibels(-3.5)));
        assert_eq!(parse_limit("60 packets"), Some(Limit::Packets(60)));
        assert_eq!(parse_limit("2e12 packets"), None);
        assert_eq!(
            parse_limit("250 ms"),
            Some(Limit::Time(Duration::from_millis(250)))
        );
    }

    #[test]
    fn a_quantity_without_or_with_a_wrong_unit_is_refused() {
        assert_eq!(parse_duration("10"), None);
        assert_eq!(parse_duration("10 parsecs"), None);
        assert_eq!(parse_duration("-1 s"), None);
        assert_eq!(parse_rate("10 MB/s"), None);
        assert_eq!(parse_bytes("64 kb"), None);
        assert_eq!(parse_probability("110 %"), None);
        assert_eq!(parse_bytes("5 exabytes"), None);
        assert_eq!(parse_duration("1e300 s"), None);
    }

    #[test]
    fn the_error_of_a_number_out_of_range_has_the_range_and_that_of_a_wrong_unit_an_example() {
        let refuse = |text: &str| {
            let read = serde_json::from_value::<Duration>(text.into());
            read.expect_err("it is no duration").to_string()
        };
        for beyond in ["-1 s", "1e300 ms"] {
            let why = refuse(beyond);
            assert!(
                why.ends_with("expected a duration from 0 s to 5e6 h"),
                "{why}"
            );
        }
        for strange in ["10", "10 parsecs", "s", ""] {
            let why = refuse(strange);
            assert!(
                why.ends_with("expected a duration such as \"10 ms\""),
                "{why}"
            );
        }
        let share = serde_json::from_value::<Probability>("110 %".into());
        let why = share.expect_err("it is more than all").to_string();
        let expected = "expected a share from 0 to 1, or from 0 % to 100 %";
        assert!(why.ends_with(expected), "{why}");
    }

    #[test]
    fn a_share_is_a_number_a_text_or_a_percentage_alike() {
        let read = |value: serde_json::Value| serde_json::from_value::<Probability>(value);
        for (number, text, percent) in [
            (0.02, "0.02", "2 %"),
            (0.007, "7e-3", "0.7 %"),
            (0.125, "0.125", "12.5%"),
            (1.0, "1", "100 %"),
            (0.0, "0", "0 %"),
        ] {
            for value in [number.into(), text.into(), percent.into()] {
                let share = read(value).expect("it is a share");
                assert!(
                    share.0.to_bits() == f64::to_bits(number),
                    "{share} {percent}"
                );
            }
        }
        assert_eq!(read(1.into()).expect("all"), Probability(1.0));
        for beyond in [
            1.5.into(),
            2.into(),
            (-1).into(),
            "200 %".into(),
            "2".into(),
        ] {
            let why = read(beyond).expect_err("it is no share").to_string();
            let expected = "expected a share from 0 to 1, or from 0 % to 100 %";
            assert!(why.ends_with(expected), "{why}");
        }
        let why = read("2 percent".into())
            .expect_err("no such unit")
            .to_string();
        assert!(
            why.ends_with("expected a share such as \"10 %\" or 0.1"),
            "{why}"
        );
        let bare = serde_json::from_value::<Rate>(10.into());
        let why = bare.expect_err("its unit would be a guess").to_string();
        assert!(
            why.ends_with("expected a rate such as \"10 Mbit/s\""),
            "{why}"
        );
    }

    #[test]
    fn a_unit_in_other_letters_is_recognised_unless_it_may_be_another() {
        fn refuse<T: serde::de::DeserializeOwned + fmt::Debug>(text: &str) -> String {
            let read = serde_json::from_value::<T>(text.into());
            read.expect_err("the unit is wrong").to_string()
        }
        for unit in [
            "MBit/s",
            "mbit/S",
            "Mbits/s",
            "mbps",
            "Mb/S",
            "Mbit",
            "Mbit / sec",
        ] {
            let why = refuse::<Rate>(&format!("2.5 {unit}"));
            let meant = "expected a rate such as \"10 Mbit/s\"; did you mean \"2.5 Mbit/s\"?";
            assert!(why.ends_with(meant), "{why}");
        }
        for (limit, meant) in [
            ("64kib", "64 KiB"),
            ("3 mS", "3 ms"),
            ("9 Packets", "9 packets"),
        ] {
            let why = refuse::<Limit>(limit);
            assert!(
                why.ends_with(&format!("; did you mean \"{meant}\"?")),
                "{why}"
            );
        }
        assert!(refuse::<ByteCount>("64 kb").ends_with("; did you mean \"64 kB\"?"));
        assert!(refuse::<Duration>("5 MIN").ends_with("; did you mean \"5 min\"?"));
        // Rates in bytes per second, a rate without its time, a size that is out of range.
        for strange in [
            "2 MB/s",
            "2 MBps",
            "2 MBPS",
            "2 MB",
            "2 M",
            "2",
            "mbit/s",
            "1e300 mbit/s",
        ] {
            let why = refuse::<Rate>(strange);
            assert!(!why.contains("did you mean"), "{why}");
        }
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for bytes in [1, 1000, 1024, 65536, 1 << 20, 6_250_000, 30_000_000] {
            let count = ByteCount(bytes);
            assert_eq!(parse_bytes(&count.to_string()), Some(count));
        }
        for rate in [1, 64_000, 512_000, 10_000_000, 1_500_000_000] {
            assert_eq!(parse_rate(&Rate(rate).to_string()), Some(Rate(rate)));
        }
        for nanos in [0, 1, 1_500, 40_000_000, 90_000_000_000, 1_234_567_891] {
            let span = Duration::from_nanos(nanos);
            assert_eq!(parse_duration(&span.to_string()), Some(span));
        }
    }

    #[test]
    fn a_packet_takes_its_bits_over_the_rate() {
        assert_eq!(Rate(10_000_000).time_for(1500), Duration::from_micros(1200));
        assert_eq!(Rate(3).time_for(1), Duration::from_nanos(2_666_666_667));
    }
}
