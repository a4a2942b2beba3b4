//! A game: small packets at constant intervals in both directions.
//!
//! Game and voice are the same class of traffic in the AQM study: small, regular packets that are
//! useless when late. [`crate::metrics::deadline`] computes the share of packets that were late or
//! lost.

use super::definition::{
    About, Definition, Fault, Property, ensure_datagram, ensure_gap, ensure_scoring,
};
use super::memory::{Datagrams, Own, Setting};
use super::scored::{self, Scored};
use super::stream::{Pace, Phase, Stream};
use super::{AppContext, AppEvent, Application, Direction};
use crate::metrics::deadline;
use crate::time::Duration;
use crate::units::ByteCount;

/// Parameters of a game.
///
/// Use it for the delay of games in general; `quake3`, `half_life` and `lld_game` are particular
/// games that were measured.
///
/// Source: White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014): 218 B at
/// 50 packets/s.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Time between two packets of a side.
    pub interval: Duration,
    /// How the game is scored.
    pub scoring: deadline::Config,
    /// Size of a packet, IP bytes: 200 B are 218 B on a DOCSIS line.
    pub size: ByteCount,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014): VoIP
            // and gaming are 218 B at 50 packets/s.
            interval: Duration::from_millis(20),
            scoring: deadline::Config::default(),
            size: ByteCount(200),
        }
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "game",
            properties: &[Property::Game],
            measures: scored::MEASURES,
        }
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Both, Direction::Up, Direction::Down]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure_datagram(self.size, "size")?;
        ensure_gap(self.interval, "interval")?;
        ensure_scoring(&self.scoring)
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Game::new(self, direction))
    }

    fn datagrams(&self, _direction: Direction) -> Datagrams {
        Datagrams::both(self.interval, self.size.0 as f64)
    }

    fn own_bytes(&self) -> Own {
        Own::scored("game.scoring", &self.scoring, 0.0)
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.scoring.period, 2.0)
    }
}

/// A player of a game, and the server.
#[derive(Debug)]
pub struct Game(Scored<Stream>);

impl Game {
    /// Creates a game that starts on [`AppEvent::Started`].
    pub fn new(config: &Config, direction: Direction) -> Self {
        let pace = Pace::every(config.interval);
        let stream = Stream::new(pace, config.size, Phase::Random, direction.sides());
        Self(Scored::new(stream, &config.scoring))
    }
}

impl Application for Game {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        self.0.on(event, cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::traffic::testing::Bench;

    #[test]
    fn both_sides_send_fifty_packets_a_second() {
        let mut game = Game::new(&Config::default(), Direction::Both);
        let mut bench = Bench::new(1);
        bench.notify(&mut game, AppEvent::Started);
        let mut sent = [0; 2];
        while let Some((at, token)) = bench.next_timer()
            && at.as_nanos() < 1_000_000_000
        {
            bench.notify(&mut game, AppEvent::Timer { token });
            for (_, side, command) in bench.commands() {
                assert!(matches!(command, Command::Datagram { size: 200, .. }));
                sent[side.index()] += 1;
            }
        }
        assert_eq!(sent, [50, 50]);
    }
}
