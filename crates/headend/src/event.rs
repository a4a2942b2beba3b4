//! The event queue: it holds the pending wake-ups of a run and returns them in order.
//!
//! The order is total and part of the model: time, then source, then the order of scheduling. No
//! wake-up is cancelled: a component ignores a wake-up that it no longer expects.
//!
//! Two structures hold the wake-ups:
//!
//! - A winner tree holds those of the delay lines. A line has exactly one pending wake-up and sets
//!   a new one after each packet. Changing it costs a few comparisons.
//! - A timing wheel holds all others. A bucket of the wheel is sorted when it is opened. The width
//!   of the buckets changes the speed, never the order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::collection::Earliest;
use crate::time::{Duration, Instant};

/// The component that is woken. The order of the variants is the order of events at the same
/// instant, and results depend on it: a link that has finished sending dequeues its next packet
/// before other packets arrive at that instant. A link may therefore compute a departure in
/// advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A link.
    Link(u32),
    /// A delay line, which has a packet to hand over.
    Line(u32),
    /// One end of a flow. The index is twice the flow's slot, plus the index of the side.
    Endpoint(u32),
    /// An application.
    App(AppId),
    /// The recorder, which closes an interval.
    Sampler,
}

/// The identifier of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AppId(pub u32);

/// A wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The time of the wake-up.
    pub at: Instant,
    /// The component that is woken.
    pub source: Source,
    /// A value whose meaning only the source knows.
    pub token: u64,
}

const SOURCE_SHIFT: u32 = 40;
const INDEX_BITS: u32 = 21;

impl Source {
    fn code(self) -> u64 {
        let (kind, index) = match self {
            Self::Link(index) => (0, index),
            Self::Line(index) => (1, index),
            Self::Endpoint(index) => (2, index),
            Self::App(AppId(index)) => (3, index),
            Self::Sampler => (4, 0),
        };
        debug_assert!(
            index < 1 << INDEX_BITS,
            "more than two million sources of one kind"
        );
        (kind << INDEX_BITS) | u64::from(index)
    }

    fn from_code(code: u64) -> Self {
        let index = (code & ((1 << INDEX_BITS) - 1)) as u32;
        match code >> INDEX_BITS {
            0 => Self::Link(index),
            1 => Self::Line(index),
            2 => Self::Endpoint(index),
            3 => Self::App(AppId(index)),
            _ => Self::Sampler,
        }
    }
}

/// An entry of 24 bytes: the time; source and sequence number, packed for one comparison; the
/// token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: u64,
    order: u64,
    token: u64,
}

impl Entry {
    fn key(&self) -> u128 {
        (u128::from(self.at) << 64) | u128::from(self.order)
    }

    /// Whether this entry comes before a line's wake-up at `at`.
    fn precedes_line(&self, at: u64) -> bool {
        self.at < at || self.at == at && self.order < Source::Line(0).code() << SOURCE_SHIFT
    }
}

/// Up to five entries of one bucket.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    entries: [Entry; CHUNK],
    /// The next chunk of the same bucket; it is full.
    next: u32,
}

const CHUNK: usize = 5;

const NIL: u32 = u32::MAX;

/// A bucket of the wheel: the chunk that is being filled, and the number of entries in it. The
/// number is kept here, so that adding an entry does not read the chunk first.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    chunk: u32,
    len: u32,
}

impl Bucket {
    /// A bucket without a chunk counts as full, so that its first entry gets a new chunk.
    const EMPTY: Self = Self {
        chunk: NIL,
        len: CHUNK as u32,
    };
}

const BUCKETS: u64 = 8192;
const WORDS: usize = (BUCKETS / 64) as usize;

/// The pending wake-ups in total order.
#[derive(Debug)]
pub struct EventQueue {
    /// The wake-up of each line.
    lines: Earliest,
    /// A lower bound of the times of the wheel's entries.
    not_before: u64,
    /// The entries of the opened bucket, latest first.
    open: Vec<Entry>,
    /// The number of the opened bucket, counted from the start of the run.
    current: u64,
    /// The base-2 logarithm of a bucket's width in nanoseconds.
    shift: u32,
    buckets: Vec<Bucket>,
    occupied: [u64; WORDS],
    chunks: Vec<Chunk>,
    free: u32,
    in_wheel: usize,
    /// The entries beyond the wheel's horizon.
    later: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
}

impl EventQueue {
    /// A queue for `lines` delay lines. Its buckets are about `width` wide: rounded down to a power
    /// of two nanoseconds, within 1 µs to 4 ms.
    pub fn new(width: Duration, lines: usize) -> Self {
        let shift = width.as_nanos().clamp(1 << 10, 1 << 22).ilog2();
        Self {
            lines: Earliest::new(lines),
            not_before: 0,
            open: Vec::with_capacity(64),
            current: 0,
            shift,
            buckets: vec![Bucket::EMPTY; BUCKETS as usize],
            occupied: [0; WORDS],
            chunks: Vec::with_capacity(256),
            free: NIL,
            in_wheel: 0,
            later: BinaryHeap::with_capacity(64),
            sequence: 0,
        }
    }

    /// Schedules the wake-up of line `index`, in place of its previous one. `None` removes it.
    #[inline]
    pub fn set_line(&mut self, index: u32, at: Option<Instant>) {
        self.lines.set(index, at);
    }

    /// The first time at which no wake-up can be scheduled for one of this many lines.
    pub(crate) fn limit_of(lines: usize) -> Instant {
        Earliest::limit_of(lines)
    }

    /// The first time at which no line can be woken.
    pub(crate) fn limit(&self) -> Instant {
        self.lines.limit()
    }

    /// Schedules a wake-up of `source`, which is not a line, at `at`.
    pub fn push(&mut self, at: Instant, source: Source, token: u64) {
        debug_assert!(
            !matches!(source, Source::Line(_)),
            "a line has a wake-up of its own"
        );
        let order = (source.code() << SOURCE_SHIFT) | (self.sequence & ((1 << SOURCE_SHIFT) - 1));
        self.sequence += 1;
        let entry = Entry {
            at: at.as_nanos(),
            order,
            token,
        };
        self.not_before = self.not_before.min(entry.at);
        let bucket = entry.at >> self.shift;
        if bucket <= self.current {
            let position = self.open.partition_point(|other| other.key() > entry.key());
            self.open.insert(position, entry);
        } else if bucket - self.current < BUCKETS {
            self.put(bucket, entry);
        } else {
            self.later.push(Reverse(entry));
        }
    }

    /// The time of the earliest wake-up.
    pub fn peek(&mut self) -> Option<Instant> {
        let (line_at, _) = self.lines.first();
        let at = (self.entry_before(line_at.as_nanos()))
            .map_or(line_at, |entry| Instant::from_nanos(entry.at));
        (at < self.lines.limit()).then_some(at)
    }

    /// Removes and returns the earliest wake-up if it is not later than `until`. A line's wake-up
    /// stays in the queue until the line, which is woken now, sets its next one.
    #[inline]
    pub fn pop_until(&mut self, until: Instant) -> Option<Event> {
        let (at, line) = self.lines.first();
        if at.as_nanos() < self.not_before || self.entry_before(at.as_nanos()).is_none() {
            return (at <= until && at < self.lines.limit()).then_some(Event {
                at,
                source: Source::Line(line),
                token: 0,
            });
        }
        let entry = (self.open).pop_if(|entry| entry.at <= until.as_nanos())?;
        Some(Event {
            at: Instant::from_nanos(entry.at),
            source: Source::from_code(entry.order >> SOURCE_SHIFT),
            token: entry.token,
        })
    }

    /// The wheel's earliest entry, if it comes before a line's wake-up at `at`.
    fn entry_before(&mut self, at: u64) -> Option<&Entry> {
        if self.open.is_empty() {
            self.open_until(at);
        }
        let entry = self.open.last()?;
        self.not_before = entry.at;
        Some(entry).filter(|entry| entry.precedes_line(at))
    }

    /// The number of pending wake-ups.
    pub fn len(&self) -> usize {
        self.lines.len() + self.open.len() + self.in_wheel + self.later.len()
    }

    /// Whether no wake-up is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn put(&mut self, bucket: u64, entry: Entry) {
        self.in_wheel += 1;
        let slot = (bucket % BUCKETS) as usize;
        let Bucket { chunk, len } = &mut self.buckets[slot];
        if let Some(filling) = self.chunks.get_mut(*chunk as usize)
            && let Some(place) = filling.entries.get_mut(*len as usize)
        {
            *place = entry;
            *len += 1;
            return;
        }
        let new = Chunk {
            entries: [entry; CHUNK],
            next: *chunk,
        };
        (*chunk, *len) = (self.free, 1);
        if let Some(place) = self.chunks.get_mut(self.free as usize) {
            self.free = place.next;
            *place = new;
        } else {
            *chunk = self.chunks.len() as u32;
            self.chunks.push(new);
        }
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Opens the next bucket that is not empty, unless it begins after `at`: an entry that is
    /// pushed into an open bucket costs an insertion in order.
    fn open_until(&mut self, at: u64) {
        // `u64::MAX` stands for "none"; no bucket has this number.
        let wheel = if self.in_wheel > 0 {
            self.next_occupied()
        } else {
            u64::MAX
        };
        let later = (self.later.peek()).map_or(u64::MAX, |Reverse(entry)| entry.at >> self.shift);
        let bucket = wheel.min(later);
        self.not_before = bucket.saturating_mul(1 << self.shift);
        if self.not_before > at || bucket == u64::MAX {
            return;
        }
        self.current = bucket;
        if wheel == bucket {
            let slot = (bucket % BUCKETS) as usize;
            let Bucket { mut chunk, mut len } =
                std::mem::replace(&mut self.buckets[slot], Bucket::EMPTY);
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            while let Some(Chunk { entries, next }) = self.chunks.get_mut(chunk as usize) {
                self.open.extend_from_slice(&entries[..len as usize]);
                let behind = std::mem::replace(next, self.free);
                self.free = std::mem::replace(&mut chunk, behind);
                len = CHUNK as u32;
            }
            self.in_wheel -= self.open.len();
        }
        if later == bucket {
            while let Some(Reverse(entry)) = self.later.peek() {
                if entry.at >> self.shift != bucket {
                    break;
                }
                self.open.push(*entry);
                self.later.pop();
            }
        }
        if self.open.len() > 1 {
            self.open.sort_unstable_by_key(|entry| Reverse(entry.key()));
        }
    }

    fn next_occupied(&self) -> u64 {
        let start = ((self.current + 1) % BUCKETS) as usize;
        let (word, bit) = (start / 64, start % 64);
        let distance = |slot: usize| (slot + BUCKETS as usize - start) % BUCKETS as usize;
        let first = self.occupied[word] & (u64::MAX << bit);
        if first != 0 {
            return self.current + 1 + distance(word * 64 + first.trailing_zeros() as usize) as u64;
        }
        for step in 1..=WORDS {
            let word = (word + step) % WORDS;
            let bits = self.occupied[word];
            if bits != 0 {
                return self.current
                    + 1
                    + distance(word * 64 + bits.trailing_zeros() as usize) as u64;
            }
        }
        unreachable!("the wheel counts entries it does not hold")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Asserts that the queue's next wake-up is the model's next one, and returns its time.
    fn assert_next(queue: &mut EventQueue, model: &mut Vec<(u64, Source, u64)>) -> u64 {
        model.sort();
        let expected = model.remove(0);
        assert_eq!(queue.peek(), Some(Instant::from_nanos(expected.0)));
        let event = queue
            .pop_until(Instant::FAR_FUTURE)
            .expect("the model holds more");
        assert_eq!((event.at.as_nanos(), event.source, event.token), expected);
        if let Source::Line(index) = event.source {
            queue.set_line(index, None);
        }
        expected.0
    }

    proptest! {
        /// Events come out in the order (time, source, scheduling) for every width, also when
        /// handlers schedule more events.
        #[test]
        fn order_is_time_then_source_then_sequence(
            width in 1_000_u64..3_000_000,
            steps in prop::collection::vec(
                (prop_oneof![0_u64..3, 0_u64..2_000_000_000], 0_u32..5, any::<bool>()),
                1..200,
            ),
        ) {
            let mut queue = EventQueue::new(Duration::from_nanos(width), 2);
            let mut model: Vec<(u64, Source, u64)> = Vec::new();
            let mut now = 0;
            for (token, (delay, who, pop)) in steps.into_iter().enumerate() {
                let at = now + delay;
                let token = token as u64;
                if let 0..2 = who {
                    queue.set_line(who, Some(Instant::from_nanos(at)));
                    model.retain(|&(_, source, _)| source != Source::Line(who));
                    model.push((at, Source::Line(who), 0));
                } else {
                    let sources = [Source::Link(0), Source::Link(1), Source::Sampler];
                    let source = sources[who as usize - 2];
                    queue.push(Instant::from_nanos(at), source, token);
                    model.push((at, source, token));
                }
                if pop {
                    now = assert_next(&mut queue, &mut model);
                }
            }
            while !model.is_empty() {
                assert_next(&mut queue, &mut model);
            }
            prop_assert!(queue.is_empty());
        }
    }

    #[test]
    fn an_event_after_the_limit_stays() {
        let mut queue = EventQueue::new(Duration::from_micros(65), 1);
        queue.push(Instant::from_nanos(100), Source::Sampler, 1);
        queue.set_line(0, Some(Instant::from_nanos(101)));
        assert_eq!(queue.pop_until(Instant::from_nanos(99)), None);
        assert_eq!(queue.peek(), Some(Instant::from_nanos(100)));
        assert_eq!(
            queue
                .pop_until(Instant::from_nanos(100))
                .map(|event| event.token),
            Some(1)
        );
    }
}
