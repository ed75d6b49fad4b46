//! The JSON schema of the experiment file and the page that people read, both from the doc comments of `file`.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::file::ExperimentFile;

/// JSON schema (draft 2020-12) of the experiment file, as text that ends with a line feed.
pub fn schema() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ExperimentFile>();
    let mut value = schema.to_value();
    drop_nulls(&mut value);
    let text = serde_json::to_string_pretty(&value).expect("a schema is plain JSON");
    format!("{text}\n")
}

/// All keys of the experiment file as a Markdown page: type, default, meaning.
pub fn reference_page() -> String {
    let root: Value = serde_json::from_str(&schema()).expect("our own schema is JSON");
    let mut page = String::from(
        "# The experiment file: every key\n\n\
         Generated from the types that read the file (`harness/config/src/file.rs`); do not edit. The same as a JSON schema:\n\
         [experiment.schema.json](experiment.schema.json). A commented file to start from: `bench init`.\n",
    );
    let mut sections = vec![Section { title: "Top of the file".to_owned(), table: &root }];
    nested(&root, "", &root, &mut sections);
    for section in &sections {
        page.push_str(&section.render(&root));
    }
    page
}

/// TOML has no null: `"type": ["string", "null"]` and `anyOf [.., null]` only say that a key may be left out.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|one| one != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|one| one.get("type") != Some(&Value::from("null")));
                if let [only] = choices.as_slice() {
                    let only = only.as_object().cloned().unwrap_or_default();
                    object.shift_remove("anyOf");
                    object.extend(only);
                }
            }
            object.values_mut().for_each(drop_nulls);
        }
        Value::Array(array) => array.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

struct Section<'s> {
    title: String,
    table: &'s Value,
}

impl Section<'_> {
    fn render(&self, root: &Value) -> String {
        let mut text = format!("\n## {}\n\n", self.title);
        if let Some(about) = self.table.get("description").and_then(Value::as_str) {
            text.push_str(&format!("{}\n\n", one_line(about)));
        }
        text.push_str("| key | type | default | meaning |\n|---|---|---|---|\n");
        for (key, property) in properties(self.table) {
            text.push_str(&format!(
                "| `{key}` | {} | {} | {} |\n",
                type_words(property, root),
                default_words(key, property, self.table),
                meaning(property)
            ));
        }
        text
    }
}

/// The tables below a table, outer ones first.
fn nested<'s>(table: &'s Value, prefix: &str, root: &'s Value, sections: &mut Vec<Section<'s>>) {
    for (key, property) in properties(table) {
        let path = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        let list = property.get("items").and_then(|items| resolve(items, root));
        let found = resolve(property, root).map(|inner| (format!("`[{path}]`"), inner));
        let Some((title, inner)) = found.or(list.map(|inner| (format!("`[[{path}]]`"), inner))) else {
            continue;
        };
        sections.push(Section { title, table: inner });
        nested(inner, &path, root, sections);
    }
}

fn properties(table: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let object: Option<&Map<String, Value>> = table.get("properties").and_then(Value::as_object);
    object.into_iter().flatten().map(|(key, property)| (key.as_str(), property))
}

fn resolve<'s>(property: &Value, root: &'s Value) -> Option<&'s Value> {
    root.pointer(property.get("$ref")?.as_str()?.strip_prefix('#')?)
}

fn type_words(property: &Value, root: &Value) -> String {
    if resolve(property, root).is_some() {
        return "table".to_owned();
    }
    match property.get("type").and_then(Value::as_str) {
        Some("array") => match property.get("items") {
            Some(items) if resolve(items, root).is_some() => "list of tables".to_owned(),
            Some(items) => format!("list of {}s", type_words(items, root)),
            None => "list".to_owned(),
        },
        Some("number") => "number".to_owned(),
        Some("integer") => "whole number".to_owned(),
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    }
}

fn default_words(key: &str, property: &Value, table: &Value) -> String {
    let required = table.get("required").and_then(Value::as_array);
    if required.is_some_and(|keys| keys.iter().any(|one| one == key)) {
        return "required".to_owned();
    }
    match property.get("default") {
        Some(Value::Array(list)) if list.is_empty() => "none".to_owned(),
        Some(default) => format!("`{default}`"),
        None => "–".to_owned(),
    }
}

fn meaning(property: &Value) -> String {
    let about = property.get("description").and_then(Value::as_str).map(one_line).unwrap_or_default();
    let words: Vec<&str> = property
        .get("enum")
        .and_then(Value::as_array)
        .map(|words| words.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    // Words that the sentence explains already are not listed a second time.
    if words.iter().all(|word| about.contains(&format!("`{word}`"))) {
        return about;
    }
    let list: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    format!("{about} One of {}.", list.join(", "))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
