//! Replay: sends the packets of a capture again, with the same times and sizes.
//!
//! [`choose`] selects the packets of a capture. Packets from the customer are sent up, and packets
//! to the customer are sent down. Each is sent as a datagram of its size, at the same time after
//! the first packet as in the capture. How the captured hosts reacted to losses and delay is part
//! of these times. A replay does not react to the simulated network, so that it only resembles TCP.

mod choose;
mod packets;

pub use choose::choose;
pub use packets::Packets;

use super::definition::{About, Definition, Fault, ensure, ensure_span};
use super::memory::Datagrams;
use super::{AppContext, AppEvent, Application, Direction};
use crate::flow::{FlowId, Protocol};
use crate::packet::Side;
use crate::time::{Duration, Instant};

/// Parameters of a replay.
///
/// Use it for traffic that has no model here: record it in a real network and send it over a
/// simulated line. Do not use it for TCP that should react to the line.
///
/// Source: packets as captured; pcap and pcapng as in draft-ietf-opsawg-pcap and
/// draft-ietf-opsawg-pcapng.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// A pcap or pcapng file; its path is relative to the scenario. Results contain the selected
    /// packets, and do not need the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
    /// The customer in the capture: an address or a network such as `"192.168.1.0/24"`. Packets
    /// from it are sent up, packets to it are sent down, and others are left out. Default: the
    /// sender of the first packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Name of the interface whose packets are used, if a pcapng file has several. Default: all
    /// interfaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Protocol of the packets that are used. Default: all IP packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Transport>,
    /// Source or destination port of the packets that are used. Default: all ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Speed of the replay: 2 sends all packets in half the time, at twice the rate.
    pub speed: f64,
    /// Time after which the replay starts again. Default: it is sent once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// Packets that are sent up, given here in place of a capture: times in nanoseconds and sizes
    /// in IP bytes, `"0 200, 20000000 200"`.
    #[serde(skip_serializing_if = "Packets::is_empty")]
    pub up: Packets,
    /// Packets that are sent down.
    #[serde(skip_serializing_if = "Packets::is_empty")]
    pub down: Packets,
}

/// A protocol by which packets are selected.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// ICMP, of either version of IP.
    Icmp,
    /// TCP.
    Tcp,
    /// UDP, which includes QUIC.
    Udp,
}

impl Transport {
    /// The protocol of the packet header.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Icmp => Protocol::Icmp,
            Self::Tcp => Protocol::Tcp,
            Self::Udp => Protocol::Udp,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            capture: None,
            host: None,
            interface: None,
            protocol: None,
            port: None,
            speed: 1.0,
            period: None,
            up: Packets::default(),
            down: Packets::default(),
        }
    }
}

impl Config {
    /// Replaces the capture with the packets selected from it, so that the file is no longer
    /// needed.
    ///
    /// # Errors
    ///
    /// The invalid key, and a sentence.
    pub fn embed(&mut self, content: &[u8]) -> Result<(), Fault> {
        let fault = |key: &str, what: String| Err((key.to_owned(), what));
        if !self.up.is_empty() || !self.down.is_empty() {
            return fault(
                "capture",
                "either a capture, or packets in `up` and `down`".to_owned(),
            );
        }
        let [up, down] = choose(self, content)?;
        let name = self.capture.take().unwrap_or_default();
        for packets in [&up, &down] {
            if packets.len() > MOST_PACKETS {
                let what = format!(
                    "\"{name}\" has {} packets to replay one way, more than {MOST_PACKETS}: choose \
                     by host, protocol or port, or cut it by time (editcap -A -B)",
                    packets.len()
                );
                return fault("capture", what);
            }
        }
        (self.up, self.down) = (up, down);
        (self.host, self.interface, self.protocol, self.port) = (None, None, None, None);
        Ok(())
    }

    /// The packets that a side sends.
    fn of(&self, side: Side) -> &Packets {
        match side {
            Side::Host => &self.up,
            Side::Peer => &self.down,
        }
    }

    /// Time at which a packet is sent that was captured `nanos` after the first.
    fn scaled(&self, nanos: u64) -> Duration {
        Duration::from_nanos((nanos as f64 / self.speed) as u64)
    }
}

/// Largest number of packets, because memory is allocated for them and results contain them.
const MOST_PACKETS: usize = 1_000_000;

impl Definition for Config {
    fn about() -> About {
        About {
            name: "replay",
            properties: &[],
            measures: &[],
        }
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Both, Direction::Up, Direction::Down]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure(
            !self.up.is_empty() || !self.down.is_empty(),
            "capture",
            "a pcap or pcapng file (or packets in `up` and `down`)",
        )?;
        let chosen_by = [
            ("host", self.host.is_some()),
            ("interface", self.interface.is_some()),
            ("protocol", self.protocol.is_some()),
            ("port", self.port.is_some()),
        ];
        for (key, is_written) in chosen_by {
            ensure(
                !is_written || self.capture.is_some(),
                key,
                "none beside packets in `up` and `down`: it chooses from a capture",
            )?;
        }
        ensure(
            (0.001..=1000.0).contains(&self.speed),
            "speed",
            "a factor of 0.001 to 1000",
        )?;
        let last = self.scaled(self.up.last().max(self.down.last()));
        ensure_span(last, "capture")?;
        let Some(period) = self.period else {
            return Ok(());
        };
        ensure_span(period, "period")?;
        ensure(
            period >= last && period >= Duration::from_micros(1),
            "period",
            &format!("a time no shorter than what is replayed ({last}) nor than 1 us"),
        )
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Replay::new(self.clone(), direction))
    }

    fn datagrams(&self, _direction: Direction) -> Datagrams {
        let all = self.up.len().max(self.down.len()) as f64;
        let last = self.up.last().max(self.down.last()) as f64 / 1e9 / self.speed;
        let length = self.period.map_or(last, Duration::as_secs_f64).max(1e-3);
        let gap = Duration::from_secs_f64((length / all.max(1.0)).max(1e-9));
        Datagrams {
            largest: f64::from(u16::MAX),
            ..Datagrams::both(gap, 100.0)
        }
    }
}

/// A sender of captured packets.
#[derive(Debug)]
pub struct Replay {
    config: Config,
    sides: [bool; 2],
    flow: Option<FlowId>,
    started: Instant,
    /// Number of the next packet by side, counted over all repetitions.
    next: [u64; 2],
}

impl Replay {
    /// Creates a replay that starts on [`AppEvent::Started`].
    pub fn new(config: Config, direction: Direction) -> Self {
        Self {
            config,
            sides: direction.sides(),
            flow: None,
            started: Instant::ZERO,
            next: [0; 2],
        }
    }

    fn start(&mut self, cx: &mut AppContext<'_>) {
        self.flow = Some(cx.open_datagrams(0));
        self.started = cx.now;
        self.next = [0; 2];
        for side in Side::BOTH {
            if self.sides[side.index()]
                && let Some((due, _)) = self.due(side)
            {
                cx.wake_at(due, side.index() as u64);
            }
        }
    }

    /// Time and size of a side's next packet.
    fn due(&self, side: Side) -> Option<(Instant, u16)> {
        let packets = self.config.of(side);
        let count = packets.len() as u64;
        let (round, number) = match (count, self.config.period) {
            (0, _) => return None,
            (_, Some(_)) => (
                self.next[side.index()] / count,
                self.next[side.index()] % count,
            ),
            (_, None) => (0, self.next[side.index()]),
        };
        let (nanos, bytes) = packets.get(number as usize)?;
        let begun = self.started + self.config.period.unwrap_or_default() * round;
        Some((begun + self.config.scaled(nanos), bytes))
    }

    /// Sends the packets that are due.
    fn send(&mut self, side: Side, cx: &mut AppContext<'_>) {
        let Some(flow) = self.flow else { return };
        while let Some((due, size)) = self.due(side) {
            if due > cx.now {
                return cx.wake_at(due, side.index() as u64);
            }
            cx.datagram(flow, side, self.next[side.index()], size);
            self.next[side.index()] += 1;
        }
    }
}

impl Application for Replay {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.start(cx),
            AppEvent::Stopped => self.flow = None,
            AppEvent::Timer { token } => self.send(Side::BOTH[token as usize], cx),
            AppEvent::Flow { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::traffic::testing::Bench;

    fn config(text: &str) -> Config {
        toml::from_str(text).expect("a good replay")
    }

    /// Packets that are sent until `end`: time in milliseconds, side, number, size.
    fn sent(config: Config, direction: Direction, end: u64) -> Vec<(u64, Side, u64, u16)> {
        config.check().expect("a good replay");
        let mut replay = Replay::new(config, direction);
        let mut bench = Bench::new(1);
        bench.now = Instant::from_nanos(1_000_000_000);
        bench.notify(&mut replay, AppEvent::Started);
        let mut sent = Vec::new();
        while let Some((at, token)) = bench.next_timer()
            && at < Instant::from_nanos((1000 + end) * 1_000_000)
        {
            bench.notify(&mut replay, AppEvent::Timer { token });
            for (_, side, command) in bench.commands() {
                let Command::Datagram { number, size } = command else {
                    panic!("a replay sends datagrams")
                };
                sent.push((at.as_nanos() / 1_000_000 - 1000, side, number, size));
            }
        }
        sent
    }

    const BOTH: &str = "up = '0 200, 20000000 300, 20000000 40'\ndown = '10000000 1500'";

    #[test]
    fn packets_leave_as_long_after_the_start_as_they_were_captured_after_the_first() {
        let (up, down) = (Side::Host, Side::Peer);
        assert_eq!(
            sent(config(BOTH), Direction::Both, 1000),
            [
                (0, up, 0, 200),
                (10, down, 0, 1500),
                (20, up, 1, 300),
                (20, up, 2, 40)
            ]
        );
        assert_eq!(
            sent(config(BOTH), Direction::Down, 1000),
            [(10, down, 0, 1500)]
        );
    }

    #[test]
    fn a_replay_can_be_faster_and_repeated() {
        let text = format!("speed = 2.0\nperiod = '100 ms'\n{BOTH}");
        let up: Vec<_> = sent(config(&text), Direction::Up, 210)
            .iter()
            .map(|&(at, _, number, size)| (at, number, size))
            .collect();
        let round = |start, first| {
            [
                (start, first, 200),
                (start + 10, first + 1, 300),
                (start + 10, first + 2, 40),
            ]
        };
        assert_eq!(up[..6], [round(0, 0), round(100, 3)].concat());
        assert_eq!(up[6], (200, 6, 200));
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let fault = |text: &str| config(text).check().expect_err(text).0;
        assert_eq!(fault(""), "capture");
        assert_eq!(fault("up = '0 200'\nspeed = 0.0"), "speed");
        assert_eq!(fault("up = '0 200'\nspeed = nan"), "speed");
        assert_eq!(
            fault("up = '0 200, 5000000 200'\nperiod = '4 ms'"),
            "period"
        );
        assert_eq!(fault("up = '0 200'\nperiod = '0 s'"), "period");
    }
}
