//! A winner tree: it finds the earliest of many times, each of which changes often.
//!
//! The tree is a tournament with four players a match. The earliest of the four goes on to the next
//! round, and the winner of the final is the earliest time of all. A change of one time repeats
//! only the matches on its path: one for every two bits of an index. No branch depends on the
//! result of a match.

use crate::time::Instant;

/// The value of a time that is not set.
const NEVER: u64 = u64::MAX;

/// The number of players in a match.
const PLAYERS: usize = 4;

/// Times by index, and which of them is the earliest.
#[derive(Debug)]
pub(crate) struct Earliest {
    /// The players of each match. Match 0 is the final; the winners of matches `4n + 1` to `4n + 4`
    /// meet in match `n`. A player is a time with its index in the low bits, so that one comparison
    /// decides a match.
    matches: Vec<[u64; PLAYERS]>,
    /// The index of the first match of the first round.
    first_round: usize,
    winner: u64,
    /// The number of low bits that hold the index.
    index_bits: u32,
    limit: u64,
}

/// The number of bits that `count` indices need.
fn index_bits(count: usize) -> u32 {
    count.next_power_of_two().ilog2()
}

/// The first time that cannot be stored: at the last index, it would equal [`NEVER`].
fn limit_of(index_bits: u32) -> u64 {
    u64::MAX >> index_bits
}

impl Earliest {
    /// A tree for `count` times, none of which is set.
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

    /// Sets the time of `index`; `None` removes it. The bits that the index leaves of 64 limit the
    /// times (with 65 536 indices, to three days in nanoseconds). A time beyond the limit counts as
    /// not set.
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
            // The winner is not read back from the match: the other players of all rounds can be
            // loaded before the first match is played.
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

    /// The earliest time and its index; of equal times, that with the lowest index. If no time is
    /// set, the returned time is not before [`Self::limit`].
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

    /// The limit of a tree for `count` times.
    pub(crate) fn limit_of(count: usize) -> Instant {
        Instant::from_nanos(limit_of(index_bits(count)))
    }

    /// The number of times that are set.
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
            changes in prop::collection::vec(
                (0_u32..40, prop::option::weighted(0.8, 0_u64..20)),
                1..100,
            ),
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
