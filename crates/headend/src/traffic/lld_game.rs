//! A modern game: one player and the server, as in CableLabs' studies of low-latency DOCSIS.
//!
//! Its packets are larger and fewer than those of games twenty years older, and more data is sent
//! down than up. docs/models/games.md has the distributions and the checks.

use super::definition::{About, Definition, Fault, Property, ensure_scoring};
use super::drawn::{Distribution, DrawnStream, Half};
use super::memory::{Datagrams, Own, Setting};
use super::scored::{self, Scored};
use super::{AppContext, AppEvent, Application, Direction};
use crate::metrics::deadline;
use crate::time::Duration;

/// Parameters of a player of a modern game.
///
/// Use it for a modern game, also in studies of low-latency DOCSIS: give it a DSCP or an L4S queue
/// of its own.
///
/// Source: the gaming model of CableLabs' simulations of low-latency DOCSIS, by its published
/// parameters.
#[derive(
    Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How the game is scored.
    pub scoring: deadline::Config,
}

/// Distributions of the client's and the server's packets, by side. The model gives mean and
/// variance of each UDP payload in bytes (82 and 404 B; with headers, frames of 128 and 450 B), and
/// intervals of 33 ms "± 3" and "± 5", read here as uniform
/// distributions.
const HALVES: [Half; 2] = [
    Half {
        gap: Distribution::Uniform {
            low: 0.03,
            high: 0.036,
        },
        size: Distribution::Normal {
            mean: 110.0,
            deviation: 20.0,
        },
    },
    Half {
        gap: Distribution::Uniform {
            low: 0.028,
            high: 0.038,
        },
        size: Distribution::Normal {
            mean: 432.0,
            deviation: 120.0,
        },
    },
];

impl Definition for Config {
    fn about() -> About {
        About {
            name: "lld_game",
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
        ensure_scoring(&self.scoring)
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(LldGame::new(self, direction))
    }

    fn datagrams(&self, _direction: Direction) -> Datagrams {
        Datagrams::both(Duration::from_millis(10), 60.0)
    }

    fn own_bytes(&self) -> Own {
        Own::scored("lld_game.scoring", &self.scoring, 0.0)
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.scoring.period, 2.0)
    }
}

/// A player of a modern game, and the server.
#[derive(Debug)]
pub struct LldGame(Scored<DrawnStream>);

impl LldGame {
    /// Creates a game that starts on [`AppEvent::Started`].
    pub fn new(config: &Config, direction: Direction) -> Self {
        let stream = DrawnStream::new(HALVES, direction.sides());
        Self(Scored::new(stream, &config.scoring))
    }
}

impl Application for LldGame {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        self.0.on(event, cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::drawn::testing::{assert_near, moments, quantile, watch};

    #[test]
    fn both_sides_have_their_published_distributions() {
        let sent = watch(&mut LldGame::new(&Config::default(), Direction::Both), 1800);
        let published = [(110.0, 20.0, 0.003), (432.0, 120.0, 0.005)];
        for (own, (mean, deviation, jitter)) in sent.iter().zip(published) {
            assert_near(own.rate(), 1.0 / 0.033, 0.05);
            let (gap, spread) = moments(&own.gaps);
            assert_near(gap, 0.033, 5e-5);
            assert_near(spread, jitter / 3.0_f64.sqrt(), 0.02 * jitter);
            assert!(
                own.gaps
                    .iter()
                    .all(|gap| (gap - 0.033).abs() <= jitter + 1e-9)
            );
            let found = moments(&own.sizes);
            assert_near(found.0, mean, 0.004 * mean);
            assert_near(found.1, deviation, 0.02 * deviation);
            for (share, deviations) in [(0.05, -1.645), (0.5, 0.0), (0.95, 1.645)] {
                let expected = mean + deviations * deviation;
                assert_near(
                    quantile(&own.sizes, share),
                    expected,
                    0.05 * deviation + 0.5,
                );
            }
        }
    }
}
