//! Datagrams with random sizes and intervals, which each side draws from distributions of its own.
//! Published models of games have this form.
//!
//! Each side has its own stream of random numbers, forked from the application's at its start. What
//! a side sends, and when, thus depends neither on the network nor on the other side.

use super::AppContext;
use super::scored::Source;
use crate::flow::FlowId;
use crate::math;
use crate::packet::Side;
use crate::rng::Rng;
use crate::time::Duration;

/// A probability distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Distribution {
    /// A constant.
    Always(f64),
    /// One of two values with equal probability.
    Either(f64, f64),
    /// Log-normal: mean, and standard deviation of the natural logarithm.
    LogNormal { mean: f64, sigma: f64 },
    /// Normal.
    Normal { mean: f64, deviation: f64 },
    /// Uniform between two bounds.
    Uniform { low: f64, high: f64 },
}

impl Distribution {
    /// The log-normal distribution with this mean and standard deviation.
    pub(super) fn log_normal(mean: f64, deviation: f64) -> Self {
        let spread = deviation / mean;
        Self::LogNormal {
            mean,
            sigma: math::ln(1.0 + spread * spread).sqrt(),
        }
    }

    /// Draws the next number.
    pub(super) fn draw(self, rng: &mut Rng) -> f64 {
        match self {
            Self::Always(value) => value,
            Self::Either(one, other) => [one, other][rng.below(2) as usize],
            Self::LogNormal { mean, sigma } => {
                // E[exp(sigma · N)] = exp(sigma² / 2).
                mean * math::exp(sigma * (rng.normal() - sigma / 2.0))
            }
            Self::Normal { mean, deviation } => mean + deviation * rng.normal(),
            Self::Uniform { low, high } => low + (high - low) * rng.uniform(),
        }
    }
}

/// Distributions of one side's packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Half {
    /// Time between two packets, seconds.
    pub(super) gap: Distribution,
    /// Size of a packet, IP bytes.
    pub(super) size: Distribution,
}

impl Half {
    /// Draws a gap. It is at least 1 µs; smaller values of the distribution are raised to it.
    fn gap(&self, rng: &mut Rng) -> Duration {
        Duration::from_nanos((self.gap.draw(rng).max(1e-6) * 1e9).round() as u64)
    }

    /// Draws a size in whole bytes, limited to the sizes of IP packets with at least one byte of
    /// data.
    fn size(&self, rng: &mut Rng) -> u16 {
        self.size.draw(rng).round().clamp(29.0, 65535.0) as u16
    }
}

/// A stream of datagrams, in one or both directions.
#[derive(Debug)]
pub(super) struct DrawnStream {
    halves: [Half; 2],
    /// Which sides send.
    sides: [bool; 2],
    /// Random numbers of each side, once started.
    rngs: Option<[Rng; 2]>,
    /// Sequence number of each side's next packet.
    next: [u64; 2],
    flow: Option<FlowId>,
}

impl DrawnStream {
    /// Creates a stream from `sides`; `halves` are by sending side.
    pub(super) fn new(halves: [Half; 2], sides: [bool; 2]) -> Self {
        Self {
            halves,
            sides,
            rngs: None,
            next: [0; 2],
            flow: None,
        }
    }
}

impl Source for DrawnStream {
    fn start(&mut self, cx: &mut AppContext<'_>) {
        self.flow = Some(cx.open_datagrams(0));
        // Both sides draw random numbers even if only one sends: a side's packets do not depend on
        // the other side.
        let mut rngs = [cx.rng.fork(), cx.rng.fork()];
        for side in Side::BOTH {
            let rng = &mut rngs[side.index()];
            // The first packet is sent at a random time within an interval.
            let gap = self.halves[side.index()].gap(rng);
            let wait = rng.span(gap);
            if self.sides[side.index()] {
                cx.wake_at(cx.now + wait, side.index() as u64);
            }
        }
        self.rngs = Some(rngs);
    }

    fn tick(&mut self, token: u64, cx: &mut AppContext<'_>) -> Option<Side> {
        let (flow, rngs) = (self.flow?, self.rngs.as_mut()?);
        let side = Side::BOTH[token as usize];
        let (half, rng) = (&self.halves[side.index()], &mut rngs[side.index()]);
        let number = &mut self.next[side.index()];
        cx.datagram(flow, side, *number, half.size(rng));
        *number += 1;
        cx.wake_at(cx.now + half.gap(rng), token);
        Some(side)
    }

    fn stop(&mut self) {
        self.flow = None;
    }
}

/// Records what a side sends, for tests that compare it with the published distribution.
#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::endpoint::Command;
    use crate::time::Instant;
    use crate::traffic::testing::Bench;
    use crate::traffic::{AppEvent, Application};

    /// The packets of one side: sizes in bytes, and gaps between them in seconds.
    #[derive(Debug, Default, Clone)]
    pub(in crate::traffic) struct Sent {
        pub(in crate::traffic) sizes: Vec<f64>,
        pub(in crate::traffic) gaps: Vec<f64>,
        seconds: f64,
    }

    impl Sent {
        /// Packets per second.
        pub(in crate::traffic) fn rate(&self) -> f64 {
            self.sizes.len() as f64 / self.seconds
        }

        /// Rate of the IP packets, kbit/s.
        pub(in crate::traffic) fn kbits(&self) -> f64 {
            self.sizes.iter().sum::<f64>() * 8.0 / 1000.0 / self.seconds
        }
    }

    /// Runs an application for `seconds` and returns the packets that it sends, by side.
    pub(in crate::traffic) fn watch(app: &mut dyn Application, seconds: u64) -> [Sent; 2] {
        let mut sent = [Sent::default(), Sent::default()];
        let mut last = [None; 2];
        let end = Instant::ZERO + Duration::from_secs(seconds);
        let mut bench = Bench::new(1);
        bench.notify(app, AppEvent::Started);
        while let Some((at, token)) = bench.next_timer()
            && at < end
        {
            bench.notify(app, AppEvent::Timer { token });
            for (_, side, command) in bench.commands() {
                let Command::Datagram { size, .. } = command else {
                    panic!("only datagrams are sent")
                };
                let own = &mut sent[side.index()];
                own.sizes.push(f64::from(size));
                let before: Option<Instant> = last[side.index()].replace(at);
                own.gaps
                    .extend(before.map(|before| (at - before).as_secs_f64()));
                own.seconds = seconds as f64;
            }
        }
        sent
    }

    /// Mean and standard deviation.
    pub(in crate::traffic) fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = |value: &f64| (value - mean) * (value - mean);
        (
            mean,
            (values.iter().map(square).sum::<f64>() / values.len() as f64).sqrt(),
        )
    }

    /// The quantile at `share`.
    pub(in crate::traffic) fn quantile(values: &[f64], share: f64) -> f64 {
        let mut ordered = values.to_vec();
        ordered.sort_by(f64::total_cmp);
        ordered[((ordered.len() - 1) as f64 * share).round() as usize]
    }

    #[track_caller]
    pub(in crate::traffic) fn assert_near(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() <= tolerance,
            "{value} is not {expected} ± {tolerance}"
        );
    }
}

#[cfg(test)]
#[allow(
    clippy::float_cmp,
    reason = "what is expected is computed as it is measured, or nothing at all"
)]
mod tests {
    use super::testing::{assert_near, moments, quantile};
    use super::*;
    use crate::traffic::testing::Bench;

    fn draws(distribution: Distribution) -> Vec<f64> {
        let mut rng = Rng::for_path(1, "law");
        (0..100_000).map(|_| distribution.draw(&mut rng)).collect()
    }

    #[test]
    fn distributions_have_their_moments_and_quantiles() {
        let normal = draws(Distribution::Normal {
            mean: 100.0,
            deviation: 10.0,
        });
        let (mean, deviation) = moments(&normal);
        assert_near(mean, 100.0, 0.15);
        assert_near(deviation, 10.0, 0.1);
        assert_near(quantile(&normal, 0.975), 119.6, 0.3);

        let log_normal = draws(Distribution::log_normal(100.0, 30.0));
        let (mean, deviation) = moments(&log_normal);
        assert_near(mean, 100.0, 0.4);
        assert_near(deviation, 30.0, 0.4);
        // The median is the mean divided by the square root of 1 + 0.3².
        assert_near(quantile(&log_normal, 0.5), 95.78, 0.4);

        let either = draws(Distribution::Either(1.0, 2.0));
        assert_near(moments(&either).0, 1.5, 0.006);
        assert!(either.iter().all(|&value| value == 1.0 || value == 2.0));

        let uniform = draws(Distribution::Uniform {
            low: 2.0,
            high: 4.0,
        });
        let (mean, deviation) = moments(&uniform);
        assert_near(mean, 3.0, 0.01);
        assert_near(deviation, 2.0 / 12.0_f64.sqrt(), 0.005);
        assert!(uniform.iter().all(|value| (2.0..4.0).contains(value)));
        assert!(
            draws(Distribution::Always(7.0))
                .iter()
                .all(|&value| value == 7.0)
        );
    }

    fn sends(sides: [bool; 2]) -> Vec<(u64, Side, crate::endpoint::Command)> {
        let half = Half {
            gap: Distribution::Uniform {
                low: 0.01,
                high: 0.03,
            },
            size: Distribution::log_normal(200.0, 50.0),
        };
        let mut stream = DrawnStream::new([half; 2], sides);
        let mut bench = Bench::new(1);
        stream.start(&mut bench.context());
        (0..200)
            .map(|_| {
                let (at, token) = bench.next_timer().expect("it goes on");
                stream.tick(token, &mut bench.context()).expect("running");
                let (_, side, command) = bench.commands()[0];
                (at.as_nanos(), side, command)
            })
            .collect()
    }

    #[test]
    fn a_side_sends_the_same_alone_and_with_the_other() {
        let both = sends([true; 2]);
        for (side, sides) in [(Side::Host, [true, false]), (Side::Peer, [false, true])] {
            let alone = sends(sides);
            let own: Vec<_> = both.iter().filter(|sent| sent.1 == side).copied().collect();
            assert!(own.len() > 90);
            assert_eq!(alone[..own.len()], own);
        }
    }
}
