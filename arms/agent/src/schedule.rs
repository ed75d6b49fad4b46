//! In which order the calls of one turn are carried out: waves that follow one another, the calls of a wave beside one
//! another.

use std::ops::Range;

use bench_core::Scheduling;

use crate::catalogue::Access;

/// The waves of a turn's calls, as ranges of their order.
///
/// Under the barrier a call that only looks waits for the latest one that changes something, and one that changes
/// something waits for the latest of these and for every look before it: runs of looks are waves, and every other call
/// is a wave of its own.
pub(crate) fn waves(scheduling: Scheduling, calls: &[Access]) -> Vec<Range<usize>> {
    let one_by_one = || (0..calls.len()).map(|at| at..at + 1).collect();
    match scheduling {
        Scheduling::Serial => one_by_one(),
        Scheduling::Batch if calls.contains(&Access::Exclusive) => one_by_one(),
        Scheduling::Batch => std::iter::once(0..calls.len()).collect(),
        Scheduling::Barrier => {
            let mut waves: Vec<Range<usize>> = Vec::new();
            for (at, access) in calls.iter().enumerate() {
                match waves.last_mut() {
                    Some(last) if *access == Access::Shared && calls[last.start] == Access::Shared => {
                        last.end = at + 1;
                    }
                    _ => waves.push(at..at + 1),
                }
            }
            waves
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(scheduling: Scheduling, calls: &str) -> String {
        let access = |c| if c == 's' { Access::Shared } else { Access::Exclusive };
        let found = waves(scheduling, &calls.chars().map(access).collect::<Vec<_>>());
        found.into_iter().map(|wave| &calls[wave]).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn waves_in_one_table() {
        for (calls, serial, barrier, batch) in [
            ("sss", "s|s|s", "sss", "sss"),
            ("ssess", "s|s|e|s|s", "ss|e|ss", "s|s|e|s|s"),
            ("ees", "e|e|s", "e|e|s", "e|e|s"),
            ("se", "s|e", "s|e", "s|e"),
            ("s", "s", "s", "s"),
        ] {
            assert_eq!(told(Scheduling::Serial, calls), serial, "{calls}");
            assert_eq!(told(Scheduling::Barrier, calls), barrier, "{calls}");
            assert_eq!(told(Scheduling::Batch, calls), batch, "{calls}");
        }
    }
}
