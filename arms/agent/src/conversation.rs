//! The loop: ask, run the calls of the turn in order, ask again, until a turn without calls.

use std::path::Path;

use bench_wire::chat::MessageOut;
use bench_wire::{Call, Turn};
use serde_json::Value;

use crate::arguments;
use crate::catalogue::GATEWAY;
use crate::door::{Door, DoorError};
use crate::offer::Offer;
use crate::request::{Asked, opening};
use crate::start::Start;
use crate::surface_check::SurfaceError;
use crate::tools;

/// With this begins the result of every call that was refused or failed; the lexicon knows it.
const REFUSED: &str = "Error: ";

/// Why a conversation ended without an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConversationError {
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    #[error(transparent)]
    Door(#[from] DoorError),
    #[error("the runtime for network calls cannot be made: {0}")]
    Runtime(std::io::Error),
}

/// Holds the conversation and returns the model's final text.
pub(crate) fn hold(start: &Start) -> Result<String, ConversationError> {
    let door = Door::to(&start.base_url, &start.api_key)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(ConversationError::Runtime)?;
    runtime.block_on(turns(start, &door))
}

async fn turns(start: &Start, door: &Door) -> Result<String, ConversationError> {
    let mut offer = Offer::of(&start.surface)?;
    let asked = Asked { model: &start.model, settings: &start.settings };
    let mut messages = opening(&offer, &start.instruction, &start.workspace.to_string_lossy());
    loop {
        let turn: Turn = door.ask(asked.request(&offer, &messages)).await?;
        if turn.calls.is_empty() {
            return Ok(turn.text);
        }
        messages.push(MessageOut::assistant(&turn));
        for call in &turn.calls {
            let result = answer(&mut offer, call, &start.workspace);
            let text = result.unwrap_or_else(|reason| format!("{REFUSED}{reason}"));
            messages.push(MessageOut::tool(&call.id, &text));
        }
        offer.next_turn();
    }
}

/// The result of one call, or the reason why it was refused or failed.
fn answer(offer: &mut Offer, call: &Call, workspace: &Path) -> Result<String, String> {
    let definition = offer.callable(&call.name)?;
    let given = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    let given: Value = serde_json::from_str(given)
        .map_err(|error| format!("the arguments of {} are not valid JSON: {error}", call.name))?;
    arguments::check(definition, &given)?;
    if call.name != GATEWAY {
        return tools::run(&call.name, given, workspace);
    }
    match given.get("groups") {
        None => Ok(offer.list_groups()),
        Some(groups) => {
            let names: Vec<String> = serde_json::from_value(groups.clone()).unwrap_or_default();
            Ok(offer.load(&names))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::offer::tests::{direct, surface};

    fn ask(name: &str, arguments: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let mut offer = Offer::of(&surface(vec![direct("read"), direct("workflow")])).unwrap();
        let call = Call { id: "c".into(), name: name.into(), arguments: arguments.into(), ..Call::default() };
        answer(&mut offer, &call, folder.path()).unwrap_err()
    }

    #[test]
    fn every_refusal_says_why() {
        assert_eq!(ask("raed", "{}"), "there is no tool named \"raed\"; the tools are read, workflow");
        assert!(ask("read", "{\"path\"").starts_with("the arguments of read are not valid JSON: "));
        assert!(ask("read", "").contains("path is missing"));
        assert!(ask("read", &json!({"path": "no"}).to_string()).contains("no: "));
        assert_eq!(
            ask("workflow", &json!({"script": "return 1"}).to_string()),
            "workflow is not available in this build"
        );
    }
}
