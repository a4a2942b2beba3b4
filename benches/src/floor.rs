//! The floor: the least work of any packet simulator, written by hand for one bottleneck.
//!
//! Greedy TCP flows (slow start, AIMD, selective repeat, a retransmission timeout) share one
//! drop-tail link. A packet's departure is computed on arrival (Lindley), and its acknowledgement
//! waits in a ring of its flow, so that there is one event per packet. A winner tree over the flows
//! finds the next event. A delay histogram and throughput bins are kept, as every useful simulator
//! must.
//!
//! There are no layers, packets, headers or queue disciplines. The ratio of headend's cost to the
//! floor's is thus the cost of generality, on any machine.

/// A case to run.
pub struct Case {
    /// The bottleneck rate, in bit/s.
    pub rate_bps: u64,
    /// The buffer, in bytes.
    pub buffer_bytes: u64,
    /// The round-trip time of each flow without queueing, in nanoseconds.
    pub rtts_ns: Vec<u64>,
    /// The simulated time, in nanoseconds.
    pub duration_ns: u64,
}

/// The results of a case.
pub struct Outcome {
    /// The number of packets delivered.
    pub delivered: u64,
    /// The number of packets dropped.
    pub dropped: u64,
    /// A checksum of the statistics, so that the compiler does not remove them.
    pub checksum: u64,
}

const PACKET: u64 = 1500;
const NEVER: u64 = u64::MAX;
const LOST: u64 = 1 << 63;
const RTO_NS: u64 = 1_000_000_000;

struct Flow {
    /// The times at which acknowledgements reach the sender, in order. The entry of a lost packet
    /// is the time at which the sender detects the loss.
    ring: Vec<u64>,
    head: usize,
    len: usize,
    rtt: u64,
    cwnd: u64,
    /// The fractions of a packet by which congestion avoidance has grown the window.
    credit: u64,
    ssthresh: u64,
    in_flight: u64,
    /// Losses of packets that were sent before this time belong to the same loss event.
    recover_at: u64,
}

impl Flow {
    fn push(&mut self, at: u64) {
        let mask = self.ring.len() - 1;
        let slot = (self.head + self.len) & mask;
        self.ring[slot] = at;
        self.len += 1;
    }

    fn next(&self) -> u64 {
        if self.len == 0 {
            NEVER
        } else {
            self.ring[self.head] & !LOST
        }
    }
}

/// Runs the case.
pub fn run(case: &Case) -> Outcome {
    let n = case.rtts_ns.len();
    let leaves = n.next_power_of_two();
    let mut flows: Vec<Flow> = case
        .rtts_ns
        .iter()
        .map(|&rtt| Flow {
            ring: vec![0; 1 << 16],
            head: 0,
            len: 0,
            rtt,
            cwnd: 10,
            credit: 0,
            ssthresh: 1 << 40,
            in_flight: 0,
            recover_at: 0,
        })
        .collect();
    let mut tree = vec![NEVER; 2 * leaves];
    let mut histogram = vec![0_u32; 4096];
    let mut bins = vec![0_u64; (case.duration_ns / 100_000_000) as usize + 1];
    let serialisation = PACKET * 8 * 1_000_000_000 / case.rate_bps;
    let full = case.buffer_bytes * 8 * 1_000_000_000 / case.rate_bps;
    let (mut free_at, mut delivered, mut dropped) = (0_u64, 0_u64, 0_u64);
    for (index, flow) in flows.iter_mut().enumerate() {
        // The flows start a little apart, so that they are not synchronised.
        flow.push(1 + index as u64 * 1_234_567);
        flow.in_flight = 1;
        set(&mut tree, leaves, index, flow.next());
    }
    loop {
        let index = winner(&tree, leaves);
        let flow = &mut flows[index];
        let now = flow.next();
        if now > case.duration_ns {
            break;
        }
        let lost = flow.ring[flow.head] & LOST != 0;
        flow.head = (flow.head + 1) & (flow.ring.len() - 1);
        flow.len -= 1;
        flow.in_flight -= 1;
        if lost {
            if now >= flow.recover_at {
                flow.ssthresh = (flow.cwnd / 2).max(2);
                flow.cwnd = flow.ssthresh;
                flow.recover_at = now + flow.rtt + free_at.saturating_sub(now);
            }
        } else if flow.cwnd < flow.ssthresh {
            flow.cwnd += 1;
        } else {
            flow.credit += 1;
            if flow.credit >= flow.cwnd {
                flow.credit = 0;
                flow.cwnd += 1;
            }
        }
        while flow.in_flight < flow.cwnd {
            let wait = free_at.saturating_sub(now);
            flow.in_flight += 1;
            if wait > full {
                // The loss is detected when the acknowledgement of a later packet arrives: at the
                // time at which this packet's own would have arrived.
                flow.push((now + wait + flow.rtt) | LOST);
                dropped += 1;
                if flow.in_flight == 1 {
                    flow.push((now + RTO_NS) | LOST);
                }
            } else {
                free_at = free_at.max(now) + serialisation;
                flow.push(free_at + flow.rtt);
                delivered += 1;
                histogram[((wait >> 16) as usize).min(4095)] += 1;
                bins[(now / 100_000_000) as usize] += PACKET;
            }
        }
        let next = flow.next();
        set(&mut tree, leaves, index, next);
    }
    let checksum =
        histogram.iter().map(|&count| u64::from(count)).sum::<u64>() ^ bins.iter().sum::<u64>();
    Outcome {
        delivered,
        dropped,
        checksum,
    }
}

/// Sets the key of a leaf. The leaf's position identifies the flow, not the key.
fn set(tree: &mut [u64], leaves: usize, index: usize, key: u64) {
    let mut node = leaves + index;
    tree[node] = key;
    while node > 1 {
        node /= 2;
        tree[node] = tree[2 * node].min(tree[2 * node + 1]);
    }
}

/// The leaf with the smallest key; of equal keys, the first leaf.
fn winner(tree: &[u64], leaves: usize) -> usize {
    let mut node = 1;
    while node < leaves {
        node = 2 * node + usize::from(tree[2 * node] > tree[2 * node + 1]);
    }
    node - leaves
}
