//! Which settings of a service flow a file writes, and its rate limits.

use docsis_config::Tlv;

use super::note::Notes;
use super::u32_tlv;
use crate::scenario::cable::service_flow::{DEFAULT_BURST, Setting, Settings};
use crate::units::{ByteCount, Rate};

// Sub-TLVs of service flows and of aggregates.
const BURST: u8 = 9;
const RATE_UNIT: u8 = 41;

/// The units of rates, in bit/s: what TLV 41 numbers from 0 on.
const RATE_UNITS: [u64; 4] = [1, 1_000, 1_000_000, 1_000_000_000];

/// Which settings the file writes: all, or those that a class of this name does not give.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) class: Option<&'a str>,
}

impl Written<'_> {
    /// All of them.
    pub(super) fn all() -> Self {
        Self { class: None }
    }

    /// The value with the path of its key, if the file has to write it.
    pub(super) fn given<T>(self, setting: &Setting<T>) -> Option<(&T, &str)> {
        setting.given().filter(|(_, path)| !self.is_of_class(path))
    }

    /// Whether the file has to write the value at `path`. A default is written too if the modem's
    /// own keys give it and the file names a class, because the class may have another value.
    pub(super) fn says(self, path: &str, is_default: bool) -> bool {
        !is_default || self.class.is_some() && path.contains(".docsis.modem.")
    }

    /// Whether the class gives the key at `path`.
    pub(super) fn is_of_class(self, path: &str) -> bool {
        self.class.is_some() && class_in(path) == self.class
    }
}

/// The service class in whose table the key at `path` is.
pub(super) fn class_in(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once(".docsis.service_class.")?;
    rest.split('.').next()
}

/// The maximum traffic burst.
pub(super) fn burst(settings: &Settings, written: Written<'_>, notes: &mut Notes) -> Option<Tlv> {
    let is_usual = |burst: &ByteCount| written.class.is_some() && *burst == DEFAULT_BURST;
    let (ByteCount(burst), path) = (written.given(&settings.burst))
        .filter(|(burst, path)| written.says(path, is_usual(burst)))?;
    let burst = notes.at_most(path, *burst, u64::from(u32::MAX));
    Some(u32_tlv(BURST, burst as u32))
}

/// Rates by their TLVs, in the smallest unit in which they fit into 32 bits.
pub(super) fn rates(
    limits: &[(u8, &Setting<Rate>)],
    written: Written<'_>,
    notes: &mut Notes,
) -> Vec<Tlv> {
    let given: Vec<(u8, Rate, &str)> = (limits.iter())
        .filter_map(|&(number, setting)| {
            let (rate, path) = match written.given(setting) {
                Some((&rate, path)) => (rate, path),
                // The absence of a limit takes precedence over the limit of the class.
                None if setting.value.is_none() && !written.is_of_class(&setting.path) => {
                    (Rate(0), setting.path.as_str())
                }
                None => return None,
            };
            (written.says(path, rate.0 == 0)).then_some((number, rate, path))
        })
        .collect();
    let most = u64::from(u32::MAX);
    let fits = |unit: &u64| {
        given
            .iter()
            .all(|(_, rate, _)| rate.0.div_ceil(*unit) <= most)
    };
    let place = RATE_UNITS
        .iter()
        .position(fits)
        .unwrap_or(RATE_UNITS.len() - 1);
    let unit = RATE_UNITS[place];
    let mut tlvs = Vec::new();
    for (number, rate, path) in given {
        let steps = ((rate.0 + unit / 2) / unit).min(most);
        if steps * unit != rate.0 {
            let said = Rate(steps * unit);
            notes.line(format!("{path}: the file says {said} in place of {rate}."));
        }
        tlvs.push(u32_tlv(number, steps as u32));
    }
    if place > 0 {
        tlvs.push(Tlv::new(RATE_UNIT, [place as u8]));
    }
    tlvs
}
