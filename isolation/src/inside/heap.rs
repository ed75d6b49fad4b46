//! A heap that is cheap to fork. What set-up allocates and frees again leaves holes all over the heap, and the allocator
//! fills holes first: each process of a cell would write to as many pages, and the kernel copies every one of them for
//! it. Filled once, in the launcher, they leave a forked process the end of the heap, where its allocations stand together.

/// From this size on an allocation is likely a mapping of its own.
const LARGEST: usize = 64 << 10;
/// Bytes that are given up at most.
const AT_MOST: usize = 4 << 20;

/// Fills the holes of the heap with memory that nobody uses. To be called when set-up is over.
pub(crate) fn fill_holes() {
    let end = address(&Vec::<u8>::with_capacity(LARGEST));
    let mut given_up = 0;
    for size in sizes() {
        while given_up < AT_MOST {
            let filling: Vec<u8> = Vec::with_capacity(size);
            if address(&filling) >= end {
                break;
            }
            given_up += size;
            std::mem::forget(filling);
        }
    }
}

/// Large ones first: what is left of a large hole is filled by smaller ones.
fn sizes() -> impl Iterator<Item = usize> {
    let large = std::iter::successors(Some(LARGEST / 2), |size| (*size > 1_024).then_some(size / 2));
    large.chain((24..1_024).rev().step_by(16))
}

fn address(bytes: &[u8]) -> usize {
    bytes.as_ptr() as usize
}
