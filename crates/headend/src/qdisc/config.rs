//! Which queue: the scenario's choice, and the one place where disciplines are built from it.

use super::{BacklogLimit, Fifo, QueueDiscipline, buffer_control};
use crate::aqm::{
    Aqm, Codel, DocsisPie, DropFront, DropTail, Fred, RandomDrop, Red, codel, docsis_pie,
    drop_front, drop_tail, fred, random_drop, red,
};
use crate::rng::Rng;
use crate::units::{Limit, Rate};

/// A queue, by name.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueConfig {
    /// Drop-tail of the size that DOCSIS Buffer Control chooses.
    BufferControl(buffer_control::Config),
    /// Controlled Delay (RFC 8289).
    Codel(codel::Config),
    /// The law of DOCSIS 3.1 cable modems (RFC 8034).
    DocsisPie(docsis_pie::Config),
    /// First in, first out; a full queue loses its oldest packet, so that senders learn of it sooner (Lakshman, Neidhardt and Ott 1996). A baseline beside
    /// drop-tail.
    DropFront(drop_front::Config),
    /// First in, first out, up to a limit.
    DropTail(drop_tail::Config),
    /// Flow Random Early Drop: RED that holds each flow to its share of the queue (Lin and Morris 1997). Where some senders do not answer losses.
    Fred(fred::Config),
    /// First in, first out, without a limit.
    None,
    /// First in, first out; a full queue loses a packet at random, so that no flow is locked out (Mankin 1990). A baseline beside drop-tail.
    RandomDrop(random_drop::Config),
    /// Random Early Detection: drops early, with a probability that grows with the average queue (Floyd and Jacobson 1993). For routers with many TCP
    /// connections; its thresholds want tuning to the line.
    Red(red::Config),
}

impl QueueConfig {
    /// Every queue with its defaults, in the order of their names.
    pub fn all() -> Vec<Self> {
        vec![
            Self::BufferControl(buffer_control::Config::default()),
            Self::Codel(codel::Config::default()),
            Self::DocsisPie(docsis_pie::Config::default()),
            Self::DropFront(drop_front::Config::default()),
            Self::DropTail(drop_tail::Config::default()),
            Self::Fred(fred::Config::default()),
            Self::None,
            Self::RandomDrop(random_drop::Config::default()),
            Self::Red(red::Config::default()),
        ]
    }

    /// The queue of this name, with its defaults.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|queue| queue.name() == name)
    }

    /// Its name in scenarios and results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::BufferControl(_) => "buffer_control",
            Self::Codel(_) => "codel",
            Self::DocsisPie(_) => "docsis_pie",
            Self::DropFront(_) => "drop_front",
            Self::DropTail(_) => "drop_tail",
            Self::Fred(_) => "fred",
            Self::None => "none",
            Self::RandomDrop(_) => "random_drop",
            Self::Red(_) => "red",
        }
    }

    /// The queue, empty, before a line of this nominal (or maximum sustained) rate. `rng` is its own stream.
    ///
    /// # Errors
    ///
    /// Why these parameters make no queue, as a sentence.
    pub fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        let law: Box<dyn Aqm> = match self {
            Self::BufferControl(_) | Self::DropTail(_) | Self::None => Box::new(DropTail),
            Self::Codel(config) => {
                config.check()?;
                Box::new(Codel::new(config.clone()))
            }
            Self::DocsisPie(config) => {
                config.check()?;
                Box::new(DocsisPie::new(config.clone(), rng))
            }
            Self::DropFront(_) => Box::new(DropFront),
            Self::Fred(config) => {
                config.check(rate)?;
                Box::new(Fred::new(config, rng))
            }
            Self::RandomDrop(_) => Box::new(RandomDrop::new(rng)),
            Self::Red(config) => {
                config.check(rate)?;
                Box::new(Red::new(config, rate, rng))
            }
        };
        let limit = BacklogLimit::at_rate(self.limit(rate)?, rate);
        Ok(Box::new(Fifo::new(limit, law)))
    }

    /// Its limit in bytes at this rate, if it has one in bytes.
    pub fn limit_bytes(&self, rate: Rate) -> Option<u64> {
        self.limit(rate).ok()?.bytes_at(rate)
    }

    /// Its limit as it is written, if `limit` is one of its parameters.
    pub fn written_limit(&self) -> Option<Limit> {
        match self {
            Self::BufferControl(_) | Self::None => None,
            Self::Codel(config) => Some(config.limit),
            Self::DocsisPie(config) => Some(config.limit),
            Self::DropFront(config) => Some(config.limit),
            Self::DropTail(config) => Some(config.limit),
            Self::Fred(config) => Some(config.limit),
            Self::RandomDrop(config) => Some(config.limit),
            Self::Red(config) => Some(config.limit),
        }
    }

    fn limit(&self, rate: Rate) -> Result<Limit, String> {
        match self {
            Self::BufferControl(config) => config.size(rate).map(Limit::Bytes),
            _ => Ok(self.written_limit().unwrap_or(Limit::Unlimited)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate(10_000_000);

    #[test]
    fn a_queue_is_found_by_its_name_and_written_under_it() {
        for queue in QueueConfig::all() {
            assert_eq!(QueueConfig::named(queue.name()), Some(queue.clone()));
            let text = serde_json::to_string(&queue).expect("it has a text form");
            assert!(text.contains(&format!("\"{}\"", queue.name())), "{text}");
            assert_eq!(serde_json::from_str::<QueueConfig>(&text).ok(), Some(queue));
        }
        assert_eq!(QueueConfig::named("tail_drop"), None);
    }

    #[test]
    fn parameters_are_read_with_units_and_unknown_ones_refused() {
        let read = |text: &str| toml::from_str::<QueueConfig>(text);
        let expected = codel::Config {
            target: crate::time::Duration::from_millis(20),
            ..codel::Config::default()
        };
        assert_eq!(
            read("codel.target = '20 ms'").ok(),
            Some(QueueConfig::Codel(expected))
        );
        let refused = read("codel.tarket = '20 ms'").expect_err("there is no such parameter");
        assert!(refused.to_string().contains("tarket"), "{refused}");
    }

    #[test]
    fn the_default_limits_are_as_documented() {
        let limit = |queue: QueueConfig| queue.limit_bytes(RATE);
        let all: Vec<_> = QueueConfig::all().into_iter().map(limit).collect();
        assert_eq!(
            all,
            [
                Some(62_464),
                None,
                Some(312_500),
                None,
                Some(312_500),
                None,
                None,
                None,
                None
            ]
        );
    }

    #[test]
    fn every_queue_can_be_built_with_its_defaults() {
        for queue in QueueConfig::all() {
            let built = queue.build(RATE, Rng::for_path(1, "queue"));
            assert_eq!(
                built.map(|queue| queue.depth()),
                Ok(super::super::Depth::default())
            );
        }
    }

    #[test]
    fn a_queue_that_cannot_be_says_why() {
        let config = codel::Config {
            interval: crate::time::Duration::ZERO,
            ..codel::Config::default()
        };
        let refusal = QueueConfig::Codel(config).build(RATE, Rng::for_path(1, "queue"));
        assert!(refusal.is_err_and(|reason| reason.contains("interval")));
    }
}
