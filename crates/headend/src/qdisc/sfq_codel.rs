//! SFQ-CoDel as studied in "Active Queue Management in DOCSIS 3.x Cable Modems" (§4.4): 32 hashed
//! queues, with CoDel in each.
//!
//! A modem has hardware for few queues, and has many service flows: hence 32 queues in place of
//! FQ-CoDel's 1024. Flows are served in turn by bytes, and those that begin to send are served
//! first ([`FlowQueue`]). CoDel's `target` of 50 ms and `interval` of 200 ms are large, so that
//! single TCP connections fill the line. Flows in other queues are not delayed by such a
//! connection. Flows in the same queue are: with ten uploads, this happens to about a quarter of
//! all calls ([`hash`](super::hash)).
//!
//! Written from the paper, and from a description of the ns-2 code behind it:
//!
//! - CoDel's test for the last large packet counts the bytes in all queues together;
//! - the last packet of a queue is never dropped;
//! - when the buffer is full, the newest packet of the longest queue is dropped.

use super::bundle::Law;
use super::flow_queue::{FlowQueue, Overload};
use super::flows::{IN_TURN, Setup};
use super::{Parameters, QueueDiscipline, hash};
use crate::aqm::codel;
use crate::rng::Rng;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of SFQ-CoDel.
///
/// Use it to see what a modem with few hardware queues can achieve, and to reproduce the results of
/// the AQM paper.
///
/// Source: "Active Queue Management in DOCSIS 3.x Cable Modems", section 4.4.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "SfqCodel")]
pub struct Config {
    /// Limit of all queues together: a size, a time at the line's rate, a number of packets, or
    /// "unlimited". Beyond it, the newest packet of the longest queue is dropped.
    pub limit: Limit,
    /// Number of queues. Raising it makes flows share a queue less often.
    pub queues: u32,
    /// Bytes that a flow may send in a turn, and before all others when it begins to send. Raising
    /// it favours flows that begin to send, and large packets.
    pub quantum: ByteCount,
    /// How flows are assigned to queues.
    pub hash: hash::Config,
    /// CoDel's target in each queue: the sojourn time that is acceptable permanently.
    pub target: Duration,
    /// CoDel's interval in each queue: how long the sojourn time must stay above the target before
    /// the first drop.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // AQM paper §9: the buffer of a modem with AQM.
            limit: Limit::Time(Duration::from_millis(250)),
            // AQM paper §4.4: queues, target and interval.
            queues: 32,
            // RFC 8290 §5.2.4; the AQM paper names none.
            quantum: ByteCount(1514),
            hash: hash::Config::default(),
            target: Duration::from_millis(50),
            interval: Duration::from_millis(200),
            ecn: true,
        }
    }
}

impl Parameters for Config {
    fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        Ok(Box::new(self.queue(rate, rng)?))
    }

    fn lets_pass(&self) -> Option<&'static str> {
        Some(IN_TURN)
    }
}

impl Config {
    fn queue(&self, rate: Rate, rng: Rng) -> Result<FlowQueue, String> {
        let codel = codel::Config {
            limit: Limit::Unlimited,
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ..codel::Config::default()
        };
        let setup = Setup {
            queues: self.queues,
            hash: &self.hash,
            limit: self.limit,
            law: Law::SparingCodel(codel),
        };
        FlowQueue::new(setup, self.quantum, Overload::TailOfLongest, (rate, rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::queue::LineView;
    use crate::testing::Bench;
    use crate::trace::DropReason;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    fn scene(config: &Config) -> (Bench, FlowQueue) {
        let rng = Rng::for_path(1, "queue");
        (
            Bench::new(),
            config.queue(RATE, rng).expect("it makes sense"),
        )
    }

    fn arrive(bench: &mut Bench, queue: &mut FlowQueue, flow: FlowId, packets: usize) {
        for _ in 0..packets {
            let packet = bench.packet(flow, 1000);
            queue.enqueue(packet, &LINE, &mut bench.cx());
        }
    }

    fn apart() -> Config {
        Config {
            hash: hash::Config {
                isolation: hash::Isolation::Perfect,
                ..hash::Config::default()
            },
            ..Config::default()
        }
    }

    /// Lets `own` packets of a flow wait longer than CoDel allows, while another queue is full.
    /// Returns how many packets are discarded until one of them is sent.
    fn drops_after_a_long_wait(own: usize) -> usize {
        let (mut bench, mut queue) = scene(&apart());
        let [bulk, late] = [bench.flow(0), bench.flow(0)];
        arrive(&mut bench, &mut queue, late, 1);
        arrive(&mut bench, &mut queue, bulk, 100);
        arrive(&mut bench, &mut queue, late, own);
        bench.advance(Duration::from_millis(60));
        let first = queue.dequeue(&LINE, &mut bench.cx()).expect("one of these");
        assert_eq!(first.flow, late);
        bench.end(first);
        bench.advance(Duration::from_millis(250));
        bench.take_log();
        while let Some(packet) = queue.dequeue(&LINE, &mut bench.cx()) {
            let is_late = packet.flow == late;
            bench.end(packet);
            if is_late {
                break;
            }
        }
        bench.take_discards().len()
    }

    #[test]
    fn the_last_packet_of_a_queue_is_spared_and_the_last_but_one_is_not() {
        assert_eq!(drops_after_a_long_wait(1), 0);
        // The packets of the other queues alone make CoDel treat this one as a standing queue: its
        // own bytes are fewer than those of the largest packet.
        assert_eq!(drops_after_a_long_wait(2), 1);
    }

    #[test]
    fn a_full_buffer_takes_the_newest_packet_of_the_longest_queue() {
        let (mut bench, mut queue) = scene(&Config {
            limit: Limit::Packets(10),
            ..apart()
        });
        let [fat, thin] = [bench.flow(0), bench.flow(0)];
        arrive(&mut bench, &mut queue, fat, 10);
        arrive(&mut bench, &mut queue, thin, 2);
        let discards = bench.take_discards();
        assert!(
            discards
                .iter()
                .all(|&(_, reason)| reason == DropReason::Overlimit)
        );
        assert_eq!((discards.len(), queue.depth().packets), (2, 10));
        let numbers = std::iter::from_fn(|| {
            let packet = queue.dequeue(&LINE, &mut bench.cx())?;
            let number = packet.seq;
            bench.end(packet);
            Some(number)
        });
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable();
        assert_eq!(
            numbers,
            [0, 1, 2, 3, 4, 5, 6, 7, 10, 11],
            "8 and 9 were the newest"
        );
    }

    #[test]
    fn the_defaults_are_those_of_the_paper() {
        let config = Config::default();
        assert_eq!(
            (config.queues, config.target, config.interval),
            (32, Duration::from_millis(50), Duration::from_millis(200))
        );
        assert!(scene(&config).1.next_update().is_none());
    }
}
