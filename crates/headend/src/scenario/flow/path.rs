//! The wide area between the links and a remote host: how it is written, and its plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::line::{Harm, Loss};
use crate::named::OrTable;
use crate::scenario::distance::{RttFrom, check_rtt};
use crate::scenario::error::ScenarioError;
use crate::scenario::times::check_delay;
use crate::time::Duration;
use crate::units::Probability;

/// The wide area between the links and a remote host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Path {
    /// One-way delay away from the customer. Default: half the round-trip time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Duration>,
    /// One-way delay towards the customer. Default: half the round-trip time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Duration>,
    /// Packets lost: the share lost at random, each way, or a table that tells the two ways apart
    /// or loses every so many-th packet: `{ up = "1 %" }`, `{ every = 100 }`, `{ down = { every =
    /// 100 } }`.
    pub loss: OrTable<Probability, PathLoss>,
    /// Share of the ECN-capable packets marked at random (CE), each way: how a congestion control
    /// answers marks, without a queue.
    #[serde(skip_serializing_if = "is_zero")]
    pub marks: Probability,
    /// Each packet is late by up to this, evenly, without overtaking: the timing of hosts, without
    /// which equal flows lock into phase with a queue. `"0 s"` switches it off.
    pub jitter: Duration,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            up: None,
            down: None,
            loss: OrTable::Plain(Probability(0.0)),
            marks: Probability(0.0),
            jitter: Duration::from_micros(100),
        }
    }
}

/// Losses of the wide area that differ by direction, or that are periodic.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PathLoss {
    /// Away from the customer: a share lost at random, or `{ every = 100 }`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<OrTable<Probability, PeriodicLoss>>,
    /// Towards the customer, likewise. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<OrTable<Probability, PeriodicLoss>>,
    /// Each way the packets whose number is a multiple of this are lost, and no others: of 100, the
    /// 100th, the 200th, and so on of each direction. In place of `up` and `down`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
}

/// Losses at equal distances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeriodicLoss {
    /// The packets whose number is a multiple of this are lost, and no others.
    pub every: u32,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(share: &Probability) -> bool {
    share.0 <= 0.0
}

/// The wide area, its delays perhaps still to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct PathPlan {
    pub(in crate::scenario) rtt: OrTable<Duration, RttFrom>,
    pub(in crate::scenario) up: Option<Duration>,
    pub(in crate::scenario) down: Option<Duration>,
    /// Up and down.
    pub(in crate::scenario) harm: [Harm; 2],
    pub(in crate::scenario) jitter: Duration,
}

/// Round-trip time of the wide area by default: that of a server nearby.
pub(super) const DEFAULT_RTT: Duration = Duration::from_millis(20);

/// Which packets are lost on the way up and on the way down.
fn losses(written: &OrTable<Probability, PathLoss>) -> [Loss; 2] {
    match written {
        OrTable::Plain(share) => [Loss::Random(*share); 2],
        OrTable::Table(PathLoss {
            every: Some(every), ..
        }) => [Loss::Every(*every); 2],
        OrTable::Table(PathLoss { up, down, .. }) => [up, down].map(|way| match way {
            None => Loss::default(),
            Some(OrTable::Plain(share)) => Loss::Random(*share),
            Some(OrTable::Table(PeriodicLoss { every })) => Loss::Every(*every),
        }),
    }
}

/// Refuses a wide area that makes no sense; `rtt` is its flow's round-trip time.
pub(super) fn check(
    at: &str,
    rtt: Option<&OrTable<Duration, RttFrom>>,
    path: &Path,
) -> Result<(), ScenarioError> {
    check_rtt(&format!("{at}.rtt"), rtt)?;
    for (name, delay) in [
        ("up", path.up),
        ("down", path.down),
        ("jitter", Some(path.jitter)),
    ] {
        check_delay(&format!("{at}.path.{name}"), delay.unwrap_or_default())?;
    }
    if rtt.is_some() && path.up.is_some() && path.down.is_some() {
        let why = "the delays of both ways are given already: path.up and path.down";
        return Err(ScenarioError::invalid(format!("{at}.rtt"), why));
    }
    check_loss(&format!("{at}.path.loss"), &path.loss)
}

fn check_loss(at: &str, loss: &OrTable<Probability, PathLoss>) -> Result<(), ScenarioError> {
    if let OrTable::Table(PathLoss { up, down, every }) = loss {
        if every.is_some() && (up.is_some() || down.is_some()) {
            let why = "`every` counts each way: expected it alone, or `up` and `down`";
            return Err(ScenarioError::invalid(format!("{at}.every"), why));
        }
        if up.is_none() && down.is_none() && every.is_none() {
            let why = "expected `up`, `down` or `every`, found nothing";
            return Err(ScenarioError::invalid(at, why));
        }
    }
    let ways = match loss {
        OrTable::Plain(_) | OrTable::Table(PathLoss { every: Some(_), .. }) => ["", ""],
        OrTable::Table(_) => [".up", ".down"],
    };
    for (way, loss) in ways.into_iter().zip(losses(loss)) {
        match loss {
            Loss::Every(0) => {
                let why = "expected the number of a packet, at least 2, found 0";
                let inside = if way.is_empty() {
                    at.to_owned()
                } else {
                    format!("{at}{way}")
                };
                return Err(ScenarioError::invalid(format!("{inside}.every"), why));
            }
            Loss::Random(Probability(1.0..)) | Loss::Every(1) => {
                let why = "a path that loses every packet carries nothing";
                return Err(ScenarioError::invalid(format!("{at}{way}"), why));
            }
            Loss::Random(_) | Loss::Every(_) => {}
        }
    }
    Ok(())
}

impl PathPlan {
    /// The wide area of a flow whose round-trip time is `rtt`.
    pub(super) fn new(rtt: OrTable<Duration, RttFrom>, path: &Path) -> Self {
        Self {
            rtt,
            up: path.up,
            down: path.down,
            harm: losses(&path.loss).map(|loss| Harm {
                loss,
                marks: path.marks,
            }),
            jitter: path.jitter,
        }
    }
}
