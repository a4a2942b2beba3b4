//! The list of all queue disciplines by name. Each discipline has a file of its own and one entry
//! here.

use super::{
    Parameters, QueueDiscipline, buffer_control, cake, cbq, drr, dualpi2, fq_codel, fq_pie, hash,
    immediate_aqm, sfq, sfq_codel, sfq_pie, strict_priority, unlimited,
};
use crate::aqm::{
    Aqm, Governor, cbt, cobalt, codel, codel_dt, codel_dt_ns2, custom, docsis_pie, drop_front,
    drop_tail, fred, pie, random_drop, red,
};
use crate::queue::{BacklogLimit, Limited};
use crate::rng::Rng;
use crate::units::{Limit, Rate};

/// Sets the limit of a queue whose parameters include one; does nothing for the others.
macro_rules! set_limit {
    ($config:expr, $value:expr) => {{
        let _ = ($config, $value);
    }};
    ($config:expr, $value:expr, $limit:ident) => {
        $config.$limit = $value
    };
}

/// Defines [`QueueConfig`] from the list of queues. For a queue "with limit", `limit` is one of its
/// parameters; the others implement [`Limited`] themselves.
macro_rules! queues {
    ($($(#[$doc:meta])* $variant:ident($config:ty) = $name:literal $(with $limit:ident)?,)+) => {
        /// A queue by name, with its parameters.
        #[derive(
            Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum QueueConfig {
            $($(#[$doc])* $variant($config),)+
        }

        impl QueueConfig {
            /// Every queue of headend's with its default parameters, in the order of their names.
            pub fn all() -> Vec<Self> {
                let mut all = vec![$(Self::$variant(<$config>::default())),+];
                all.retain(|queue| !matches!(queue, Self::Custom(_)));
                all
            }

            /// The name of the queue in scenarios and results.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            /// The same queue with another limit, if `limit` is one of its parameters.
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
    /// Drop-tail with the buffer size that DOCSIS Buffer Control chooses.
    BufferControl(buffer_control::Config) = "buffer_control",
    /// CAKE: the queue of home routers, with a shaper, a queue for each flow, fairness among hosts
    /// and priorities by DSCP, in one discipline.
    Cake(cake::Config) = "cake",
    /// Class-Based Queueing (Floyd and Van Jacobson 1995): each class has a queue and a share of
    /// the link, and classes borrow unused shares along a tree.
    Cbq(cbq::Config) = "cbq",
    /// Class-Based Thresholds (Parris, Jeffay and Smith 1999): RED, with a threshold for each
    /// class's part of the queue.
    Cbt(cbt::Config) = "cbt" with limit,
    /// CoDel combined with BLUE, for flows that do not respond to drops: the control law of CAKE.
    Cobalt(cobalt::Config) = "cobalt" with limit,
    /// Controlled Delay (RFC 8289).
    Codel(codel::Config) = "codel" with limit,
    /// CoDel at the tail of the queue, by a predicted delay, as the AQM paper describes it.
    CodelDt(codel_dt::Config) = "codel_dt" with limit,
    /// CoDel at the tail of the queue, by a predicted delay, as its published ns-2 code behaves.
    CodelDtNs2(codel_dt_ns2::Config) = "codel_dt_ns2" with limit,
    /// A control law of your own: a class in a Python file.
    Custom(custom::Config) = "custom" with limit,
    /// The control law of DOCSIS 3.1 cable modems (RFC 8034).
    DocsisPie(docsis_pie::Config) = "docsis_pie" with limit,
    /// First in, first out; a full queue drops its oldest packet, so that senders detect the loss
    /// sooner (Lakshman, Neidhardt and Ott 1996). It is a baseline beside drop-tail.
    DropFront(drop_front::Config) = "drop_front" with limit,
    /// First in, first out, up to a limit; a full queue drops the packet that arrives.
    DropTail(drop_tail::Config) = "drop_tail" with limit,
    /// Deficit round robin: each flow has a queue of its own, and the queues are served in turn by
    /// bytes (Shreedhar and Varghese 1995).
    Drr(drr::Config) = "drr" with limit,
    /// Two queues with coupled control laws (RFC 9332): low latency for L4S packets, beside a queue
    /// for classic packets.
    Dualpi2(dualpi2::Config) = "dualpi2" with limit,
    /// Flow queueing with CoDel (RFC 8290): 1024 hashed queues with CoDel in each; flows that begin
    /// to send are served first.
    FqCodel(fq_codel::Config) = "fq_codel" with limit,
    /// Flow queueing with PIE: as FQ-CoDel, with PIE (RFC 8033) in each queue.
    FqPie(fq_pie::Config) = "fq_pie" with limit,
    /// Flow Random Early Drop (Lin and Morris 1997): RED that limits each flow to its share of the
    /// queue.
    Fred(fred::Config) = "fred" with limit,
    /// The low-latency queue of Low Latency DOCSIS: immediate AQM, which marks ECT(1) packets by a
    /// ramp over the delay of the queue (MULPI Annex N).
    ImmediateAqm(immediate_aqm::Config) = "immediate_aqm",
    /// First in, first out, without a limit.
    None(unlimited::Config) = "none",
    /// Proportional Integral controller Enhanced (RFC 8033).
    Pie(pie::Config) = "pie" with limit,
    /// First in, first out; a full queue drops a random packet, so that no flow is locked out
    /// (Mankin 1990). It is a baseline beside drop-tail.
    RandomDrop(random_drop::Config) = "random_drop" with limit,
    /// Random Early Detection: drops packets early, with a probability that grows with the average
    /// queue (Floyd and Jacobson 1993).
    Red(red::Config) = "red" with limit,
    /// Stochastic fair queueing: a small number of hashed queues, served in turn (McKenney 1990).
    Sfq(sfq::Config) = "sfq" with limit,
    /// SFQ-CoDel as studied in "Active Queue Management in DOCSIS 3.x Cable Modems": 32 hashed
    /// queues, with CoDel in each.
    SfqCodel(sfq_codel::Config) = "sfq_codel" with limit,
    /// SFQ-PIE as designed in "Active Queue Management in DOCSIS 3.x Cable Modems": 32 hashed
    /// queues and one PIE, whose drop probability is scaled by the length of each queue.
    SfqPie(sfq_pie::Config) = "sfq_pie" with limit,
    /// Strict priority: bands by DSCP; a band is served only while all bands above it are empty.
    StrictPriority(strict_priority::Config) = "strict_priority" with limit,
}

impl QueueConfig {
    /// The queue of this name, with its default parameters.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|queue| queue.name() == name)
    }

    /// Builds the queue, as [`Parameters::build`].
    ///
    /// # Errors
    ///
    /// A sentence that says why no queue can be built from these parameters.
    pub fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        self.parameters().build(rate, rng)
    }

    /// Checks that the queue can be built. A flow-queueing discipline is built with the fewest
    /// queues that give the same result, to keep the check fast.
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

    /// Builds the control law alone, as [`Parameters::law`].
    ///
    /// # Errors
    ///
    /// A sentence that says why no control law can be built from these parameters.
    pub fn law(&self, rate: Rate, rng: Rng) -> Result<Box<dyn Aqm>, String> {
        self.parameters().law(rate, rng)
    }

    /// What bounds the queueing delay.
    pub fn governor(&self) -> Governor {
        self.parameters().governor()
    }

    /// Which packets overtake others, as [`Parameters::lets_pass`].
    pub fn lets_pass(&self) -> Option<&'static str> {
        self.parameters().lets_pass()
    }

    /// The limit before a line of this rate.
    ///
    /// # Errors
    ///
    /// A sentence that says why no limit satisfies the parameters.
    pub(super) fn backlog_limit(&self, rate: Rate) -> Result<BacklogLimit, String> {
        let limit = self.parameters().limit(rate)?;
        Ok(BacklogLimit::at_rate(limit, rate))
    }

    /// The limit in bytes before a line of this rate; `None` if it is not in bytes.
    pub fn limit_bytes(&self, rate: Rate) -> Option<u64> {
        self.parameters().limit(rate).ok()?.bytes_at(rate)
    }

    /// The same queue without active queue management: a drop-tail FIFO with the same buffer before
    /// a line of this rate. A queue without a control law stays as it is. A scheduler with a
    /// choosable control law keeps its scheduling.
    #[must_use]
    pub fn without_aqm(&self, rate: Rate) -> Self {
        let plain = |law: &Self| Box::new(law.without_aqm(rate));
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
                let written = self
                    .written_limit()
                    .map_or(self.parameters().limit(rate), Ok);
                let limit = written.unwrap_or(drop_tail::Config::default().limit);
                Self::DropTail(drop_tail::Config { limit })
            }
        }
    }

    /// The same queue with a buffer of `size`, whatever limit the scenario gives. It is the queue
    /// of a modem that gets no buffer configuration.
    #[must_use]
    pub fn with_buffer(&self, size: Limit) -> Self {
        match self {
            Self::BufferControl(_) => Self::DropTail(drop_tail::Config { limit: size }),
            Self::ImmediateAqm(config) => Self::ImmediateAqm(immediate_aqm::Config {
                limit: Some(size),
                ..config.clone()
            }),
            Self::Cake(config) => Self::Cake(match size {
                Limit::Bytes(bytes) => cake::Config {
                    memlimit: Some(bytes),
                    ..config.clone()
                },
                _ => config.clone(),
            }),
            other => other.clone().with_limit(size),
        }
    }

    /// The limit as the scenario gives it; `None` if `limit` is not one of the parameters.
    pub fn written_limit(&self) -> Option<Limit> {
        self.parameters().written_limit()
    }
}

/// The queue of a scenario that names none.
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
        // Byte limits are a quarter of a second, or the Buffer Control size nearest to 50 ms. The
        // other limits count packets.
        assert_eq!(
            all,
            [
                ("buffer_control", 62_464),
                ("cake", 15_503_360),
                ("codel_dt", 312_500),
                ("codel_dt_ns2", 312_500),
                ("docsis_pie", 312_500),
                ("drop_tail", 312_500),
                ("drr", 312_500),
                ("dualpi2", 312_500),
                ("immediate_aqm", 40_000),
                ("sfq", 312_500),
                ("sfq_codel", 312_500),
                ("sfq_pie", 312_500),
                ("strict_priority", 312_500),
            ],
            "a queue whose default limit is in bytes is listed here, with its bytes at 10 Mb/s"
        );
    }

    #[test]
    fn a_queue_without_its_law_drops_at_its_tail_and_keeps_its_buffer() {
        let read = |text: &str| toml::from_str::<QueueConfig>(text).expect(text);
        let without = |text: &str| read(text).without_aqm(RATE);
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
        let QueueConfig::Sfq(plain) = fair.without_aqm(RATE) else {
            panic!("its scheduling stays")
        };
        assert_eq!(plain.law.name(), "drop_tail");
        for kept in ["buffer_control", "drop_tail", "none", "cbq", "random_drop"] {
            let kept = QueueConfig::named(kept).expect(kept);
            assert_eq!(kept.without_aqm(RATE), kept);
        }
        for queue in QueueConfig::all() {
            let limit = queue.limit_bytes(RATE);
            assert_eq!(
                queue.without_aqm(RATE).limit_bytes(RATE),
                limit,
                "{}",
                queue.name()
            );
        }
    }

    #[test]
    fn a_queue_without_a_configured_buffer_gets_the_given_one() {
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
            "immediate_aqm.limit = '2 kB'",
        ] {
            let refused = read(text).build(RATE, rng()).map(drop);
            assert!(refused.is_err(), "{text}");
            assert_eq!(read(text).check(RATE, rng()), refused, "{text}");
        }
    }

    #[test]
    fn invalid_queues_are_refused_with_a_reason() {
        let config = codel::Config {
            interval: crate::time::Duration::ZERO,
            ..codel::Config::default()
        };
        let refusal = QueueConfig::Codel(config).build(RATE, Rng::for_path(1, "queue"));
        assert!(refusal.is_err_and(|reason| reason.contains("interval")));
    }
}
