//! Time enters here and nowhere else (`clippy.toml` bans the side doors), so tests can hold it still.

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Wall-clock time now, as RFC 3339 in UTC with milliseconds.
    fn now_utc(&self) -> String;
    /// Milliseconds on a monotonic clock, from an arbitrary origin.
    fn monotonic_ms(&self) -> f64;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    origin: std::time::Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { origin: std::time::Instant::now() }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the front door of time")]
    fn now_utc(&self) -> String {
        let now = jiff::Timestamp::now();
        format!("{now:.3}")
    }

    fn monotonic_ms(&self) -> f64 {
        self.origin.elapsed().as_secs_f64() * 1000.0
    }
}
