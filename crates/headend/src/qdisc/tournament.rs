//! Finds the largest of many keys while they change: the longest of many queues, or the earliest of
//! many wake-ups.
//!
//! This is a knock-out tournament. The players are the leaves of a binary tree, and each inner node
//! holds the winner of the two nodes below it. When the key of a player changes, only the matches
//! on its path to the root are played again, and only as far as they can change the result. A
//! change far from the top ends after about two matches on average, and the worst case is log₂ of
//! the number of players. A scan of all players is never necessary.

/// Keeps the player with the largest key; of several equal ones, the player with the lowest number.
#[derive(Debug)]
pub(super) struct Tournament<K> {
    keys: Vec<K>,
    /// The key of a player that does not take part.
    least: K,
    /// The winner at each node: node 1 is the root, and nodes 2n and 2n + 1 are below node n. The
    /// leaves are not stored.
    winners: Vec<u32>,
}

impl<K: Copy + Ord> Tournament<K> {
    /// `players` players with the key `least`, which must be the smallest key.
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

    /// Makes room for at least `players` players.
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

    /// Sets the key of a player.
    #[inline]
    pub(super) fn set(&mut self, player: usize, key: K) {
        if self.keys[player] != key {
            self.keys[player] = key;
            self.replay(player);
        }
    }

    /// Plays the matches on a player's path to the root again.
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

    /// The winner of the match at `node`.
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
    fn the_best_is_that_of_a_full_scan() {
        for players in [1, 2, 3, 32, 100] {
            let mut rng = Rng::for_path(1, "tournament");
            let mut tournament = Tournament::new(players, 0);
            let mut model = vec![0; players];
            for _ in 0..3000 {
                let player = rng.below(players as u64) as usize;
                // There are few values, so many keys are equal.
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
    fn players_added_later_leave_the_others_unchanged() {
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
