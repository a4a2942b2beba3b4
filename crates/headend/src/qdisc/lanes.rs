//! Lanes: a queue discipline for each access category of an 802.11 node, or for each station and
//! category.
//!
//! The node's contenders are served apart: each asks for packets of its own lane. All lanes have
//! the same discipline. A lane is built when its first packet arrives.
//!
//! The DSCP of a packet decides its category. RFC 8325 recommends a mapping; equipment that does
//! not follow it takes the three leading bits of the DSCP as the user priority.

use super::{QueueConfig, QueueDiscipline};
use crate::context::Context;
use crate::flow::Hop;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Depth, LineView};
use crate::rng::Rng;
use crate::time::Instant;
use crate::units::Rate;

/// An access category (IEEE 802.11-2020 §10.2.3.2), in ascending order of priority.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// `AC_BK`: after all others.
    Background,
    /// `AC_BE`: what carries no mark.
    BestEffort,
    /// `AC_VI`.
    Video,
    /// `AC_VO`.
    Voice,
}

impl Category {
    /// All, in ascending order of priority.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];
}

/// How a node decides the access category of a packet by its DSCP.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DscpMap {
    /// RFC 8325, with NQB (RFC 9956) in best effort.
    #[default]
    Rfc8325,
    /// The three leading bits of the DSCP are the user priority, as in much equipment: EF becomes
    /// video, and `AF1x` and CS2 background.
    Precedence,
    /// All packets are best effort.
    None,
}

/// DSCPs are six bits (RFC 2474 §3).
const DSCPS: usize = 64;
const BEST_EFFORT: u8 = Category::BestEffort as u8;

impl DscpMap {
    fn category(self, dscp: u8) -> Category {
        match self {
            Self::None => Category::BestEffort,
            // IEEE 802.11-2020 Table 10-1: user priorities 1 and 2 are background.
            Self::Precedence => match dscp >> 3 {
                1 | 2 => Category::Background,
                0 | 3 => Category::BestEffort,
                4 | 5 => Category::Video,
                _ => Category::Voice,
            },
            // RFC 8325 §4.3, Figure 1; RFC 8622 for LE (1).
            Self::Rfc8325 => match dscp {
                // VOICE-ADMIT, EF, CS6, CS7.
                44 | 46 | 48 | 56 => Category::Voice,
                // CS3 to CS5, AF31 to AF43.
                24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40 => Category::Video,
                1 | 8 => Category::Background,
                _ => Category::BestEffort,
            },
        }
    }
}

/// The access categories of a cell: four, or a single one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Categories {
    of: Option<[u8; DSCPS]>,
}

impl Categories {
    /// A cell without categories.
    pub const NONE: Self = Self { of: None };

    /// The four categories of EDCA.
    pub fn edca(map: DscpMap) -> Self {
        let mut of = [BEST_EFFORT; DSCPS];
        for (dscp, category) in (0..).zip(&mut of) {
            *category = map.category(dscp) as u8;
        }
        Self { of: Some(of) }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        if self.of.is_some() {
            Category::ALL.len()
        } else {
            1
        }
    }

    /// The index of a packet's category.
    pub fn of(&self, packet: &Packet, cx: &Context<'_>) -> usize {
        match &self.of {
            Some(of) => usize::from(of[usize::from(cx.dscp(packet)) % DSCPS]),
            None => 0,
        }
    }

    /// The index of the category of what carries no mark.
    pub fn plain(&self) -> usize {
        if self.of.is_some() {
            usize::from(BEST_EFFORT)
        } else {
            0
        }
    }

    /// The lane of a station and category, where each station has lanes of its own.
    pub fn lane(&self, station: usize, category: usize) -> usize {
        station * self.count() + category
    }
}

/// The station of a packet at the entrance of a cell: each has two ports, up and down.
pub fn station_of(packet: &Packet, cx: &Context<'_>) -> usize {
    match cx.hop(packet) {
        Hop::Link { port, .. } => usize::from(port.0 / 2),
        Hop::Line(_) | Hop::End => unreachable!("a packet in the cell is at its entrance"),
    }
}

/// How lanes are built.
#[derive(Debug)]
pub struct LaneSetup {
    /// The discipline of each lane.
    pub config: QueueConfig,
    /// The categories.
    pub categories: Categories,
    /// The nominal rate of each station, where each has lanes of its own; else that of the node.
    pub rates: Vec<Rate>,
    /// Whether each station has lanes of its own.
    pub by_station: bool,
}

/// The lanes of a node.
#[derive(Debug)]
pub struct Lanes {
    setup: LaneSetup,
    /// Seed of the lanes' random streams.
    seed: u64,
    all: Vec<Option<Box<dyn QueueDiscipline>>>,
    /// The lanes that have been built.
    built: Vec<u32>,
    selected: usize,
    depth: Depth,
    is_periodic: bool,
}

impl Lanes {
    /// # Errors
    ///
    /// A sentence that says why no such discipline can be built.
    pub fn new(setup: LaneSetup, mut rng: Rng) -> Result<Self, String> {
        let seed = rng.below(u64::MAX);
        let count = setup.categories.count() * setup.rates.len();
        let mut own = Self {
            setup,
            seed,
            all: Vec::new(),
            built: Vec::new(),
            selected: 0,
            depth: Depth::default(),
            is_periodic: false,
        };
        own.all.resize_with(count, || None);
        own.is_periodic = own.build(0)?.is_periodic();
        Ok(own)
    }

    fn build(&self, lane: usize) -> Result<Box<dyn QueueDiscipline>, String> {
        let rate = self.setup.rates[lane / self.setup.categories.count()];
        let rng = Rng::for_path(self.seed, format_args!("lane.{lane}"));
        self.setup.config.build(rate, rng)
    }

    /// The lane of a packet that arrives.
    fn place(&self, packet: &Packet, cx: &Context<'_>) -> usize {
        let category = self.setup.categories.of(packet, cx);
        if !self.setup.by_station {
            return category;
        }
        (self.setup.categories).lane(station_of(packet, cx), category)
    }

    /// Calls `work` with a lane and its view of the line, and keeps the depth of all.
    fn work_on<T>(
        &mut self,
        index: usize,
        line: &LineView<'_>,
        work: impl FnOnce(&mut dyn QueueDiscipline, &LineView<'_>) -> T,
    ) -> Option<T> {
        let rate = self.setup.rates[index / self.setup.categories.count()];
        let own = self.all[index].as_mut()?;
        let before = own.depth();
        let result = work(&mut **own, &LineView { rate, ..*line });
        let after = own.depth();
        self.depth.packets = self.depth.packets + after.packets - before.packets;
        self.depth.bytes = self.depth.bytes + after.bytes - before.bytes;
        Some(result)
    }
}

impl QueueDiscipline for Lanes {
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        let index = self.place(&packet, cx);
        if self.all[index].is_none() {
            let built = self.build(index).expect("the first lane has been built");
            self.all[index] = Some(built);
            self.built.push(index as u32);
        }
        self.work_on(index, line, |own, line| {
            own.enqueue(packet, line, cx);
        });
    }

    fn select(&mut self, index: usize) {
        self.selected = index;
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        let index = self.selected;
        self.work_on(index, line, |own, line| own.dequeue(line, cx))?
    }

    /// Lanes of higher priority are released first.
    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        (0..self.all.len())
            .rev()
            .find_map(|index| self.work_on(index, line, |own, line| own.release(line))?)
    }

    fn depth(&self) -> Depth {
        self.depth
    }

    fn next_update(&self) -> Option<Instant> {
        let built = self
            .built
            .iter()
            .filter_map(|&index| self.all[index as usize].as_ref());
        built.filter_map(|own| own.next_update()).min()
    }

    fn is_periodic(&self) -> bool {
        self.is_periodic
    }

    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        for place in 0..self.built.len() {
            let index = self.built[place] as usize;
            self.work_on(index, line, |own, line| {
                if own.next_update().is_some_and(|at| at <= cx.now) {
                    own.update(line, cx);
                }
            });
        }
    }

    /// The state of the only lane that has been built, if there is one alone.
    fn internals(&self) -> QueueInternals {
        match self.built[..] {
            [only] => (self.all[only as usize].as_ref())
                .map(|own| own.internals())
                .unwrap_or_default(),
            _ => QueueInternals::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    const LINE: LineView<'static> = LineView::plain(Rate(100_000_000));

    #[test]
    fn dscps_map_as_rfc_8325_says_or_by_their_leading_bits() {
        use Category::{Background, BestEffort, Video, Voice};
        for (dscp, recommended, leading) in [
            (46, Voice, Video),
            (44, Voice, Video),
            (48, Voice, Voice),
            (40, Video, Video),
            (34, Video, Video),
            (26, Video, BestEffort),
            (18, BestEffort, Background),
            (10, BestEffort, Background),
            (0, BestEffort, BestEffort),
            (45, BestEffort, Video),
            (8, Background, Background),
            (1, Background, BestEffort),
        ] {
            let of = |map: DscpMap| map.category(dscp);
            assert_eq!(of(DscpMap::Rfc8325), recommended, "{dscp}");
            assert_eq!(of(DscpMap::Precedence), leading, "{dscp}");
            assert_eq!(of(DscpMap::None), BestEffort);
        }
    }

    #[test]
    fn each_category_has_a_lane_that_is_asked_for() {
        let mut bench = Bench::new();
        let setup = LaneSetup {
            config: QueueConfig::named("drop_tail").expect("a queue"),
            categories: Categories::edca(DscpMap::Rfc8325),
            rates: vec![Rate(100_000_000)],
            by_station: false,
        };
        let mut lanes = Lanes::new(setup, Rng::for_path(1, "queue")).expect("it makes sense");
        let flows = [0, 46].map(|dscp| bench.flow(dscp));
        for flow in [0, 1, 0] {
            let packet = bench.packet(flows[flow], 500);
            lanes.enqueue(packet, &LINE, &mut bench.cx());
        }
        assert_eq!(lanes.depth().packets, 3);
        lanes.select(Category::Voice as usize);
        let voice = lanes.dequeue(&LINE, &mut bench.cx()).expect("one waits");
        assert_eq!(voice.flow, flows[1]);
        bench.end(voice);
        assert!(lanes.dequeue(&LINE, &mut bench.cx()).is_none());
        lanes.select(Category::BestEffort as usize);
        while let Some(packet) = lanes.dequeue(&LINE, &mut bench.cx()) {
            bench.end(packet);
        }
        assert_eq!(lanes.depth(), Depth::default());
    }
}
