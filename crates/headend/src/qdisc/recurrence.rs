//! Deterministic signals: of all packets, the wanted share gets one, at even distances (`recur` of
//! RFC 9332 appendix A; MULPI Annex N has the same for low-latency service flows).

/// Decides which packets get a signal.
#[derive(Debug, Default)]
pub(super) struct Recurrence {
    /// Sum of the likelihoods since the last signal (`count`).
    count: f64,
}

impl Recurrence {
    /// Adds the likelihood of a packet; returns true if the packet gets a signal.
    ///
    /// The comparison is strict, so at a likelihood of 1 the first packet gets none.
    pub(super) fn recurs(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let recurs = self.count > 1.0;
        if recurs {
            self.count -= 1.0;
        }
        recurs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the packets with a signal, of so many packets with this likelihood.
    fn signals(likelihood: f64, packets: u32) -> Vec<u32> {
        let mut recurrence = Recurrence::default();
        (1..=packets)
            .filter(|_| recurrence.recurs(likelihood))
            .collect()
    }

    #[test]
    fn signals_come_at_even_distances_and_the_first_packet_has_none() {
        assert!(signals(0.0, 100).is_empty());
        assert_eq!(signals(1.0, 5), [2, 3, 4, 5]);
        assert_eq!(signals(0.5, 8), [3, 5, 7]);
        assert_eq!(signals(0.25, 17), [5, 9, 13, 17]);
        assert_eq!(signals(0.1, 35), [11, 21, 31]);
    }

    #[test]
    fn the_sum_carries_over_a_change_of_the_likelihood() {
        let mut recurrence = Recurrence::default();
        let likelihoods = [0.5, 0.25, 0.25, 0.5, 0.25];
        let found = likelihoods.map(|likelihood| recurrence.recurs(likelihood));
        assert_eq!(found, [false, false, false, true, false]);
    }
}
