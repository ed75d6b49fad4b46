//! What an imperfect profile does to one cell, drawn once from seed and cell: the same cell is always played the same.

use bench_core::experiment::{Profile, ProfileKind};
use bench_core::{Action, Plan, Sha256Hex};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::call_id::LARGEST;

/// What the profile does to this cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing.
    None,
    /// Looks around before each step, so many times.
    Wanders(Vec<u32>),
    /// Answers in place of this step.
    GivesUp(u32),
    /// Calls with arguments that do not fit, before this step.
    WrongArguments(u32),
    /// Calls a tool that was never offered, before this step.
    InventsTools(u32),
    /// Never makes a tool callable.
    NeverDiscovers,
}

impl Fault {
    /// Draws it.
    pub(super) fn draw(profile: &Profile, seed: u64, cell: &str, plan: &Plan) -> Self {
        let mut rng = ChaCha8Rng::from_seed(seed_of(seed, cell));
        if profile.kind == ProfileKind::Perfect || rng.random::<f64>() >= profile.rate {
            return Self::None;
        }
        let acting: Vec<u32> = (1..=LARGEST)
            .zip(&plan.steps)
            .filter(|(_, step)| step.actions.iter().any(|action| !matches!(action, Action::Answer { .. })))
            .map(|(number, _)| number)
            .collect();
        if acting.is_empty() {
            return Self::None;
        }
        let one = acting[rng.random_range(0..acting.len())];
        match profile.kind {
            ProfileKind::Perfect => Self::None,
            ProfileKind::Wanders => {
                Self::Wanders(plan.steps.iter().map(|_| rng.random_range(1..=2)).collect())
            }
            ProfileKind::GivesUp => Self::GivesUp(one),
            ProfileKind::WrongArguments => Self::WrongArguments(one),
            ProfileKind::InventsTools => Self::InventsTools(one),
            ProfileKind::NeverDiscovers => Self::NeverDiscovers,
        }
    }
}

/// 32 bytes from seed and cell, by a digest: `Hash` of the standard library may change between versions.
fn seed_of(seed: u64, cell: &str) -> [u8; 32] {
    let digest = Sha256Hex::of_parts([("seed", &seed.to_le_bytes()[..]), ("cell", cell.as_bytes())]);
    let mut bytes = [0; 32];
    bytes.copy_from_slice(&digest.as_str().as_bytes()[..32]);
    bytes
}

#[cfg(test)]
mod tests {
    use bench_core::Step;

    use super::*;

    fn plan() -> Plan {
        let run = |n: u32| Step { actions: vec![Action::Run { command: format!("echo {n}") }] };
        let answer = Step { actions: vec![Action::Answer { text: "done".into() }] };
        Plan { steps: (1..=5).map(run).chain([answer]).collect(), ..Plan::default() }
    }

    fn draw(kind: ProfileKind, rate: f64, cell: &str) -> Fault {
        Fault::draw(&Profile { kind, rate }, 7, cell, &plan())
    }

    #[test]
    fn a_cell_is_always_played_the_same_and_the_rate_is_kept() {
        let cells: Vec<String> = (0..400).map(|n| format!("task-{n}/r01/bare")).collect();
        let hit =
            |rate| cells.iter().filter(|cell| draw(ProfileKind::GivesUp, rate, cell) != Fault::None).count();
        assert_eq!((hit(0.0), hit(1.0)), (0, 400));
        assert!((80..=160).contains(&hit(0.3)), "{}", hit(0.3));
        for cell in &cells {
            assert_eq!(draw(ProfileKind::Wanders, 0.5, cell), draw(ProfileKind::Wanders, 0.5, cell));
        }
    }

    #[test]
    fn faults_fall_on_steps_that_act() {
        for n in 0..100 {
            let fault = draw(ProfileKind::GivesUp, 1.0, &n.to_string());
            assert!(matches!(fault, Fault::GivesUp(1..=5)), "{fault:?}");
        }
        assert_eq!(draw(ProfileKind::Perfect, 1.0, "x"), Fault::None);
    }
}
