//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! SRTT and RTTVAR are exponential averages in whole nanoseconds, updated with every
//! acknowledgement that may be timed.
//!
//! RFC 6298 §2.4 rounds the timeout up to one second. Linux instead rounds four times RTTVAR up to
//! 200 ms, so that the timeout stays above SRTT however steady the path is. `min_rto` and
//! [`MinRtoOf`] choose between the two.
//!
//! Four times RTTVAR count for at least the clock's granularity, G (§2.3). Round trips on a steady
//! path leave hardly any variation; the timeout then stays that far above SRTT all the same.

use super::config::MinRtoOf;
use crate::time::Duration;

/// Estimates the round-trip time and derives the timeout.
#[derive(Debug, Clone)]
pub(super) struct RttEstimator {
    min_rto: Duration,
    min_rto_of: MinRtoOf,
    /// G.
    granularity: Duration,
    max_rto: Duration,
    srtt: Option<Duration>,
    rttvar: Duration,
    min_rtt: Option<Duration>,
    /// The latest sample.
    latest: Option<Duration>,
    /// RTO without backing off.
    base_rto: Duration,
    /// How often the timeout has been doubled.
    backoff: u32,
}

impl RttEstimator {
    /// An estimator without samples.
    pub(super) fn new(
        initial_rto: Duration,
        min_rto: Duration,
        min_rto_of: MinRtoOf,
        granularity: Duration,
        max_rto: Duration,
    ) -> Self {
        Self {
            min_rto,
            min_rto_of,
            granularity,
            max_rto,
            srtt: None,
            rttvar: Duration::ZERO,
            min_rtt: None,
            latest: None,
            base_rto: initial_rto.min(max_rto),
            backoff: 0,
        }
    }

    /// Takes a sample into SRTT, RTTVAR and RTO.
    pub(super) fn sample(&mut self, rtt: Duration) {
        let rtt_ns = rtt.as_nanos();
        let srtt = if let Some(srtt) = self.srtt {
            // RFC 6298 §2.3: β = 1/4, α = 1/8; RTTVAR first, with the old SRTT.
            let srtt_ns = srtt.as_nanos();
            let deviation = srtt_ns.abs_diff(rtt_ns);
            self.rttvar = Duration::from_nanos((3 * self.rttvar.as_nanos() + deviation) / 4);
            Duration::from_nanos((7 * srtt_ns + rtt_ns) / 8)
        } else {
            // RFC 6298 §2.2.
            self.rttvar = rtt / 2;
            rtt
        };
        self.srtt = Some(srtt);
        self.latest = Some(rtt);
        let variation = (self.rttvar * 4).max(self.granularity);
        let rto = match self.min_rto_of {
            MinRtoOf::Timeout => (srtt + variation).max(self.min_rto),
            MinRtoOf::Variation => srtt + variation.max(self.min_rto),
        };
        self.base_rto = rto.min(self.max_rto);
    }

    /// Takes a round-trip time into the minimum alone.
    pub(super) fn observe(&mut self, rtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    /// The timer has expired: RFC 6298 §5.5 doubles the timeout.
    pub(super) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// New data was acknowledged: the timeout is computed from the averages again.
    pub(super) fn reset_backoff(&mut self) {
        self.backoff = 0;
    }

    /// The handshake needed a retransmission: RFC 6298 §5.7 starts data with at least 3 s if no
    /// sample could be taken.
    pub(super) fn handshake_was_repeated(&mut self, initial_rto: Duration) {
        self.backoff = 0;
        if self.srtt.is_none() {
            let longer = initial_rto.max(Duration::from_secs(3));
            self.base_rto = longer.min(self.max_rto);
        }
    }

    /// How often in a row the timer has expired.
    pub(super) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The retransmission timeout.
    pub(super) fn rto(&self) -> Duration {
        if self.backoff == 0 {
            return self.base_rto;
        }
        (self.base_rto * (1 << self.backoff.min(32))).min(self.max_rto)
    }

    /// Smoothed round-trip time.
    pub(super) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// RTTVAR.
    pub(super) fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// The latest sample.
    pub(super) fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// Smallest round-trip time so far.
    pub(super) fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn estimator() -> RttEstimator {
        RttEstimator::new(ms(1000), ms(200), MinRtoOf::Variation, ms(4), ms(60_000))
    }

    fn of_the_rfc(min_rto: Duration, granularity: Duration) -> RttEstimator {
        let of = MinRtoOf::Timeout;
        RttEstimator::new(ms(1000), min_rto, of, granularity, ms(60_000))
    }

    #[test]
    fn the_rfc_rounds_the_whole_timeout_up() {
        let mut rtt = of_the_rfc(ms(1000), ms(1));
        rtt.sample(ms(100));
        assert_eq!(rtt.rto(), ms(1000), "100 + 4 · 50");
        rtt.sample(ms(1000));
        assert!(rtt.rto() > ms(1000));
    }

    #[test]
    fn averages_and_timeout_follow_the_rfc() {
        let mut rtt = estimator();
        assert_eq!(rtt.rto(), ms(1000), "before the first sample");
        let expected = [
            (1000, 1_000_000_000, 3_000_000_000),
            (1200, 1_025_000_000, 2_725_000_000),
            (900, 1_009_375_000, 2_409_375_000),
        ];
        for (sample, srtt, rto) in expected {
            rtt.sample(ms(sample));
            assert_eq!(rtt.srtt(), Some(Duration::from_nanos(srtt)));
            assert_eq!(rtt.rto(), Duration::from_nanos(rto));
        }
    }

    #[test]
    fn on_a_steady_path_the_timeout_stays_min_rto_above_the_round_trip() {
        let mut rtt = estimator();
        for _ in 0..100 {
            rtt.sample(ms(500));
        }
        assert_eq!(rtt.rto(), ms(700));
    }

    #[test]
    fn on_a_steady_path_the_rfcs_timeout_stays_the_clocks_granularity_above_the_round_trip() {
        for (granularity, expected) in [(0, 300), (1, 301), (100, 400)] {
            let mut rtt = of_the_rfc(ms(200), ms(granularity));
            for _ in 0..200 {
                rtt.sample(ms(300));
            }
            assert_eq!(rtt.rto(), ms(expected));
        }
        let mut varying = of_the_rfc(ms(200), ms(100));
        varying.sample(ms(300));
        assert_eq!(varying.rto(), ms(300 + 4 * 150), "a larger variation");
        let mut short = of_the_rfc(ms(200), ms(100));
        for _ in 0..200 {
            short.sample(ms(50));
        }
        assert_eq!(short.rto(), ms(200), "the least timeout");
    }

    #[test]
    fn the_timeout_doubles_up_to_its_limit_and_falls_back_at_once() {
        let mut rtt = estimator();
        let mut timeouts = Vec::new();
        for _ in 0..8 {
            timeouts.push(rtt.rto().as_nanos() / 1_000_000_000);
            rtt.back_off();
        }
        assert_eq!(timeouts, [1, 2, 4, 8, 16, 32, 60, 60]);
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), ms(60_000));
        rtt.reset_backoff();
        assert_eq!(rtt.rto(), ms(1000));
    }

    #[test]
    fn after_a_repeated_handshake_data_starts_with_three_seconds_unless_it_was_timed() {
        let mut untimed = estimator();
        untimed.back_off();
        untimed.handshake_was_repeated(Duration::from_secs(1));
        assert_eq!(untimed.rto(), ms(3000));
        let mut timed = estimator();
        timed.sample(ms(100));
        timed.handshake_was_repeated(Duration::from_secs(1));
        assert_eq!(timed.rto(), ms(300));
    }

    #[test]
    fn the_minimum_is_kept_apart_from_the_averages() {
        let mut rtt = estimator();
        rtt.observe(ms(30));
        rtt.observe(ms(20));
        rtt.observe(ms(40));
        assert_eq!((rtt.min_rtt(), rtt.srtt()), (Some(ms(20)), None));
    }
}
