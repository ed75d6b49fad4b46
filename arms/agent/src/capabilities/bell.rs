//! Waiting for something to happen: one bell that whoever has news rings, and the wish to stop, which rings it too.
//!
//! Every wait of a capability has a deadline and ends early when the call is cancelled, so that a child which is stopped
//! never sits in a wait of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use bench_code::Stop;
use tokio::sync::Notify;

/// Rung when anything changed that somebody may wait for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bell(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    rings: Mutex<u64>,
    rung: Condvar,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited<T> {
    /// What was waited for is there.
    Ready(T),
    /// The deadline passed. What was waited for may still come.
    TimedOut,
    /// The call was cancelled. What was waited for may still come.
    Cancelled,
}

/// The wish that everything which belongs to one conversation stops.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancel {
    wish: Arc<Wish>,
    bell: Bell,
}

/// A wish that is heard by whoever waits for the bell, for a descriptor, or as a task.
#[derive(Debug, Default)]
struct Wish {
    wished: AtomicBool,
    tasks: Notify,
    stop: Option<Stop>,
}

impl Bell {
    /// Something changed.
    pub(crate) fn ring(&self) {
        *self.0.rings.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.rung.notify_all();
    }

    /// Waits until `ready` gives something; asks it again after every ring.
    pub(crate) fn wait<T>(
        &self,
        deadline: Instant,
        cancel: &Cancel,
        mut ready: impl FnMut() -> Option<T>,
    ) -> Waited<T> {
        loop {
            // Counted before it is asked: a ring in between is not lost.
            let before = *self.0.rings.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = ready() {
                return Waited::Ready(found);
            }
            if cancel.is_wished() {
                return Waited::Cancelled;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Waited::TimedOut;
            }
            let rings = self.0.rings.lock().unwrap_or_else(PoisonError::into_inner);
            let unchanged = |rings: &mut u64| *rings == before;
            // The wait's own result says nothing that the next round does not find out.
            drop(
                self.0
                    .rung
                    .wait_timeout_while(rings, left, unchanged)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        }
    }
}

impl Cancel {
    /// A wish that rings this bell.
    pub(crate) fn with(bell: &Bell) -> Self {
        // Without a descriptor (the process has too many open) a shell command is not stopped before its own end.
        Self { wish: Arc::new(Wish { stop: Stop::new().ok(), ..Wish::default() }), bell: bell.clone() }
    }

    /// Everything shall stop.
    pub(crate) fn wish(&self) {
        self.wish.wished.store(true, Ordering::Release);
        self.bell.ring();
        self.wish.tasks.notify_waiters();
        if let Some(stop) = &self.wish.stop {
            stop.say();
        }
    }

    /// Resolves once it is wished.
    pub(crate) async fn wished(&self) {
        loop {
            let told = self.wish.tasks.notified();
            if self.is_wished() {
                return;
            }
            told.await;
        }
    }

    /// Says the same to what waits for a descriptor.
    pub(crate) fn stop(&self) -> Option<&Stop> {
        self.wish.stop.as_ref()
    }

    /// Rung by the wish.
    pub(crate) fn bell(&self) -> &Bell {
        &self.bell
    }

    /// Shall everything stop?
    pub(crate) fn is_wished(&self) -> bool {
        self.wish.wished.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    #[test]
    fn a_wait_ends_by_news_by_cancellation_and_by_its_deadline() {
        let bell = Bell::default();
        let cancel = Cancel::with(&bell);
        let news = Arc::new(AtomicBool::new(false));
        let waiting = {
            let (bell, cancel, news) = (bell.clone(), cancel.clone(), Arc::clone(&news));
            std::thread::spawn(move || {
                bell.wait(later(), &cancel, || news.load(Ordering::Acquire).then_some(7))
            })
        };
        bell.ring();
        news.store(true, Ordering::Release);
        bell.ring();
        assert_eq!(waiting.join().unwrap(), Waited::Ready(7));
        assert_eq!(bell.wait(Instant::now(), &cancel, || None::<u8>), Waited::TimedOut);
        let waiting = {
            let (bell, cancel) = (bell.clone(), cancel.clone());
            std::thread::spawn(move || bell.wait(later(), &cancel, || None::<u8>))
        };
        cancel.wish();
        assert_eq!(waiting.join().unwrap(), Waited::Cancelled);
    }
}
