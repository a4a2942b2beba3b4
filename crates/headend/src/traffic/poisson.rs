//! Poisson arrivals: datagrams at random times, of constant or exponential size.
//!
//! Queueing theory has formulas for this traffic: with constant sizes a link is an M/D/1 queue,
//! with exponential sizes an M/M/1 queue. It is also the usual model for the sum of many small
//! users.

use super::definition::{About, Definition, Fault, ensure_datagram, ensure_gap, ensure_rate};
use super::memory::Datagrams;
use super::{AppContext, AppEvent, Application, Direction};
use crate::flow::FlowId;
use crate::packet::Side;
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

/// Parameters of a Poisson source.
///
/// Use it where queueing theory has a formula to compare with, or for the sum of many small users.
///
/// Source: the M/D/1 and M/M/1 queues of the textbooks.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Mean rate in IP bytes. The closer it is to the line's rate, the longer is the queue.
    pub rate: Rate,
    /// Mean time between two packets; if given, it replaces `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Duration>,
    /// Mean size of a packet, IP bytes.
    pub size: ByteCount,
    /// Distribution of the packet sizes: `equal` (M/D/1) or `exponential` (M/M/1).
    pub sizes: Sizes,
}

/// Distribution of the packet sizes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    /// All packets are equal.
    Equal,
    /// Exponential, rounded to whole bytes and limited to 29 B … 65535 B. The mean stays within 0.3
    /// % for means of 400 B … 8000 B.
    Exponential,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // A choice: the load of the constant-bit-rate source, so that the two can be compared.
            rate: Rate(6_000_000),
            gap: None,
            size: ByteCount(1000),
            sizes: Sizes::Equal,
        }
    }
}

impl Config {
    fn mean_gap(&self) -> Duration {
        self.gap.unwrap_or_else(|| self.rate.time_for(self.size.0))
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "poisson",
            properties: &[],
            measures: &[],
        }
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Up, Direction::Down]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure_datagram(self.size, "size")?;
        match self.gap {
            Some(gap) => ensure_gap(gap, "gap"),
            None => ensure_rate(self.rate, self.size, "rate"),
        }
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Poisson::new(self, direction.sender()))
    }

    fn datagrams(&self, direction: Direction) -> Datagrams {
        Datagrams::of_rate(direction, self.rate, self.gap, self.size.0)
    }
}

/// A source of datagrams at random times.
#[derive(Debug)]
pub struct Poisson {
    from: Side,
    mean_gap: f64,
    size: u16,
    sizes: Sizes,
    flow: Option<FlowId>,
    number: u64,
}

impl Poisson {
    /// Creates a source on side `from` that starts on [`AppEvent::Started`].
    pub fn new(config: &Config, from: Side) -> Self {
        Self {
            from,
            mean_gap: config.mean_gap().as_nanos() as f64,
            size: config.size.0 as u16,
            sizes: config.sizes,
            flow: None,
            number: 0,
        }
    }

    /// A gap is drawn before the packet that ends it, and a size when its packet is sent. The draws
    /// do not depend on anything else.
    fn wait(&mut self, cx: &mut AppContext<'_>) {
        let gap = cx.rng.exponential(self.mean_gap).round() as u64;
        cx.wake_at(cx.now + Duration::from_nanos(gap), 0);
    }

    fn send(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        let size = match self.sizes {
            Sizes::Equal => self.size,
            Sizes::Exponential => {
                let size = cx.rng.exponential(f64::from(self.size)).round();
                size.clamp(29.0, 65535.0) as u16
            }
        };
        cx.datagram(flow, self.from, self.number, size);
        self.number += 1;
    }
}

impl Application for Poisson {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match (event, self.flow) {
            (AppEvent::Started, _) => {
                self.flow = Some(cx.open_datagrams(0));
                // A Poisson process has no packet at its start, so that the first gap is random as
                // well.
                self.wait(cx);
            }
            (AppEvent::Stopped, _) => self.flow = None,
            (AppEvent::Timer { .. }, Some(flow)) => {
                self.send(flow, cx);
                self.wait(cx);
            }
            (AppEvent::Timer { .. } | AppEvent::Flow { .. }, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::traffic::testing::Bench;

    /// Gaps in nanoseconds and sizes of `count` packets.
    fn draw(config: &Config, count: usize) -> (Vec<f64>, Vec<f64>) {
        let mut source = Poisson::new(config, Side::Host);
        let mut bench = Bench::new(1);
        bench.notify(&mut source, AppEvent::Started);
        let mut last = 0;
        (0..count)
            .map(|_| {
                let (at, token) = bench.next_timer().expect("it goes on");
                bench.notify(&mut source, AppEvent::Timer { token });
                let [(_, _, Command::Datagram { size, .. })] = bench.commands()[..] else {
                    panic!("one packet a wake-up")
                };
                let gap = at.as_nanos() - last;
                last = at.as_nanos();
                (gap as f64, f64::from(size))
            })
            .unzip()
    }

    fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let square = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
        (mean, square.sqrt())
    }

    /// With 40 000 exponential draws, the standard error of the mean is 1/√40000 = 0.5 %, and that
    /// of the deviation is √8/2/√40000 = 0.7 %. The test allows three standard errors.
    #[test]
    fn gaps_have_the_mean_and_the_deviation_of_the_exponential() {
        let config = Config::default();
        let (gaps, sizes) = draw(&config, 40_000);
        let expected = 8e12 / 6e6;
        let (mean, deviation) = mean_and_deviation(&gaps);
        assert!((mean / expected - 1.0).abs() < 0.015, "{mean}");
        assert!((deviation / expected - 1.0).abs() < 0.021, "{deviation}");
        assert!(sizes.iter().all(|&size| (size - 1000.0).abs() < 0.5));
    }

    /// Counts of packets in windows of 10 mean gaps have variance = mean = 10. With 4000 windows,
    /// the standard error of the mean is √(10/4000) = 0.05, and that of the variance is
    /// 10·√(2.1/4000) = 0.23. The test allows three standard errors.
    #[test]
    fn counts_are_poisson_distributed() {
        let gap = Duration::from_micros(100);
        let config = Config {
            gap: Some(gap),
            ..Config::default()
        };
        let (gaps, _) = draw(&config, 41_000);
        let mut counts = vec![0.0; 4000];
        let mut now = 0.0;
        for gap in gaps {
            now += gap;
            if let Some(count) = counts.get_mut((now / 1e6) as usize) {
                *count += 1.0;
            }
        }
        let (mean, deviation) = mean_and_deviation(&counts);
        assert!((mean - 10.0).abs() < 0.15, "{mean}");
        assert!((deviation * deviation - 10.0).abs() < 0.69, "{deviation}");
    }

    #[test]
    fn exponential_sizes_have_their_mean_and_deviation() {
        let config = Config {
            size: ByteCount(2000),
            sizes: Sizes::Exponential,
            ..Config::default()
        };
        let (_, sizes) = draw(&config, 40_000);
        let (mean, deviation) = mean_and_deviation(&sizes);
        assert!((mean / 2000.0 - 1.0).abs() < 0.015, "{mean}");
        assert!((deviation / 2000.0 - 1.0).abs() < 0.021, "{deviation}");
        assert!(sizes.iter().all(|&size| size >= 29.0));
    }

    #[test]
    fn a_stopped_source_sends_no_more() {
        let mut source = Poisson::new(&Config::default(), Side::Host);
        let mut bench = Bench::new(1);
        bench.notify(&mut source, AppEvent::Started);
        bench.notify(&mut source, AppEvent::Stopped);
        let (_, token) = bench.next_timer().expect("one was due");
        bench.notify(&mut source, AppEvent::Timer { token });
        assert_eq!(bench.commands(), []);
        assert_eq!(bench.next_timer(), None);
    }
}
