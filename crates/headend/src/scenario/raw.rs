//! A scenario as it is written: the tables of which it is made. Their doc comments, and those of
//! the tables in them, are the reference documentation.
//!
//! Types say what form a value has; [`super::plan`] says what they cannot: what refers to what, and
//! what is absurd. Kinds are tagged outside (`[link.cable.docsis]`) and things are tables by name,
//! so that every error has a path and a position.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capture::Capture;
use super::emulation::Emulation;
use super::flow::Flow;
use super::host::Host;
use super::link::LinkConfig;
use super::router::RouterConfig;
use crate::named::Named;
use crate::tcp;
use crate::time::Duration;
use crate::units::TimeLimit;

/// A scenario: the whole experiment in one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "headend scenario")]
pub struct Raw {
    /// Version of this grammar.
    pub format: u32,
    /// What the scenario is about, in one line: the title of its report.
    pub title: String,
    /// What it teaches: what to look at, and why it is so.
    pub description: String,
    /// Seed of all random streams. The same scenario and seed give the same results everywhere.
    pub seed: u64,
    /// Simulated time from the start to the end of the run; with real hosts also `"unlimited"`: the
    /// run ends with the real program. Default: 60 s, or unlimited with real hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<TimeLimit>,
    /// How much of the start is left out of every figure but the series over time, so that slow
    /// starts do not colour averages.
    pub warmup: Duration,
    /// The queue the scenario is about, such as `cable.up`: what `queue` means on the command line.
    /// Without it, `queue` is the up queue of the only link, and reports take the queue that did
    /// the harm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<String>,
    /// What is kept.
    pub results: Results,
    /// Links by name.
    pub link: BTreeMap<String, Named<LinkConfig>>,
    /// A home's own router before the modem: its queue (`"cake"`), `"off"`, or a table. It becomes
    /// a plain link called `router`, through which all hosts reach the line. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub router: Option<RouterConfig>,
    /// Hosts by name. A flow that names none uses the customer's side of the only link, and a
    /// server of its own.
    pub host: BTreeMap<String, Host>,
    /// What is asked of a run with real hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation: Option<Emulation>,
    /// TCP of every flow that uses it and says nothing else, but for those that name an end system
    /// of their own: `tcp.system = "rfc"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<tcp::Config>,
    /// Flows by name: who does what.
    pub flow: BTreeMap<String, Flow>,
    /// Expectations by name, such as `"call.mos.p5 >= 4.0"`: a run that misses one is reported as
    /// failed.
    pub expect: BTreeMap<String, String>,
}

impl Default for Raw {
    fn default() -> Self {
        Self {
            format: FORMAT,
            title: String::new(),
            description: String::new(),
            seed: 1,
            duration: None,
            warmup: Duration::ZERO,
            bottleneck: None,
            results: Results::default(),
            link: BTreeMap::new(),
            router: None,
            host: BTreeMap::new(),
            emulation: None,
            tcp: None,
            flow: BTreeMap::new(),
            expect: BTreeMap::new(),
        }
    }
}

/// The version of the grammar this engine reads.
pub const FORMAT: u32 = 1;

/// What is kept of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Results {
    /// Packets to be captured. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// Length of an interval of the series over time. Default: a round number near duration / 600,
    /// at least 10 ms; near duration / 60 where there are thousands of queues; 100 ms of a run
    /// without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
}
