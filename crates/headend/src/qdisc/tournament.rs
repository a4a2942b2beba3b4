//! The best of many, kept up to date: the longest of a thousand queues, the earliest of a thousand wake-ups.
//!
//! A knock-out tournament: the players stand at the leaves of a binary tree, and each inner node holds the winner of the two below it. When a player's
//! key changes, only the matches on its way up are played again, and those only as far as it plays a part: a change far from the top ends after about
//! two matches, the worst after log₂ of the players. Nobody scans them all.

/// The player with the largest key; of several equal, the one with the lowest number.
#[derive(Debug)]
pub(super) struct Tournament<K> {
    keys: Vec<K>,
    /// What a player that takes no part has.
    least: K,
    /// By node, 1 the root and 2n, 2n + 1 below n: the winner. The leaves are not stored.
    winners: Vec<u32>,
}

impl<K: Copy + Ord> Tournament<K> {
    /// `players` players of key `least`, which no key is below.
    pub(super) fn new(players: usize, least: K) -> Self {
        let leaves = players.next_power_of_two().max(2);
        let mut all = Self {
            keys: vec![least; leaves],
            least,
            winners: vec![0; leaves],
        };
        all.play_all();
        all
    }

    /// Makes room for at least this many players.
    pub(super) fn grow(&mut self, players: usize) {
        let leaves = players.next_power_of_two().max(2);
        if leaves > self.keys.len() {
            self.keys.resize(leaves, self.least);
            self.winners.resize(leaves, 0);
            self.play_all();
        }
    }

    /// The winner and its key.
    pub(super) fn best(&self) -> (usize, K) {
        let winner = self.winners[1] as usize;
        (winner, self.keys[winner])
    }

    /// Changes a player's key.
    #[inline]
    pub(super) fn set(&mut self, player: usize, key: K) {
        if self.keys[player] != key {
            self.keys[player] = key;
            self.replay(player);
        }
    }

    /// The matches on a player's way up.
    fn replay(&mut self, player: usize) {
        let leaf = self.keys.len() + player;
        let mut node = leaf / 2;
        while node > 0 {
            let winner = self.play(node);
            let is_unmoved = self.winners[node] == winner && winner as usize != player;
            self.winners[node] = winner;
            if is_unmoved {
                return;
            }
            node /= 2;
        }
    }

    fn play_all(&mut self) {
        for node in (1..self.winners.len()).rev() {
            self.winners[node] = self.play(node);
        }
    }

    /// The match at `node`.
    fn play(&self, node: usize) -> u32 {
        let [left, right] = [2 * node, 2 * node + 1].map(|below| self.winner(below));
        if self.keys[right as usize] > self.keys[left as usize] {
            right
        } else {
            left
        }
    }

    fn winner(&self, node: usize) -> u32 {
        match node.checked_sub(self.keys.len()) {
            Some(player) => player as u32,
            None => self.winners[node],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn the_best_is_what_a_scan_of_all_would_find() {
        for players in [1, 2, 3, 32, 100] {
            let mut rng = Rng::for_path(1, "tournament");
            let mut tournament = Tournament::new(players, 0);
            let mut model = vec![0; players];
            for _ in 0..3000 {
                let player = rng.below(players as u64) as usize;
                // Few values, so that many are equal.
                let key = rng.below(8);
                tournament.set(player, key);
                model[player] = key;
                let most = *model.iter().max().expect("there are players");
                let first = model.iter().position(|&key| key == most);
                assert_eq!(Some(tournament.best()), first.map(|first| (first, most)));
            }
        }
    }

    #[test]
    fn players_that_join_later_find_the_others_as_they_were() {
        let mut tournament = Tournament::new(2, 0);
        tournament.set(1, 7);
        tournament.grow(9);
        assert_eq!(tournament.best(), (1, 7));
        tournament.set(8, 9);
        assert_eq!(tournament.best(), (8, 9));
        tournament.set(8, 0);
        assert_eq!(tournament.best(), (1, 7));
    }
}
