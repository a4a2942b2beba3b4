//! Strict priority: packets are in bands by DSCP, and a band is served only while all bands above
//! it are empty.
//!
//! This is the oldest way to let calls overtake uploads, and the most extreme one. A packet in the
//! first band waits only for the packet on the wire. A flow that fills the first band starves all
//! others.
//!
//! One limit holds for all bands together. When it is reached, the lowest band that holds packets
//! loses its newest one (push-out), so that lower bands cannot lock out higher ones. RFC 4594 and
//! RFC 8622 define the purpose of each DSCP.

use super::bundle::{Bundle, Law, Laws};
use super::{Parameters, QueueConfig, QueueDiscipline, unlimited};
use crate::aqm::Governor;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{BacklogLimit, Depth, LineView};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::{Limit, Rate};

/// Parameters of strict priority.
///
/// Use it where few packets are marked, by a source that can be trusted. Traffic that fills the
/// first band starves all other bands.
///
/// Source: RFC 4594 and RFC 8622 for the DSCPs; the push-out at the limit is our choice.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "StrictPriority")]
pub struct Config {
    /// Limit of all bands together: a size, a time at the line's rate, a number of packets, or
    /// "unlimited". Beyond it, the lowest band that holds packets loses its newest packet.
    pub limit: Limit,
    /// DSCPs of each band, in the order in which the bands are served. Exactly one band must be
    /// empty: it gets all DSCPs that no other band names.
    pub bands: Vec<Vec<u8>>,
    /// The control law of each band, such as "codel". The `limit` of the law holds for each band.
    /// With "none", only the common limit applies.
    #[serde(with = "crate::named")]
    #[schemars(with = "crate::named::Named<QueueConfig>")]
    pub law: Box<QueueConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // The limit of drop_tail, so that the two differ only in the order of service.
            limit: Limit::Time(Duration::from_millis(250)),
            bands: vec![
                // RFC 4594 §2.3: CS6 (routing), EF (telephony), VOICE-ADMIT (RFC 5865), CS5
                // (signalling).
                vec![48, 46, 44, 40],
                vec![],
                // RFC 8622: LE, and CS1, which it replaces.
                vec![1, 8],
            ],
            law: Box::new(QueueConfig::None(unlimited::Config {})),
        }
    }
}

/// DSCPs are six bits (RFC 2474 §3).
const DSCPS: usize = 64;
/// A choice: more bands than this have no use.
const MOST_BANDS: usize = 16;

impl Parameters for Config {
    fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        Ok(Box::new(self.queue(rate, rng)?))
    }

    fn governor(&self) -> Governor {
        Governor::ChosenLaw(Some("law"))
    }

    fn lets_pass(&self) -> Option<&'static str> {
        Some("serves its bands in order, and who is in the first passes all others")
    }
}

impl Config {
    fn queue(&self, rate: Rate, mut rng: Rng) -> Result<StrictPriority, String> {
        let band_of = self.band_of()?;
        let laws = Laws::new(Law::Any((*self.law).clone()), rate, &mut rng)?;
        let limit = BacklogLimit::at_rate(self.limit, rate);
        Ok(StrictPriority {
            bundle: Bundle::new(self.bands.len(), limit, laws),
            bands: self.bands.len(),
            band_of,
        })
    }

    /// The band of each DSCP.
    fn band_of(&self) -> Result<[u8; DSCPS], String> {
        if self.bands.len() > MOST_BANDS {
            return Err(format!(
                "bands must be {MOST_BANDS} at most, not {}",
                self.bands.len()
            ));
        }
        let mut rest = (0..).zip(&self.bands).filter(|(_, band)| band.is_empty());
        let (Some((rest, _)), None) = (rest.next(), rest.next()) else {
            return Err(
                "exactly one of the bands must be empty: it takes the DSCPs that no other names"
                    .into(),
            );
        };
        let mut found = [None; DSCPS];
        for (band, dscps) in (0..).zip(&self.bands) {
            for &dscp in dscps {
                let place = found
                    .get_mut(usize::from(dscp))
                    .ok_or_else(|| format!("bands must name DSCPs from 0 to 63, not {dscp}"))?;
                if place.replace(band).is_some() {
                    return Err(format!(
                        "bands must name each DSCP once, and {dscp} is named twice"
                    ));
                }
            }
        }
        Ok(found.map(|band| band.unwrap_or(rest)))
    }
}

/// Bands of packets, served in order.
#[derive(Debug)]
pub struct StrictPriority {
    /// Queue 0 is the first band.
    bundle: Bundle,
    bands: usize,
    /// The band of each DSCP.
    band_of: [u8; DSCPS],
}

impl QueueDiscipline for StrictPriority {
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        let dscp = usize::from(cx.dscp(&packet));
        let band = usize::from(self.band_of[dscp % DSCPS]);
        self.bundle.enqueue(band, packet, line, cx);
        while self.bundle.is_over_limit() {
            let lowest = (0..self.bands).rfind(|&band| !self.bundle.is_empty(band));
            let lowest = lowest.expect("what is above its limit holds packets");
            self.bundle.drop_last(lowest, line, cx);
        }
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        // A control law may discard all packets of its band. The next band is served then.
        (0..self.bands).find_map(|band| {
            if self.bundle.is_empty(band) {
                return None;
            }
            self.bundle.dequeue(band, line, cx)
        })
    }

    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        self.bundle.release(line)
    }

    fn depth(&self) -> Depth {
        self.bundle.depth()
    }

    fn next_update(&self) -> Option<Instant> {
        self.bundle.next_update()
    }

    fn is_periodic(&self) -> bool {
        self.bundle.is_periodic()
    }

    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.bundle.update(line, cx);
    }

    fn internals(&self) -> QueueInternals {
        self.bundle.internals()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    fn build(config: &Config) -> Result<StrictPriority, String> {
        config.queue(RATE, Rng::for_path(1, "queue"))
    }

    /// Enqueues packets with these DSCPs. Returns the DSCPs in the order of sending, and the number
    /// of discarded packets.
    fn pass(config: &Config, dscps: &[u8]) -> (Vec<u8>, usize) {
        let mut bench = Bench::new();
        let mut queue = build(config).expect("it makes sense");
        for &dscp in dscps {
            let flow = bench.flow(dscp);
            let packet = bench.packet(flow, 1000);
            queue.enqueue(packet, &LINE, &mut bench.cx());
        }
        let discarded = bench.take_discards().len();
        let mut sent = Vec::new();
        while let Some(packet) = queue.dequeue(&LINE, &mut bench.cx()) {
            sent.push(bench.cx().header(packet.flow).dscp);
            bench.end(packet);
        }
        (sent, discarded)
    }

    #[test]
    fn a_band_is_served_only_while_those_above_are_empty() {
        let (sent, _) = pass(&Config::default(), &[1, 0, 46, 8, 10, 40, 63]);
        assert_eq!(sent, [46, 40, 0, 10, 63, 1, 8]);
    }

    #[test]
    fn at_the_limit_only_the_lowest_band_loses_packets() {
        let config = Config {
            limit: Limit::Packets(3),
            ..Config::default()
        };
        assert_eq!(pass(&config, &[1, 8, 0, 46, 46]), (vec![46, 46, 0], 2));
        assert_eq!(pass(&config, &[46, 46, 46, 0]), (vec![46, 46, 46], 1));
    }

    #[test]
    fn a_flood_in_the_first_band_starves_the_rest() {
        let mut bench = Bench::new();
        let mut queue = build(&Config::default()).expect("it makes sense");
        let [flood, other] = [bench.flow(46), bench.flow(0)];
        let waiting = bench.packet(other, 1000);
        queue.enqueue(waiting, &LINE, &mut bench.cx());
        for _ in 0..100 {
            let packet = bench.packet(flood, 1000);
            queue.enqueue(packet, &LINE, &mut bench.cx());
            let sent = queue.dequeue(&LINE, &mut bench.cx()).expect("there is one");
            assert_eq!(sent.flow, flood);
            bench.end(sent);
        }
    }

    #[test]
    fn ambiguous_or_incomplete_bands_are_refused() {
        let refusal = |bands: &[&[u8]]| {
            let bands = bands.iter().map(|band| band.to_vec()).collect();
            build(&Config {
                bands,
                ..Config::default()
            })
            .expect_err("it makes no sense")
        };
        assert!(refusal(&[&[46], &[0]]).contains("exactly one"));
        assert!(refusal(&[&[46], &[], &[]]).contains("exactly one"));
        assert!(refusal(&[]).contains("exactly one"));
        assert!(refusal(&[&[64], &[]]).contains("63"));
        assert!(refusal(&[&[46], &[], &[46]]).contains("46 is named twice"));
        assert!(refusal(&[[].as_slice(); 17]).contains("16 at most"));
    }
}
