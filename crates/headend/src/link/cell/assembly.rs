//! What a node of a cell puts into its next frame: the packets that it takes from its queue, and
//! the MPDUs and A-MSDUs that it makes of them.
//!
//! A station takes packets once it has won the channel, but for the first. An access point takes
//! some before, as its radio does: a number of them whosoever they are for, or of each station's
//! queue what the radio sends in a limit of time ([`Sharing`]). An A-MPDU ends where the station,
//! the standard or the TXOP allows no more.

use super::exchange::{Burst, Frame, time_around};
use super::setup::Sharing;
use super::{ACCESS_POINT, Cell, DOWN, direction, phy};
use crate::context::Context;
use crate::packet::Packet;
use crate::qdisc::lanes::station_of;
use crate::time::Duration;

impl Cell {
    /// Takes a packet from the queue of a contender into the window of its station, and returns the
    /// station. Where stations have queues of their own, the packet is for `station`.
    fn take(&mut self, contender: u32, station: usize, cx: &mut Context<'_>) -> Option<usize> {
        let own = &mut self.contenders[contender as usize];
        let node = &mut self.nodes[own.node];
        node.queue.select(match self.rules.sharing {
            Sharing::ByStation { .. } if own.node == ACCESS_POINT => {
                self.categories.lane(station, own.category)
            }
            _ => own.category,
        });
        let packet = node.queue.dequeue(&node.line, cx)?;
        node.in_hand[0] += 1;
        node.in_hand[1] += u64::from(packet.size);
        let to = Self::station(own.node, &packet, cx);
        let index = Self::window_of(own.node, to);
        own.windows[index].push(packet, self.radios[to].overhead);
        own.taken += 1;
        own.turns.activate(index);
        Some(to)
    }

    /// Takes further packets into the last MPDU of a station, as an A-MSDU. One that does not fit
    /// becomes the next MPDU.
    fn fill(&mut self, contender: u32, station: usize, cx: &mut Context<'_>) {
        let own = &self.contenders[contender as usize];
        let index = Self::window_of(own.node, station);
        let most = self.radios[station].aggregation.amsdu;
        while most > 0
            && self.room(contender) > 0
            && self.take(contender, station, cx) == Some(station)
        {
            let own = &mut self.contenders[contender as usize];
            if !own.windows[index].merge_last(most) {
                break;
            }
            own.taken -= 1;
        }
    }

    /// Takes what the contender may have in hand before it has won the channel: a packet, or as
    /// many as the radio of the access point takes ahead.
    pub(super) fn load(&mut self, contender: u32, cx: &mut Context<'_>) {
        let own = &self.contenders[contender as usize];
        let was_ready = own.is_ready();
        let ahead = match self.rules.sharing {
            Sharing::Ahead(packets) if own.node == ACCESS_POINT => packets as usize,
            Sharing::ByStation { limit, .. } if own.node == ACCESS_POINT => {
                if let Some(limit) = limit {
                    self.take_ahead(contender, limit, cx);
                }
                self.choose(contender, cx);
                0
            }
            _ => 1,
        };
        while self.contenders[contender as usize].taken < ahead
            && self.take(contender, 0, cx).is_some()
        {}
        if !was_ready && self.contenders[contender as usize].is_ready() {
            self.waiting += 1;
            self.waits_since.get_or_insert(cx.now);
        }
    }

    /// Takes packets from the queue of each station of a contender of the access point until the
    /// radio needs `limit` to send them.
    fn take_ahead(&mut self, contender: u32, limit: Duration, cx: &mut Context<'_>) {
        for station in 0..self.radios.len() {
            if !self.contenders[contender as usize].turns.is_listed(station) {
                continue;
            }
            let most = self.radios[station].aggregation.amsdu;
            while self.airtime_ahead(contender, station) < limit
                && self.take(contender, station, cx).is_some()
            {
                let own = &mut self.contenders[contender as usize];
                if most > 0 && own.windows[station].merge_last(most) {
                    own.taken -= 1;
                }
            }
        }
    }

    /// How long what the access point has in hand for a station is on the air, as one frame in the
    /// mode that most frames to it have.
    fn airtime_ahead(&self, contender: u32, station: usize) -> Duration {
        let bytes = self.contenders[contender as usize].windows[station].unsent_bytes();
        let mode = self.rates[station][DOWN].best();
        self.rules.phy.frame(bytes, mode)
    }

    /// The station that a contender sends to or from. It has a packet in its window.
    fn choose(&mut self, contender: u32, cx: &mut Context<'_>) -> Option<usize> {
        let node = self.contenders[contender as usize].node;
        if node != ACCESS_POINT {
            return Some(node - 1);
        }
        loop {
            let own = &mut self.contenders[contender as usize];
            let station = own.turns.first()?;
            if !own.windows[station].is_empty() {
                return Some(station);
            }
            let is_own_queue = matches!(self.rules.sharing, Sharing::ByStation { .. });
            if is_own_queue && self.take(contender, station, cx).is_some() {
                return Some(station);
            }
            self.contenders[contender as usize].turns.exhaust();
        }
    }

    /// What a contender that has won the channel sends; it may use the channel for `left` longer.
    pub(super) fn assemble(
        &mut self,
        contender: u32,
        left: Option<Duration>,
        cx: &mut Context<'_>,
    ) -> Option<Burst> {
        let station = self.choose(contender, cx)?;
        let node = self.contenders[contender as usize].node;
        let index = Self::window_of(node, station);
        let aggregation = self.radios[station].aggregation;
        let rates = &mut self.rates[station][direction(node)];
        let chosen = rates.choose(cx.now);
        let mode = rates.mode(chosen.index);
        let has_delimiters = mode.format >= phy::Format::Vht;
        let mut burst = Burst {
            station,
            mode,
            chosen,
            span: 0,
            mpdus: 0,
            bytes: 0,
        };
        let aggregates = aggregation.mpdus > 1 && !chosen.is_probe;
        let mut alone = 0;
        let most = if aggregates {
            self.most_bytes(&burst, node, left)
        } else {
            0
        };
        loop {
            let window = &self.contenders[contender as usize].windows[index];
            if burst.span == window.len() {
                let is_alone = burst.mpdus > 0 && !aggregates;
                if is_alone || !self.take_for(contender, station, cx) {
                    break;
                }
                continue;
            }
            if burst.span >= aggregation.mpdus as usize {
                break;
            }
            if burst.span + 1 == window.len() {
                self.fill(contender, station, cx);
            }
            let window = &self.contenders[contender as usize].windows[index];
            if let Some(bytes) = window.unsent(burst.span) {
                // A single MPDU up to 802.11n has no delimiter.
                let before = burst.bytes + alone;
                let grown = phy::subframe(before, bytes);
                if burst.mpdus > 0 && grown > most {
                    break;
                }
                alone = if burst.mpdus == 0 && !has_delimiters {
                    phy::DELIMITER
                } else {
                    0
                };
                burst.mpdus += 1;
                burst.bytes = grown - alone;
            }
            burst.span += 1;
        }
        (burst.mpdus > 0).then_some(burst)
    }

    /// The most bytes of the A-MPDU that `burst` is to become that the rules of its station and the
    /// time left allow.
    fn most_bytes(&self, burst: &Burst, node: usize, left: Option<Duration>) -> u64 {
        let aggregation = self.radios[burst.station].aggregation;
        let mut time = aggregation.time;
        if let Some(left) = left {
            let burst = Burst {
                mpdus: 2,
                bytes: aggregation.bytes,
                ..*burst
            };
            let frames = self.frames(node, &burst);
            let around = time_around(&frames, self.rules.gap());
            time = time.min(left.saturating_sub(around));
        }
        (self.rules.phy.bytes_within(time, burst.mode)).min(aggregation.bytes)
    }

    /// The frames of an exchange in which a node sends a burst.
    pub(super) fn frames(&self, node: usize, burst: &Burst) -> [Option<Frame>; 4] {
        let rates = &self.rates[burst.station][direction(node)];
        (self.rules).frames(burst, rates.around(burst.chosen.index))
    }

    /// How many more MPDUs a contender may take from its queue, once it has won the channel: any
    /// number, one after the other, but at an access point that takes packets ahead.
    fn room(&self, contender: u32) -> usize {
        let own = &self.contenders[contender as usize];
        match self.rules.sharing {
            Sharing::Ahead(packets) if own.node == ACCESS_POINT => {
                (packets as usize).saturating_sub(own.taken)
            }
            Sharing::ByStation { limit: Some(_), .. } if own.node == ACCESS_POINT => 0,
            _ => 1,
        }
    }

    /// Takes one more MPDU for a station, if there is one and the contender may take it.
    fn take_for(&mut self, contender: u32, station: usize, cx: &mut Context<'_>) -> bool {
        for _ in 0..self.room(contender) {
            match self.take(contender, station, cx) {
                Some(to) if to == station => return true,
                Some(_) => {}
                None => break,
            }
        }
        false
    }

    /// The station that a frame comes from or goes to.
    fn station(node: usize, packet: &Packet, cx: &Context<'_>) -> usize {
        if node != ACCESS_POINT {
            return node - 1;
        }
        station_of(packet, cx)
    }
}
