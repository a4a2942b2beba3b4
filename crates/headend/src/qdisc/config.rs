//! Which queue: the scenario's choice, and the one place where disciplines are built from it.

use super::{
    BacklogLimit, Fifo, QueueDiscipline, buffer_control, drr, fq_codel, fq_pie, sfq, sfq_codel,
    sfq_pie, strict_priority,
};
use crate::aqm::{Aqm, Codel, DocsisPie, DropTail, Pie, codel, docsis_pie, drop_tail, pie};
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
    /// First in, first out, up to a limit.
    DropTail(drop_tail::Config),
    /// Deficit round robin: each flow a queue of its own, served in turn by bytes.
    Drr(drr::Config),
    /// Flow queueing with CoDel (RFC 8290): 1024 hashed queues, CoDel in each, flows that begin to send first.
    FqCodel(fq_codel::Config),
    /// Flow queueing with PIE: as FQ-CoDel, with a PIE (RFC 8033) in each queue.
    FqPie(fq_pie::Config),
    /// First in, first out, without a limit.
    None,
    /// Proportional Integral controller Enhanced (RFC 8033).
    Pie(pie::Config),
    /// Stochastic fair queueing: few hashed queues, served in turn.
    Sfq(sfq::Config),
    /// SFQ-CoDel as "Active Queue Management in DOCSIS 3.x Cable Modems" studied it: 32 hashed queues, CoDel in each.
    SfqCodel(sfq_codel::Config),
    /// SFQ-PIE as "Active Queue Management in DOCSIS 3.x Cable Modems" designed it: 32 hashed queues, one PIE scaled by how long each is.
    SfqPie(sfq_pie::Config),
    /// Strict priority: bands by DSCP, a lower one served only while all above it are empty.
    StrictPriority(strict_priority::Config),
}

impl QueueConfig {
    /// Every queue with its defaults, in the order of their names.
    pub fn all() -> Vec<Self> {
        vec![
            Self::BufferControl(buffer_control::Config::default()),
            Self::Codel(codel::Config::default()),
            Self::DocsisPie(docsis_pie::Config::default()),
            Self::DropTail(drop_tail::Config::default()),
            Self::Drr(drr::Config::default()),
            Self::FqCodel(fq_codel::Config::default()),
            Self::FqPie(fq_pie::Config::default()),
            Self::None,
            Self::Pie(pie::Config::default()),
            Self::Sfq(sfq::Config::default()),
            Self::SfqCodel(sfq_codel::Config::default()),
            Self::SfqPie(sfq_pie::Config::default()),
            Self::StrictPriority(strict_priority::Config::default()),
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
            Self::DropTail(_) => "drop_tail",
            Self::Drr(_) => "drr",
            Self::FqCodel(_) => "fq_codel",
            Self::FqPie(_) => "fq_pie",
            Self::None => "none",
            Self::Pie(_) => "pie",
            Self::Sfq(_) => "sfq",
            Self::SfqCodel(_) => "sfq_codel",
            Self::SfqPie(_) => "sfq_pie",
            Self::StrictPriority(_) => "strict_priority",
        }
    }

    /// The control law alone, for the queues of a scheduler.
    ///
    /// # Errors
    ///
    /// Why these parameters make no law, as a sentence.
    pub fn law(&self, rng: Rng) -> Result<Box<dyn Aqm>, String> {
        Ok(match self {
            Self::BufferControl(_) | Self::DropTail(_) | Self::None => Box::new(DropTail),
            Self::Codel(config) => {
                config.check()?;
                Box::new(Codel::new(config.clone()))
            }
            Self::DocsisPie(config) => {
                config.check()?;
                Box::new(DocsisPie::new(config.clone(), rng))
            }
            Self::Pie(config) => {
                config.check()?;
                Box::new(Pie::new(config.clone(), rng))
            }
            Self::Drr(_)
            | Self::FqCodel(_)
            | Self::FqPie(_)
            | Self::Sfq(_)
            | Self::SfqCodel(_)
            | Self::SfqPie(_)
            | Self::StrictPriority(_) => {
                return Err(format!(
                    "law must be a control law such as \"codel\": \"{}\" is a scheduler",
                    self.name()
                ));
            }
        })
    }

    /// The queue, empty, before a line of this nominal (or maximum sustained) rate. `rng` is its own stream.
    ///
    /// # Errors
    ///
    /// Why these parameters make no queue, as a sentence.
    pub fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        Ok(match self {
            Self::Drr(config) => Box::new(config.build(rate, rng)?),
            Self::FqCodel(config) => Box::new(config.build(rate, rng)?),
            Self::FqPie(config) => Box::new(config.build(rate, rng)?),
            Self::Sfq(config) => Box::new(config.build(rate, rng)?),
            Self::SfqCodel(config) => Box::new(config.build(rate, rng)?),
            Self::SfqPie(config) => Box::new(config.build(rate, rng)?),
            Self::StrictPriority(config) => Box::new(config.build(rate, rng)?),
            _ => {
                let limit = self.backlog_limit(rate)?;
                Box::new(Fifo::new(limit, self.law(rng)?))
            }
        })
    }

    /// What it may hold at this rate.
    ///
    /// # Errors
    ///
    /// Why there is no such limit, as a sentence.
    pub fn backlog_limit(&self, rate: Rate) -> Result<BacklogLimit, String> {
        Ok(BacklogLimit::at_rate(self.limit(rate)?, rate))
    }

    /// Its limit in bytes at this rate, if it has one in bytes.
    pub fn limit_bytes(&self, rate: Rate) -> Option<u64> {
        self.limit(rate).ok()?.bytes_at(rate)
    }

    fn limit(&self, rate: Rate) -> Result<Limit, String> {
        Ok(match self {
            Self::BufferControl(config) => Limit::Bytes(config.size(rate)?),
            Self::Codel(config) => config.limit,
            Self::DocsisPie(config) => config.limit,
            Self::DropTail(config) => config.limit,
            Self::Drr(config) => config.limit,
            Self::FqCodel(config) => config.limit,
            Self::FqPie(config) => config.limit,
            Self::None => Limit::Unlimited,
            Self::Pie(config) => config.limit,
            Self::Sfq(config) => config.limit,
            Self::SfqCodel(config) => config.limit,
            Self::SfqPie(config) => config.limit,
            Self::StrictPriority(config) => config.limit,
        })
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
                Some(62_464),  // buffer_control
                None,          // codel: packets
                Some(312_500), // docsis_pie
                Some(312_500), // drop_tail
                Some(312_500), // drr
                None,          // fq_codel: packets
                None,          // fq_pie: packets
                None,          // none
                None,          // pie: packets
                Some(312_500), // sfq
                Some(312_500), // sfq_codel
                Some(312_500), // sfq_pie
                Some(312_500), // strict_priority
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
