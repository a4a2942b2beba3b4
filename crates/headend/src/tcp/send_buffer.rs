//! The memory in which a sender keeps what is not yet acknowledged.
//!
//! The application fills it, sleeps, and is woken to fill it again once a third of it is free. So a
//! connection that only its buffer holds back sends in bursts of a third of it, and what is
//! outstanding goes up and down between two thirds of the buffer and all of it. This is what Linux
//! does (`poll` calls a socket writable once a third is free), and what `ss -m` shows of it.

/// How far the application has filled the buffer.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// Bytes of data that it holds; `u64::MAX` is without limit.
    size: u64,
    /// Where in the stream the data in it ends.
    end: u64,
}

impl SendBuffer {
    /// A buffer for `size` bytes of data, filled.
    pub(super) fn new(size: u64) -> Self {
        Self { size, end: size }
    }

    /// Where the data in it ends, as far as the application has so much to say.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Everything before `una` is acknowledged: the application fills what is free, if that is a
    /// third or more.
    #[inline]
    pub(super) fn release(&mut self, una: u64) {
        if self.end.saturating_sub(una) <= self.size - self.size / 3 {
            self.end = una.saturating_add(self.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SendBuffer;

    #[test]
    fn it_is_filled_again_once_a_third_is_free() {
        let mut buffer = SendBuffer::new(6000);
        buffer.release(1999);
        assert_eq!(buffer.end(), 6000);
        buffer.release(2000);
        assert_eq!(buffer.end(), 8000);
        buffer.release(3999);
        assert_eq!(buffer.end(), 8000);
        buffer.release(8000);
        assert_eq!(buffer.end(), 14_000);
    }

    #[test]
    fn one_without_limit_holds_everything() {
        let mut buffer = SendBuffer::new(u64::MAX);
        buffer.release(u64::MAX / 2);
        assert_eq!(buffer.end(), u64::MAX);
    }
}
