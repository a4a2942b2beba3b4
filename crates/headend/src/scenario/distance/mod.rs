//! Round-trip times that are drawn: from a table of sites, evenly between two times, or from a
//! distribution.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod sites;

pub use sites::{Place, Site};

use super::error::ScenarioError;
use super::times::check_delay;
use crate::math;
use crate::named::OrTable;
use crate::rng::Rng;
use crate::time::Duration;

/// Where a round-trip time is drawn from: one of `sites`, `from` with `to`, `normal` and
/// `log_normal`. Every member of a flow with a `count` draws its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RttFrom {
    /// The mean round-trip times to popular sites of one city, or of all three, each site as likely
    /// as the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sites: Option<Place>,
    /// Evenly: the shortest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Duration>,
    /// Evenly: the longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Duration>,
    /// A normal distribution, of which no time below zero is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normal: Option<Normal>,
    /// A log-normal distribution: many near, some far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_normal: Option<LogNormal>,
}

/// A normal distribution of times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Normal {
    /// Its mean.
    pub mean: Duration,
    /// Its standard deviation.
    pub deviation: Duration,
}

/// A log-normal distribution of times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormal {
    /// Half of the times are below it.
    pub median: Duration,
    /// Standard deviation of the logarithm: of 0.5, two in three are within a factor of 1.6 of the
    /// median.
    pub sigma: f64,
}

/// The largest standard deviation of the logarithm: one time in fifty is then more than a factor of
/// a thousand away from the median.
const MOST_SIGMA: f64 = 3.0;

impl RttFrom {
    /// The times in it, each with its key.
    pub(super) fn times(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        [
            ("from", self.from),
            ("to", self.to),
            (
                "normal.mean",
                self.normal.as_ref().map(|normal| normal.mean),
            ),
            (
                "normal.deviation",
                self.normal.as_ref().map(|normal| normal.deviation),
            ),
            (
                "log_normal.median",
                self.log_normal.as_ref().map(|normal| normal.median),
            ),
        ]
        .into_iter()
        .filter_map(|(key, time)| Some((key, time?)))
    }

    /// Refuses what makes no sense: gives the key, or nothing for the whole table, and the reason.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let ways = [
            self.sites.is_some(),
            self.from.is_some() || self.to.is_some(),
            self.normal.is_some(),
            self.log_normal.is_some(),
        ];
        if ways.into_iter().filter(|given| *given).count() != 1 {
            let why = "expected one of `sites`, `from` with `to`, `normal` and `log_normal`";
            return Err(("", why.to_owned()));
        }
        match (self.from, self.to) {
            (Some(from), Some(to)) if to < from => {
                return Err(("to", format!("the longest, {to}, is below the shortest")));
            }
            (Some(_), None) => return Err(("from", "expected a `to` beside it".to_owned())),
            (None, Some(_)) => return Err(("to", "expected a `from` beside it".to_owned())),
            _ => {}
        }
        match &self.normal {
            Some(normal) if normal.mean < normal.deviation => {
                let why = format!(
                    "expected at most the mean, {}: of a wider one too many times would be below \
                     zero",
                    normal.mean
                );
                return Err(("normal.deviation", why));
            }
            _ => {}
        }
        match &self.log_normal {
            Some(normal) if !(0.0..=MOST_SIGMA).contains(&normal.sigma) => {
                let why = format!("expected a number from 0 to {MOST_SIGMA}");
                Err(("log_normal.sigma", why))
            }
            _ => Ok(()),
        }
    }

    /// Draws a time, at most `longest`.
    pub(super) fn draw(&self, longest: Duration, rng: &mut Rng) -> Duration {
        let nanos = |nanos: f64| Duration::from_nanos(nanos as u64);
        let drawn = if let Some(place) = self.sites {
            place.draw(rng)
        } else if let (Some(from), Some(to)) = (self.from, self.to) {
            from + rng.span(to - from)
        } else if let Some(Normal { mean, deviation }) = self.normal {
            let [mean, deviation] = [mean, deviation].map(|time| time.as_nanos() as f64);
            let mut draws = std::iter::repeat_with(|| mean + deviation * rng.normal());
            nanos(draws.find(|&time| time >= 0.0).unwrap_or(mean))
        } else if let Some(LogNormal { median, sigma }) = self.log_normal {
            nanos(median.as_nanos() as f64 * math::exp(sigma * rng.normal()))
        } else {
            unreachable!("the check wants one of them")
        };
        drawn.min(longest)
    }
}

/// Refuses a round-trip time that makes no sense.
pub(super) fn check_rtt(
    path: &str,
    rtt: Option<&OrTable<Duration, RttFrom>>,
) -> Result<(), ScenarioError> {
    match rtt {
        Some(OrTable::Plain(rtt)) => check_delay(path, *rtt),
        Some(OrTable::Table(from)) => {
            from.check().map_err(|(key, why)| {
                let dot = if key.is_empty() { "" } else { "." };
                ScenarioError::invalid(format!("{path}{dot}{key}"), why)
            })?;
            for (key, time) in from.times() {
                check_delay(&format!("{path}.{key}"), time)?;
            }
            Ok(())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(60);

    fn read(text: &str) -> RttFrom {
        toml::from_str(text).expect("a good table")
    }

    /// Milliseconds, in rising order.
    fn draws(text: &str) -> Vec<f64> {
        let from = read(text);
        assert_eq!(from.check(), Ok(()));
        let mut rng = Rng::for_path(1, "flow.a.rtt");
        let mut times: Vec<f64> = (0..20_001)
            .map(|_| from.draw(LONGEST, &mut rng).as_nanos() as f64 / 1e6)
            .collect();
        times.sort_by(f64::total_cmp);
        times
    }

    #[test]
    fn times_are_spread_as_written() {
        let even = draws("from = '20 ms'\nto = '100 ms'");
        assert!(even[0] >= 20.0 && even[20_000] < 100.0);
        // A quarter below 40 ms, half below 60 ms: ± 4 standard deviations of a share of 20 001.
        for (share, expected) in [(0.25, 40.0), (0.5, 60.0), (0.75, 80.0)] {
            let found = even[(share * 20_000.0) as usize];
            assert!(
                (found - expected).abs() < 80.0 * 4.0 * 0.5 / 141.0,
                "{found}"
            );
        }
        let normal = draws("normal = { mean = '50 ms', deviation = '10 ms' }");
        assert!((normal[10_000] - 50.0).abs() < 0.4);
        // One deviation below the mean is the 15.87th percentile.
        assert!((normal[3173] - 40.0).abs() < 0.5, "{}", normal[3173]);
        let skewed = draws("log_normal = { median = '50 ms', sigma = 0.5 }");
        assert!((skewed[10_000] - 50.0).abs() < 1.0);
        assert!(
            (skewed[16_827] / 50.0 - math::exp(0.5)).abs() < 0.05,
            "{}",
            skewed[16_827]
        );
    }

    #[test]
    fn a_wide_normal_distribution_is_cut_at_zero() {
        let times = draws("normal = { mean = '10 ms', deviation = '10 ms' }");
        assert!(times[0] >= 0.0 && times[0] < 0.1);
    }

    #[test]
    fn exactly_one_way_to_draw_is_given_and_whole() {
        let fault = |text: &str| read(text).check().expect_err(text).0;
        assert_eq!(fault(""), "");
        assert_eq!(fault("sites = 'all'\nfrom = '1 ms'\nto = '2 ms'"), "");
        assert_eq!(fault("from = '1 ms'"), "from");
        assert_eq!(fault("to = '1 ms'"), "to");
        assert_eq!(fault("from = '2 ms'\nto = '1 ms'"), "to");
        assert_eq!(
            fault("normal = { mean = '1 ms', deviation = '2 ms' }"),
            "normal.deviation"
        );
        assert_eq!(
            fault("log_normal = { median = '1 ms', sigma = -1.0 }"),
            "log_normal.sigma"
        );
        assert_eq!(
            fault("log_normal = { median = '1 ms', sigma = nan }"),
            "log_normal.sigma"
        );
    }
}
