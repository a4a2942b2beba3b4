//! The plant of a cable line: ranges of its parameters, and what its generation does not have.
//!
//! Ranges are those of DOCS-IF31-MIB and of the public ns-3 module, where these give one;
//! elsewhere, what still makes sense.

use std::fmt::Display;

use crate::link::docsis::phy::{
    DownstreamChannel, Ofdm, Ofdma, ScQamDownstream, ScQamUpstream, UpstreamChannel,
    UpstreamModulation,
};
use crate::link::docsis::preset::{Feature, Plant, Preset};
use crate::scenario::error::ScenarioError;
use crate::time::Duration;

type Checked = Result<(), ScenarioError>;

/// Refuses what a plant cannot be, and what `preset` does not have. `path` ends in `.plant`.
pub(super) fn check(path: &str, preset: Preset, plant: &Plant) -> Checked {
    let at = Table { path, preset };
    at.within("distance_km", plant.distance_km, 0.0, 160.0, " kilometres")?;
    let spans = [
        ("map_interval", plant.map_interval, 200, 100_000),
        ("cmts_map_processing", plant.cmts_map_processing, 0, 20_000),
        ("token_interval", plant.token_interval, 0, 1_000_000),
        ("cmts_forwarding", plant.cmts_forwarding, 0, 100_000),
        (
            "modem_map_processing",
            plant.modem_map_processing,
            0,
            20_000,
        ),
    ];
    for (key, span, least, most) in spans {
        at.lasts(key, span, least, most)?;
    }
    if let Some(shortest) = plant.shortest_map_interval {
        let key = "shortest_map_interval";
        let least = Duration::from_micros(100);
        let expected = format!("{least} to map_interval, which is {}", plant.map_interval);
        let holds = shortest >= least && shortest <= plant.map_interval;
        at.expect(holds, key, &expected, shortest)?;
        if plant.upstream.channels() > 1 {
            return at.refuse(
                key,
                "bonded channels have MAPs of one length: expected one channel",
            );
        }
    }
    at.within("elements_per_map", plant.elements_per_map, 0, 240, "")?;
    at.within(
        "upstream_mac_header",
        plant.upstream_mac_header,
        0,
        246,
        " bytes",
    )?;
    at.within(
        "downstream_mac_header",
        plant.downstream_mac_header,
        0,
        246,
        " bytes",
    )?;
    at.rules(plant)?;
    at.contention(plant)?;
    let table = |key| format!("{path}.{key}");
    match &plant.upstream {
        UpstreamChannel::Ofdma(ofdma) => at.within_table(&table("upstream.ofdma")).ofdma(ofdma)?,
        UpstreamChannel::ScQam(qam) => at.within_table(&table("upstream.sc_qam")).up(qam)?,
    }
    match &plant.downstream {
        DownstreamChannel::Ofdm(ofdm) => at.within_table(&table("downstream.ofdm")).ofdm(ofdm)?,
        DownstreamChannel::ScQam(qam) => at.within_table(&table("downstream.sc_qam")).down(qam)?,
    }
    at.together(plant)
}

/// A table of the scenario while its keys are checked.
struct Table<'a> {
    path: &'a str,
    preset: Preset,
}

impl Table<'_> {
    fn within_table<'b>(&self, path: &'b str) -> Table<'b> {
        Table {
            path,
            preset: self.preset,
        }
    }

    fn refuse(&self, key: &str, why: impl Into<String>) -> Checked {
        let path = format!("{}.{key}", self.path);
        Err(ScenarioError::invalid(path, why))
    }

    fn expect(&self, holds: bool, key: &str, expected: &str, found: impl Display) -> Checked {
        if holds {
            return Ok(());
        }
        self.refuse(key, format!("expected {expected}, found {found}"))
    }

    fn within<T: Copy + PartialOrd + Display>(
        &self,
        key: &str,
        value: T,
        least: T,
        most: T,
        unit: &str,
    ) -> Checked {
        let expected = format!("{least} to {most}{unit}");
        self.expect(value >= least && value <= most, key, &expected, value)
    }

    /// A span from `least` to `most` microseconds.
    fn lasts(&self, key: &str, span: Duration, least: u64, most: u64) -> Checked {
        let [least, most] = [least, most].map(Duration::from_micros);
        let expected = if least.is_zero() {
            format!("at most {most}")
        } else {
            format!("{least} to {most}")
        };
        self.expect(span >= least && span <= most, key, &expected, span)
    }

    /// Refuses a feature that is used although the preset does not have it.
    fn needs(&self, uses: bool, key: &str, feature: Feature) -> Checked {
        match self.preset.require(feature) {
            Err(why) if uses => self.refuse(key, why),
            _ => Ok(()),
        }
    }

    fn rules(&self, plant: &Plant) -> Checked {
        let rules = plant.rules;
        self.needs(rules.continuous, "mac.continuous", Feature::Continuous)?;
        self.needs(
            rules.fragmentation,
            "mac.fragmentation",
            Feature::Fragmentation,
        )?;
        if rules.max_burst > 0 && rules.max_burst < LEAST_BURST && !rules.fragmentation {
            let why = format!(
                "expected at least {LEAST_BURST} B, one Ethernet frame with its headers, as \
                 nothing is fragmented; found {} B",
                rules.max_burst
            );
            return self.refuse("mac.max_burst", why);
        }
        Ok(())
    }

    fn contention(&self, plant: &Plant) -> Checked {
        let contention = plant.contention;
        for (kind, start, end) in [
            ("data", contention.data_start, contention.data_end),
            ("ranging", contention.ranging_start, contention.ranging_end),
        ] {
            self.within(&format!("contention.{kind}_end"), end, 0, 15, "")?;
            let expected = format!("an exponent from 0 to {kind}_end, which is {end}");
            self.expect(
                start <= end,
                &format!("contention.{kind}_start"),
                &expected,
                start,
            )?;
        }
        self.within("contention.retries", contention.retries, 1, 255, "")?;
        let interval = contention.ranging_interval;
        self.lasts("contention.ranging_interval", interval, 1_000, 10_000_000)
    }

    /// What channels and MAC rules require of each other.
    fn together(&self, plant: &Plant) -> Checked {
        if plant.upstream.channels() > 1 && !plant.rules.continuous {
            let why = "bonded channels carry segments: they need continuous concatenation and \
                       fragmentation";
            return self.refuse("mac.continuous", why);
        }
        self.room(plant)
    }

    /// Whether grants have room beside the request opportunities.
    fn room(&self, plant: &Plant) -> Checked {
        let timing = plant.upstream_timing();
        let frames = timing.frames_per_map * timing.longest_map;
        let all = timing.channels * timing.minislots_per_frame * frames;
        let taken = timing.opportunities * timing.opportunity_minislots;
        if taken * 2 <= all {
            return Ok(());
        }
        let why = format!(
            "{} request opportunities of {} minislots leave too little of a MAP's {all} minislots \
             to grants: expected half of them at most",
            timing.opportunities, timing.opportunity_minislots
        );
        self.refuse("upstream", why)
    }

    fn ofdma(&self, ofdma: &Ofdma) -> Checked {
        self.needs(true, "spacing_khz", Feature::Ofdm)?;
        let spacing = [25, 50].contains(&ofdma.spacing_khz);
        self.expect(spacing, "spacing_khz", "25 or 50", ofdma.spacing_khz)?;
        let most = 95_000 / ofdma.spacing_khz;
        let least = 400 / ofdma.spacing_khz;
        self.within("subcarriers", ofdma.subcarriers, least, most, "")?;
        self.within("symbols_per_frame", ofdma.symbols_per_frame, 6, 36, "")?;
        self.within(
            "bits_per_subcarrier",
            ofdma.bits_per_subcarrier,
            1.0,
            12.0,
            "",
        )?;
        self.within("code_rate", ofdma.code_rate.0, 0.1, 1.0, "")?;
        self.within("cyclic_prefix", ofdma.cyclic_prefix, 96, 640, " samples")?;
        self.within(
            "frames_per_opportunity",
            ofdma.frames_per_opportunity,
            1,
            1000,
            "",
        )?;
        let minislots = ofdma.opportunity_minislots;
        self.within("opportunity_minislots", minislots, 1, 64, "")?;
        self.within("modem_pipeline", ofdma.modem_pipeline, 0, 10, " frames")?;
        self.within("cmts_pipeline", ofdma.cmts_pipeline, 0, 10, " frames")?;
        self.within("segment_header", ofdma.segment_header, 0, 64, " bytes")
    }

    fn ofdm(&self, ofdm: &Ofdm) -> Checked {
        self.needs(true, "spacing_khz", Feature::Ofdm)?;
        let spacing = [25, 50].contains(&ofdm.spacing_khz);
        self.expect(spacing, "spacing_khz", "25 or 50", ofdm.spacing_khz)?;
        self.within("subcarriers", ofdm.subcarriers, 148, 7537, "")?;
        self.within(
            "bits_per_subcarrier",
            ofdm.bits_per_subcarrier,
            4.0,
            14.0,
            "",
        )?;
        self.within(
            "interleaver_depth",
            ofdm.interleaver_depth,
            1,
            32,
            " symbols",
        )?;
        self.within("cyclic_prefix", ofdm.cyclic_prefix, 192, 1024, " samples")?;
        self.within("cmts_pipeline", ofdm.cmts_pipeline, 0, 100, " symbols")?;
        self.within("modem_pipeline", ofdm.modem_pipeline, 0, 100, " symbols")?;
        self.within("codeword_fill", ofdm.codeword_fill.0, 0.1, 1.0, "")?;
        let pointers = [2, 4, 6].contains(&ofdm.pointer_bits);
        self.expect(pointers, "pointer_bits", "2, 4 or 6", ofdm.pointer_bits)
    }

    fn up(&self, qam: &ScQamUpstream) -> Checked {
        self.within("channels", qam.channels, 1, 32, "")?;
        self.needs(qam.channels > 1, "channels", Feature::Bonding)?;
        let rates = [160, 320, 640, 1280, 2560, 5120];
        let expected = "160, 320, 640, 1280, 2560 or 5120";
        self.expect(
            rates.contains(&qam.ksymbols),
            "ksymbols",
            expected,
            qam.ksymbols,
        )?;
        self.needs(qam.ksymbols > 2560, "ksymbols", Feature::HigherModulation)?;
        let classic = [UpstreamModulation::Qpsk, UpstreamModulation::Qam16];
        let higher = !classic.contains(&qam.modulation);
        self.needs(higher, "modulation", Feature::HigherModulation)?;
        self.within("fec_t", qam.fec_t, 0, 16, " bytes")?;
        self.within("fec_k", qam.fec_k, 16, 253, " bytes")?;
        let codeword = qam.fec_k + 2 * qam.fec_t;
        let expected = "a codeword of at most 255 bytes, k + 2T";
        self.expect(codeword <= 255, "fec_k", expected, codeword)?;
        self.within("preamble", qam.preamble, 0, 1536, " symbols")?;
        self.within("guard", qam.guard, 4, 255, " symbols")?;
        let ticks = qam.minislot_ticks.is_power_of_two() && qam.minislot_ticks <= 128;
        self.expect(
            ticks,
            "minislot_ticks",
            "a power of two up to 128",
            qam.minislot_ticks,
        )?;
        let bytes = qam.minislot_bytes();
        self.expect(
            bytes >= 4,
            "minislot_ticks",
            "minislots that carry 4 bytes or more",
            bytes,
        )?;
        self.within("segment_header", qam.segment_header, 0, 64, " bytes")?;
        self.within("opportunities", qam.opportunities, 1, 1000, "")?;
        self.within(
            "opportunity_minislots",
            qam.opportunity_minislots,
            1,
            64,
            "",
        )?;
        self.lasts("modem_pipeline", qam.modem_pipeline, 0, 20_000)?;
        self.lasts("cmts_pipeline", qam.cmts_pipeline, 0, 20_000)
    }

    fn down(&self, qam: &ScQamDownstream) -> Checked {
        self.within("channels", qam.channels, 1, 64, "")?;
        self.needs(qam.channels > 1, "channels", Feature::Bonding)?;
        let taps = qam.has_taps_of_its_annex();
        let expected = "8, 16, 32, 64 or 128 taps in Annex B, 12 in Annex A";
        self.expect(taps, "interleaver_taps", expected, qam.interleaver_taps)?;
        self.lasts("cmts_pipeline", qam.cmts_pipeline, 0, 20_000)?;
        self.lasts("modem_pipeline", qam.modem_pipeline, 0, 20_000)
    }
}

/// An Ethernet frame of 1518 bytes behind the shortest MAC header.
const LEAST_BURST: u64 = 1524;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::docsis::preset::PlantConfig;

    /// What is said of a plant of this generation with these keys.
    fn said(preset: Preset, keys: &str) -> String {
        let given: PlantConfig = toml::from_str(keys).expect("keys that there are");
        match check("plant", preset, &given.over(preset)) {
            Ok(()) => "fine".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_preset_is_a_plant_that_can_be() {
        for preset in Preset::ALL {
            assert_eq!(said(preset, ""), "fine", "{preset:?}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key_with_what_was_found() {
        let table = [
            (
                "distance_km = -1.0",
                "plant.distance_km: expected 0 to 160 kilometres, found -1",
            ),
            (
                "upstream.ofdma.spacing_khz = 30",
                "plant.upstream.ofdma.spacing_khz: expected 25 or 50, found 30",
            ),
            (
                "map_interval = '10 us'",
                "plant.map_interval: expected 200 us to 100 ms, found 10 us",
            ),
            (
                "contention.data_start = 12",
                "plant.contention.data_start: expected an exponent from 0 to data_end, which is \
                 10, found 12",
            ),
            (
                "downstream.sc_qam.interleaver_taps = 12",
                "plant.downstream.sc_qam.interleaver_taps: expected 8, 16, 32, 64 or 128 taps in \
                 Annex B, 12 in Annex A, found 12",
            ),
        ];
        for (keys, expected) in table {
            assert_eq!(said(Preset::Docsis31, keys), expected);
        }
    }

    #[test]
    fn a_generation_refuses_what_came_after_it() {
        let table = [
            (
                Preset::Docsis10,
                "upstream.sc_qam.channels = 4",
                "channel bonding came with DOCSIS 3.0",
            ),
            (
                Preset::Docsis20,
                "downstream.sc_qam.channels = 2",
                "channel bonding came with DOCSIS 3.0",
            ),
            (
                Preset::Docsis10,
                "mac.fragmentation = true",
                "fragmentation came with DOCSIS 1.1",
            ),
            (
                Preset::Docsis11,
                "mac.continuous = true",
                "came with DOCSIS 3.0",
            ),
            (
                Preset::Docsis11,
                "upstream.sc_qam.modulation = 'qam64'",
                "came with DOCSIS 2.0",
            ),
            (
                Preset::Docsis30,
                "upstream.ofdma.subcarriers = 400",
                "OFDM came with DOCSIS 3.1",
            ),
        ];
        for (preset, keys, expected) in table {
            let found = said(preset, keys);
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn a_later_generation_can_be_set_up_as_an_older_one() {
        let old = "upstream.sc_qam = { channels = 1, ksymbols = 1280, modulation = 'qpsk', \
                   minislot_ticks = 8 }";
        assert_eq!(said(Preset::Docsis31, old), "fine");
        let alone = "mac = { continuous = false, piggyback = false }\nupstream.sc_qam.channels = 1";
        assert_eq!(said(Preset::Docsis30, alone), "fine");
    }

    #[test]
    fn bonded_channels_need_segments() {
        let found = said(Preset::Docsis30, "mac.continuous = false");
        assert!(found.starts_with("plant.mac.continuous: bonded"), "{found}");
    }

    #[test]
    fn opportunities_must_leave_room_for_grants() {
        let found = said(Preset::Docsis20, "upstream.sc_qam.opportunities = 60");
        assert!(
            found.contains("leave too little of a MAP's 160 minislots"),
            "{found}"
        );
    }
}
