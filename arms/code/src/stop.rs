//! A word that reaches whoever works for a script: stop.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

/// Can be asked, and waited for beside other events by its descriptor.
#[derive(Debug, Clone)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    said: AtomicBool,
    event: OwnedFd,
}

impl Stop {
    /// Not said yet.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new() -> std::io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Inner { said: AtomicBool::new(false), event })))
    }

    /// Says it, for good.
    pub fn say(&self) {
        if !self.0.said.swap(true, Ordering::SeqCst) {
            // It can only fail when the counter is full, and then it is readable already.
            let _ = rustix::io::write(&self.0.event, &1_u64.to_ne_bytes());
        }
    }

    /// Was it said?
    pub fn is_said(&self) -> bool {
        self.0.said.load(Ordering::SeqCst)
    }
}

impl AsFd for Stop {
    /// Readable once it was said.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}
