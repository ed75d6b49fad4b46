//! Through which tool an action is played: rules of the lexicon, in the order that decides the cost metrics: the tool of
//! the action's own kind where it is offered, then through a tool that takes code, then one that must be made callable
//! first, then a substitution, and last any tool whose shape is a shell's.

use bench_core::lexicon::{BatchRule, BridgeRule};
use bench_core::{Action, ActionKind, LexiconRule};
use bench_wire::{CallForm, Exposure, ModelRequest, RequestTool, ToolKind};
use serde_json::{Map, Value};

use super::book::OracleScript;
use super::template::Values;

/// May the oracle make tools callable?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Discovery {
    /// Yes.
    Allowed,
    /// It was tried for this action, or the profile never does.
    Ruled,
}

/// What there is to choose from.
pub(super) struct Offered<'a> {
    pub(super) script: &'a OracleScript,
    pub(super) request: &'a ModelRequest,
}

/// One way to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// Call a tool that is offered.
    Call {
        /// The tool.
        tool: String,
        /// Its namespace.
        namespace: Option<String>,
        /// What its arguments are.
        form: CallForm,
        /// Arguments as JSON, or free text.
        arguments: String,
        /// Is it not the tool of the action's own kind?
        substitution: bool,
        /// Must the file have been read before?
        reads_first: bool,
    },
    /// Load a group first.
    Load {
        /// The gateway tool.
        tool: String,
        /// Arguments as JSON.
        arguments: String,
    },
}

/// All ways to play an action through a request, best first.
pub(super) fn ways(offered: &Offered<'_>, action: &Action, discovery: Discovery) -> Vec<Way> {
    let values = Values::of(action).in_workspace(&offered.script.workspace);
    let capability = match action {
        Action::Use { capability, .. } => Some(capability),
        Action::Run { .. }
        | Action::Read { .. }
        | Action::Write { .. }
        | Action::Edit { .. }
        | Action::Search { .. }
        | Action::Find { .. }
        | Action::Answer { .. } => None,
    };
    let plays = |rule: &&LexiconRule| rule.action == action.kind() && rule.capability.as_ref() == capability;
    let rules = || offered.script.lexicon.rules.iter().filter(plays);
    let own = || rules().filter(|rule| !rule.substitution);
    let others = || rules().filter(|rule| rule.substitution);
    let mut ways: Vec<Way> = own().filter_map(|rule| offered.call(rule, &values)).collect();
    ways.extend(own().filter_map(|rule| offered.bridged(rule, &values)));
    if discovery == Discovery::Allowed {
        ways.extend(own().find_map(|rule| offered.load(rule, &values)));
    }
    ways.extend(others().filter_map(|rule| offered.call(rule, &values)));
    ways.extend(others().filter_map(|rule| offered.bridged(rule, &values)));
    if ways.is_empty() {
        ways.extend(rules().find_map(|rule| offered.shaped(rule, &values)));
    }
    ways
}

/// Several actions that do not depend on one another as one call of a tool that takes code; `None` where no such tool
/// can carry them all.
pub(super) fn together(offered: &Offered<'_>, actions: &[&Action]) -> Option<Way> {
    offered.script.lexicon.bridges.iter().find_map(|bridge| offered.batched(bridge, actions))
}

impl Offered<'_> {
    fn batched(&self, bridge: &BridgeRule, actions: &[&Action]) -> Option<Way> {
        let batch = bridge.batch.as_ref()?;
        let tool = self.offered(&bridge.tool)?;
        let calls: Option<Vec<String>> =
            actions.iter().map(|action| self.nested(bridge, batch, tool, action)).collect();
        let code = Value::String(batch.code.replace("{calls}", &calls?.join(", ")));
        let mut fields = Map::new();
        for (key, value) in bridge.with.iter().filter(|(_, value)| !value.contains("{tool}")) {
            fields.insert(key.clone(), Value::String(value.clone()));
        }
        let arguments = match bridge.field.as_ref().filter(|_| tool.kind != ToolKind::Custom) {
            Some(field) => {
                fields.insert(field.clone(), code);
                Value::Object(fields)
            }
            None => code,
        };
        Some(way_with(tool, &arguments, false, false))
    }

    /// One action as a call within a script: by the first rule of its own kind whose tool the code can call.
    fn nested(
        &self,
        bridge: &BridgeRule,
        batch: &BatchRule,
        tool: &RequestTool,
        action: &Action,
    ) -> Option<String> {
        let values = Values::of(action).in_workspace(&self.script.workspace);
        let rules = self
            .script
            .lexicon
            .rules
            .iter()
            .filter(|rule| rule.action == action.kind() && !rule.substitution);
        rules.into_iter().find_map(|rule| {
            let nested = values.fill(&rule.arguments)?;
            let names = Values::of_nested(&rule.tool, &nested);
            let told = names.fill(&Value::String(bridge.told.clone()))?;
            let call = names.fill(&Value::String(batch.call.clone()))?;
            self.tells(tool, told.as_str()?).then(|| call.as_str().map(str::to_owned))?
        })
    }

    /// The tool of this name where it can be called now: one that is only flagged has to be found first.
    fn offered(&self, name: &str) -> Option<&RequestTool> {
        self.request.tool(name).filter(|tool| tool.exposure != Exposure::Deferred)
    }

    /// Does the tool itself, or a result of the conversation, hold this text?
    fn tells(&self, tool: &RequestTool, text: &str) -> bool {
        let results = self.request.messages.iter().flat_map(|message| &message.results);
        tool.description.contains(text) || results.into_iter().any(|result| result.text.contains(text))
    }

    fn call(&self, rule: &LexiconRule, values: &Values) -> Option<Way> {
        let tool = self.offered(&rule.tool)?;
        let Some(after) = &rule.tag_after else {
            return Some(way_of(tool, &values.fill(&rule.arguments)?, rule));
        };
        let told = self.tag_after(values.fill(&Value::String(after.clone()))?.as_str()?);
        let values = values.clone().with_tag(told.unwrap_or_default());
        let arguments = values.fill(&rule.arguments)?;
        Some(way_with(tool, &arguments, rule.substitution, told.is_none()))
    }

    /// What the last result that says so names behind this text.
    fn tag_after(&self, text: &str) -> Option<&str> {
        let results = self.request.messages.iter().rev().flat_map(|message| message.results.iter().rev());
        results.into_iter().find_map(|result| {
            let (_, rest) = result.text.rsplit_once(text)?;
            Some(rest.split_once(',')?.0)
        })
    }

    /// The rule's tool is nested below a tool that takes code, and the code's dialect is known.
    fn bridged(&self, rule: &LexiconRule, values: &Values) -> Option<Way> {
        if self.offered(&rule.tool).is_some() {
            return None;
        }
        let nested = values.fill(&rule.arguments)?;
        self.script.lexicon.bridges.iter().find_map(|bridge| {
            let tool = self.offered(&bridge.tool)?;
            let names = Values::of_nested(&rule.tool, &nested);
            let told = names.fill(&Value::String(bridge.told.clone()))?;
            if !self.tells(tool, told.as_str()?) {
                return None;
            }
            // A text of its own form is the code and nothing else, whatever field a schema would have.
            let field = bridge.field.as_ref().filter(|_| tool.kind != ToolKind::Custom);
            let code = match bridge.json {
                true => nested.clone(),
                false => names.fill(&Value::String(bridge.code.clone()))?,
            };
            let mut fields = Map::new();
            for (key, value) in &bridge.with {
                fields.insert(key.clone(), names.fill(&Value::String(value.clone()))?);
            }
            let arguments = match field {
                Some(field) => {
                    fields.insert(field.clone(), code);
                    Value::Object(fields)
                }
                None => code,
            };
            Some(way_of(tool, &arguments, rule))
        })
    }

    fn load(&self, rule: &LexiconRule, values: &Values) -> Option<Way> {
        if self.offered(&rule.tool).is_some() {
            return None;
        }
        let discovery = self.script.lexicon.discovery.iter().find(|way| self.offered(&way.tool).is_some())?;
        let group = rule.group.as_deref().or(discovery.for_code.then_some(""))?;
        values.fill(&rule.arguments)?;
        if !self.offered(&discovery.tool).is_none_or(|tool| may_name(tool, group)) {
            return None;
        }
        let arguments = Values::of_load(group, &rule.tool).fill(&discovery.load_arguments)?.to_string();
        Some(Way::Load { tool: discovery.tool.clone(), arguments })
    }

    /// A tool that no rule knows, whose one text argument is a shell command: what the rule would say to the lexicon's own
    /// shell is said to it.
    fn shaped(&self, rule: &LexiconRule, values: &Values) -> Option<Way> {
        let shell = self.script.lexicon.rules.iter().find(|rule| rule.action == ActionKind::Run)?;
        if rule.tool != shell.tool {
            return None;
        }
        let filled = values.fill(&rule.arguments)?;
        let command = filled.as_object()?.values().find(|value| value.is_string())?;
        let bridge = |tool: &&RequestTool| self.script.lexicon.bridges.iter().any(|b| b.tool == tool.name);
        let mut tools = self.request.tools.iter().filter(|tool| !bridge(tool));
        let (tool, arguments) = tools.find_map(|tool| Some((tool, shell_shaped(tool, command)?)))?;
        Some(way_of(tool, &arguments, &LexiconRule { substitution: true, ..rule.clone() }))
    }
}

/// Does a discovery tool whose schema lists what it may be asked for list this group? One that lists nothing may be asked
/// for anything.
fn may_name(tool: &RequestTool, group: &str) -> bool {
    let properties =
        tool.schema.as_ref().and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let lists = properties.into_iter().flatten().filter_map(|(_, property)| {
        property.get("enum").or_else(|| property.get("items")?.get("enum"))?.as_array()
    });
    let mut lists = lists.peekable();
    lists.peek().is_none() || lists.any(|list| list.iter().any(|word| word == group))
}

fn way_of(tool: &RequestTool, arguments: &Value, rule: &LexiconRule) -> Way {
    way_with(tool, arguments, rule.substitution, rule.reads_first)
}

fn way_with(tool: &RequestTool, arguments: &Value, substitution: bool, reads_first: bool) -> Way {
    let form = match tool.kind {
        ToolKind::Custom => CallForm::Custom,
        ToolKind::Function | ToolKind::Hosted(_) => CallForm::Function,
    };
    Way::Call {
        tool: tool.name.clone(),
        namespace: tool.namespace.clone(),
        arguments: arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned),
        form,
        substitution,
        reads_first,
    }
}

/// Arguments that give a command to a tool with exactly one required text among `command`, `cmd` and `script`; whatever
/// else it requires is filled by type.
fn shell_shaped(tool: &RequestTool, command: &Value) -> Option<Value> {
    let schema = tool.schema.as_ref().filter(|_| tool.kind == ToolKind::Function)?;
    let type_of = |name: &str| schema.get("properties")?.get(name)?.get("type")?.as_str();
    let required: Vec<&str> = schema.get("required")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let is_command =
        |name: &&&str| ["command", "cmd", "script"].contains(*name) && type_of(name) == Some("string");
    let mut commands = required.iter().filter(is_command);
    let (Some(field), None) = (commands.next(), commands.next()) else { return None };
    let mut arguments = Map::new();
    for name in &required {
        let value = match (name == field, type_of(name)) {
            (true, _) => command.clone(),
            (false, Some("string")) => Value::from("run"),
            (false, Some("integer" | "number")) => Value::from(60),
            (false, Some("boolean")) => Value::from(false),
            (false, Some("array")) => Value::Array(Vec::new()),
            (false, Some("object")) => Value::Object(Map::new()),
            (false, _) => Value::Null,
        };
        arguments.insert((*name).to_owned(), value);
    }
    Some(Value::Object(arguments))
}
