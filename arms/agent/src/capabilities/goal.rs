//! The goal of a conversation: what is worked on over many turns until a condition holds or a limit is reached.
//!
//! While it is open a turn without calls does not end the conversation: the model is told what is left. A goal always
//! comes to an end, since turns without a call of a tool are counted and their number is capped.

use serde::Deserialize;

/// Turns, where the call does not say.
const TURNS: u32 = 200;
/// Turns in a row without a call of a tool, where the call does not say.
const IDLE_TURNS: u32 = 3;

/// Arguments of `create_goal`.
#[derive(Debug, Deserialize)]
pub(crate) struct Create {
    objective: String,
    condition: String,
    max_turns: Option<u32>,
    no_progress_cap: Option<u32>,
    token_budget: Option<u64>,
}

/// Arguments of `update_goal`.
#[derive(Debug, Deserialize)]
pub(crate) struct Update {
    status: Status,
    reason: Option<String>,
}

/// How a goal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// Its condition holds.
    Complete,
    /// It cannot be reached as things are.
    Blocked,
    /// The user does not want it any more.
    Dropped,
}

/// The goal of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Goal(Option<Open>);

#[derive(Debug)]
struct Open {
    objective: String,
    condition: String,
    turns: u32,
    idle: u32,
    tokens: u64,
    limits: Limits,
}

#[derive(Debug)]
struct Limits {
    turns: u32,
    idle: u32,
    tokens: Option<u64>,
}

impl Goal {
    /// Is there an open goal?
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn create(&mut self, given: Create) -> Result<String, String> {
        if let Some(open) = &self.0 {
            return Err(format!("a goal is open: {}; close it with update_goal first", open.objective));
        }
        let limits = Limits {
            turns: given.max_turns.unwrap_or(TURNS),
            idle: given.no_progress_cap.unwrap_or(IDLE_TURNS),
            tokens: given.token_budget,
        };
        let told = format!("The goal is set. It is open until update_goal closes it or {}.", limits.told());
        self.0 = Some(Open {
            objective: given.objective,
            condition: given.condition,
            turns: 0,
            idle: 0,
            tokens: 0,
            limits,
        });
        Ok(told)
    }

    pub(crate) fn get(&self) -> String {
        let Some(open) = &self.0 else { return "[No goal is open.]".to_owned() };
        format!(
            "Objective: {}\nCondition: {}\nTurns: {} of {}; in a row without a call: {} of {}\nTokens: {}{}",
            open.objective,
            open.condition,
            open.turns,
            open.limits.turns,
            open.idle,
            open.limits.idle,
            open.tokens,
            open.limits.tokens.map(|most| format!(" of {most}")).unwrap_or_default(),
        )
    }

    pub(crate) fn update(&mut self, given: &Update) -> Result<String, String> {
        let is_blank = given.reason.as_deref().is_none_or(|reason| reason.trim().is_empty());
        if given.status == Status::Blocked && is_blank {
            return Err("a blocked goal needs a reason: say what is in the way".to_owned());
        }
        let open = self.0.take().ok_or("no goal is open")?;
        let word = match given.status {
            Status::Complete => "complete",
            Status::Blocked => "blocked",
            Status::Dropped => "dropped",
        };
        let reason = given.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        Ok(format!("The goal is closed as {word}{reason} after {} turns.", open.turns))
    }

    /// A turn is over. Said to the model in the user's place where it must go on; a goal at its limit is closed instead.
    pub(crate) fn turn_over(&mut self, calls: usize, tokens: u64) -> Option<String> {
        let open = self.0.as_mut()?;
        open.turns += 1;
        open.tokens += tokens;
        open.idle = if calls == 0 { open.idle + 1 } else { 0 };
        if let Some(limit) = open.reached() {
            let said = (calls > 0).then(|| format!("The goal is closed: {limit}. Report how far you came."));
            self.0 = None;
            return said;
        }
        (calls == 0).then(|| {
            format!(
                "The goal is still open: {} Check its condition ({}), then go on, or close it with update_goal.",
                with_stop(&open.objective),
                open.condition
            )
        })
    }
}

impl Open {
    fn reached(&self) -> Option<String> {
        let limits = &self.limits;
        if self.turns >= limits.turns {
            return Some(format!("{} turns are over", limits.turns));
        }
        if self.idle >= limits.idle {
            return Some(format!("{} turns in a row did nothing", limits.idle));
        }
        limits.tokens.filter(|most| self.tokens >= *most).map(|most| format!("{most} tokens are spent"))
    }
}

impl Limits {
    fn told(&self) -> String {
        let tokens = self.tokens.map(|most| format!(", {most} tokens are spent")).unwrap_or_default();
        format!("{} turns are over{tokens} or {} turns in a row did nothing", self.turns, self.idle)
    }
}

fn with_stop(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn created(more: serde_json::Value) -> Goal {
        let mut given = json!({"objective": "all green", "condition": "sh test.sh exits with 0"});
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut goal = Goal::default();
        goal.create(serde_json::from_value(given).unwrap()).unwrap();
        goal
    }

    #[test]
    fn there_is_one_goal_at_a_time_and_closing_it_says_how() {
        let mut goal = created(json!({}));
        let again = serde_json::from_value(json!({"objective": "o", "condition": "c"})).unwrap();
        assert!(goal.create(again).unwrap_err().contains("a goal is open: all green"));
        assert!(goal.get().contains("Condition: sh test.sh exits with 0"));
        let update = |value| serde_json::from_value::<Update>(value).unwrap();
        assert!(goal.update(&update(json!({"status": "blocked"}))).unwrap_err().contains("needs a reason"));
        goal.turn_over(1, 10);
        assert_eq!(
            goal.update(&update(json!({"status": "complete"}))).unwrap(),
            "The goal is closed as complete after 1 turns."
        );
        assert!(!goal.is_open() && goal.update(&update(json!({"status": "dropped"}))).is_err());
        assert_eq!(goal.turn_over(0, 0), None);
    }

    #[test]
    fn a_turn_without_calls_is_sent_on_until_a_limit_closes_the_goal() {
        let mut goal = created(json!({"no_progress_cap": 2}));
        assert!(goal.turn_over(0, 0).unwrap().starts_with("The goal is still open: all green. Check"));
        assert_eq!(goal.turn_over(1, 0), None);
        assert!(goal.turn_over(0, 0).is_some());
        assert_eq!(goal.turn_over(0, 0), None, "the second in a row closes it");
        assert!(!goal.is_open());
        let mut goal = created(json!({"token_budget": 100}));
        assert_eq!(goal.turn_over(1, 99), None);
        assert_eq!(
            goal.turn_over(1, 1).unwrap(),
            "The goal is closed: 100 tokens are spent. Report how far you came."
        );
    }

    proptest! {
        #[test]
        fn every_goal_comes_to_an_end(cap in 1_u32..5, most in 1_u32..30, turns in proptest::collection::vec(0_usize..2, 30..60)) {
            let mut goal = created(json!({"no_progress_cap": cap, "max_turns": most}));
            for calls in turns {
                goal.turn_over(calls, 1);
            }
            prop_assert!(!goal.is_open());
        }
    }
}
