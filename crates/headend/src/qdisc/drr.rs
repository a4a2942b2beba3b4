//! Deficit round robin (Shreedhar and Varghese 1995): queues of flows are served in turn by bytes,
//! at a constant cost per packet.
//!
//! Each flow has a queue. The queues that hold packets form a round. A queue gets a `quantum` of
//! bytes at the start of its turn. It sends while its credit covers the next packet, and keeps the
//! rest of the credit for its next turn. A queue that becomes empty loses its credit. In each
//! round, every flow sends one quantum, whatever the sizes of its packets.
//!
//! When the buffer is full, a packet of the longest queue is dropped (buffer stealing, §3.2 of the
//! paper, after McKenney). A flow therefore cannot displace the packets of others by sending more.
//!
//! Written from "Efficient Fair Queueing using Deficit Round Robin", figures 2 and 3; `ActiveList`,
//! `Quantum` and `DeficitCounter` are its terms. In the paper, a hash identifies the flows. Here,
//! each flow has a queue of its own unless `hash.isolation` says otherwise.
//!
//! Deviations:
//!
//! - The quantum is the same for all flows.
//! - A control law in the queues may discard packets while their queue is served. The packet that
//!   is sent instead may exceed the remaining credit. The difference is subtracted from the next
//!   turn.

use super::bundle::Law;
use super::flows::{Flows, IN_TURN, Setup};
use super::hash::{self, Isolation};
use super::turns::{TurnTable as _, Turns};
use super::{Parameters, QueueConfig, QueueDiscipline, unlimited};
use crate::aqm::Governor;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Depth, LineView};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of deficit round robin.
///
/// Use it to see the effect of fair sharing alone, without a control law that keeps queues short.
/// With `law`, use it to see the effect of that control law on each flow.
///
/// Source: Shreedhar and Varghese, Efficient Fair Queueing using Deficit Round Robin, 1995.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Drr")]
pub struct Config {
    /// Limit of all queues together: a size, a time at the line's rate, a number of packets, or
    /// "unlimited". Beyond it, the newest packet of the longest queue is dropped.
    pub limit: Limit,
    /// Bytes that each flow may send in a turn. Raising it above the largest packet makes the other
    /// flows wait longer for their turn. With less than the largest packet, a packet may need
    /// several turns.
    pub quantum: ByteCount,
    /// Number of queues, where a hash assigns flows to queues. Raising it makes flows share a queue
    /// less often.
    pub queues: u32,
    /// How flows are assigned to queues. Default: each flow has a queue of its own, `{ isolation =
    /// "perfect" }`.
    pub hash: hash::Config,
    /// The control law of each queue, such as "codel". The `limit` of the law holds for each queue.
    /// With "none", only the common limit applies.
    #[serde(with = "crate::named")]
    #[schemars(with = "crate::named::Named<QueueConfig>")]
    pub law: Box<QueueConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // The limit of drop_tail, so that the two differ only in the order of service.
            limit: Limit::Time(Duration::from_millis(250)),
            // The paper, theorem 3: a quantum of at least the largest packet makes the work per
            // packet O(1).
            quantum: ByteCount(1514),
            // RFC 8290's number.
            queues: 1024,
            hash: hash::Config {
                isolation: Isolation::Perfect,
                ..hash::Config::default()
            },
            law: Box::new(QueueConfig::None(unlimited::Config {})),
        }
    }
}

/// The smallest quantum; with smaller ones, a packet would need many rounds.
const LEAST_QUANTUM: u64 = 64;

impl Parameters for Config {
    fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        Ok(Box::new(self.queue(rate, rng)?))
    }

    fn governor(&self) -> Governor {
        Governor::ChosenLaw(Some("law"))
    }

    fn lets_pass(&self) -> Option<&'static str> {
        Some(IN_TURN)
    }
}

impl Config {
    fn queue(&self, rate: Rate, rng: Rng) -> Result<Drr, String> {
        check_quantum(self.quantum)?;
        let setup = Setup {
            queues: self.queues,
            hash: &self.hash,
            limit: self.limit,
            law: Law::Any((*self.law).clone()),
        };
        Ok(Drr::new(Flows::new(setup, rate, rng)?, self.quantum))
    }
}

/// # Errors
///
/// A sentence that says why the quantum is out of range.
pub(super) fn check_quantum(quantum: ByteCount) -> Result<(), String> {
    if (LEAST_QUANTUM..=1 << 30).contains(&quantum.0) {
        return Ok(());
    }
    Err(format!(
        "quantum must be from {LEAST_QUANTUM} B to 1 GiB, not {quantum}"
    ))
}

/// Queues that are served in turn by bytes.
#[derive(Debug)]
pub struct Drr {
    flows: Flows,
    /// `ActiveList`: the queues that hold packets, in the order of their turns.
    active: Turns<1>,
    /// `Quantum`; with 0, each turn is one packet.
    quantum: u64,
    /// Whether the first queue on the list has already got its quantum.
    is_turn_begun: bool,
}

/// The index of the only list.
const ACTIVE: usize = 0;

impl Drr {
    /// Turns of `quantum` bytes, or of one packet if that is 0.
    pub(super) fn new(flows: Flows, quantum: ByteCount) -> Self {
        Self {
            active: Turns::new(),
            flows,
            quantum: quantum.0,
            is_turn_begun: false,
        }
    }

    /// The queue of a packet that arrives.
    pub(super) fn place(&mut self, packet: &Packet, cx: &mut Context<'_>) -> usize {
        self.flows.place(packet, cx)
    }

    /// Bytes in `queue`, and bytes in the longest queue.
    pub(super) fn own_and_longest(&mut self, queue: usize) -> (u64, u64) {
        let bundle = &mut self.flows.bundle;
        (bundle.depth_of(queue).bytes, bundle.longest().1)
    }

    /// Figure 3, `Enqueuing`, after the queue of the packet is known. Returns true if a packet was
    /// dropped to make room.
    pub(super) fn join(
        &mut self,
        queue: usize,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> bool {
        let bundle = &mut self.flows.bundle;
        bundle.enqueue(queue, packet, line, cx);
        if !bundle.turn(queue).is_listed() && !bundle.is_empty(queue) {
            self.active.push(bundle, ACTIVE, queue);
            bundle.turn(queue).deficit = 0;
        }
        self.flows.push_out_tails(line, cx)
    }

    /// Figure 3, `Dequeuing`: whether the queue whose turn it is may send its next packet. Adds the
    /// quantum at the start of the turn.
    fn may_send(&mut self, queue: usize, size: u64) -> bool {
        let deficit = &mut self.flows.bundle.turn(queue).deficit;
        if !self.is_turn_begun {
            self.is_turn_begun = true;
            *deficit = match self.quantum {
                0 => size as i32,
                quantum => *deficit + quantum as i32,
            };
        }
        size as i32 <= *deficit
    }

    /// Ends the turn of the first queue on the list. The queue stays in the round if it still holds
    /// packets.
    fn end_turn(&mut self, queue: usize) {
        self.is_turn_begun = false;
        let bundle = &mut self.flows.bundle;
        if bundle.is_empty(queue) {
            self.active.pop(bundle, ACTIVE);
        } else {
            self.active.pass(bundle, ACTIVE, ACTIVE);
        }
    }
}

impl QueueDiscipline for Drr {
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        let queue = self.place(&packet, cx);
        self.join(queue, packet, line, cx);
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        while let Some(queue) = self.active.first(ACTIVE) {
            let Some(size) = self.flows.bundle.head_bytes(queue, line) else {
                self.end_turn(queue);
                continue;
            };
            if !self.may_send(queue, size) {
                self.end_turn(queue);
                continue;
            }
            let packet = self.flows.bundle.dequeue(queue, line, cx);
            if let Some(sent) = &packet {
                self.flows.bundle.turn(queue).deficit -= line.framing.bytes(sent) as i32;
            }
            if self.flows.bundle.is_empty(queue) {
                self.end_turn(queue);
            }
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        self.flows.bundle.release(line)
    }

    fn depth(&self) -> Depth {
        self.flows.bundle.depth()
    }

    fn next_update(&self) -> Option<Instant> {
        self.flows.bundle.next_update()
    }

    fn is_periodic(&self) -> bool {
        self.flows.bundle.is_periodic()
    }

    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.flows.bundle.update(line, cx);
    }

    fn internals(&self) -> QueueInternals {
        self.flows.internals()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::codel;
    use crate::flow::FlowId;
    use crate::testing::Bench;
    use crate::trace::DropReason;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    fn drr(config: &Config) -> Drr {
        config
            .queue(RATE, Rng::for_path(1, "queue"))
            .expect("it makes sense")
    }

    fn of_quantum(bytes: u64) -> Config {
        Config {
            quantum: ByteCount(bytes),
            ..Config::default()
        }
    }

    fn arrive(bench: &mut Bench, queue: &mut Drr, flow: FlowId, sizes: &[u16]) {
        for &size in sizes {
            let packet = bench.packet(flow, size);
            queue.enqueue(packet, &LINE, &mut bench.cx());
        }
    }

    /// Flow and size of the next `count` packets that are sent.
    fn sent(bench: &mut Bench, queue: &mut Drr, count: usize) -> Vec<(FlowId, u16)> {
        let mut list = Vec::new();
        while list.len() < count {
            let Some(packet) = queue.dequeue(&LINE, &mut bench.cx()) else {
                break;
            };
            list.push((packet.flow, packet.size));
            bench.end(packet);
        }
        list
    }

    /// The example of the paper's figures 2 and 3, with a quantum of 500. The first flow has
    /// packets of 200, 750 and 20 bytes, the second of 500 and 500. The first flow sends 200 bytes
    /// and keeps a credit of 300. The second sends 500. The first then has a credit of 800 and
    /// sends 750 and 20.
    #[test]
    fn a_flow_keeps_credit_that_does_not_cover_its_next_packet() {
        let mut bench = Bench::new();
        let [one, two] = [bench.flow(0), bench.flow(0)];
        let mut queue = drr(&of_quantum(500));
        arrive(&mut bench, &mut queue, one, &[200, 750, 20]);
        arrive(&mut bench, &mut queue, two, &[500, 500]);
        assert_eq!(sent(&mut bench, &mut queue, 1), [(one, 200)]);
        assert_eq!(sent(&mut bench, &mut queue, 1), [(two, 500)]);
        let deficits = [0, 1].map(|of| queue.flows.bundle.turn(of).deficit);
        assert_eq!(deficits, [300, 0]);
        assert_eq!(
            sent(&mut bench, &mut queue, 9),
            [(one, 750), (one, 20), (two, 500)]
        );
    }

    #[test]
    fn an_idle_flow_saves_nothing() {
        let mut bench = Bench::new();
        let [one, two] = [bench.flow(0), bench.flow(0)];
        let mut queue = drr(&of_quantum(1000));
        arrive(&mut bench, &mut queue, one, &[100]);
        sent(&mut bench, &mut queue, 1);
        arrive(&mut bench, &mut queue, one, &[600, 600]);
        arrive(&mut bench, &mut queue, two, &[600]);
        assert_eq!(
            sent(&mut bench, &mut queue, 9),
            [(one, 600), (two, 600), (one, 600)]
        );
    }

    /// Lemma 2 of the paper: while both flows always have packets, the bytes that they have sent
    /// differ by less than a quantum and two largest packets.
    #[test]
    fn flows_that_always_have_packets_stay_within_a_quantum_and_two_packets_of_each_other() {
        let mut bench = Bench::new();
        let mut rng = Rng::for_path(1, "sizes");
        let flows = [bench.flow(0), bench.flow(0), bench.flow(0)];
        let mut queue = drr(&Config {
            limit: Limit::Unlimited,
            ..of_quantum(1514)
        });
        for &flow in &flows {
            let sizes: Vec<u16> = (0..3000)
                .map(|_| match flow {
                    flow if flow == flows[0] => 1500,
                    flow if flow == flows[1] => 40,
                    _ => 40 + rng.below(1461) as u16,
                })
                .collect();
            arrive(&mut bench, &mut queue, flow, &sizes);
        }
        let mut bytes = [0_i64; 3];
        for _ in 0..3000 {
            let (flow, size) = sent(&mut bench, &mut queue, 1)[0];
            let index = flows.iter().position(|&one| one == flow).expect("ours");
            bytes[index] += i64::from(size);
            let spread = bytes.iter().max().expect("three") - bytes.iter().min().expect("three");
            assert!(spread <= 1514 + 2 * 1500, "{bytes:?}");
        }
        assert!(bytes[1] > 100_000);
    }

    #[test]
    fn a_quantum_below_the_packet_takes_several_turns() {
        let mut bench = Bench::new();
        let [one, two] = [bench.flow(0), bench.flow(0)];
        let mut queue = drr(&of_quantum(100));
        arrive(&mut bench, &mut queue, one, &[300]);
        arrive(&mut bench, &mut queue, two, &[100; 4]);
        assert_eq!(
            sent(&mut bench, &mut queue, 9),
            [(two, 100), (two, 100), (one, 300), (two, 100), (two, 100)]
        );
    }

    #[test]
    fn the_longest_queue_loses_a_packet_whichever_flow_arrives() {
        let mut bench = Bench::new();
        let [fat, thin] = [bench.flow(0), bench.flow(0)];
        let mut queue = drr(&Config {
            limit: Limit::Packets(5),
            ..Config::default()
        });
        arrive(&mut bench, &mut queue, fat, &[1000; 5]);
        arrive(&mut bench, &mut queue, thin, &[100, 200]);
        let discards = bench.take_discards();
        assert_eq!(discards.len(), 2);
        assert!(
            discards
                .iter()
                .all(|&(_, reason)| reason == DropReason::Overlimit)
        );
        let rest = sent(&mut bench, &mut queue, 9);
        assert_eq!(rest.iter().filter(|&&(flow, _)| flow == thin).count(), 2);
        assert_eq!(rest.len(), 5);
    }

    #[test]
    fn a_queue_that_was_pushed_empty_is_passed_over_and_comes_back() {
        let mut bench = Bench::new();
        let [one, two] = [bench.flow(0), bench.flow(0)];
        let mut queue = drr(&Config {
            limit: Limit::Bytes(ByteCount(1500)),
            ..Config::default()
        });
        arrive(&mut bench, &mut queue, one, &[1500]);
        arrive(&mut bench, &mut queue, two, &[100]);
        assert_eq!(bench.take_discards().len(), 1, "the 1500 bytes");
        arrive(&mut bench, &mut queue, one, &[300]);
        assert_eq!(sent(&mut bench, &mut queue, 9), [(one, 300), (two, 100)]);
        assert_eq!(queue.depth(), Depth::default());
        assert!(queue.dequeue(&LINE, &mut bench.cx()).is_none());
    }

    #[test]
    fn a_law_that_discards_takes_the_difference_from_the_next_turn() {
        let mut bench = Bench::new();
        let [one, two] = [bench.flow(0), bench.flow(0)];
        let law = codel::Config {
            target: Duration::from_millis(1),
            interval: Duration::from_millis(1),
            ..codel::Config::default()
        };
        let mut queue = drr(&Config {
            law: Box::new(QueueConfig::Codel(law)),
            ..of_quantum(1000)
        });
        arrive(&mut bench, &mut queue, one, &[200, 200, 1500, 1500, 1500]);
        arrive(&mut bench, &mut queue, two, &[1000; 5]);
        bench.advance(Duration::from_millis(1));
        assert_eq!(sent(&mut bench, &mut queue, 1), [(one, 200)]);
        bench.advance(Duration::from_millis(1));
        // The law discards the second packet of 200 bytes. The packet of 1500 is sent instead, with
        // a credit of 800.
        assert_eq!(sent(&mut bench, &mut queue, 1), [(one, 1500)]);
        assert_eq!(queue.flows.bundle.turn(0).deficit, -700);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let refusal = |config: Config| {
            config
                .queue(RATE, Rng::for_path(1, "queue"))
                .expect_err("it makes no sense")
        };
        assert!(refusal(of_quantum(63)).contains("quantum"));
        let within = Config {
            law: Box::new(QueueConfig::Drr(Config::default())),
            ..Config::default()
        };
        assert!(refusal(within).contains("scheduler"));
        let none = Config {
            queues: 0,
            ..Config::default()
        };
        assert!(refusal(none).contains("queues"));
    }
}
