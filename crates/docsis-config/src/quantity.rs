//! Numbers with units: how they are written (`"10 Mbit/s"`) and read.
//!
//! The spelling is that of headend's scenarios. The arithmetic is exact: a text that is no whole
//! number of the unit is refused and not rounded.

/// A unit, as the table of TLVs names it: `bit/s`, `B`, `ms`, `10 us`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    measure: &'static Measure,
    /// The unit as a multiple of the measure's smallest unit.
    factor: u128,
}

/// What is measured.
#[derive(Debug, PartialEq, Eq)]
struct Measure {
    /// What an error says is expected.
    expected: &'static str,
    /// The units in which numbers are written, from small to large.
    written: &'static [(&'static str, u128)],
    /// Further units that are read.
    read: &'static [(&'static str, u128)],
    /// Whether a number that is no whole number of a larger unit is written with decimals.
    has_decimals: bool,
}

const MEASURES: &[Measure] = &[
    Measure {
        expected: "a rate such as \"10 Mbit/s\"",
        written: &[
            ("bit/s", 1),
            ("kbit/s", 1_000),
            ("Mbit/s", 1_000_000),
            ("Gbit/s", 1_000_000_000),
        ],
        read: &[
            ("bps", 1),
            ("kbps", 1_000),
            ("Mbps", 1_000_000),
            ("Gbps", 1_000_000_000),
            ("b/s", 1),
            ("kb/s", 1_000),
            ("Mb/s", 1_000_000),
            ("Gb/s", 1_000_000_000),
        ],
        has_decimals: true,
    },
    Measure {
        expected: "a size such as \"125000 B\" or \"24 KiB\"",
        written: &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20)],
        read: &[
            ("byte", 1),
            ("bytes", 1),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("GiB", 1 << 30),
        ],
        has_decimals: false,
    },
    Measure {
        expected: "a duration such as \"10 ms\"",
        written: &[
            ("ns", 1),
            ("us", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
        ],
        read: &[
            ("µs", 1_000),
            ("μs", 1_000),
            ("min", 60_000_000_000),
            ("h", 3_600_000_000_000),
        ],
        has_decimals: true,
    },
    Measure {
        expected: "a frequency such as \"603 MHz\"",
        written: &[
            ("Hz", 1),
            ("kHz", 1_000),
            ("MHz", 1_000_000),
            ("GHz", 1_000_000_000),
        ],
        read: &[],
        has_decimals: true,
    },
];

impl Measure {
    fn units(&self) -> impl Iterator<Item = &'static (&'static str, u128)> {
        self.written.iter().chain(self.read)
    }
}

impl Unit {
    /// The unit of this name. It may have a number before it: `10 us`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = name.trim();
        let digits = name.find(|c: char| !c.is_ascii_digit())?;
        let multiple = match &name[..digits] {
            "" => 1,
            number => number.parse().ok()?,
        };
        let of_measure = |measure: &'static Measure| {
            let name = name[digits..].trim_start();
            let (_, factor) = measure.units().find(|(known, _)| *known == name)?;
            Some(Self {
                measure,
                factor: factor * multiple,
            })
        };
        MEASURES.iter().find_map(of_measure)
    }

    /// The same measure in units that are `factor` times as large.
    pub(crate) fn times(self, factor: u64) -> Self {
        Self {
            measure: self.measure,
            factor: self.factor * u128::from(factor),
        }
    }

    /// The name of the unit. A multiple that has no name of its own is written with its number: `10
    /// us`.
    pub(crate) fn name(self) -> String {
        let is_it = |(_, factor): &&(&str, u128)| *factor == self.factor;
        match self.measure.written.iter().find(is_it) {
            Some((name, _)) => (*name).to_owned(),
            None => self.written(1),
        }
    }

    /// What an error says is expected.
    pub(crate) fn expected(self) -> &'static str {
        self.measure.expected
    }

    /// Writes `number` of this unit in the largest unit of the measure that needs no leading zero;
    /// where the measure has no decimals, in the largest of which it is a whole number.
    pub(crate) fn written(self, number: u64) -> String {
        let total = u128::from(number) * self.factor;
        let units = self.measure.written;
        let fits = |(_, factor): &&(&str, u128)| {
            total >= *factor && (self.measure.has_decimals || total.is_multiple_of(*factor))
        };
        let own = |(_, factor): &&(&str, u128)| *factor <= self.factor;
        let (name, factor) = if total == 0 {
            units.iter().rev().find(own)
        } else {
            units.iter().rev().find(fits)
        }
        .unwrap_or(&units[0]);
        format!("{} {name}", decimal(total, *factor))
    }

    /// Reads `text` as a number of this unit.
    ///
    /// # Errors
    ///
    /// If `text` is no such number. The error may hold a text that is meant instead.
    pub(crate) fn read(self, text: &str) -> Result<u64, Unread> {
        let text = text.trim();
        let end = text
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')))
            .unwrap_or(text.len());
        let (number, name) = (&text[..end], text[end..].trim());
        let (numerator, denominator) = fraction(number).ok_or(Unread::Strange(None))?;
        let Some((_, factor)) = self.measure.units().find(|(known, _)| *known == name) else {
            let alike =
                |(known, _): &&(&str, u128)| known.eq_ignore_ascii_case(&name.replace(' ', ""));
            let meant = self.measure.units().find(alike);
            return Err(Unread::Strange(
                meant.map(|(known, _)| format!("{number} {known}")),
            ));
        };
        let total = numerator.checked_mul(*factor).ok_or(Unread::TooLarge)?;
        let one = denominator * self.factor;
        if total % one != 0 {
            return Err(Unread::Fraction);
        }
        u64::try_from(total / one).map_err(|_| Unread::TooLarge)
    }
}

/// Why a text is no number of a unit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is no number with a unit of the measure. The text that may be meant, if there is one.
    Strange(Option<String>),
    /// It is not a whole number of the unit.
    Fraction,
    /// It is larger than any value.
    TooLarge,
}

/// `total` over `factor` (a power of ten, or a divisor of `total`) in decimals.
fn decimal(total: u128, factor: u128) -> String {
    let (whole, mut rest) = (total / factor, total % factor);
    let mut text = whole.to_string();
    if rest > 0 {
        text.push('.');
    }
    let mut place = factor;
    while rest > 0 {
        place /= 10;
        text.push(char::from(b'0' + (rest / place) as u8));
        rest %= place;
    }
    text
}

/// The number that `text` writes in decimals, as numerator and denominator.
fn fraction(text: &str) -> Option<(u128, u128)> {
    let text = text.replace('_', "");
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = part.trim_end_matches('0');
    if whole.is_empty() || part.len() > 12 {
        return None;
    }
    let numerator = format!("{whole}{part}").parse().ok()?;
    Some((numerator, 10_u128.pow(part.len() as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str) -> Unit {
        Unit::named(name).expect("it is a unit")
    }

    #[test]
    fn what_is_written_is_read_back() {
        for (name, number, written) in [
            ("bit/s", 10_000_000, "10 Mbit/s"),
            ("bit/s", 1_234_567, "1.234567 Mbit/s"),
            ("bit/s", 1_500_000_000, "1.5 Gbit/s"),
            ("bit/s", 0, "0 bit/s"),
            ("kbit/s", 10_000, "10 Mbit/s"),
            ("kbit/s", 0, "0 kbit/s"),
            ("B", 125_000, "125000 B"),
            ("B", 24_576, "24 KiB"),
            ("B", 4_294_967_295, "4294967295 B"),
            ("ms", 10, "10 ms"),
            ("ms", 1_500, "1.5 s"),
            ("us", 475, "475 us"),
            ("10 us", 100, "1 ms"),
            ("10 us", 1, "10 us"),
            ("10 us", 0, "0 us"),
            ("s", 200, "200 s"),
            ("Hz", 603_000_000, "603 MHz"),
        ] {
            assert_eq!(unit(name).written(number), written);
            assert_eq!(unit(name).read(written), Ok(number), "{written}");
        }
    }

    #[test]
    fn other_spellings_are_read_and_what_is_no_whole_number_is_refused() {
        assert_eq!(unit("bit/s").read("2.5Mbps"), Ok(2_500_000));
        assert_eq!(unit("B").read("1_000 kB"), Ok(1_000_000));
        assert_eq!(unit("s").read("2 min"), Ok(120));
        assert_eq!(unit("10 us").read("15 us"), Err(Unread::Fraction));
        assert_eq!(unit("B").read("0.5 B"), Err(Unread::Fraction));
        let meant = Some("10 Mbit/s".to_owned());
        assert_eq!(unit("bit/s").read("10 mbit/s"), Err(Unread::Strange(meant)));
        for strange in [
            "",
            "10",
            "Mbit/s",
            "-1 bit/s",
            "1.2.3 bit/s",
            "10 ms",
            "1e3 bit/s",
        ] {
            assert_eq!(unit("bit/s").read(strange), Err(Unread::Strange(None)));
        }
        let huge = "9".repeat(30) + " Gbit/s";
        assert_eq!(unit("bit/s").read(&huge), Err(Unread::TooLarge));
        let beyond = "9".repeat(60) + " Gbit/s";
        assert_eq!(unit("bit/s").read(&beyond), Err(Unread::Strange(None)));
    }

    #[test]
    fn a_unit_has_a_name_and_multiples() {
        assert_eq!(unit("bit/s").times(1000).name(), "kbit/s");
        assert_eq!(unit("10 us").name(), "10 us");
        assert_eq!(Unit::named("log2 ns"), None);
        assert_eq!(Unit::named(""), None);
        assert_eq!(Unit::named("0.1"), None);
    }
}
