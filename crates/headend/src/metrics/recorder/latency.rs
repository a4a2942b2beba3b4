//! The latency histogram of a service flow: its packets by their time in the queue, in bins with
//! the edges that the scenario gives.

use crate::time::Duration;

/// Packets by their time in the queue.
#[derive(Debug)]
pub(super) struct LatencyHistogram {
    /// The upper edges of all bins but the last, ascending.
    edges: Vec<Duration>,
    /// The packets of each bin: bin i is (edge i − 1, edge i], and the last is above all edges.
    bins: Vec<u64>,
    max: Duration,
}

impl LatencyHistogram {
    /// An empty histogram with these edges; `None` without edges.
    pub(super) fn new(edges: &[Duration]) -> Option<Box<Self>> {
        (!edges.is_empty()).then(|| {
            Box::new(Self {
                edges: edges.to_vec(),
                bins: vec![0; edges.len() + 1],
                max: Duration::ZERO,
            })
        })
    }

    /// Counts a packet that was in the queue for `sojourn`.
    pub(super) fn record(&mut self, sojourn: Duration) {
        let bin = self.edges.partition_point(|edge| *edge < sojourn);
        self.bins[bin] += 1;
        self.max = self.max.max(sojourn);
    }

    /// Forgets the packets of the warm-up, at whose end the measured part starts.
    pub(super) fn reset(&mut self) {
        self.bins.fill(0);
        self.max = Duration::ZERO;
    }

    /// The upper edges.
    pub(super) fn edges(&self) -> &[Duration] {
        &self.edges
    }

    /// The packets of each bin.
    pub(super) fn bins(&self) -> &[u64] {
        &self.bins
    }

    /// The longest time.
    pub(super) fn max(&self) -> Duration {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_ends_with_its_upper_edge_and_the_last_has_no_end() {
        let edges = [1, 2, 4].map(Duration::from_millis);
        let mut histogram = LatencyHistogram::new(&edges).expect("it has edges");
        for micros in [0, 999, 1000, 1001, 2000, 4000, 4001, 900_000] {
            histogram.record(Duration::from_micros(micros));
        }
        assert_eq!(histogram.bins(), [3, 2, 1, 2]);
        assert_eq!(histogram.max(), Duration::from_millis(900));
        histogram.reset();
        assert_eq!(histogram.bins(), [0; 4]);
        assert_eq!(histogram.max(), Duration::ZERO);
    }

    #[test]
    fn without_edges_there_is_no_histogram() {
        assert!(LatencyHistogram::new(&[]).is_none());
    }
}
