//! The bodies stored last, among which a new one finds the one that it shares most with. An attempt may hold several
//! conversations at once (a title, a subagent), and each goes on from its own last body.

use std::collections::VecDeque;

/// Bodies that are kept in memory for it.
const KEPT: usize = 4;
/// Bytes compared at once.
const STRIDE: usize = 64;

/// The bodies stored last, the newest first.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<Vec<u8>>);

/// What a body shares with one stored before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shared {
    /// How many lines before it that one stands; 1 = the line before.
    pub(super) back: u64,
    /// Bytes shared at the beginning.
    pub(super) prefix: usize,
    /// Bytes shared at the end, none of them counted as beginning.
    pub(super) suffix: usize,
}

impl Recent {
    /// The body that shares most with this one; the newest of equals.
    pub(super) fn base_of(&self, body: &[u8]) -> Shared {
        let mut best = Shared { back: 1, ..Shared::default() };
        for (before, back) in self.0.iter().zip(1..) {
            let prefix = common(before, body);
            let suffix = common_end(&before[prefix..], &body[prefix..]);
            if prefix + suffix > best.prefix + best.suffix {
                best = Shared { back, prefix, suffix };
            }
        }
        best
    }

    pub(super) fn push(&mut self, body: Vec<u8>) {
        self.0.push_front(body);
        self.0.truncate(KEPT);
    }
}

fn common(a: &[u8], b: &[u8]) -> usize {
    let whole = a.chunks_exact(STRIDE).zip(b.chunks_exact(STRIDE)).take_while(|(a, b)| a == b).count();
    let at = whole * STRIDE;
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

fn common_end(a: &[u8], b: &[u8]) -> usize {
    let whole = a.rchunks_exact(STRIDE).zip(b.rchunks_exact(STRIDE)).take_while(|(a, b)| a == b).count();
    let kept = whole * STRIDE;
    let (a, b) = (&a[..a.len() - kept], &b[..b.len() - kept]);
    kept + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_shared_is_counted_to_the_byte(start in "[ab]{0,200}", a in "[ab]{0,3}", b in "[ab]{0,3}", end in "[ab]{0,200}") {
            let (one, other) = (format!("{start}{a}{end}"), format!("{start}{b}{end}"));
            let (one, other) = (one.as_bytes(), other.as_bytes());
            let naive = one.iter().zip(other).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(common(one, other), naive);
            let naive = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(common_end(one, other), naive);
        }
    }

    #[test]
    fn each_conversation_goes_on_from_its_own_last_body() {
        let mut recent = Recent::default();
        recent.push(b"main: one".to_vec());
        recent.push(b"a title, please".to_vec());
        assert_eq!(recent.base_of(b"main: one, two"), Shared { back: 2, prefix: 9, suffix: 0 });
        assert_eq!(recent.base_of(b""), Shared { back: 1, prefix: 0, suffix: 0 });
    }
}
