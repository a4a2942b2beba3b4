//! Constant bit rate: equal datagrams at equal intervals, independent of losses and delay.

use super::definition::{About, Definition, Fault, ensure_datagram, ensure_gap, ensure_rate};
use super::memory::Datagrams;
use super::stream::{Pace, Phase, Stream};
use super::{AppContext, AppEvent, Application, Direction};
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

/// Parameters of a constant-bit-rate source.
///
/// Use it for load that does not adapt: a flood, a video feed, or a known share of the line.
///
/// Source: a choice of ours.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Rate in IP bytes. It does not adapt: a rate above the line's fills the queue.
    pub rate: Rate,
    /// Time between two packets; if given, it replaces `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Duration>,
    /// Size of a packet, IP bytes.
    pub size: ByteCount,
    /// Whether the first packet is sent at a random time within the first interval instead of at
    /// the start. Sources that start together then do not send at the same times.
    pub random_phase: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014), Table
            // 1: traffic loads 4, 7 and 8.
            rate: Rate(6_000_000),
            gap: None,
            // A choice: the study gives no value.
            size: ByteCount(1000),
            random_phase: false,
        }
    }
}

impl Config {
    fn pace(&self) -> Pace {
        self.gap
            .map_or_else(|| Pace::at_rate(self.rate, self.size), Pace::every)
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "cbr",
            properties: &[],
            measures: &[],
        }
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Up, Direction::Down, Direction::Both]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure_datagram(self.size, "size")?;
        match self.gap {
            Some(gap) => ensure_gap(gap, "gap"),
            None => ensure_rate(self.rate, self.size, "rate"),
        }
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Cbr::new(self, direction))
    }

    fn datagrams(&self, direction: Direction) -> Datagrams {
        Datagrams::of_rate(direction, self.rate, self.gap, self.size.0)
    }
}

/// A source of equal datagrams.
#[derive(Debug)]
pub struct Cbr(Stream);

impl Cbr {
    /// Creates a source that starts on [`AppEvent::Started`].
    pub fn new(config: &Config, direction: Direction) -> Self {
        let phase = if config.random_phase {
            Phase::Random
        } else {
            Phase::Zero
        };
        Self(Stream::new(
            config.pace(),
            config.size,
            phase,
            direction.sides(),
        ))
    }
}

impl Application for Cbr {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        self.0.on(event, cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::packet::Side;
    use crate::traffic::testing::Bench;

    #[test]
    fn packets_are_equal_and_numbered_and_leave_at_the_rate() {
        let config = Config {
            rate: Rate(8_000_000),
            ..Config::default()
        };
        let mut source = Cbr::new(&config, Direction::Down);
        let mut bench = Bench::new(1);
        bench.notify(&mut source, AppEvent::Started);
        for number in 0..10 {
            let (at, token) = bench.next_timer().expect("it goes on");
            assert_eq!(at.as_nanos(), number * 1_000_000);
            bench.notify(&mut source, AppEvent::Timer { token });
            let [(_, side, command)] = bench.commands()[..] else {
                panic!("one packet a wake-up")
            };
            assert_eq!(side, Side::Peer);
            assert_eq!(command, Command::Datagram { number, size: 1000 });
        }
    }

    #[test]
    fn a_gap_takes_the_place_of_the_rate() {
        let config: Config = toml::from_str("gap = \"3 ms\"").expect("a gap");
        assert_eq!(config.pace(), Pace::every(Duration::from_millis(3)));
        assert_eq!(config.check(), Ok(()));
    }
}
