//! The system allocator with counters for each thread: the allocations, and the bytes that are held
//! now and at most.
//!
//! A measurement reads the counters of its own thread. Allocations of other threads do not count: a
//! test harness, for example, allocates on a thread of its own when it prints that a test has been
//! running for over 60 seconds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// An allocator that counts and passes every call to the system allocator.
pub struct Counting;

/// The counters of one thread.
struct Counters {
    count: Cell<u64>,
    /// Negative in a thread that freed more than it allocated: it freed memory of another thread.
    live: Cell<i64>,
    peak: Cell<i64>,
}

thread_local! {
    // Constant and without a destructor, so that an access allocates nothing and cannot fail.
    static COUNTERS: Counters = const {
        Counters { count: Cell::new(0), live: Cell::new(0), peak: Cell::new(0) }
    };
}

/// The number of allocations of this thread so far.
pub fn count() -> u64 {
    COUNTERS.with(|counters| counters.count.get())
}

/// The bytes that this thread holds now: what it allocated less what it freed.
pub fn live() -> i64 {
    COUNTERS.with(|counters| counters.live.get())
}

/// The most bytes that this thread has held since its last [`reset_peak`].
pub fn peak() -> i64 {
    COUNTERS.with(|counters| counters.peak.get())
}

/// Resets the peak of this thread to the bytes that it holds now.
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
