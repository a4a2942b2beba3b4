//! Which station the access point sends to next, in one access category.
//!
//! The stations take turns by frame, or by time on the air. The latter is a deficit round robin
//! whose deficits count airtime: a station may send and receive for a quantum in each round, and a
//! station that begins to receive is served first, unless the frames it sent have used up its
//! quantum; what it has used beyond that has no bound. A slow station then has as much time as a
//! fast one, and no longer as many frames.
//!
//! Source: T. Høiland-Jørgensen et al., "Ending the Anomaly: Achieving Low Latency and Airtime
//! Fairness in `WiFi`", USENIX ATC 2017, §3.2 and Algorithm 3.

use std::collections::VecDeque;

use crate::time::Duration;

/// The stations that the access point may have something for.
#[derive(Debug)]
pub(super) struct Turns {
    /// Time on the air for each round; `None`: turns by frame.
    quantum: Option<Duration>,
    /// Nanoseconds that each station may still use in its round.
    deficits: Vec<i64>,
    is_listed: Vec<bool>,
    /// Stations that have begun to receive, and the others.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl Turns {
    pub(super) fn new(stations: usize, quantum: Option<Duration>) -> Self {
        Self {
            quantum,
            deficits: vec![quantum.map_or(0, |quantum| quantum.as_nanos() as i64); stations],
            is_listed: vec![false; stations],
            new: VecDeque::new(),
            old: VecDeque::new(),
        }
    }

    /// A packet for a station has arrived.
    pub(super) fn activate(&mut self, station: usize) {
        if std::mem::replace(&mut self.is_listed[station], true) {
            return;
        }
        let list = match self.quantum {
            Some(_) => &mut self.new,
            None => &mut self.old,
        };
        list.push_back(station as u32);
    }

    /// Whether the access point may have something for a station.
    pub(super) fn is_listed(&self, station: usize) -> bool {
        self.is_listed[station]
    }

    /// The station whose turn it is.
    pub(super) fn first(&mut self) -> Option<usize> {
        loop {
            let list = if self.new.is_empty() {
                &mut self.old
            } else {
                &mut self.new
            };
            let station = *list.front()? as usize;
            let deficit = &mut self.deficits[station];
            match self.quantum {
                Some(quantum) if *deficit <= 0 => {
                    *deficit += quantum.as_nanos() as i64;
                    list.pop_front();
                    self.old.push_back(station as u32);
                }
                _ => return Some(station),
            }
        }
    }

    /// The station whose turn it is has received a frame. By frame, the turn passes on.
    pub(super) fn pass(&mut self) {
        if self.quantum.is_none()
            && let Some(station) = self.old.pop_front()
        {
            self.old.push_back(station);
        }
    }

    /// Nothing is left for the station whose turn it is. A new station becomes an old one first, so
    /// that one whose queue is often empty does not overtake the others for ever.
    pub(super) fn exhaust(&mut self) {
        if let Some(station) = self.new.pop_front() {
            self.old.push_back(station);
        } else if let Some(station) = self.old.pop_front() {
            self.is_listed[station as usize] = false;
        }
    }

    /// A frame to or from a station took so long.
    pub(super) fn charge(&mut self, station: usize, span: Duration) {
        if self.quantum.is_some() {
            self.deficits[station] -= span.as_nanos() as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUANTUM: Duration = Duration::from_micros(300);

    /// Serves the stations, of which each frame to station `n` takes `micros[n]`, and returns their
    /// times on the air.
    fn serve(turns: &mut Turns, micros: &[u64], frames: usize) -> Vec<u64> {
        let mut used = vec![0; micros.len()];
        for station in 0..micros.len() {
            turns.activate(station);
        }
        for _ in 0..frames {
            let station = turns.first().expect("all have something");
            turns.charge(station, Duration::from_micros(micros[station]));
            turns.pass();
            used[station] += micros[station];
        }
        used
    }

    #[test]
    fn by_frame_a_slow_station_has_most_of_the_time() {
        let mut turns = Turns::new(2, None);
        assert_eq!(serve(&mut turns, &[100, 1000], 20), [1000, 10_000]);
    }

    #[test]
    fn by_airtime_slow_and_fast_stations_have_as_much_time() {
        let mut turns = Turns::new(2, Some(QUANTUM));
        let used = serve(&mut turns, &[100, 1000], 1100);
        assert!(used[0].abs_diff(used[1]) <= 1300, "{used:?}");
    }

    #[test]
    fn a_station_that_begins_to_receive_is_served_first() {
        let mut turns = Turns::new(3, Some(QUANTUM));
        serve(&mut turns, &[100, 100], 10);
        turns.activate(2);
        assert_eq!(turns.first(), Some(2));
        turns.exhaust();
        assert_ne!(turns.first(), Some(2));
        // It is old now, and has to wait for its turn.
        turns.activate(2);
        assert_ne!(turns.first(), Some(2));
    }

    #[test]
    fn a_station_that_has_sent_for_long_waits_for_its_turn_when_it_begins_to_receive() {
        let mut turns = Turns::new(2, Some(QUANTUM));
        turns.charge(1, Duration::from_micros(1000));
        turns.activate(0);
        turns.activate(1);
        assert_eq!(turns.first(), Some(0));
        // It owes 700 us beyond its first quantum. Three quanta lift it above zero, each with its
        // place at the end of the list: the other one sends three frames of 100 us before the
        // first of them and after each.
        let mut frames = 0;
        while turns.first() == Some(0) {
            turns.charge(0, Duration::from_micros(100));
            frames += 1;
        }
        assert_eq!(frames, 12);
    }
}
