//! Quake III: one player and the server, with the packet lengths and intervals that were measured
//! in real games.
//!
//! The server's packets are longer with more players, whose moves they contain. The client sends
//! one packet for each picture that it draws. Several players are several flows of this application
//! (`count`), each with the number of `players` in the game. docs/models/games.md has the
//! distributions and the checks.

use super::definition::{About, Definition, Fault, Property, ensure, ensure_gap, ensure_scoring};
use super::drawn::{Distribution, DrawnStream, Half};
use super::memory::{Datagrams, Own, Setting};
use super::scored::{self, Scored};
use super::{AppContext, AppEvent, Application, Direction};
use crate::metrics::deadline;
use crate::time::Duration;

/// Parameters of a player of Quake III.
///
/// Use it for a measured fast game: many small packets up, and few packets down whose size grows
/// with the number of players.
///
/// Source: Lang, Branch and Armitage, "A Synthetic Traffic Model for Quake 3" (ACE 2004), as stated
/// by Nguyen and Armitage, "Quantitative Assessment of IP Service Quality in 802.11b and DOCSIS
/// networks", §IV.A.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Time between two packets of the client. It depends on the map and the graphics card. A
    /// longer one sends fewer packets.
    pub client_interval: Duration,
    /// Number of players in the game. Each player beyond the second adds 13 B to the server's
    /// packets.
    pub players: u32,
    /// How the game is scored.
    pub scoring: deadline::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // The most demanding of the measured clients, with modern graphics cards: 93 packets/s.
            client_interval: Duration::from_micros(10_750),
            // A choice: the game whose distribution was published.
            players: 2,
            scoring: deadline::Config::default(),
        }
    }
}

impl Config {
    /// Distributions of the client's and the server's packets, by side.
    fn halves(&self) -> [Half; 2] {
        let client = Half {
            gap: Distribution::Always(self.client_interval.as_secs_f64()),
            size: Distribution::Normal {
                mean: 64.151,
                deviation: 3.203,
            },
        };
        // f(N) = 79.340 + 13 (N − 2).
        let mean = TWO_PLAYERS + 13.0 * f64::from(self.players - 2);
        let server = Half {
            gap: Distribution::Always(0.05),
            // "Becomes more normal as the number of clients increases": the standard deviation
            // stays that of two players, so that the distribution becomes less skewed.
            size: Distribution::log_normal(mean, two_player_deviation()),
        };
        [client, server]
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "quake3",
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
        ensure_gap(self.client_interval, "client_interval")?;
        ensure((2..=64).contains(&self.players), "players", "2 to 64")?;
        ensure_scoring(&self.scoring)
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Quake3::new(self, direction))
    }

    fn datagrams(&self, _direction: Direction) -> Datagrams {
        Datagrams::both(self.client_interval, 60.0)
    }

    fn own_bytes(&self) -> Own {
        Own::scored("quake3.scoring", &self.scoring, 0.0)
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.scoring.period, 2.0)
    }
}

/// A player of Quake III, and the server.
#[derive(Debug)]
pub struct Quake3(Scored<DrawnStream>);

impl Quake3 {
    /// Creates a game that starts on [`AppEvent::Started`].
    pub fn new(config: &Config, direction: Direction) -> Self {
        let stream = DrawnStream::new(config.halves(), direction.sides());
        Self(Scored::new(stream, &config.scoring))
    }
}

impl Application for Quake3 {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        self.0.on(event, cx);
    }
}

/// Standard deviation of the server's packet lengths with two players, bytes, computed from that of
/// their logarithm.
fn two_player_deviation() -> f64 {
    TWO_PLAYERS * (crate::math::exp(SIGMA * SIGMA) - 1.0).sqrt()
}

/// Mean of the server's packet lengths with two players, bytes.
const TWO_PLAYERS: f64 = 79.34;
/// Standard deviation of their natural logarithm. The source gives 0.245 with a mean in bytes and a
/// log-normal distribution.
const SIGMA: f64 = 0.245;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math;
    use crate::traffic::drawn::testing::{Sent, assert_near, moments, quantile, watch};

    /// Packets of a player and the server in a quarter of an hour.
    fn play(players: u32) -> [Sent; 2] {
        let config = Config {
            players,
            ..Config::default()
        };
        watch(&mut Quake3::new(&config, Direction::Both), 900)
    }

    #[test]
    fn the_client_sends_93_packets_a_second_of_64_bytes() {
        let [up, _] = play(2);
        assert_near(up.rate(), 93.02, 0.02);
        assert!(up.gaps.iter().all(|gap| (gap - 0.01075).abs() < 1e-12));
        let (mean, deviation) = moments(&up.sizes);
        assert_near(mean, 64.151, 0.05);
        // Rounding to whole bytes adds a twelfth to the variance.
        assert_near(deviation, (3.203_f64.powi(2) + 1.0 / 12.0).sqrt(), 0.03);
        assert_near(quantile(&up.sizes, 0.025), 64.151 - 1.96 * 3.203, 1.0);
        assert_near(quantile(&up.sizes, 0.975), 64.151 + 1.96 * 3.203, 1.0);
    }

    #[test]
    fn the_server_sends_20_packets_a_second_that_are_log_normal_for_two() {
        let [_, down] = play(2);
        assert_near(down.rate(), 20.0, 0.01);
        let (mean, _) = moments(&down.sizes);
        assert_near(mean, 79.34, 0.5);
        let logarithms: Vec<f64> = down.sizes.iter().map(|&size| math::ln(size)).collect();
        let (_, sigma) = moments(&logarithms);
        assert_near(sigma, 0.245, 0.005);
        let median = 79.34 * math::exp(-0.245 * 0.245 / 2.0);
        assert_near(quantile(&down.sizes, 0.5), median, 1.0);
        assert_near(
            quantile(&down.sizes, 0.95),
            median * math::exp(1.645 * 0.245),
            2.0,
        );
    }

    #[test]
    fn each_further_player_adds_13_bytes_and_reduces_the_skew() {
        let skewness = |values: &[f64]| {
            let (mean, deviation) = moments(values);
            let cube = |value: &f64| ((value - mean) / deviation).powi(3);
            values.iter().map(cube).sum::<f64>() / values.len() as f64
        };
        let mut skews = Vec::new();
        for players in [2, 5, 11, 32] {
            let [_, down] = play(players);
            let expected = 13.0 * f64::from(players) + 53.34;
            assert_near(moments(&down.sizes).0, expected, 0.5);
            skews.push(skewness(&down.sizes));
        }
        assert_near(skews[0], 0.76, 0.12);
        assert!(skews.windows(2).all(|pair| pair[1] < pair[0]), "{skews:?}");
        assert!(skews[3] < 0.25, "{skews:?}");
    }

    /// WLN Fig. 11, computed from its means: (93 · 64.151 + 20 · f(N)) · 8 · N bit/s.
    #[test]
    fn the_nominal_bandwidth_is_that_of_the_published_figure() {
        let nominal = [
            (2, 120.8),
            (3, 187.5),
            (4, 258.3),
            (5, 333.3),
            (6, 412.5),
            (7, 495.8),
            (8, 583.2),
            (9, 674.8),
            (10, 770.6),
            (11, 870.6),
        ];
        for (players, expected) in nominal {
            let [up, down] = play(players);
            let all = f64::from(players) * (up.kbits() + down.kbits());
            assert_near(all, expected, 0.004 * expected);
        }
    }
}
