//! Stand-ins for configurations that are being written; each goes when the real one is there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::aqm::DropTail;
use crate::packet::Side;
use crate::qdisc::{BacklogLimit, Fifo, QueueDiscipline};
use crate::rng::Rng;
use crate::time::Duration;
use crate::traffic::cbr::{self, Gaps, Sizes};
use crate::traffic::{Application, bulk};
use crate::units::{ByteCount, Limit, Rate};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    #[default]
    Up,
    Down,
    Both,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueConfig {
    DropTail(DropTailConfig),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropTailConfig {
    /// How much it holds.
    pub limit: Limit,
}

impl Default for DropTailConfig {
    fn default() -> Self {
        Self {
            limit: Limit::Time(Duration::from_millis(250)),
        }
    }
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self::DropTail(DropTailConfig::default())
    }
}

impl QueueConfig {
    pub fn name(&self) -> &'static str {
        "drop_tail"
    }
    pub fn limit_bytes(&self, rate: Rate) -> Option<u64> {
        let Self::DropTail(config) = self;
        config.limit.bytes_at(rate)
    }
    pub fn build(&self, rate: Rate, _rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        let Self::DropTail(config) = self;
        let limit = match (config.limit, self.limit_bytes(rate)) {
            (Limit::Packets(packets), _) => BacklogLimit::Packets(packets),
            (_, Some(bytes)) => BacklogLimit::Bytes(bytes),
            (_, None) => BacklogLimit::Unlimited,
        };
        Ok(Box::new(Fifo::new(limit, Box::new(DropTail))))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationConfig {
    Bulk(BulkConfig),
    Cbr(CbrConfig),
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkConfig {
    /// File size.
    pub size: Option<ByteCount>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CbrConfig {
    /// Rate.
    pub rate: Rate,
    /// IP bytes.
    pub size: u16,
}

impl Default for CbrConfig {
    fn default() -> Self {
        Self {
            rate: Rate(1_000_000),
            size: 1000,
        }
    }
}

impl ApplicationConfig {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bulk(_) => "bulk",
            Self::Cbr(_) => "cbr",
        }
    }
    pub fn transport(&self) -> &'static str {
        match self {
            Self::Bulk(_) => "tcp",
            Self::Cbr(_) => "udp",
        }
    }
    pub fn carries_data(&self, direction: Direction) -> [bool; 2] {
        [direction != Direction::Down, direction != Direction::Up]
    }
    pub fn peers_wanted(&self) -> usize {
        1
    }
    pub fn is_bulk(&self) -> bool {
        matches!(self, Self::Bulk(_))
    }
    pub fn default_direction(&self) -> Direction {
        Direction::Up
    }
    pub fn check(&self) -> Result<(), (String, String)> {
        match self {
            Self::Cbr(config) if config.rate.0 == 0 => {
                Err(("rate".to_owned(), "a rate above zero".to_owned()))
            }
            _ => Ok(()),
        }
    }
    pub fn build(&self, direction: Direction) -> Result<Box<dyn Application>, String> {
        let from = if direction == Direction::Up {
            Side::Host
        } else {
            Side::Peer
        };
        Ok(match self {
            Self::Bulk(config) => Box::new(bulk::Bulk::new(bulk::Config {
                from,
                size: config.size.map(|size| size.0),
                files: Some(1),
                pause: Duration::ZERO,
            })),
            Self::Cbr(config) => Box::new(cbr::Cbr::new(cbr::Config {
                from,
                gap: config.rate.time_for(u64::from(config.size)),
                size: config.size,
                gaps: Gaps::Constant,
                sizes: Sizes::Constant,
            })),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TcpConfig {
    /// Congestion control.
    pub congestion: String,
    /// Largest packet, IP bytes.
    pub mtu: u16,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            congestion: "cubic".to_owned(),
            mtu: 1500,
        }
    }
}

impl TcpConfig {
    pub fn real(&self) -> crate::tcp::Config {
        crate::tcp::Config { mtu: self.mtu }
    }
}
