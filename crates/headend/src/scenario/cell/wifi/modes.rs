//! The modes of a cell's stations: what is written, with the defaults of the standard.

use super::band::Band;
use super::config::{Wifi, WifiStation};
use super::standard::Standard;
use crate::link::cell::phy::{Format, Mode};
use crate::scenario::error::ScenarioError;
use crate::time::Duration;
use crate::units::Rate;

/// What a cell's stations have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Channel {
    pub(super) standard: Standard,
    pub(super) band: Band,
    pub(super) width: u16,
    pub(super) guard_interval: Duration,
}

/// The guard interval that 802.11n and all later standards but 802.11ax share with it.
const LONG_GUARD: Duration = Duration::from_nanos(800);

/// The widest channel that the 2.4 GHz band has room for, in MHz.
const WIDEST_AT_24: u16 = 40;

fn refused<T>(path: &str, key: &str, why: String) -> Result<T, ScenarioError> {
    Err(ScenarioError::invalid(format!("{path}.{key}"), why))
}

fn list<T: ToString>(all: &[T]) -> String {
    let all: Vec<String> = all.iter().map(T::to_string).collect();
    match &all[..] {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

impl Channel {
    /// Writes the channel's defaults out and checks it.
    pub(super) fn plan(
        path: &str,
        standard: Standard,
        cell: &mut Wifi,
    ) -> Result<Self, ScenarioError> {
        let band = *cell.band.get_or_insert(standard.usual_band());
        if !standard.bands().contains(&band) {
            let bands: Vec<&str> = standard.bands().iter().map(|band| band.name()).collect();
            let (of, found) = (standard.name(), band.name());
            let why = format!("{of} is used at {}, not at {found}", list(&bands));
            return refused(path, "band", why);
        }
        let width = *cell.width.get_or_insert(standard.usual_width(band));
        check_width(path, standard, width)?;
        if band == Band::Ghz24 && width > WIDEST_AT_24 {
            let why = format!("expected 20 or {WIDEST_AT_24} (MHz) at 2.4 GHz, found {width}");
            return refused(path, "width", why);
        }
        let has_g = |station: &WifiStation| station.standard == Some(Standard::Dot11g);
        if cell.rate.is_some() && standard.is_modern() && !cell.station.values().any(has_g) {
            let why = format!(
                "it is that of 802.11g stations, of which there are none; {} has mcs and streams",
                standard.name()
            );
            return refused(path, "rate", why);
        }
        if let Some(mcs) = cell.mcs {
            check_mcs(path, standard, mcs)?;
        }
        if let Some(streams) = cell.streams {
            check_streams(path, standard, streams)?;
        }
        let usual = standard.guard_intervals()[0];
        let guard_interval = *cell.guard_interval.get_or_insert(usual);
        if !standard.guard_intervals().contains(&guard_interval) {
            let why = format!(
                "expected {}, found {guard_interval}",
                list(standard.guard_intervals())
            );
            return refused(path, "guard_interval", why);
        }
        Ok(Self {
            standard,
            band,
            width,
            guard_interval,
        })
    }

    /// The modes of a station in ascending order of rate: several of one whose rate control
    /// chooses.
    pub(super) fn modes(
        &self,
        path: &str,
        cell: &Wifi,
        station: &WifiStation,
    ) -> Result<Vec<Mode>, ScenarioError> {
        let standard = station.standard.unwrap_or(self.standard);
        if standard > self.standard {
            let (newer, own) = (standard.name(), self.standard.name());
            let why = format!("a cell of {own} has no station of {newer}: expected an older one");
            return refused(path, "standard", why);
        }
        if !standard.bands().contains(&self.band) {
            let why = format!("{} is not used at {}", standard.name(), self.band.name());
            return refused(path, "standard", why);
        }
        if standard.is_modern() {
            self.modern_modes(path, standard, cell, station)
        } else {
            Self::legacy_modes(path, standard, cell, station)
        }
    }

    fn legacy_modes(
        path: &str,
        standard: Standard,
        cell: &Wifi,
        station: &WifiStation,
    ) -> Result<Vec<Mode>, ScenarioError> {
        for (key, is_set) in [
            ("mcs", station.mcs.is_some()),
            ("streams", station.streams.is_some()),
            ("width", station.width.is_some()),
        ] {
            if is_set {
                let why = format!("a station of {} has a rate instead", standard.name());
                return refused(path, key, why);
            }
        }
        let modes: Vec<Mode> = Mode::legacy(standard.format()).collect();
        let of_cell = cell.rate.filter(|_| standard == Standard::Dot11g);
        let fastest = modes[modes.len() - 1].rate();
        if station.snr.is_some() && standard == Standard::Dot11b {
            let why = "an 802.11b station has a rate and frame_errors instead".to_owned();
            return refused(path, "snr", why);
        }
        let rate = station.rate.or(of_cell).unwrap_or(fastest);
        let Some(largest) = modes.iter().position(|mode| mode.rate() == rate) else {
            let rates: Vec<Rate> = modes.iter().map(|mode| mode.rate()).collect();
            let (of, rates) = (standard.name(), list(&rates));
            let why = format!("expected a rate of {of} ({rates}), found {rate}");
            return refused(path, "rate", why);
        };
        let is_controlled = station.snr.is_some() && station.rate.is_none();
        let slowest = if is_controlled { 0 } else { largest };
        Ok(modes[slowest..=largest].to_vec())
    }

    fn modern_modes(
        &self,
        path: &str,
        standard: Standard,
        cell: &Wifi,
        station: &WifiStation,
    ) -> Result<Vec<Mode>, ScenarioError> {
        if station.rate.is_some() {
            let why = format!(
                "a station of {} has mcs and streams instead",
                standard.name()
            );
            return refused(path, "rate", why);
        }
        let widest = standard.widths()[standard.widths().len() - 1];
        let width = station.width.unwrap_or(self.width.min(widest));
        check_width(path, standard, width)?;
        if width > self.width {
            let why = format!(
                "expected {} MHz at most, the cell's, found {width}",
                self.width
            );
            return refused(path, "width", why);
        }
        let of_cell = cell.streams.unwrap_or(2).min(standard.most_streams());
        let streams = station.streams.unwrap_or(of_cell);
        check_streams(path, standard, streams)?;
        let guards = standard.guard_intervals();
        let guard = if guards.contains(&self.guard_interval) {
            self.guard_interval
        } else {
            LONG_GUARD
        };
        let mode = |streams, mcs| Mode {
            format: standard.format(),
            mcs,
            streams,
            width,
            guard: guard.as_nanos() as u16,
        };
        // The cell's, or the largest that this station can have below it.
        let most = cell.mcs.unwrap_or(u8::MAX).min(standard.most_mcs());
        if station.snr.is_some() && station.mcs.is_none() {
            let all = (1..=streams).flat_map(|streams| (0..=most).map(move |mcs| (streams, mcs)));
            let mut modes: Vec<Mode> = all.map(|(streams, mcs)| mode(streams, mcs)).collect();
            modes.retain(|mode| is_allowed(*mode));
            modes.sort_by_key(|mode| mode.rate());
            return Ok(modes);
        }
        let largest = (0..=most).rev().find(|&mcs| is_allowed(mode(streams, mcs)));
        let mcs = station.mcs.or(largest).unwrap_or(0);
        check_mcs(path, standard, mcs)?;
        if !is_allowed(mode(streams, mcs)) {
            let why = format!(
                "{} has no MCS {mcs} with {streams} streams at {width} MHz",
                standard.name()
            );
            return refused(path, "mcs", why);
        }
        Ok(vec![mode(streams, mcs)])
    }
}

fn check_mcs(path: &str, standard: Standard, mcs: u8) -> Result<(), ScenarioError> {
    let most = standard.most_mcs();
    if mcs <= most {
        return Ok(());
    }
    let why = format!("expected 0 to {most}, found {mcs}");
    // 802.11n counts streams in its MCS: eight for each number of them (§19.5).
    let streams = mcs / 8 + 1;
    if standard == Standard::Dot11n && streams <= standard.most_streams() {
        let own = mcs % 8;
        let meant = format!("{why}: did you mean mcs = {own} with streams = {streams}?");
        return refused(path, "mcs", meant);
    }
    refused(path, "mcs", why)
}

fn check_streams(path: &str, standard: Standard, streams: u8) -> Result<(), ScenarioError> {
    let most = standard.most_streams();
    if (1..=most).contains(&streams) {
        return Ok(());
    }
    refused(
        path,
        "streams",
        format!("expected 1 to {most}, found {streams}"),
    )
}

fn check_width(path: &str, standard: Standard, width: u16) -> Result<(), ScenarioError> {
    if standard.widths().contains(&width) {
        return Ok(());
    }
    let widths = list(standard.widths());
    let why = format!(
        "expected {widths} (MHz) for {}, found {width}",
        standard.name()
    );
    refused(path, "width", why)
}

/// Whether the standard has this combination: of 802.11ac, some of the largest do not fill whole
/// symbols (IEEE 802.11-2020 §21.5).
fn is_allowed(mode: Mode) -> bool {
    if mode.format != Format::Vht {
        return true;
    }
    !matches!(
        (mode.width, mode.mcs, mode.streams),
        (20, 9, 1 | 2 | 4 | 5 | 7 | 8) | (80, 6, 3 | 7) | (80, 9, 6) | (160, 9, 3)
    )
}
