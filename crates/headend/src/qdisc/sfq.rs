//! Stochastic fair queueing (McKenney 1990): fair queueing with a fixed number of queues, and a
//! hash in place of a table of flows.
//!
//! A hash of its headers assigns each flow to one of `queues` queues, which are served in turn.
//! Flows in the same queue share its turn. When the buffer is full, the newest packet of the
//! longest queue is dropped.
//!
//! "Active Queue Management in DOCSIS 3.x Cable Modems" (§4.4) uses 32 queues and turns by bytes,
//! that is [deficit round robin](super::drr). This module does the same. McKenney's own turns are
//! one packet each (`quantum = "0 B"`).
//!
//! Deviation: the hash does not change while the queue runs. McKenney changes it to separate flows
//! that share a queue; packets of a flow can be reordered then.

use super::bundle::Law;
use super::drr::{Drr, check_quantum};
use super::flows::{Flows, IN_TURN, Setup};
use super::{Parameters, QueueConfig, QueueDiscipline, hash, unlimited};
use crate::aqm::Governor;
use crate::rng::Rng;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of stochastic fair queueing.
///
/// Use it to see how a small number of queues, and collisions in them, affect fair sharing. With
/// `law`, use it to put any control law into hashed queues.
///
/// Source: McKenney, Stochastic Fairness Queueing, 1990; "Active Queue Management in DOCSIS 3.x
/// Cable Modems", section 4.4.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Sfq")]
pub struct Config {
    /// Limit of all queues together: a size, a time at the line's rate, a number of packets, or
    /// "unlimited". Beyond it, the newest packet of the longest queue is dropped.
    pub limit: Limit,
    /// Number of queues. Raising it makes flows share a queue less often.
    pub queues: u32,
    /// Bytes that each queue may send in a turn; with "0 B", a turn is one packet, whatever its
    /// size. Raising it above the largest packet makes the other queues wait longer for their turn.
    pub quantum: ByteCount,
    /// How flows are assigned to queues.
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
            // AQM paper §4.4.
            queues: 32,
            // A full Ethernet frame without FCS: the quantum of RFC 8290 §5.2.4; the AQM paper
            // names none.
            quantum: ByteCount(1514),
            hash: hash::Config::default(),
            law: Box::new(QueueConfig::None(unlimited::Config {})),
        }
    }
}

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
        if self.quantum.0 > 0 {
            check_quantum(self.quantum)?;
        }
        let setup = Setup {
            queues: self.queues,
            hash: &self.hash,
            limit: self.limit,
            law: Law::Any((*self.law).clone()),
        };
        Ok(Drr::new(Flows::new(setup, rate, rng)?, self.quantum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::queue::LineView;
    use crate::testing::Bench;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    fn sfq(config: &Config) -> Drr {
        config
            .queue(RATE, Rng::for_path(1, "queue"))
            .expect("it makes sense")
    }

    /// Parameters with a hash that puts the first flows in different queues.
    fn seeded() -> Config {
        Config {
            hash: hash::Config {
                seed: Some(2),
                ..hash::Config::default()
            },
            ..Config::default()
        }
    }

    fn arrive(bench: &mut Bench, queue: &mut Drr, flow: FlowId, sizes: &[u16]) {
        for &size in sizes {
            let packet = bench.packet(flow, size);
            queue.enqueue(packet, &LINE, &mut bench.cx());
        }
    }

    fn sent(bench: &mut Bench, queue: &mut Drr, count: usize) -> Vec<(FlowId, u16)> {
        let mut list = Vec::new();
        for _ in 0..count {
            let Some(packet) = queue.dequeue(&LINE, &mut bench.cx()) else {
                break;
            };
            list.push((packet.flow, packet.size));
            bench.end(packet);
        }
        list
    }

    #[test]
    fn without_a_quantum_each_turn_is_a_packet_whatever_its_size() {
        let mut bench = Bench::new();
        let [large, small] = [bench.flow(0), bench.flow(0)];
        let mut queue = sfq(&Config {
            quantum: ByteCount(0),
            ..seeded()
        });
        arrive(&mut bench, &mut queue, large, &[1500; 3]);
        arrive(&mut bench, &mut queue, small, &[40; 3]);
        let turn = [(large, 1500), (small, 40)];
        assert_eq!(sent(&mut bench, &mut queue, 9), [turn; 3].concat());
    }

    #[test]
    fn flows_in_one_queue_share_its_turn() {
        let mut bench = Bench::new();
        let flows: Vec<FlowId> = (0..3).map(|_| bench.flow(0)).collect();
        let mut queue = sfq(&Config {
            queues: 1,
            ..Config::default()
        });
        for &flow in &flows {
            arrive(&mut bench, &mut queue, flow, &[500; 2]);
        }
        let order: Vec<FlowId> = (sent(&mut bench, &mut queue, 9).iter())
            .map(|&(flow, _)| flow)
            .collect();
        assert_eq!(
            order,
            [flows[0], flows[0], flows[1], flows[1], flows[2], flows[2]]
        );
        assert_eq!(queue.internals().hash_collisions, Some(4.0));
    }

    #[test]
    fn in_a_tunnel_a_call_waits_behind_the_upload() {
        for (is_tunnelled, before_the_call) in [(false, 1), (true, 10)] {
            let mut bench = Bench::new();
            let mut flow = || {
                if is_tunnelled {
                    bench.tunnelled_flow(1)
                } else {
                    bench.flow(0)
                }
            };
            let [upload, call] = [flow(), flow()];
            let mut queue = sfq(&seeded());
            arrive(&mut bench, &mut queue, upload, &[1500; 10]);
            arrive(&mut bench, &mut queue, call, &[200]);
            let order = sent(&mut bench, &mut queue, 11);
            let place = order.iter().position(|&(flow, _)| flow == call);
            assert_eq!(place, Some(before_the_call), "{order:?}");
        }
    }

    #[test]
    fn a_quantum_of_a_few_bytes_is_refused() {
        let config = Config {
            quantum: ByteCount(1),
            ..Config::default()
        };
        let refusal = config.queue(RATE, Rng::for_path(1, "queue"));
        assert!(refusal.is_err_and(|why| why.contains("quantum")));
    }
}
