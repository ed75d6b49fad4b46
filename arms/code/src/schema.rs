//! A JSON Schema as a TypeScript type, on one line.
//!
//! What the type language cannot say (patterns, bounds, `not`) is left out; what cannot be read at all is `unknown`, never
//! an error: a server's odd schema must not take its tool away. A schema that refers to itself becomes a named type. The
//! size of a type is bounded, since references can make a small schema unfold without end.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Parts of a type after which the rest is `unknown`.
const PARTS: usize = 2000;
/// Depth of nesting after which the rest is `unknown`.
const DEPTH: usize = 24;

/// Are descriptions of properties shown as comments?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comments {
    /// Yes.
    Shown,
    /// No: types alone.
    LeftOut,
}

/// A type with the named types that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeText {
    /// The type.
    pub(crate) text: String,
    /// Name and type of each definition that refers to itself.
    pub(crate) named: Vec<(String, String)>,
}

/// The type of the values that a schema accepts. Named types begin with `prefix`.
pub(crate) fn type_of(schema: &Value, prefix: &str, comments: Comments) -> TypeText {
    let mut writer =
        Writer { root: schema, prefix, comments, open: Vec::new(), named: BTreeMap::new(), parts: 0 };
    let text = writer.write(schema, 0);
    TypeText { text, named: writer.named.into_values().filter(|(_, text)| !text.is_empty()).collect() }
}

/// Can the name stand where TypeScript wants an identifier?
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$');
    starts && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}

/// A name of a property: bare where that is possible, else quoted.
pub(crate) fn property(name: &str) -> String {
    if is_identifier(name) { name.to_owned() } else { Value::from(name).to_string() }
}

struct Writer<'a> {
    root: &'a Value,
    prefix: &'a str,
    comments: Comments,
    /// References that are being written, outermost first.
    open: Vec<String>,
    /// By reference: name and type of what refers to itself; the type is empty until it is written.
    named: BTreeMap<String, (String, String)>,
    parts: usize,
}

impl Writer<'_> {
    fn write(&mut self, schema: &Value, depth: usize) -> String {
        self.parts += 1;
        if depth > DEPTH || self.parts > PARTS {
            return "unknown".to_owned();
        }
        match schema {
            Value::Bool(false) => "never".to_owned(),
            Value::Object(members) => {
                let text = self.write_members(members, depth);
                match members.get("nullable") {
                    Some(Value::Bool(true)) if text != "null" && text != "unknown" => {
                        union([text, "null".into()])
                    }
                    _ => text,
                }
            }
            Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                "unknown".to_owned()
            }
        }
    }

    fn write_members(&mut self, members: &Map<String, Value>, depth: usize) -> String {
        if let Some(Value::String(reference)) = members.get("$ref") {
            return self.reference(reference, depth);
        }
        if let Some(value) = members.get("const") {
            return value.to_string();
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            return union(values.iter().map(Value::to_string));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(options)) = members.get(key) {
                let options = union(options.iter().map(|option| self.write(option, depth + 1)));
                return self.beside(members, options, depth);
            }
        }
        if let Some(Value::Array(parts)) = members.get("allOf") {
            let parts: Vec<String> = parts.iter().map(|part| self.write(part, depth + 1)).collect();
            let parts = intersection(parts);
            return self.beside(members, parts, depth);
        }
        match members.get("type") {
            Some(Value::Array(kinds)) => union(
                kinds.iter().map(|kind| self.of_kind(kind.as_str().unwrap_or_default(), members, depth)),
            ),
            Some(Value::String(kind)) => self.of_kind(kind, members, depth),
            _ if members.contains_key("properties") || members.contains_key("additionalProperties") => {
                self.of_kind("object", members, depth)
            }
            _ if members.contains_key("items") || members.contains_key("prefixItems") => {
                self.of_kind("array", members, depth)
            }
            _ => "unknown".to_owned(),
        }
    }

    /// Properties that stand beside a choice hold for each of its options.
    fn beside(&mut self, members: &Map<String, Value>, options: String, depth: usize) -> String {
        if !members.contains_key("properties") {
            return options;
        }
        let own = self.of_kind("object", members, depth);
        // Options that only say which properties are required have no type of their own.
        if options == "unknown" { own } else { intersection(vec![own, options]) }
    }

    fn of_kind(&mut self, kind: &str, members: &Map<String, Value>, depth: usize) -> String {
        match kind {
            "string" => "string".to_owned(),
            "number" | "integer" => "number".to_owned(),
            "boolean" => "boolean".to_owned(),
            "null" => "null".to_owned(),
            "array" => self.array(members, depth),
            "object" => self.object(members, depth),
            _ => "unknown".to_owned(),
        }
    }

    fn array(&mut self, members: &Map<String, Value>, depth: usize) -> String {
        let places = match (members.get("prefixItems"), members.get("items")) {
            (Some(Value::Array(places)), _) | (None, Some(Value::Array(places))) => Some(places),
            _ => None,
        };
        if let Some(places) = places {
            let places: Vec<String> = places.iter().map(|place| self.write(place, depth + 1)).collect();
            return format!("[{}]", places.join(", "));
        }
        let item =
            members.get("items").map_or_else(|| "unknown".to_owned(), |item| self.write(item, depth + 1));
        if is_compound(&item) { format!("({item})[]") } else { format!("{item}[]") }
    }

    fn object(&mut self, members: &Map<String, Value>, depth: usize) -> String {
        let required: Vec<&str> = members
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = members.get("properties").and_then(Value::as_object);
        let mut lines: Vec<String> = Vec::new();
        for (name, schema) in properties.into_iter().flatten() {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            let comment = self.comment(schema);
            lines.push(format!("{comment}{}{mark}: {}", property(name), self.write(schema, depth + 1)));
        }
        let others = match members.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            None | Some(Value::Bool(true)) if !lines.is_empty() => None,
            None | Some(Value::Bool(true)) => return "Record<string, unknown>".to_owned(),
            Some(schema) if lines.is_empty() => {
                return format!("Record<string, {}>", self.write(schema, depth + 1));
            }
            // The index type must hold the named properties too.
            Some(_) => Some("[key: string]: unknown".to_owned()),
        };
        lines.extend(others);
        if lines.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", lines.join("; ")) }
    }

    fn comment(&self, schema: &Value) -> String {
        let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        match self.comments {
            Comments::Shown if !text.trim().is_empty() => format!("/** {} */ ", in_comment(text)),
            Comments::Shown | Comments::LeftOut => String::new(),
        }
    }

    fn reference(&mut self, reference: &str, depth: usize) -> String {
        if self.open.iter().any(|open| open == reference) || self.named.contains_key(reference) {
            let name = self.name_of(reference);
            return self.named.entry(reference.to_owned()).or_insert((name, String::new())).0.clone();
        }
        let pointer =
            reference.strip_prefix('#').map(|pointer| pointer.replace("%24", "$").replace("%20", " "));
        let Some(target) = pointer.and_then(|pointer| self.root.pointer(&pointer)) else {
            return "unknown".to_owned();
        };
        self.open.push(reference.to_owned());
        let text = self.write(target, depth + 1);
        self.open.pop();
        match self.named.get_mut(reference) {
            None => text,
            Some((name, written)) => {
                *written = text;
                name.clone()
            }
        }
    }

    /// A name for what refers to itself, made of the last part of the reference.
    fn name_of(&self, reference: &str) -> String {
        let last = reference.rsplit('/').next().unwrap_or_default().trim_start_matches('#');
        let kept: String = last.chars().filter(char::is_ascii_alphanumeric).collect();
        let mut name = format!("{}{}", self.prefix, if kept.is_empty() { "Arguments" } else { &kept });
        while self.named.values().any(|(taken, _)| *taken == name) {
            name.push('_');
        }
        name
    }
}

/// A text that cannot end the comment in which it stands.
pub(crate) fn in_comment(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "*\u{200b}/")
}

fn union(options: impl IntoIterator<Item = String>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for option in options {
        if option == "unknown" {
            return option;
        }
        if option != "never" && !kept.contains(&option) {
            kept.push(option);
        }
    }
    if kept.is_empty() { "never".to_owned() } else { kept.join(" | ") }
}

fn intersection(parts: Vec<String>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for part in parts {
        if part != "unknown" && !kept.contains(&part) {
            kept.push(part);
        }
    }
    let wrapped = |part: &String| if has_top_level(part, '|') { format!("({part})") } else { part.clone() };
    match kept.as_slice() {
        [] => "unknown".to_owned(),
        [one] => one.clone(),
        many => many.iter().map(wrapped).collect::<Vec<_>>().join(" & "),
    }
}

fn is_compound(text: &str) -> bool {
    has_top_level(text, '|') || has_top_level(text, '&')
}

/// Does the sign stand outside of every bracket and string?
fn has_top_level(text: &str, sign: char) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0_i32, false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' | '(' | '<' => depth += 1,
            '}' | ']' | ')' | '>' => depth -= 1,
            _ if c == sign && depth == 0 => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
