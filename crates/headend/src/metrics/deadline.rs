//! Scores packets that are useless when they are late, such as those of a game: the share of a
//! period's packets that were lost or arrived after a deadline.
//!
//! To a game, a dropped packet and a late one are the same, because the next packet supersedes
//! both.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::metrics::periods::Periods;
use crate::time::{Duration, Instant};

/// How packets or frames that are useless when they are late are scored.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// One-way delay up to which a packet, or a whole frame, is useful, wide-area delay included. A
    /// longer deadline tolerates deeper queues.
    pub deadline: Duration,
    /// Length of a scoring period; each period has one share. Shorter periods show shorter
    /// disturbances, but a small share is measured less exactly.
    pub period: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // CableLabs, "Cable Modem Buffer Control", §5.2.1: some games require less than 130 ms
            // round trip. Half of it is for each way.
            deadline: Duration::from_millis(65),
            // Choice: the period of calls. 200 packets of a game's server distinguish shares of 0.5
            // %.
            period: Duration::from_secs(10),
        }
    }
}

/// Reads a table in which a missing key has its value in `defaults`, not the one for games.
pub(crate) fn read_over<'de, D: serde::Deserializer<'de>>(
    reader: D,
    defaults: &Config,
) -> Result<Config, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        deadline: Option<Duration>,
        period: Option<Duration>,
    }
    let written = <Written as serde::Deserialize>::deserialize(reader)?;
    Ok(Config {
        deadline: written.deadline.unwrap_or(defaults.deadline),
        period: written.period.unwrap_or(defaults.period),
    })
}

/// The schema of a table that [`read_over`] reads: a definition with the name `name` and the values
/// of `defaults`.
pub(crate) fn schema_over(
    generator: &mut SchemaGenerator,
    name: &str,
    defaults: &Config,
) -> Schema {
    let mut schema = Config::json_schema(generator);
    for (key, value) in [("deadline", defaults.deadline), ("period", defaults.period)] {
        let key = schema.pointer_mut(&format!("/properties/{key}/default"));
        *key.expect("keys of the table have defaults") = Value::String(value.to_string());
    }
    let definitions = generator.definitions_mut();
    definitions.insert(name.to_owned(), schema.to_value());
    Schema::new_ref(format!("#{}/{name}", generator.settings().definitions_path))
}

/// The score of one scoring period of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The end of the period.
    pub ended: Instant,
    /// The share of the sent packets that were lost or arrived after the deadline.
    pub missed: f64,
}

/// Scores one direction of a game, period by period.
#[derive(Debug)]
pub struct Scorer {
    deadline: Duration,
    periods: Periods<Tally>,
}

#[derive(Debug, Clone, Default)]
struct Tally {
    sent: u64,
    in_time: u64,
}

impl Scorer {
    /// A scorer of packets that are sent from now on.
    pub fn new(config: &Config) -> Self {
        Self {
            deadline: config.deadline,
            // A packet that has not arrived by its deadline is missed, whatever happens to it
            // later.
            periods: Periods::new(config.period, config.deadline),
        }
    }

    /// The length of a period.
    pub fn period(&self) -> Duration {
        self.periods.length()
    }

    /// Starts the first period, or continues it, shortened by `over`.
    pub fn start(&mut self, now: Instant, over: Duration) {
        self.periods.start(now, over);
    }

    /// Records that a packet was sent. The scores that are due must be taken first.
    pub fn sent(&mut self, now: Instant) {
        if let Some(tally) = self.periods.tally(now) {
            tally.sent += 1;
        }
    }

    /// Records that a packet of this direction arrived. The scores that are due may be taken before
    /// or after: only the delay decides whether the packet counts.
    pub fn arrived(&mut self, sent_at: Instant, delay: Duration) {
        if delay <= self.deadline
            && let Some(tally) = self.periods.tally(sent_at)
        {
            tally.in_time += 1;
        }
    }

    /// The score of a period whose grace is over. A period in which nothing was sent has no score.
    pub fn score_due(&mut self, now: Instant) -> Option<Score> {
        loop {
            let (ended, Tally { sent, in_time }) = self.periods.due(now)?;
            if sent > 0 {
                let missed = (sent - in_time) as f64 / sent as f64;
                return Some(Score { ended, missed });
            }
        }
    }

    /// Ends the traffic. Returns when the last score will be due, if there is one more.
    pub fn stop(&mut self, now: Instant) -> Option<Instant> {
        self.periods.stop(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// The scores of packets sent every 20 ms for 31 s. `delay` gives a packet's delay by its
    /// number, or `None` if the packet is lost.
    fn scores(delay: impl Fn(u64) -> Option<Duration>) -> Vec<Score> {
        let mut judge = Scorer::new(&Config::default());
        let mut scores = Vec::new();
        let mut arrivals: Vec<(Instant, Instant)> = Vec::new();
        judge.start(Instant::ZERO, Duration::ZERO);
        for number in 0..1550 {
            let now = Instant::ZERO + ms(20 * number);
            arrivals.retain(|&(sent_at, at)| {
                if at <= now {
                    scores.extend(std::iter::from_fn(|| judge.score_due(at)));
                    judge.arrived(sent_at, at - sent_at);
                }
                at > now
            });
            scores.extend(std::iter::from_fn(|| judge.score_due(now)));
            judge.sent(now);
            arrivals.extend(delay(number).map(|delay| (now, now + delay)));
        }
        scores
    }

    #[test]
    fn late_and_lost_packets_are_missed_and_those_at_the_deadline_are_not() {
        let scores = scores(|number| match number % 10 {
            3 => None,
            7 => Some(ms(66)),
            _ => Some(ms(65)),
        });
        let missed: Vec<f64> = scores.iter().map(|score| score.missed).collect();
        assert_eq!(missed, [0.2; 3]);
        assert_eq!(scores[2].ended, Instant::ZERO + Duration::from_secs(30));
    }

    #[test]
    fn a_disturbance_shows_in_its_own_period_only() {
        let scores = scores(|number| (!(600..650).contains(&number)).then_some(ms(5)));
        let missed: Vec<f64> = scores.iter().map(|score| score.missed).collect();
        assert_eq!(missed, [0.0, 0.1, 0.0]);
    }
}
