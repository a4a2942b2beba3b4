//! The earliest of many times, each of which changes often: a winner tree.
//!
//! A tournament tree of four-way matches: the earliest of four times wins a match and meets the
//! winners of three others, and the winner of the last match is the earliest of all. When one time
//! changes, only the matches on its way to the top are played again.

use crate::time::Instant;

/// Out of the running.
const NEVER: u64 = u64::MAX;

/// How many play in a match.
const PLAYERS: usize = 4;

/// Times by index, and which of them is the first.
#[derive(Debug)]
pub(crate) struct Earliest {
    /// The four times of each match. The final is match 0, and the winners of the matches `4n + 1`
    /// to `4n + 4` meet in match `n`. A time has its index in the low bits, so that one comparison
    /// decides.
    matches: Vec<[u64; PLAYERS]>,
    /// The first match of the first round.
    first_round: usize,
    winner: u64,
    /// How many low bits, and the first time that the others cannot hold.
    index_bits: u32,
    limit: u64,
}

/// How many bits number so many.
fn index_bits(count: usize) -> u32 {
    count.next_power_of_two().ilog2()
}

/// The last time at the last index would read as never.
fn limit_of(index_bits: u32) -> u64 {
    u64::MAX >> index_bits
}

impl Earliest {
    /// Room for `count` times, none of which is set.
    pub(crate) fn new(count: usize) -> Self {
        let index_bits = index_bits(count);
        let (mut first_round, mut round) = (0, 1);
        while round * PLAYERS < count {
            first_round += round;
            round *= PLAYERS;
        }
        Self {
            matches: vec![[NEVER; PLAYERS]; first_round + count.div_ceil(PLAYERS).max(1)],
            first_round,
            winner: NEVER,
            index_bits,
            limit: limit_of(index_bits),
        }
    }

    /// Sets the time of `index`, or removes it. A time that does not fit beside the index in 64
    /// bits (three days of nanoseconds with 65 536 times) never comes.
    #[inline]
    pub(crate) fn set(&mut self, index: u32, at: Option<Instant>) {
        let at = at.map_or(NEVER, Instant::as_nanos);
        let mut winner = if at < self.limit {
            at << self.index_bits | u64::from(index)
        } else {
            NEVER
        };
        let mut place = self.first_round * PLAYERS + index as usize;
        loop {
            let (players, seat) = (&mut self.matches[place / PLAYERS], place % PLAYERS);
            // Not read back: the others of all rounds are known before the first is played.
            let [a, b, c] = [1, 2, 3].map(|other| players[seat ^ other]);
            players[seat] = winner;
            winner = winner.min(a.min(b).min(c));
            if place < PLAYERS {
                break;
            }
            place = place / PLAYERS - 1;
        }
        self.winner = winner;
    }

    /// The earliest time and its index, the lowest of equals. If none is set, a time no earlier
    /// than [`Self::limit`].
    #[inline]
    pub(crate) fn first(&self) -> (Instant, u32) {
        let index = self.winner & ((1 << self.index_bits) - 1);
        let at = Instant::from_nanos(self.winner >> self.index_bits);
        (at, index as u32)
    }

    /// The first time that is too late to be set.
    pub(crate) fn limit(&self) -> Instant {
        Instant::from_nanos(self.limit)
    }

    /// The limit where there is room for `count` times.
    pub(crate) fn limit_of(count: usize) -> Instant {
        Instant::from_nanos(limit_of(index_bits(count)))
    }

    /// How many times are set.
    pub(crate) fn len(&self) -> usize {
        (self.matches[self.first_round..].iter().flatten())
            .filter(|&&at| at < NEVER)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::Duration;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_and_the_lowest_of_equals(
            count in 1_usize..40,
            changes in prop::collection::vec((0_u32..40, prop::option::weighted(0.8, 0_u64..20)), 1..100),
        ) {
            let mut times = Earliest::new(count);
            let mut model = vec![None; count];
            for (index, at) in changes {
                let index = index % count as u32;
                let at = at.map(Instant::from_nanos);
                times.set(index, at);
                model[index as usize] = at;
                let earliest = model.iter().flatten().min().copied();
                let lowest = model.iter().position(|&at| at.is_some() && at == earliest);
                let expected = earliest.zip(lowest.map(|index| index as u32));
                let first = Some(times.first());
                prop_assert_eq!(first.filter(|&(at, _)| at < times.limit()), expected);
                prop_assert_eq!(times.len(), model.iter().flatten().count());
            }
        }
    }

    #[test]
    fn what_is_too_late_to_be_written_never_comes() {
        let mut times = Earliest::new(4);
        let latest = Instant::from_nanos((1 << 62) - 2);
        times.set(3, Some(latest));
        assert_eq!(times.first(), (latest, 3));
        times.set(3, Some(latest + Duration::from_nanos(1)));
        times.set(0, Some(Instant::FAR_FUTURE));
        assert_eq!(times.len(), 0);
    }
}
