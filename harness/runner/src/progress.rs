//! The one event stream: progress display, `--events` and tests all listen here.

use bench_core::RunEvent;

/// One listener.
type Listener = Box<dyn Fn(&RunEvent) + Send + Sync>;

/// Who listens to a run.
pub struct Events {
    listeners: Vec<Listener>,
}

impl Events {
    /// Nobody listens yet.
    pub fn new() -> Self {
        Self { listeners: Vec::new() }
    }

    /// Adds a listener; it is called in the order of events, on the thread that makes them.
    pub fn listen(mut self, listener: impl Fn(&RunEvent) + Send + Sync + 'static) -> Self {
        self.listeners.push(Box::new(listener));
        self
    }

    /// Tells everybody.
    pub fn emit(&self, event: &RunEvent) {
        for listener in &self.listeners {
            listener(event);
        }
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}
