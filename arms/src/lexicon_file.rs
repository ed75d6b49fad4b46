//! Lexicon files: read, checked, digested.

use bench_core::lexicon::{BatchRule, BridgeRule, DiscoveryRule};
use bench_core::{ActionKind, Lexicon, LexiconRule, Sha256Hex};
use serde::Deserialize;
use serde_json::Value;

use crate::error::CatalogError;

/// Placeholders that an action can fill.
const NAMES: [&str; 16] = [
    "command",
    "path",
    "offset",
    "limit",
    "content",
    "old",
    "new",
    "whole",
    "pattern",
    "workspace",
    "hunk",
    "added",
    "first",
    "last",
    "lines",
    "tag",
];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LexiconFile {
    name: String,
    error_prefixes: Vec<String>,
    #[serde(default)]
    discovery: Vec<DiscoveryFile>,
    rules: Vec<RuleFile>,
    #[serde(default)]
    bridges: Vec<BridgeRule>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct DiscoveryFile {
    tool: String,
    load_arguments: Value,
    #[serde(default)]
    for_code: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RuleFile {
    action: ActionKind,
    capability: Option<String>,
    tool: String,
    arguments: Value,
    #[serde(default)]
    substitution: bool,
    group: Option<String>,
    #[serde(default)]
    reads_first: bool,
    tag_after: Option<String>,
}

/// Reads a lexicon. Fails on what is not a lexicon and on a placeholder that no action fills.
pub(crate) fn read(file: &str, text: &str) -> Result<Lexicon, CatalogError> {
    let read: LexiconFile = toml::from_str(text)
        .map_err(|source| CatalogError::Malformed { file: file.to_owned(), source: Box::new(source) })?;
    let inconsistent = |fault: String| CatalogError::Inconsistent { file: file.to_owned(), fault };
    for rule in &read.rules {
        match (rule.action == ActionKind::Use, &rule.capability) {
            // What a step of the plan says is its own; any name may stand there.
            (true, Some(_)) => {}
            (false, None) => check_placeholders(&rule.arguments, &NAMES).map_err(inconsistent)?,
            (true, None) | (false, Some(_)) => {
                let fault = format!(
                    "the rule for {:?}: `capability` belongs to action = \"use\", and there it must stand",
                    rule.tool
                );
                return Err(inconsistent(fault));
            }
        }
    }
    for discovery in &read.discovery {
        check_placeholders(&discovery.load_arguments, &["group", "tool"]).map_err(inconsistent)?;
    }
    let names_tool =
        |b: &BridgeRule| b.code.contains("{tool}") || b.with.values().any(|value| value.contains("{tool}"));
    if let Some(bridge) = read.bridges.iter().find(|b| !names_tool(b) || !b.code.contains("{arguments}")) {
        return Err(inconsistent(format!(
            "the code of bridge {:?} lacks {{tool}} or {{arguments}}",
            bridge.tool
        )));
    }
    let whole = |batch: &BatchRule| {
        batch.code.contains("{calls}") && batch.call.contains("{tool}") && batch.call.contains("{arguments}")
    };
    if let Some(bridge) = read.bridges.iter().find(|b| b.batch.as_ref().is_some_and(|batch| !whole(batch))) {
        return Err(inconsistent(format!(
            "the batch of bridge {:?} lacks {{calls}}, {{tool}} or {{arguments}}",
            bridge.tool
        )));
    }
    Ok(Lexicon {
        name: read.name,
        rules: read.rules.into_iter().map(rule).collect(),
        discovery: read
            .discovery
            .into_iter()
            .map(|found| DiscoveryRule {
                tool: found.tool,
                load_arguments: found.load_arguments,
                for_code: found.for_code,
            })
            .collect(),
        bridges: read.bridges,
        error_prefixes: read.error_prefixes,
        sha256: Sha256Hex::of(text),
    })
}

fn rule(file: RuleFile) -> LexiconRule {
    LexiconRule {
        action: file.action,
        capability: file.capability,
        tool: file.tool,
        arguments: file.arguments,
        substitution: file.substitution,
        group: file.group,
        reads_first: file.reads_first,
        tag_after: file.tag_after,
    }
}

fn check_placeholders(arguments: &Value, names: &[&str]) -> Result<(), String> {
    match arguments {
        Value::String(text) => {
            for part in text.split('{').skip(1) {
                let name = part.split('}').next().unwrap_or(part);
                let bare = name.trim_end_matches('?').trim_end_matches("|sh");
                if !names.contains(&bare) {
                    return Err(format!(
                        "no action fills the placeholder {{{name}}}; known: {}",
                        names.join(", ")
                    ));
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| check_placeholders(item, names)),
        Value::Object(members) => members.values().try_for_each(|value| check_placeholders(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_that_nothing_fills_is_named() {
        let text = |argument: &str| {
            format!(
                "name = 'x'\nerror-prefixes = []\n[[rules]]\naction = 'run'\ntool = 't'\narguments = {{ a = ['{argument}'] }}\n"
            )
        };
        assert!(read("x", &text("{command}")).is_ok());
        assert!(read("x", &text("{offset?}{path|sh}")).is_ok());
        assert!(read("x", &text("{comand}")).unwrap_err().to_string().contains("{comand}"));
        assert!(read("x", "name = 'x'").is_err());
    }
}
