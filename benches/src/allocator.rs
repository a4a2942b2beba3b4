//! The system allocator, counting for each thread: allocations made, bytes held now and at most.
//!
//! A measurement reads the counters of the thread that measures. What other threads allocate in the
//! meantime does not count: a test harness, for one, allocates on a thread of its own when it
//! prints that a test has been running for over 60 seconds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts and passes on.
pub struct Counting;

/// What one thread allocated.
struct Counters {
    count: Cell<u64>,
    /// Below zero in a thread that freed more than it allocated: memory of another thread.
    live: Cell<i64>,
    peak: Cell<i64>,
}

thread_local! {
    // Constant and without a destructor: to reach it allocates nothing, and never fails.
    static COUNTERS: Counters = const {
        Counters { count: Cell::new(0), live: Cell::new(0), peak: Cell::new(0) }
    };
}

/// Allocations of this thread so far.
pub fn count() -> u64 {
    COUNTERS.with(|counters| counters.count.get())
}

/// Bytes this thread holds now: what it allocated less what it freed.
pub fn live() -> i64 {
    COUNTERS.with(|counters| counters.live.get())
}

/// Most bytes this thread held since its last [`reset_peak`].
pub fn peak() -> i64 {
    COUNTERS.with(|counters| counters.peak.get())
}

/// The peak of this thread starts anew from what it holds now.
pub fn reset_peak() {
    COUNTERS.with(|counters| counters.peak.set(counters.live.get()));
}

fn grow(bytes: usize) {
    COUNTERS.with(|counters| {
        let live = counters.live.get() + bytes as i64;
        counters.count.set(counters.count.get() + 1);
        counters.live.set(live);
        counters.peak.set(counters.peak.get().max(live));
    });
}

fn shrink(bytes: usize) {
    COUNTERS.with(|counters| counters.live.set(counters.live.get() - bytes as i64));
}

// SAFETY: every call is passed on to the system allocator unchanged; counting touches only this
// thread's counters, which needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's contract is System's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: the caller's contract is System's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn what_another_thread_allocates_does_not_count() {
        let turn = Barrier::new(2);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                turn.wait();
                let before = count();
                drop(black_box(vec![0_u8; 1 << 20]));
                let made = count() - before;
                turn.wait();
                made
            });
            let (before, held) = (count(), live());
            reset_peak();
            turn.wait();
            turn.wait();
            assert_eq!(count() - before, 0, "none is this thread's");
            assert_eq!((live(), peak()), (held, held), "and none of the bytes");
            assert_eq!(
                other.join().expect("it only allocates"),
                1,
                "the other thread made one"
            );
        });
    }

    #[test]
    fn what_this_thread_allocates_counts() {
        let (before, held) = (count(), live());
        reset_peak();
        let first = black_box(vec![0_u8; 3000]);
        let second = black_box(vec![0_u8; 2000]);
        drop(first);
        assert_eq!(count() - before, 2);
        assert_eq!(live() - held, 2000);
        assert_eq!(peak() - held, 5000);
        drop(second);
        assert_eq!(live(), held);
    }
}
