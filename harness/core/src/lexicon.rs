//! The lexicon: how an abstract action is played through the tools that a request really offers. Data, hashed into
//! the lock, because the order of preference decides the cost metrics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::action::ActionKind;
use crate::digest::Sha256Hex;

/// How one agent's tools play the actions of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lexicon {
    /// Its name (the file's stem).
    pub name: String,
    /// Rules in order of preference within each kind of action.
    pub rules: Vec<LexiconRule>,
    /// How a deferred tool is made callable: the first way whose tool is offered.
    pub discovery: Vec<DiscoveryRule>,
    /// Tools that take code which calls the other tools, and how that code is written. A tool whose dialect is not here
    /// is not played.
    #[serde(default)]
    pub bridges: Vec<BridgeRule>,
    /// Beginnings of a tool result that mean "the call was refused or failed". Empty = nothing is known about errors.
    pub error_prefixes: Vec<String>,
    /// Digest of the file.
    pub sha256: Sha256Hex,
}

/// One way to play one kind of action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LexiconRule {
    /// The kind of action.
    pub action: ActionKind,
    /// For `use`: the capability that it plays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// Exact name of the tool as the request offers it.
    pub tool: String,
    /// Arguments as JSON with placeholders: a string that is exactly `{path}` becomes the value with its type; inside a
    /// longer string it becomes text; `{path|sh}` is quoted for a POSIX shell; a key whose value is `{offset?}` is left
    /// out when the action does not say it. Names: command, path, offset, limit, content, old, new, whole, pattern,
    /// workspace (its absolute path), hunk (an edit as lines of a patch), added (content as lines of a patch), first, last
    /// and lines (an edit as numbers of the lines that give way and the lines that take their place), tag (see
    /// `tag_after`). A tool that takes free text has a string here.
    /// A rule for `use` may hold any name of lower-case letters and `_`: the step's values of that name.
    /// A rule that holds a plain `{offset}` which the action does not say does not apply: the next one is tried.
    pub arguments: serde_json::Value,
    /// Is this not the tool of the action's own kind (an edit played by writing the whole file, a search by the shell)?
    /// Each substitution is recorded.
    pub substitution: bool,
    /// Capability group that must be loaded first where the tool is not offered at once.
    pub group: Option<String>,
    /// Must the file have been read before, or the tool refuses?
    #[serde(default)]
    pub reads_first: bool,
    /// Text of a result behind which `{tag}` stands, up to the next comma, with `{path}`; the last one told counts. Where
    /// none was told the file is read first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag_after: Option<String>,
}

/// How code is written for one tool that takes code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeRule {
    /// Exact name of the tool that takes code.
    pub tool: String,
    /// Field of its arguments that takes the code; null = it takes free text.
    pub field: Option<String>,
    /// Text that its description, or a result of the conversation, holds where this dialect is spoken, with `{tool}` for
    /// the nested tool's name.
    pub told: String,
    /// The code, with `{tool}` and `{arguments}` (JSON).
    pub code: String,
    /// Is the code the JSON of `{arguments}` itself rather than a text that holds it?
    #[serde(default)]
    pub json: bool,
    /// Further arguments beside `field`, with `{tool}`.
    #[serde(default)]
    pub with: BTreeMap<String, String>,
    /// How several calls that do not depend on one another are written as one; none = each stands alone.
    #[serde(default)]
    pub batch: Option<BatchRule>,
}

/// How several nested calls are written as one script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRule {
    /// One of the calls as an expression, with `{tool}` and `{arguments}` (JSON).
    pub call: String,
    /// The script, with `{calls}`: all of them, separated by commas.
    pub code: String,
}

/// The tool by which another is made callable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiscoveryRule {
    /// Exact name of the tool that loads or searches.
    pub tool: String,
    /// Arguments that load `{group}` or find `{tool}`.
    pub load_arguments: serde_json::Value,
    /// Does it look up tools of every kind, whether a rule names a group for them or not?
    pub for_code: bool,
}
