//! Which queue: the list of all disciplines by name. A discipline is its own file and one entry here.

use super::{
    Fifo, QueueDiscipline, buffer_control, cbq, drr, dualpi2, fq_codel, fq_pie, hash, sfq,
    sfq_codel, sfq_pie, strict_priority, unlimited,
};
use crate::aqm::{
    Aqm, Governor, LawParameters, cbt, cobalt, codel, codel_dt, codel_dt_ns2, docsis_pie,
    drop_front, drop_tail, fred, pie, random_drop, red,
};
use crate::queue::{BacklogLimit, Limited};
use crate::rng::Rng;
use crate::units::{Limit, Rate};

/// The parameters of a discipline: they build it. A scheduler implements this itself, a control law by its
/// [`LawParameters`].
pub trait Parameters: Limited {
    /// The discipline, empty, before a line of this nominal (or maximum sustained) rate. `rng` is its own stream.
    ///
    /// # Errors
    ///
    /// Why these parameters make no queue, as a sentence.
    fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String>;

    /// The control law alone, for the many backlogs of a scheduler.
    ///
    /// # Errors
    ///
    /// Why these parameters make no law, as a sentence.
    fn law(&self, rate: Rate, rng: Rng) -> Result<Box<dyn Aqm>, String> {
        let _ = (rate, rng);
        Err("expected a control law such as \"codel\", not a scheduler".to_owned())
    }

    /// What keeps its delay short.
    fn governor(&self) -> Governor {
        Governor::Law
    }

    /// Which packets pass others that wait, as the end of a sentence that begins with the
    /// discipline's name. None where packets leave in the order in which they came.
    fn lets_pass(&self) -> Option<&'static str> {
        None
    }
}

impl<T: LawParameters> Parameters for T {
    fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        let limit = BacklogLimit::at_rate(self.limit(rate)?, rate);
        let law = LawParameters::law(self, rate, rng)?;
        Ok(Box::new(Fifo::new(limit, law)))
    }

    fn law(&self, rate: Rate, rng: Rng) -> Result<Box<dyn Aqm>, String> {
        Ok(Box::new(LawParameters::law(self, rate, rng)?))
    }

    fn governor(&self) -> Governor {
        LawParameters::governor(self)
    }
}

/// Sets a limit where there is one.
macro_rules! set_limit {
    ($config:expr, $value:expr) => {{
        let _ = ($config, $value);
    }};
    ($config:expr, $value:expr, $limit:ident) => {
        $config.$limit = $value
    };
}

/// The list of queues; "with limit" are those whose `limit` is one of their parameters, the others implement [`Limited`] themselves.
macro_rules! queues {
    ($($(#[$doc:meta])* $variant:ident($config:ty) = $name:literal $(with $limit:ident)?,)+) => {
        /// A queue, by name.
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum QueueConfig {
            $($(#[$doc])* $variant($config),)+
        }

        impl QueueConfig {
            /// Every queue with its defaults, in the order of their names.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant(<$config>::default())),+]
            }

            /// Its name in scenarios and results.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            /// The same with another limit, where `limit` is one of its parameters.
            #[must_use]
            fn with_limit(mut self, limit: Limit) -> Self {
                match &mut self {
                    $(Self::$variant(config) => set_limit!(config, limit $(, $limit)?),)+
                }
                self
            }

            fn parameters(&self) -> &dyn Parameters {
                match self {
                    $(Self::$variant(config) => config,)+
                }
            }
        }

        $($(impl Limited for $config {
            fn written_limit(&self) -> Option<Limit> {
                Some(self.$limit)
            }
        })?)+
    };
}

queues! {
    /// Drop-tail of the size that DOCSIS Buffer Control chooses.
    BufferControl(buffer_control::Config) = "buffer_control",
    /// Class-Based Queueing (Floyd and Van Jacobson 1995): a queue and a share of the link for each class, unused shares borrowed up a tree.
    Cbq(cbq::Config) = "cbq",
    /// Class-Based Thresholds (Parris, Jeffay and Smith 1999): RED, and a bound on each class's share of the queue.
    Cbt(cbt::Config) = "cbt" with limit,
    /// CoDel with BLUE for those who do not answer: the law inside CAKE.
    Cobalt(cobalt::Config) = "cobalt" with limit,
    /// Controlled Delay (RFC 8289).
    Codel(codel::Config) = "codel" with limit,
    /// CoDel at the tail, by a predicted delay, as the AQM paper describes it.
    CodelDt(codel_dt::Config) = "codel_dt" with limit,
    /// CoDel at the tail, by a predicted delay, as its published ns-2 code behaves.
    CodelDtNs2(codel_dt_ns2::Config) = "codel_dt_ns2" with limit,
    /// The law of DOCSIS 3.1 cable modems (RFC 8034).
    DocsisPie(docsis_pie::Config) = "docsis_pie" with limit,
    /// First in, first out; a full queue loses its oldest packet, so that senders learn of it sooner (Lakshman, Neidhardt and Ott 1996). A baseline beside
    /// drop-tail.
    DropFront(drop_front::Config) = "drop_front" with limit,
    /// First in, first out, up to a limit.
    DropTail(drop_tail::Config) = "drop_tail" with limit,
    /// Deficit round robin: each flow a queue of its own, served in turn by bytes (Shreedhar and Varghese 1995).
    Drr(drr::Config) = "drr" with limit,
    /// Two queues under coupled laws (RFC 9332): low latency for L4S packets beside classic ones.
    Dualpi2(dualpi2::Config) = "dualpi2" with limit,
    /// Flow queueing with CoDel (RFC 8290): 1024 hashed queues, CoDel in each, flows that begin to send first.
    FqCodel(fq_codel::Config) = "fq_codel" with limit,
    /// Flow queueing with PIE: as FQ-CoDel, with a PIE (RFC 8033) in each queue.
    FqPie(fq_pie::Config) = "fq_pie" with limit,
    /// Flow Random Early Drop (Lin and Morris 1997): RED that holds each flow to its share of the queue.
    Fred(fred::Config) = "fred" with limit,
    /// First in, first out, without a limit.
    None(unlimited::Config) = "none",
    /// Proportional Integral controller Enhanced (RFC 8033).
    Pie(pie::Config) = "pie" with limit,
    /// First in, first out; a full queue loses a packet at random, so that no flow is locked out (Mankin 1990). A baseline beside drop-tail.
    RandomDrop(random_drop::Config) = "random_drop" with limit,
    /// Random Early Detection: drops early, with a probability that grows with the average queue (Floyd and Jacobson 1993).
    Red(red::Config) = "red" with limit,
    /// Stochastic fair queueing: few hashed queues, served in turn (McKenney 1990).
    Sfq(sfq::Config) = "sfq" with limit,
    /// SFQ-CoDel as "Active Queue Management in DOCSIS 3.x Cable Modems" studied it: 32 hashed queues, CoDel in each.
    SfqCodel(sfq_codel::Config) = "sfq_codel" with limit,
    /// SFQ-PIE as "Active Queue Management in DOCSIS 3.x Cable Modems" designed it: 32 hashed queues, one PIE scaled by how long each is.
    SfqPie(sfq_pie::Config) = "sfq_pie" with limit,
    /// Strict priority: bands by DSCP, a lower one served only while all above it are empty.
    StrictPriority(strict_priority::Config) = "strict_priority" with limit,
}

impl QueueConfig {
    /// The queue of this name, with its defaults.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|queue| queue.name() == name)
    }

    /// The queue, as [`Parameters::build`] makes it.
    ///
    /// # Errors
    ///
    /// Why these parameters make no queue, as a sentence.
    pub fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        self.parameters().build(rate, rng)
    }

    /// Whether there can be such a queue. Of the queues of flows that it would have only as many are made as say the same.
    ///
    /// # Errors
    ///
    /// As [`Self::build`].
    pub fn check(&self, rate: Rate, rng: Rng) -> Result<(), String> {
        let mut few = self.clone();
        let flows = match &mut few {
            Self::Drr(config) => Some((&mut config.queues, &config.hash)),
            Self::FqCodel(config) => Some((&mut config.queues, &config.hash)),
            Self::FqPie(config) => Some((&mut config.queues, &config.hash)),
            Self::Sfq(config) => Some((&mut config.queues, &config.hash)),
            Self::SfqCodel(config) => Some((&mut config.queues, &config.hash)),
            Self::SfqPie(config) => Some((&mut config.queues, &config.hash)),
            _ => None,
        };
        if let Some((queues, hash)) = flows {
            hash.check(*queues)?;
            *queues = match hash.isolation {
                hash::Isolation::SetAssociative => hash.ways,
                _ => 1,
            };
        }
        few.build(rate, rng).map(drop)
    }

    /// The control law alone, as [`Parameters::law`] makes it.
    ///
    /// # Errors
    ///
    /// Why these parameters make no law, as a sentence.
    pub fn law(&self, rate: Rate, rng: Rng) -> Result<Box<dyn Aqm>, String> {
        self.parameters().law(rate, rng)
    }

    /// What keeps its delay short.
    pub fn governor(&self) -> Governor {
        self.parameters().governor()
    }

    /// Which packets pass others, as [`Parameters::lets_pass`] says it.
    pub fn lets_pass(&self) -> Option<&'static str> {
        self.parameters().lets_pass()
    }

    /// Its limit at this rate.
    ///
    /// # Errors
    ///
    /// Why there is none that can be kept, as a sentence.
    pub(super) fn backlog_limit(&self, rate: Rate) -> Result<BacklogLimit, String> {
        let limit = self.parameters().limit(rate)?;
        Ok(BacklogLimit::at_rate(limit, rate))
    }

    /// Its limit in bytes at this rate, if it has one in bytes.
    pub fn limit_bytes(&self, rate: Rate) -> Option<u64> {
        self.parameters().limit(rate).ok()?.bytes_at(rate)
    }

    /// The same without active queue management: a FIFO that drops at its tail, with the buffer
    /// that it had. What has no law stays as it is, and a scheduler that is given a law keeps its
    /// scheduling.
    #[must_use]
    pub fn without_aqm(&self) -> Self {
        let plain = |law: &Self| Box::new(law.without_aqm());
        match self {
            Self::Drr(config) => Self::Drr(drr::Config {
                law: plain(&config.law),
                ..config.clone()
            }),
            Self::Sfq(config) => Self::Sfq(sfq::Config {
                law: plain(&config.law),
                ..config.clone()
            }),
            Self::StrictPriority(config) => Self::StrictPriority(strict_priority::Config {
                law: plain(&config.law),
                ..config.clone()
            }),
            other if other.governor() != Governor::Law => other.clone(),
            _ => {
                let default = drop_tail::Config::default().limit;
                let limit = self.written_limit().unwrap_or(default);
                Self::DropTail(drop_tail::Config { limit })
            }
        }
    }

    /// The same with a buffer of `size`, whatever is written of that: what a modem runs that is
    /// told nothing of its buffer.
    #[must_use]
    pub fn with_buffer(&self, size: Limit) -> Self {
        match self {
            Self::BufferControl(_) => Self::DropTail(drop_tail::Config { limit: size }),
            other => other.clone().with_limit(size),
        }
    }

    /// Its limit as it is written, if `limit` is one of its parameters.
    pub fn written_limit(&self) -> Option<Limit> {
        self.parameters().written_limit()
    }
}

/// What a scenario that names no queue gets.
impl Default for QueueConfig {
    fn default() -> Self {
        Self::DropTail(drop_tail::Config::default())
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
        let in_bytes = |queue: &QueueConfig| Some((queue.name(), queue.limit_bytes(RATE)?));
        let all: Vec<_> = QueueConfig::all().iter().filter_map(in_bytes).collect();
        // A quarter of a second, or the offer of Buffer Control nearest to 50 ms; the others count packets.
        assert_eq!(
            all,
            [
                ("buffer_control", 62_464),
                ("codel_dt", 312_500),
                ("codel_dt_ns2", 312_500),
                ("docsis_pie", 312_500),
                ("drop_tail", 312_500),
                ("drr", 312_500),
                ("dualpi2", 312_500),
                ("sfq", 312_500),
                ("sfq_codel", 312_500),
                ("sfq_pie", 312_500),
                ("strict_priority", 312_500),
            ]
        );
    }

    #[test]
    fn a_queue_without_its_law_drops_at_its_tail_and_keeps_its_buffer() {
        let read = |text: &str| toml::from_str::<QueueConfig>(text).expect(text);
        let without = |text: &str| read(text).without_aqm();
        for (queue, plain) in [
            ("docsis_pie.target = '5 ms'", "drop_tail.limit = '250 ms'"),
            ("docsis_pie.limit = '32 KiB'", "drop_tail.limit = '32 KiB'"),
            (
                "fq_codel.limit = '500 packets'",
                "drop_tail.limit = '500 packets'",
            ),
        ] {
            assert_eq!(without(queue), read(plain), "{queue}");
        }
        let law = Box::new(QueueConfig::Codel(codel::Config::default()));
        let fair = QueueConfig::Sfq(sfq::Config {
            law,
            ..sfq::Config::default()
        });
        let QueueConfig::Sfq(plain) = fair.without_aqm() else {
            panic!("its scheduling stays")
        };
        assert_eq!(plain.law.name(), "drop_tail");
        for kept in ["buffer_control", "drop_tail", "none", "cbq", "random_drop"] {
            let kept = QueueConfig::named(kept).expect(kept);
            assert_eq!(kept.without_aqm(), kept);
        }
        for queue in QueueConfig::all() {
            let limit = queue.limit_bytes(RATE);
            assert_eq!(
                queue.without_aqm().limit_bytes(RATE),
                limit,
                "{}",
                queue.name()
            );
        }
    }

    #[test]
    fn a_queue_that_is_told_nothing_of_its_buffer_has_the_one_it_is_given() {
        let size = Limit::Bytes(crate::units::ByteCount(100_000));
        for queue in QueueConfig::all() {
            let found = queue.with_buffer(size);
            let has_one = queue.limit_bytes(RATE).is_some() || queue.written_limit().is_some();
            let expected = has_one.then_some(100_000);
            assert_eq!(found.limit_bytes(RATE), expected, "{}", queue.name());
        }
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
    fn a_queue_is_checked_as_it_is_built() {
        let read = |text: &str| toml::from_str::<QueueConfig>(text).expect(text);
        let rng = || Rng::for_path(1, "queue");
        for queue in QueueConfig::all() {
            assert_eq!(queue.check(RATE, rng()), Ok(()), "{}", queue.name());
        }
        for text in [
            "sfq.queues = 0",
            "fq_codel.queues = 65537",
            "fq_pie = { queues = 1000, hash = { isolation = 'set_associative', ways = 7 } }",
            "sfq_codel.quantum = '1 B'",
            "drr.law = 'sfq'",
        ] {
            let refused = read(text).build(RATE, rng()).map(drop);
            assert!(refused.is_err(), "{text}");
            assert_eq!(read(text).check(RATE, rng()), refused, "{text}");
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
