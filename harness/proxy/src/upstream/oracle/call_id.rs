//! Ids of the oracle's calls: they carry its place in the plan, and agents echo them verbatim.
//!
//! `call_p0307_a` = step 3 (from 1), sub-call 7 (from 0), try a; `_b` the one fallback, `_m` several actions in one call, `_d` a discovery and `_r` a look at the file before it, `_w1`,
//! `_x`, `_i` what a profile adds.

/// Steps and sub-calls that an id can name.
pub(super) const LARGEST: u32 = 99;

/// A call of the oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallId {
    /// Step of the plan, from 1.
    pub(super) step: u32,
    /// Action within the step, from 0.
    pub(super) sub: u32,
    /// What the call is for.
    pub(super) role: Role,
}

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// The action.
    First,
    /// The action, with those of the step that follow it, in one call.
    Batch,
    /// The action again, through the next rule, after the first was refused.
    Fallback,
    /// Making the action's tool callable.
    Discover,
    /// Reading the file that the action changes, where its tool wants that.
    Look,
    /// Looking around, first or second time.
    Wander(u32),
    /// Arguments that do not fit.
    Wrong,
    /// A tool that was never offered.
    Invent,
}

impl std::fmt::Display for CallId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "call_p{:02}{:02}_", self.step, self.sub)?;
        match self.role {
            Role::First => f.write_str("a"),
            Role::Batch => f.write_str("m"),
            Role::Fallback => f.write_str("b"),
            Role::Discover => f.write_str("d"),
            Role::Look => f.write_str("r"),
            Role::Wander(time) => write!(f, "w{time}"),
            Role::Wrong => f.write_str("x"),
            Role::Invent => f.write_str("i"),
        }
    }
}

impl CallId {
    /// Reads an id; `None` for everybody else's.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (place, role) = text.strip_prefix("call_p")?.split_once('_')?;
        if place.len() != 4 || !place.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let role = match role {
            "a" => Role::First,
            "m" => Role::Batch,
            "b" => Role::Fallback,
            "d" => Role::Discover,
            "r" => Role::Look,
            "w1" => Role::Wander(1),
            "w2" => Role::Wander(2),
            "x" => Role::Wrong,
            "i" => Role::Invent,
            _ => return None,
        };
        Some(Self { step: place[..2].parse().ok()?, sub: place[2..].parse().ok()?, role })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ids_are_read_back(step in 0..=LARGEST, sub in 0..=LARGEST, role in 0..9_usize) {
            let roles = [Role::Batch, Role::First, Role::Fallback, Role::Discover, Role::Look, Role::Wander(1), Role::Wander(2), Role::Wrong, Role::Invent];
            let id = CallId { step, sub, role: roles[role] };
            prop_assert_eq!(CallId::parse(&id.to_string()), Some(id));
        }

        #[test]
        fn nobody_elses_id_is_taken_for_ours(text in "\\PC{0,14}") {
            prop_assert!(CallId::parse(&text).is_none_or(|id| id.to_string() == text));
        }
    }

    #[test]
    fn the_form_is_pinned() {
        assert_eq!(CallId { step: 3, sub: 7, role: Role::First }.to_string(), "call_p0307_a");
        assert_eq!(CallId::parse("call_p0300_w1"), Some(CallId { step: 3, sub: 0, role: Role::Wander(1) }));
        assert_eq!(CallId::parse("call_abc"), None);
    }
}
