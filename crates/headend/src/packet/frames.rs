//! The bytes of the real frames that are in the network, in emulation and in replays.
//!
//! A frame is kept from its arrival until the packet that stands for it has ended. Frames lie in
//! slots of one size, so that a frame costs no allocation.

use std::num::NonZeroU32;

use super::FrameId;

/// The bytes of a slot: a frame of an Ethernet, and room to spare.
pub const SLOT: usize = 2048;
/// Slots that are allocated together.
const CHUNK: usize = 256;
/// In place of the bytes kept: the slot is free.
const FREE: u16 = u16::MAX;
/// Frames in the network at the same time, at most: 512 MiB of slots.
const MOST: usize = 1 << 18;

/// The frames in the network.
#[derive(Debug, Default)]
pub struct Frames {
    chunks: Vec<Box<[u8]>>,
    /// Bytes kept of each frame.
    kept: Vec<u16>,
    free: Vec<FrameId>,
}

impl Frames {
    /// Reads a frame into a free slot: `read` writes it to the slot's start and returns its length.
    /// Gives `None` if all slots are taken: the frame was not read.
    ///
    /// # Errors
    ///
    /// Those of `read`; the slot is free again then.
    pub fn read<E>(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Option<FrameId>, E> {
        let Some(id) = self.take_slot() else {
            return Ok(None);
        };
        match read(self.slot(id)) {
            Ok(length) => {
                self.kept[index(id)] = length.min(SLOT) as u16;
                Ok(Some(id))
            }
            Err(error) => {
                self.free.push(id);
                Err(error)
            }
        }
    }

    /// Keeps the first bytes of a frame, at most [`SLOT`]. Gives `None` if all slots are taken.
    pub fn keep(&mut self, bytes: &[u8]) -> Option<FrameId> {
        let id = self.take_slot()?;
        let length = bytes.len().min(SLOT);
        self.slot(id)[..length].copy_from_slice(&bytes[..length]);
        self.kept[index(id)] = length as u16;
        Some(id)
    }

    /// The bytes that are kept of a frame.
    pub fn bytes(&self, id: FrameId) -> &[u8] {
        let (chunk, at) = place(id);
        &self.chunks[chunk][at..at + usize::from(self.kept[index(id)])]
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self, id: FrameId) -> &mut [u8] {
        let length = usize::from(self.kept[index(id)]);
        &mut self.slot(id)[..length]
    }

    /// Forgets a frame: its packet has ended.
    pub fn free(&mut self, id: FrameId) {
        debug_assert_ne!(self.kept[index(id)], FREE, "a frame is freed once");
        self.kept[index(id)] = FREE;
        self.free.push(id);
    }

    /// The number of frames in the network.
    pub fn count(&self) -> usize {
        self.kept.len() - self.free.len()
    }

    fn take_slot(&mut self) -> Option<FrameId> {
        if self.free.is_empty() && self.kept.len() < MOST {
            let first = self.kept.len();
            self.chunks.push(vec![0; CHUNK * SLOT].into_boxed_slice());
            self.kept.resize(first + CHUNK, FREE);
            let numbers = (first + 1..=first + CHUNK).rev();
            self.free
                .extend(numbers.filter_map(|number| NonZeroU32::new(number as u32).map(FrameId)));
        }
        self.free.pop()
    }

    fn slot(&mut self, id: FrameId) -> &mut [u8] {
        let (chunk, at) = place(id);
        &mut self.chunks[chunk][at..at + SLOT]
    }
}

/// Frames are numbered from 1.
fn index(id: FrameId) -> usize {
    id.0.get() as usize - 1
}

/// The chunk of a frame, and its place there.
fn place(id: FrameId) -> (usize, usize) {
    (index(id) / CHUNK, index(id) % CHUNK * SLOT)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_frame_is_kept_until_it_is_freed_and_its_slot_is_used_again() {
        let mut frames = Frames::default();
        let first = frames.keep(b"first").expect("there is room");
        let second = frames.keep(b"second").expect("there is room");
        assert_eq!((frames.bytes(first), frames.count()), (&b"first"[..], 2));
        frames.bytes_mut(second)[0] = b'S';
        assert_eq!(frames.bytes(second), b"Second");
        frames.free(first);
        let third = frames.keep(b"3").expect("there is room");
        assert_eq!((third, frames.count()), (first, 2));
        assert_eq!(frames.bytes(third), b"3");
    }

    #[test]
    fn a_frame_is_read_into_its_slot_and_an_error_leaves_the_slot_free() {
        let mut frames = Frames::default();
        let read = frames.read(|slot| {
            assert_eq!(slot.len(), SLOT);
            slot[..3].copy_from_slice(b"abc");
            Ok::<_, ()>(3)
        });
        let id = read.expect("no error").expect("there is room");
        assert_eq!(frames.bytes(id), b"abc");
        assert_eq!(frames.read(|_| Err("none is there")), Err("none is there"));
        assert_eq!(frames.count(), 1);
    }

    #[test]
    fn a_frame_longer_than_a_slot_is_cut_off() {
        let mut frames = Frames::default();
        let id = frames.keep(&[1; SLOT + 1]).expect("there is room");
        assert_eq!(frames.bytes(id), [1; SLOT]);
    }

    #[test]
    fn when_all_slots_are_taken_no_frame_is_read() {
        let mut frames = Frames {
            kept: vec![0; MOST],
            ..Frames::default()
        };
        assert_eq!(frames.keep(b"one more"), None);
        let read = frames.read(|_| -> Result<usize, ()> { panic!("nothing may be read") });
        assert_eq!(read, Ok(None));
        assert_eq!(frames.count(), MOST);
    }

    proptest! {
        /// Frames that come and go keep their bytes, and take no more slots than the most that were
        /// there at once, rounded up.
        #[test]
        fn each_frame_keeps_its_bytes(
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..900),
        ) {
            let mut frames = Frames::default();
            let mut held: Vec<(FrameId, Vec<u8>)> = Vec::new();
            let mut most = 0;
            for (number, (is_new, which)) in steps.into_iter().enumerate() {
                if is_new || held.is_empty() {
                    let bytes = [number.to_le_bytes().as_slice(), &[7; 9][..number % 9]].concat();
                    held.push((frames.keep(&bytes).expect("there is room"), bytes));
                } else {
                    let (id, bytes) = held.swap_remove(which.index(held.len()));
                    prop_assert_eq!(frames.bytes(id), bytes);
                    frames.free(id);
                }
                most = most.max(held.len());
                prop_assert_eq!(frames.count(), held.len());
            }
            for (id, bytes) in &held {
                prop_assert_eq!(frames.bytes(*id), bytes);
            }
            prop_assert_eq!(frames.kept.len(), most.next_multiple_of(CHUNK));
        }
    }
}
