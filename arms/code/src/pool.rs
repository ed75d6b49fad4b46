//! Threads in which nested calls are carried out: kept, since a thread for every call would cost more than most calls.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

type Task = Box<dyn FnOnce() + Send>;

/// Threads that take tasks; they end with the last handle.
#[derive(Debug)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    most: usize,
}

#[derive(Default)]
struct State {
    tasks: VecDeque<Task>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("tasks", &self.tasks.len()).field("threads", &self.threads).finish()
    }
}

impl Pool {
    /// No thread yet, later at most so many.
    pub(crate) fn of(most: usize) -> Self {
        Self { shared: Arc::new(Shared { state: Mutex::default(), wake: Condvar::new(), most }) }
    }

    /// Carries a task out as soon as a thread is free.
    pub(crate) fn give(&self, task: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.lock();
        state.tasks.push_back(Box::new(task));
        if state.idle >= state.tasks.len() {
            drop(state);
            self.shared.wake.notify_one();
        } else if state.threads < self.shared.most {
            state.threads += 1;
            drop(state);
            let shared = Arc::clone(&self.shared);
            let started = std::thread::Builder::new().name("nested call".into()).spawn(move || shared.work());
            if started.is_err() {
                // The task waits for one of the others; without any it would wait without end.
                let mut state = self.shared.lock();
                state.threads -= 1;
                let task = if state.threads == 0 { state.tasks.pop_back() } else { None };
                drop(state);
                task.into_iter().for_each(|task| task());
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.tasks.pop_front() {
                drop(state);
                // Whoever gave the task hears of a panic by the call that is never answered otherwise.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
                state = self.lock();
            } else if state.closed {
                state.threads -= 1;
                return;
            } else {
                state.idle += 1;
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }
}
