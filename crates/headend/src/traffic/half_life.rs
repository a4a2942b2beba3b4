//! Half-Life: one player and the server, with the packet lengths and intervals that were measured
//! in real games.
//!
//! The map of the game determines the length of the server's packets. docs/models/games.md has the
//! distributions and the checks.

use super::definition::{About, Definition, Fault, Property, ensure, ensure_scoring};
use super::drawn::{Distribution, DrawnStream, Half};
use super::memory::{Datagrams, Own, Setting};
use super::scored::{self, Scored};
use super::{AppContext, AppEvent, Application, Direction};
use crate::metrics::deadline;
use crate::time::Duration;

/// Parameters of a player of Half-Life.
///
/// Use it for a measured game with fewer and larger packets than those of Quake III.
///
/// Source: Lang, Armitage, Branch and Choo, "A Synthetic Traffic Model for Half-Life" (ATNAC 2003),
/// as stated by Nguyen and Armitage, "Quantitative Assessment of IP Service Quality in 802.11b and
/// DOCSIS networks", §IV.B.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The map, which determines the length of the server's packets.
    pub map: Map,
    /// How the game is scored.
    pub scoring: deadline::Config,
    /// Spread of the packet lengths of both sides: standard deviation of their natural logarithm.
    /// With 0 all packets of a side are equal.
    pub sigma: f64,
}

/// A map of Half-Life.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Map {
    /// Mean packet length 202.9 B.
    ChilDm,
    /// Mean packet length 154.1 B.
    Odyssey,
    /// Mean packet length 129.6 B.
    Rats3,
    /// Mean packet length 109.7 B.
    Xflight,
}

impl Map {
    /// Mean length of the server's packets, bytes.
    const fn mean(self) -> f64 {
        match self {
            Self::ChilDm => 202.9,
            Self::Odyssey => 154.1,
            Self::Rats3 => 129.6,
            Self::Xflight => 109.7,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // A choice: the map with the longest packets.
            map: Map::ChilDm,
            scoring: deadline::Config::default(),
            // A choice: the study gives only the means.
            sigma: 0.3,
        }
    }
}

impl Config {
    /// Distributions of the client's and the server's packets, by side.
    fn halves(&self) -> [Half; 2] {
        let size = |mean| Distribution::LogNormal {
            mean,
            sigma: self.sigma,
        };
        let client = Half {
            gap: Distribution::Either(0.033, 0.05),
            size: size(72.3),
        };
        let server = Half {
            gap: Distribution::Always(0.06),
            size: size(self.map.mean()),
        };
        [client, server]
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "half_life",
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
        // Above 0.5 so many lengths would be limited to 29 B that the mean would change.
        ensure((0.0..=0.5).contains(&self.sigma), "sigma", "0 to 0.5")?;
        ensure_scoring(&self.scoring)
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(HalfLife::new(self, direction))
    }

    fn datagrams(&self, _direction: Direction) -> Datagrams {
        Datagrams::both(Duration::from_millis(10), 60.0)
    }

    fn own_bytes(&self) -> Own {
        Own::scored("half_life.scoring", &self.scoring, 0.0)
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.scoring.period, 2.0)
    }
}

/// A player of Half-Life, and the server.
#[derive(Debug)]
pub struct HalfLife(Scored<DrawnStream>);

impl HalfLife {
    /// Creates a game that starts on [`AppEvent::Started`].
    pub fn new(config: &Config, direction: Direction) -> Self {
        let stream = DrawnStream::new(config.halves(), direction.sides());
        Self(Scored::new(stream, &config.scoring))
    }
}

impl Application for HalfLife {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        self.0.on(event, cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math;
    use crate::traffic::drawn::testing::{Sent, assert_near, moments, quantile, watch};

    const MAPS: [Map; 4] = [Map::ChilDm, Map::Odyssey, Map::Rats3, Map::Xflight];

    /// Packets of a player and the server in half an hour.
    fn play(map: Map) -> [Sent; 2] {
        let config = Config {
            map,
            ..Config::default()
        };
        watch(&mut HalfLife::new(&config, Direction::Both), 1800)
    }

    #[test]
    fn half_of_the_client_s_intervals_are_33_and_half_50_milliseconds() {
        let [up, _] = play(Map::ChilDm);
        let count = up.gaps.len() as f64;
        let near = |gap: f64| up.gaps.iter().filter(|&g| (g - gap).abs() < 1e-12).count() as f64;
        assert_near(near(0.033) / count, 0.5, 0.01);
        assert_near((near(0.033) + near(0.05)) / count, 1.0, 0.0);
        // The mean interval is 41.5 ms. The study's 25 packets/s are the average of the two rates
        // instead.
        assert_near(up.rate(), 1.0 / 0.0415, 0.1);
    }

    #[test]
    fn lengths_are_log_normal_with_the_published_means() {
        for map in MAPS {
            let [up, down] = play(map);
            assert_near(down.rate(), 1.0 / 0.06, 0.01);
            for (sent, expected) in [(&up, 72.3), (&down, map.mean())] {
                let (mean, deviation) = moments(&sent.sizes);
                assert_near(mean, expected, 0.006 * expected);
                let spread = expected * (math::exp(0.09) - 1.0).sqrt();
                assert_near(deviation, spread, 0.03 * spread);
                let median = expected * math::exp(-0.045);
                assert_near(quantile(&sent.sizes, 0.5), median, 0.012 * median);
            }
        }
    }

    /// WLN Fig. 12, nominal at 20 players, computed with the study's rates of 25 and 16 packets/s.
    #[test]
    fn twenty_players_take_the_published_bandwidth() {
        for (map, expected) in MAPS.into_iter().zip([809.0, 684.0, 621.0, 570.0]) {
            let [up, down] = play(map);
            let mean = |sent: &Sent| moments(&sent.sizes).0;
            let nominal = 20.0 * 8.0 * (25.0 * mean(&up) + 16.0 * mean(&down)) / 1000.0;
            assert_near(nominal, expected, 0.006 * expected);
            // With the intervals that the study states, 24.1 and 16.7 packets/s, the rate differs
            // by 0 to 2 %.
            let real = 20.0 * (up.kbits() + down.kbits());
            assert_near(real, expected, 0.025 * expected);
        }
    }
}
