//! The dumb FIFO under every law: stamps, counts, enforces the limit.

use std::collections::VecDeque;

use super::{Depth, LineView};
use crate::context::Context;
use crate::packet::Packet;
use crate::trace::{DropReason, TraceEvent};
use crate::units::{Limit, Rate};

/// How much a backlog may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BacklogLimit {
    /// Bytes, as the line's framing counts them.
    Bytes(u64),
    /// Packets.
    Packets(u64),
    /// No limit.
    Unlimited,
}

impl BacklogLimit {
    /// `limit` on a line of this rate.
    pub fn at_rate(limit: Limit, rate: Rate) -> Self {
        match limit {
            Limit::Bytes(bytes) => Self::Bytes(bytes.0),
            Limit::Packets(packets) => Self::Packets(packets),
            Limit::Time(span) => Self::Bytes(rate.bytes_in(span)),
            Limit::Unlimited => Self::Unlimited,
        }
    }
}

/// Packets in order of arrival.
#[derive(Debug)]
pub struct Backlog {
    packets: VecDeque<Packet>,
    bytes: u64,
    limit: BacklogLimit,
}

impl Backlog {
    /// An empty backlog.
    pub fn new(limit: BacklogLimit) -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
            limit,
        }
    }

    /// Appends `packet`, or discards it as [`DropReason::Overlimit`]. True if it was taken in.
    pub fn push(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) -> bool {
        if !self.fits(&packet, line) {
            cx.discard(packet, DropReason::Overlimit);
            return false;
        }
        self.bytes += line.framing.bytes(&packet);
        if let Some(queue) = cx.queue() {
            let packet = cx.view(&packet);
            cx.record(TraceEvent::Enqueued { queue, packet });
        }
        self.packets.push_back(packet);
        // Set in place: a field written just before the move would hold the move up.
        if let Some(packet) = self.packets.back_mut() {
            packet.enqueued_at = cx.now;
        }
        true
    }

    /// Whether `packet` fits under the limit.
    pub fn fits(&self, packet: &Packet, line: &LineView<'_>) -> bool {
        match self.limit {
            BacklogLimit::Bytes(limit) => self.bytes + line.framing.bytes(packet) <= limit,
            BacklogLimit::Packets(limit) => (self.packets.len() as u64) < limit,
            BacklogLimit::Unlimited => true,
        }
    }

    /// Takes the oldest packet.
    pub fn pop(&mut self, line: &LineView<'_>) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= line.framing.bytes(&packet);
        Some(packet)
    }

    /// Takes the packet at `index` from the head: for laws that choose their victim.
    pub fn remove(&mut self, index: usize, line: &LineView<'_>) -> Option<Packet> {
        let packet = self.packets.remove(index)?;
        self.bytes -= line.framing.bytes(&packet);
        Some(packet)
    }

    /// The oldest packet.
    pub fn head(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// The limit.
    pub fn limit(&self) -> BacklogLimit {
        self.limit
    }

    /// What waits.
    pub fn depth(&self) -> Depth {
        Depth {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }
}
