//! Scores packets that are of no use once they are late, such as a game's: the share of a period's
//! packets that were lost or came after a deadline.
//!
//! A packet that was dropped and one that came too late are the same to a game, because the next
//! packet supersedes both.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::metrics::periods::Periods;
use crate::time::{Duration, Instant};

/// How packets or frames that are worth nothing once they are late are scored.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// One-way delay up to which a packet, or a whole frame, is of use, wide-area delay included. A longer one forgives deeper queues.
    pub deadline: Duration,
    /// Length of a scoring period: one share for each. Shorter periods show shorter disturbances, and tell small shares less apart.
    pub period: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // CableLabs, "Cable Modem Buffer Control", §5.2.1: some games require less than 130 ms round trip; half of it each way.
            deadline: Duration::from_millis(65),
            // A choice: that of calls. 200 packets of a game's server tell shares of 0.5 % apart.
            period: Duration::from_secs(10),
        }
    }
}

/// Reads a table in which a key that is not written has the value of `defaults`, not of a game's.
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

/// The schema of a table that [`read_over`] reads: a definition called `name`, with the values of
/// `defaults`.
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

/// What one scoring period of one direction came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// When the period was over.
    pub ended: Instant,
    /// Share of the packets sent that were lost, or came after the deadline.
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
            // What has not come by its deadline is missed whatever becomes of it.
            periods: Periods::new(config.period, config.deadline),
        }
    }

    /// Length of a period.
    pub fn period(&self) -> Duration {
        self.periods.length()
    }

    /// The first period begins, or goes on, with less than its length `over`.
    pub fn start(&mut self, now: Instant, over: Duration) {
        self.periods.start(now, over);
    }

    /// A packet was sent. First take the scores that are due.
    pub fn sent(&mut self, now: Instant) {
        if let Some(tally) = self.periods.tally(now) {
            tally.sent += 1;
        }
    }

    /// A packet of this direction arrived. The scores that are due may be taken before or after:
    /// only the delay decides whether the packet counts.
    pub fn arrived(&mut self, sent_at: Instant, delay: Duration) {
        if delay <= self.deadline
            && let Some(tally) = self.periods.tally(sent_at)
        {
            tally.in_time += 1;
        }
    }

    /// The score of a period whose grace is over. A period in which nothing was sent has none.
    pub fn score_due(&mut self, now: Instant) -> Option<Score> {
        loop {
            let (ended, Tally { sent, in_time }) = self.periods.due(now)?;
            if sent > 0 {
                let missed = (sent - in_time) as f64 / sent as f64;
                return Some(Score { ended, missed });
            }
        }
    }

    /// Nothing more is sent: when the last score will be due, if one still is.
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

    /// Scores of packets sent every 20 ms for 31 s; `delay` of each packet's number, if it arrives.
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
