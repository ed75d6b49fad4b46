//! What a program wrote: the beginning, the end, and how much there was.

use std::collections::VecDeque;

/// Bytes kept from the beginning, and again from the end.
pub const KEPT_BYTES: usize = 256 * 1024;

/// One output stream of a cell. Without `omitted()` bytes, head and tail together are all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes, at most [`KEPT_BYTES`].
    pub head: Vec<u8>,
    /// The last bytes behind the head, at most [`KEPT_BYTES`].
    pub tail: Vec<u8>,
    /// Everything that was written, in bytes.
    pub total_bytes: u64,
}

impl Captured {
    /// Bytes between head and tail that were read and not kept.
    pub fn omitted(&self) -> u64 {
        self.total_bytes - (self.head.len() + self.tail.len()) as u64
    }
}

/// A [`Captured`] in the making.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
}

impl Capture {
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT_BYTES - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(&rest[rest.len().saturating_sub(KEPT_BYTES)..]);
        let surplus = self.tail.len().saturating_sub(KEPT_BYTES);
        self.tail.drain(..surplus);
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    pub(crate) fn finish(self) -> Captured {
        Captured { head: self.head, tail: self.tail.into(), total_bytes: self.total_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn head_and_tail_are_the_two_ends_of_what_was_written(
            sizes in proptest::collection::vec(0usize..200_000, 0..12),
        ) {
            let mut capture = Capture::default();
            let mut all: Vec<u8> = Vec::new();
            for (i, size) in sizes.iter().enumerate() {
                let part: Vec<u8> = (0..*size).map(|n| (n * 31 + i) as u8).collect();
                capture.take(&part);
                all.extend(&part);
            }
            let captured = capture.finish();
            prop_assert_eq!(captured.total_bytes, all.len() as u64);
            prop_assert!(all.starts_with(&captured.head));
            prop_assert!(all.ends_with(&captured.tail));
            let kept = captured.head.len() + captured.tail.len();
            prop_assert_eq!(kept, all.len().min(2 * KEPT_BYTES));
        }
    }
}
