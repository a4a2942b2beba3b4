//! The system allocator, counting: allocations made, bytes held now and at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts and passes on.
pub struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

/// Allocations so far.
pub fn count() -> u64 {
    COUNT.load(Relaxed)
}

/// Bytes held now.
pub fn live() -> u64 {
    LIVE.load(Relaxed)
}

/// Most bytes held since the last [`reset_peak`].
pub fn peak() -> u64 {
    PEAK.load(Relaxed)
}

/// The peak starts anew from what is held now.
pub fn reset_peak() {
    PEAK.store(live(), Relaxed);
}

fn grow(bytes: usize) {
    COUNT.fetch_add(1, Relaxed);
    let live = LIVE.fetch_add(bytes as u64, Relaxed) + bytes as u64;
    PEAK.fetch_max(live, Relaxed);
}

// SAFETY: every call is passed on to the system allocator unchanged; counting touches only atomics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's contract is System's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: the caller's contract is System's.
        unsafe { System.dealloc(pointer, layout) }
    }
}
