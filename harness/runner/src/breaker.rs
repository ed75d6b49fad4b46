//! The circuit breaker: when the upstream fails attempt after attempt, the run stops before it has spent every block's
//! second chance on an outage. The journal keeps the failed attempts; the same command goes on where it stopped.

use std::sync::{Mutex, PoisonError};

use bench_core::{Ending, EndingKind};

/// Attempts in a row that end as the upstream's fault before the run stops.
pub(crate) const OUTAGE: usize = 3;

/// Counts attempts that the upstream failed, in the order in which they are settled.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    state: Mutex<(usize, String)>,
}

impl Breaker {
    /// Takes an attempt's ending into account.
    pub(crate) fn note(&self, ending: &Ending) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if ending.kind == EndingKind::UpstreamFault {
            state.0 += 1;
            state.1 = ending.detail.clone().unwrap_or_default();
        } else if ending.kind != EndingKind::Interrupted && state.0 < OUTAGE {
            state.0 = 0;
        }
    }

    /// Should nothing further be started?
    pub(crate) fn is_open(&self) -> bool {
        self.why().is_some()
    }

    /// Why it is open.
    pub(crate) fn why(&self) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.0 >= OUTAGE).then(|| state.1.clone())
    }
}

/// Which of these endings, in the order of the journal, belong to an outage: they are no block's own failure, and its
/// second chance is not spent by them.
pub(crate) fn outages(endings: &[EndingKind]) -> Vec<bool> {
    let mut marked = vec![false; endings.len()];
    let mut start = 0;
    while start < endings.len() {
        let length = endings[start..].iter().take_while(|kind| **kind == EndingKind::UpstreamFault).count();
        if length >= OUTAGE {
            marked[start..start + length].fill(true);
        }
        start += length.max(1);
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use EndingKind::{Completed, UpstreamFault};

    #[test]
    fn it_opens_after_three_in_a_row_and_stays_open() {
        let breaker = Breaker::default();
        let fault = Ending::because(UpstreamFault, "refused");
        for ending in [&fault, &fault, &Ending::of(Completed), &fault, &fault] {
            breaker.note(ending);
        }
        assert!(!breaker.is_open());
        breaker.note(&fault);
        breaker.note(&Ending::of(Completed));
        assert_eq!(breaker.why().as_deref(), Some("refused"));
    }

    #[test]
    fn only_long_rows_of_faults_are_an_outage() {
        let row = [UpstreamFault, Completed, UpstreamFault, UpstreamFault, UpstreamFault, Completed];
        assert_eq!(outages(&row), [false, false, true, true, true, false]);
        assert_eq!(outages(&[]), Vec::<bool>::new());
    }
}
