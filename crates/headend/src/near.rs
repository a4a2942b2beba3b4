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

    /// Bytes that are asked for: those that are needed often stand first.
    const HOT: usize = size_of::<Self>();

    /// Asks for it.
    #[inline]
    fn fetch(&self) {
        self.fetch_first(Self::HOT);
    }

    /// Asks for its first so many bytes.
    #[inline]
    fn fetch_first(&self, bytes: usize) {
        for line in 0..bytes.div_ceil(LINE) {
            prefetch_index(self.beginning(), line);
        }
    }
}

/// How far something is from what is known beforehand: each step is asked for once the one before it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is known where it is.
    First,
    /// The first step says where it is.
    Second,
    /// The second step says where it is.
    Third,
}

/// Makes an object one that can be asked for: it is `repr(C)`, and its first field is `beginning`. What is needed less often
/// stands last, from a field on that is named, or behind so many bytes of one.
macro_rules! near {
    ($object:ident $(, up to $cold:ident $(+ $bytes:expr)?)?) => {
        impl $crate::near::Near for $object {
            $(const HOT: usize = std::mem::offset_of!(Self, $cold) $(+ $bytes)?;)?

            #[inline]
            fn beginning(&self) -> &$crate::near::Beginning {
                const { assert!(std::mem::offset_of!(Self, beginning) == 0, "the first field") }
                &self.beginning
            }
        }
    };
}
pub(crate) use near;
