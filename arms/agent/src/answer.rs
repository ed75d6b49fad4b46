//! One call, from its name and arguments to what is to be done: answered at once by the offer, run by a tool, put to the
//! user, or something that concerns the conversation itself.

use std::sync::Arc;

use bench_wire::{Call, CallForm};
use serde_json::{Value, json};

use crate::arguments;
use crate::catalogue::{Access, CALL, GATEWAY, SEARCH, ToolDefinition, access};
use crate::code::{self, CodeCall};
use crate::devices::{self, DeviceCall};
use crate::offer::{Found, Loaded, Offer};
use crate::pipeline::{Origin, Reach};

/// What a call asks for.
#[derive(Debug)]
pub(crate) enum Job {
    /// Answered already, or refused.
    Done(Result<String, String>),
    /// Tools became callable.
    Loaded(Loaded),
    /// A tool has to run.
    Run(Reach),
    /// The user has to be asked.
    Ask(Value),
    /// A script has to run.
    Code(CodeCall),
    /// The conversation goes on otherwise.
    Turn(Turning),
}

/// What a call does to the conversation itself, once its turn is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Turning {
    /// Mark this place.
    Mark,
    /// Take out what came after the mark and keep this.
    Rewind(String),
    /// Stop with this.
    Stop(String),
}

impl Turning {
    /// What the model is told.
    pub(crate) fn told(&self) -> &'static str {
        match self {
            Self::Mark => "Marked. A rewind takes out what comes after this.",
            Self::Rewind(_) => "Rewound.",
            Self::Stop(_) => "Handed over.",
        }
    }
}

impl Job {
    fn refused(reason: String) -> Self {
        Self::Done(Err(reason))
    }
}

/// May this call run beside others of its turn?
pub(crate) fn access_of(offer: &Offer, call: &Call) -> Access {
    let given = || serde_json::from_str::<Value>(&call.arguments).unwrap_or_default();
    match call.name.as_str() {
        CALL => given().get("name").and_then(Value::as_str).map_or(Access::Exclusive, access),
        "write" if offer.discovery() == Found::OnPaths => match devices::asked("write", &given()) {
            Some(DeviceCall::Call(tool, _)) => access(&tool),
            Some(DeviceCall::List | DeviceCall::Schema(_)) | None => Access::Exclusive,
        },
        name => access(name),
    }
}

/// What the call asks for; the offer answers what concerns itself. Whether a mark stands is told by `marked`.
pub(crate) fn job(offer: &mut Offer, call: &Call, marked: bool) -> Job {
    // A search that the wire knows as a kind of its own comes without a name.
    let name = if call.name.is_empty() { SEARCH } else { call.name.as_str() };
    let checked = offer.callable(name).and_then(|tool| given(&tool, call).map(|given| (tool, given)));
    match checked {
        Err(reason) => Job::refused(reason),
        Ok((tool, given)) => by_name(offer, &tool, given, marked),
    }
}

fn given(tool: &ToolDefinition, call: &Call) -> Result<Value, String> {
    if call.form == CallForm::Custom {
        return Ok(json!({"input": call.arguments}));
    }
    let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    let given: Value = serde_json::from_str(text)
        .map_err(|error| format!("the arguments of {} are not valid JSON: {error}", tool.name))?;
    arguments::check(tool, &given)?;
    Ok(given)
}

fn by_name(offer: &mut Offer, tool: &ToolDefinition, given: Value, marked: bool) -> Job {
    let text = |key: &str| given.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    match tool.name.as_str() {
        GATEWAY => match given.get("groups") {
            None => Job::Done(Ok(offer.list_groups())),
            Some(groups) => {
                let names: Vec<String> = serde_json::from_value(groups.clone()).unwrap_or_default();
                Job::Loaded(offer.load(&names))
            }
        },
        SEARCH => {
            let limit = given.get("limit").and_then(Value::as_u64).map(|limit| limit as usize);
            Job::Loaded(offer.search(&text("query"), limit))
        }
        CALL => nested(offer, &text("name"), Ok(given["arguments"].clone())),
        "eval" | "execute_typescript" => Job::Code(CodeCall::Run(given)),
        "exec" => Job::Code(CodeCall::Begin(given)),
        "wait" => Job::Code(CodeCall::Wait(given)),
        "list_functions" | "get_function_details" | "execute_bash" => {
            Job::Done(look(offer, &tool.name, &given))
        }
        "ask" => Job::Ask(given),
        "checkpoint" if marked => Job::refused("there is a mark already; rewind to it first".to_owned()),
        "checkpoint" => Job::Turn(Turning::Mark),
        "rewind" if !marked => {
            Job::refused("there is no mark to go back to; set one with checkpoint".to_owned())
        }
        "rewind" => Job::Turn(Turning::Rewind(text("report"))),
        "yield" => Job::Turn(Turning::Stop(text("text"))),
        name if offer.discovery() == Found::OnPaths => match devices::asked(name, &given) {
            None => run(name, given),
            Some(DeviceCall::List) => Job::Done(Ok(offer.mounted())),
            Some(DeviceCall::Schema(device)) => {
                Job::Done(offer.behind(&device).map(|tool| format!("{}\n", tool.as_found())))
            }
            Some(DeviceCall::Call(device, arguments)) => nested(offer, &device, arguments),
        },
        name => run(name, given),
    }
}

fn run(name: &str, given: Value) -> Job {
    Job::Run(Reach { tool: name.to_owned(), given, origin: Origin::Model })
}

/// A call that reaches a tool through another one. Arguments that do not fit are answered with the schema.
fn nested(offer: &Offer, name: &str, given: Result<Value, String>) -> Job {
    let tool: Arc<ToolDefinition> = match offer.behind(name) {
        Ok(tool) => tool,
        Err(reason) => return Job::refused(reason),
    };
    match given.and_then(|given| arguments::check(&tool, &given).map(|()| given)) {
        Err(reason) => Job::refused(format!("{reason}\n{}", tool.as_found())),
        Ok(given) => match by_conversation(&tool.name) {
            true => Job::refused(format!("{name} concerns the conversation and cannot be called this way")),
            false => Job::Run(Reach { tool: tool.name.clone(), given, origin: Origin::Tool }),
        },
    }
}

/// A look at what code can call.
fn look(offer: &Offer, name: &str, given: &Value) -> Result<String, String> {
    let functions = offer.code().map(|code| code.functions()).ok_or("code mode is off")?;
    match name {
        "list_functions" => Ok(functions.listing()),
        "get_function_details" => {
            let names: Vec<String> = serde_json::from_value(given["functions"].clone()).unwrap_or_default();
            functions.details(&names)
        }
        _ => code::look(given["command"].as_str().unwrap_or_default(), functions),
    }
}

/// Tools that only the loop itself can carry out.
pub(crate) fn by_conversation(name: &str) -> bool {
    ["ask", "checkpoint", "rewind", "yield"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::tests::{direct, offer, surface};
    use crate::tools::Desk;

    fn ask(name: &str, arguments: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let mut offer = offer(&surface(vec![direct("read"), direct("workflow")]));
        let call = Call { id: "c".into(), name: name.into(), arguments: arguments.into(), ..Call::default() };
        match job(&mut offer, &call, false) {
            Job::Done(told) => told.unwrap_err(),
            Job::Run(reach) => Desk::in_workspace(folder.path()).run(&reach.tool, reach.given).unwrap_err(),
            other @ (Job::Loaded(_) | Job::Ask(_) | Job::Code(_) | Job::Turn(_)) => panic!("{other:?}"),
        }
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
