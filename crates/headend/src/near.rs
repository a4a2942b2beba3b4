//! Brings what is about to be needed into the cache, all of it at once.
//!
//! In a plant of a thousand modems nothing is in the cache when its packet comes, and what is read line by line is waited for line by line. So
//! where a packet is about to go is asked for as a whole before the work begins. Where all of a run is in the cache anyway, that would only cost.

use prefetch_index::prefetch_index;

/// Bytes that are brought together.
const LINE: usize = 64;

/// A cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct CacheLine {
    _bytes: [u8; LINE],
}

/// Where an object begins: its first field, which takes no room and puts it at the beginning of a line.
pub(crate) type Beginning = [CacheLine; 0];

/// What can be asked for as a whole.
pub(crate) trait Near: Sized {
    /// The first field.
    fn beginning(&self) -> &Beginning;

    /// Asks for all of it.
    #[inline]
    fn fetch(&self) {
        for line in 0..size_of::<Self>() / LINE {
            prefetch_index(self.beginning(), line);
        }
    }
}

/// Makes an object one that can be asked for: it is `repr(C)`, and its first field is `beginning`.
macro_rules! near {
    ($($object:tt)*) => {
        impl $crate::near::Near for $($object)* {
            #[inline]
            fn beginning(&self) -> &$crate::near::Beginning {
                const { assert!(std::mem::offset_of!(Self, beginning) == 0, "the first field") }
                &self.beginning
            }
        }
    };
}
pub(crate) use near;
