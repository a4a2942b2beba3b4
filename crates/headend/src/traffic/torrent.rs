//! A torrent: connections to many peers that share one rate limit, which the program enforces with
//! a token bucket.
//!
//! Whenever the bucket allows it, the program writes one block to a connection, in turn among the
//! connections that are writable. A connection that its congestion control delays is not writable,
//! and leaves its share of the limit to the others. The model leaves out requests, choking, and
//! pieces sent in the other direction.

use std::collections::VecDeque;

use super::definition::{About, Definition, Fault, Property, ensure, ensure_rate};
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::{ByteCount, Rate};

/// Parameters of a torrent.
///
/// Use it for many connections that yield to all other traffic. Their congestion control is LEDBAT
/// unless the flow's `tcp` gives another.
///
/// Source: White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014), Table 1,
/// load 9; block size: BEP 3, congestion control: BEP 29.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Number of bytes that are written to a connection at a time. Smaller blocks share the rate
    /// limit more evenly, and need more computing time.
    pub block: ByteCount,
    /// Number of bytes that may exceed the rate limit after a time with less traffic.
    pub burst: ByteCount,
    /// Number of connections, each to a peer of its own.
    pub connections: u32,
    /// Rate limit of all connections together, in bytes of their streams.
    pub rate: Rate,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // BEP 3: the size of a block that peers request.
            block: ByteCount(16 * 1024),
            // A choice: a few blocks.
            burst: ByteCount(64 * 1024),
            connections: 100,
            // Half of the upstream rate in the study.
            rate: Rate(100_000_000),
        }
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "torrent",
            properties: &[Property::Transfer],
            measures: &[],
        }
    }

    fn transport(&self) -> &'static str {
        "tcp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Up, Direction::Down]
    }

    fn peers_wanted(&self) -> usize {
        self.connections as usize
    }

    fn check(&self) -> Result<(), Fault> {
        let connections = (1..=1000).contains(&self.connections);
        ensure(connections, "connections", "1 to 1000")?;
        let block = (1..=1 << 30).contains(&self.block.0);
        ensure(block, "block", "1 B to 1 GiB")?;
        ensure(self.burst >= self.block, "burst", "at least a block")?;
        ensure_rate(self.rate, self.block, "rate")?;
        ensure_rate(self.rate, self.burst, "burst")
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Torrent::new(self.clone(), direction.sender()))
    }

    fn connections(&self) -> u64 {
        u64::from(self.connections)
    }
}

/// A host that shares files.
#[derive(Debug)]
pub struct Torrent {
    config: Config,
    from: Side,
    /// Open connections, by peer.
    flows: Vec<Option<FlowId>>,
    /// Writable connections, the next one first.
    ready: VecDeque<FlowId>,
    /// Time at which the bucket is full again (the theoretical arrival time of the virtual
    /// scheduling in ITU-T I.371, which is a token bucket without a token count).
    full_at: Instant,
    /// Time to send a block, and the burst, at the rate limit.
    block_time: Duration,
    burst_time: Duration,
    /// Whether a wake-up for the next block is scheduled.
    is_waiting: bool,
    stopped: bool,
}

impl Torrent {
    /// Creates a torrent that sends blocks from side `from`, and starts on [`AppEvent::Started`].
    pub fn new(config: Config, from: Side) -> Self {
        let connections = config.connections as usize;
        Self {
            from,
            flows: Vec::with_capacity(connections),
            ready: VecDeque::with_capacity(connections),
            full_at: Instant::ZERO,
            block_time: config.rate.time_for(config.block.0),
            burst_time: config.rate.time_for(config.burst.0),
            is_waiting: false,
            stopped: false,
            config,
        }
    }

    /// Connections are opened at random times within a second, because no program opens a hundred
    /// at once.
    fn start(&mut self, cx: &mut AppContext<'_>) {
        for peer in 0..u64::from(self.config.connections) {
            self.flows.push(None);
            let offset = cx.rng.span(OPENING);
            cx.wake_at(cx.now + offset, peer);
        }
    }

    fn open(&mut self, peer: usize, cx: &mut AppContext<'_>) {
        // The scenario may have fewer peers.
        self.flows[peer] = Some(cx.connect(peer % cx.peers(), Side::Host));
    }

    fn connection_lost(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        self.ready.retain(|&ready| ready != flow);
        let peer = self.flows.iter().position(|&own| own == Some(flow));
        if let Some(peer) = peer {
            self.open(peer, cx);
        }
    }

    /// `flow` has become writable.
    fn became_writable(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        self.ready.push_back(flow);
        self.write_blocks(cx);
    }

    /// Writes blocks while the bucket allows it and a connection is writable.
    fn write_blocks(&mut self, cx: &mut AppContext<'_>) {
        while let Some(&flow) = self.ready.front() {
            let full_at = self.full_at.max(cx.now) + self.block_time;
            if full_at > cx.now + self.burst_time {
                if !self.is_waiting {
                    self.is_waiting = true;
                    cx.wake_at(cx.now + (full_at - (cx.now + self.burst_time)), NEXT_BLOCK);
                }
                return;
            }
            self.full_at = full_at;
            self.ready.pop_front();
            cx.send(flow, self.from, self.config.block.0);
            // One block stays written ahead so that segments are full. A slow connection gets no
            // more, so that it does not hold blocks back from the others.
            cx.await_room(flow, self.from, self.config.block.0);
        }
    }

    fn stop(&mut self, cx: &mut AppContext<'_>) {
        self.stopped = true;
        self.ready.clear();
        for flow in self.flows.iter_mut().filter_map(Option::take) {
            cx.hang_up(flow);
        }
    }
}

impl Application for Torrent {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.start(cx),
            AppEvent::Stopped => self.stop(cx),
            _ if self.stopped => {}
            AppEvent::Timer { token: NEXT_BLOCK } => {
                self.is_waiting = false;
                self.write_blocks(cx);
            }
            AppEvent::Timer { token } => self.open(token as usize, cx),
            AppEvent::Flow { flow, news } => match news {
                News::Connected | News::Writable { .. } => self.became_writable(flow, cx),
                News::Closed => self.connection_lost(flow, cx),
                News::Delivered { .. } | News::Received { .. } => {}
            },
        }
    }
}

/// Time within which connections are opened.
const OPENING: Duration = Duration::from_secs(1);
/// Token of the wake-up for the next block; smaller tokens are peers to connect to.
const NEXT_BLOCK: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::traffic::testing::Bench;

    /// Runs ten connections at a limit of 10 Mbit/s for 10 s. `takes` gives the time that a
    /// connection needs to send a block. Returns the time and the connection of each block.
    fn run(takes: impl Fn(u32) -> Option<Duration>) -> Vec<(Instant, u32)> {
        let text = "connections = 10\nrate = \"10 Mbit/s\"\nblock = \"10 kB\"\nburst = \"50 kB\"";
        let mut torrent = Torrent::new(toml::from_str(text).expect("good"), Side::Host);
        let mut bench = Bench::new(10);
        bench.notify(&mut torrent, AppEvent::Started);
        let (mut blocks, mut writable) = (Vec::new(), Vec::new());
        while let Some((at, token)) = bench.next_timer()
            && at < Instant::ZERO + Duration::from_secs(10)
        {
            // Connections that have sent their blocks by now are writable.
            writable.sort_unstable();
            while let Some(&(time, flow)) = writable.first()
                && time < at
            {
                writable.remove(0);
                bench.now = time;
                let news = News::Writable { at: Side::Host };
                bench.notify(
                    &mut torrent,
                    AppEvent::Flow {
                        flow: FlowId(flow),
                        news,
                    },
                );
                note(&mut bench, &mut blocks, &mut writable, &takes);
            }
            bench.now = at;
            bench.notify(&mut torrent, AppEvent::Timer { token });
            note(&mut bench, &mut blocks, &mut writable, &takes);
        }
        blocks
    }

    fn note(
        bench: &mut Bench,
        blocks: &mut Vec<(Instant, u32)>,
        writable: &mut Vec<(Instant, u32)>,
        takes: &impl Fn(u32) -> Option<Duration>,
    ) {
        for (flow, _, command) in bench.commands() {
            match command {
                // A connection is established at once, and so writable.
                Command::Open => writable.push((bench.now, flow.0)),
                Command::Send { bytes } => {
                    assert_eq!(bytes, 10_000);
                    blocks.push((bench.now, flow.0));
                }
                Command::Await { .. } => {
                    writable.extend(takes(flow.0).map(|time| (bench.now + time, flow.0)));
                }
                other => panic!("not of a torrent: {other:?}"),
            }
        }
    }

    #[test]
    fn all_together_keep_the_cap_over_any_time() {
        let blocks = run(|_| Some(Duration::from_micros(10)));
        // 10 Mbit/s are 125 blocks a second, after the burst of five.
        for (first, (from, _)) in blocks.iter().enumerate() {
            for (number, (to, _)) in blocks[first..].iter().enumerate() {
                let most = 5.0 + (*to - *from).as_secs_f64() * 125.0;
                assert!(
                    number as f64 + 1.0 <= most + 1e-6,
                    "{number} blocks from {from:?} to {to:?}"
                );
            }
        }
        assert!(blocks.len() > 1100, "and use it: {}", blocks.len());
    }

    #[test]
    fn connections_that_can_send_share_the_cap_evenly_and_take_what_others_leave() {
        // Connection 0 needs a second for a block; connection 1 never becomes writable again.
        let blocks = run(|flow| match flow {
            0 => Some(Duration::from_secs(1)),
            1 => None,
            _ => Some(Duration::from_micros(10)),
        });
        let of = |flow| blocks.iter().filter(|block| block.1 == flow).count();
        assert!((8..=10).contains(&of(0)), "{}", of(0));
        assert_eq!(of(1), 1);
        let others: Vec<usize> = (2..10).map(of).collect();
        let (least, most) = (others.iter().min(), others.iter().max());
        // The first second, in which connections are opened, does not count.
        assert!(
            most.zip(least)
                .is_some_and(|(most, least)| most - least < 60),
            "{others:?}"
        );
        assert!(blocks.len() > 1100, "{}", blocks.len());
    }

    #[test]
    fn a_stopped_torrent_closes_all_and_sends_no_more() {
        let mut torrent = Torrent::new(Config::default(), Side::Host);
        let mut bench = Bench::new(100);
        bench.notify(&mut torrent, AppEvent::Started);
        for _ in 0..100 {
            let (_, token) = bench.next_timer().expect("connections are opened");
            bench.notify(&mut torrent, AppEvent::Timer { token });
        }
        assert_eq!(bench.commands().len(), 100);
        bench.notify(&mut torrent, AppEvent::Stopped);
        assert_eq!(bench.commands().len(), 200, "both sides of each are closed");
        let (flow, news) = (FlowId(3), News::Connected);
        bench.notify(&mut torrent, AppEvent::Flow { flow, news });
        assert_eq!(bench.commands(), []);
    }
}
