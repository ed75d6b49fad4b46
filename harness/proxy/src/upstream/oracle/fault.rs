//! What an imperfect profile does to one cell, drawn once from seed and cell: the same cell is always played the same.

use bench_core::experiment::{Profile, ProfileKind};
use bench_core::{Action, Plan};
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

/// 32 bytes from seed and cell: a stable mix (FNV-1a per lane), since `Hash` of the standard library may change.
fn seed_of(seed: u64, cell: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (lane, chunk) in (0_u64..).zip(bytes.chunks_mut(8)) {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ lane;
        for byte in seed.to_le_bytes().into_iter().chain(cell.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        chunk.copy_from_slice(&hash.to_le_bytes());
    }
    bytes
}
